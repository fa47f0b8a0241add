"""Which window functions are aggregates over the rows between two values.

Example: ``max(price) OVER (PARTITION BY symbol ORDER BY day RANGE BETWEEN INTERVAL 364 DAYS PRECEDING AND CURRENT
ROW)``. A changed row is in the frames of its own day and of the 364 days after it, and in no others.

The frames themselves stay in the query (``Framed.scala``). Here it is decided for which of them a frame is all rows
between two values, as Spark computes it.
"""

from __future__ import annotations

import re

from headwater.algebra.derive.image import exact, plain, type_of
from headwater.algebra.derive.query import Attr, Call, Expr, Lit, parts
from headwater.algebra.derive.specification import is_of, is_open

_WHOLE = re.compile(r"TINYINT|SMALLINT|INT|BIGINT|DECIMAL\(.*\)")
"""Types whose sums are exact. Spark averages a BIGINT by a sum of DOUBLE."""

_INTEGRAL = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_MONTHS = ("INTERVAL YEAR", "INTERVAL MONTH", "INTERVAL YEAR TO MONTH")
_SHORT = re.compile(r"INTERVAL '-?(\d{1,9})(?:\.\d+)?' (HOUR|MINUTE|SECOND)", re.I)
_IN_A_DAY = {"HOUR": 24, "MINUTE": 1440, "SECOND": 86400}


def is_framed(function: Expr) -> bool:
    """Whether the value of a window function is that of an aggregate over the rows between two values of one column, or
    up to or from one, in any order of these rows."""
    match function:
        case Call(call="WindowExpression", args=(Call(kind="aggregate", filter=None) as aggregate, Call(args=spec))):
            match spec[-2:]:
                case [Call(call="SortOrder", args=(Attr() as order,)), Call(call="SpecifiedWindowFrame") as frame]:
                    ends = [each for each in frame.args if not is_open(each)]
                    moves = bool(ends) and all(_moves(order, each) for each in ends)
                    return moves and _is_exact(aggregate) and is_of(frame, "RangeFrame$")
    return False


def _is_exact(aggregate: Call) -> bool:
    """Whether an aggregate has one value, in whatever order it takes its rows."""
    types = [plain(type_of(each)).upper() for each in aggregate.args]
    match aggregate:
        case Call(distinct=True):
            return False
        case Call(call="Count", name="count"):
            return True
        case Call(call="Min" | "Max", name="min" | "max"):
            return exact(types[0])
        case Call(call="Sum", name="sum"):
            return _WHOLE.fullmatch(types[0]) is not None
        case Call(call="Average", name="avg" | "mean"):
            return types[0] != "BIGINT" and _WHOLE.fullmatch(types[0]) is not None
    return False


def _moves(order: Attr, bound: Expr) -> bool:
    """Whether the end of a frame never goes back while the value of the current row grows. Spark computes frames as if
    that held. It does not hold a month before a time of day: 30 March 23:00 and 31 March 01:00 lead to 29 February. Nor
    a day before a TIMESTAMP, on a clock that is set back."""
    match bound:
        case Call(call="CurrentRow$"):
            return True
    if any(isinstance(each, Lit) and "NULL" in each.sql.upper() for each in parts(bound)):
        return False
    by = plain(type_of(bound)).upper()
    match plain(order.type).upper():
        case "DATE":
            return by in ("INT", "INTERVAL DAY", *_MONTHS)
        case "TIMESTAMP_NTZ":
            return by not in _MONTHS and by.startswith("INTERVAL ")
        case "TIMESTAMP":
            return all(map(_is_short, parts(bound)))
        case type if type in _INTEGRAL:
            return by == type
        case type:
            return type.startswith("DECIMAL(") and by == type


def _is_short(part: Expr) -> bool:
    """Of an interval below a day: whether it is one. Spark counts whole days of others by the clock."""
    match part:
        case Lit(sql=sql):
            found = _SHORT.fullmatch(sql)
            return found is not None and int(found[1]) < _IN_A_DAY[found[2].upper()]
        case Call(call="UnaryMinus"):
            return True
    return False
