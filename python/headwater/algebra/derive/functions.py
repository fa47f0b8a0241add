"""Aggregate functions whose result follows from numbers of rows, whatever their order: counts, exact sums, extremes."""

from __future__ import annotations

import re

from headwater.algebra.derive.image import comparable, plain, type_of
from headwater.algebra.derive.query import Call
from headwater.model.reason import Code, Reason

_SUMMED = re.compile(r"TINYINT|SMALLINT|INT|BIGINT|DECIMAL\(.*\)", re.I)
_AVERAGED = re.compile(r"TINYINT|SMALLINT|INT|DECIMAL\(.*\)", re.I)
"""Types whose averages Spark computes from an exact sum."""

_NAMES = {
    "Sum": ("sum",),
    "Average": ("avg", "mean"),
    "Count": ("count",),
    "CountIf": ("count_if",),
    "Min": ("min",),
    "Max": ("max",),
    "BoolAnd": ("bool_and", "every"),
    "BoolOr": ("bool_or", "some", "any"),
    "BitXorAgg": ("bit_xor",),
}
"""The aggregates that have totals; others have the same class and another name, such as ``try_sum``."""


def unknown(call: Call) -> Reason | None:
    """Why an aggregate function cannot follow changes; ``None`` if it can."""
    if call.name not in _NAMES.get(call.call, ()):
        return Reason(Code.QUERY_AGGREGATE_NOT_ADDITIVE, f"{call.name} is computed from all rows of a group")
    types = [plain(type_of(each)) for each in call.args]
    match call.call:
        case "Sum" if not _SUMMED.fullmatch(types[0]):
            return Reason(Code.QUERY_INEXACT_TYPE, f"the sum of a {types[0]} depends on the order of the rows")
        case "Average" if not _AVERAGED.fullmatch(types[0]):
            order = f"the average of a {types[0]} depends on the order of the rows"
            return Reason(Code.QUERY_INEXACT_TYPE, order)
        case "Min" | "Max" if not comparable(types[0]):
            return Reason(Code.QUERY_INEXACT_TYPE, _spelled(types[0]))
        case _ if call.distinct and (strange := next((each for each in types if not _counted(each)), None)):
            return Reason(Code.QUERY_INEXACT_TYPE, _spelled(strange))
    return None


def _counted(type: str) -> bool:
    """Whether stored values of a type are told apart as a group of rows has them. Whether 0.0 or -0.0 stands for both
    does not matter where values are only counted."""
    return comparable(type) or type.upper() in ("FLOAT", "DOUBLE")


def _spelled(type: str) -> str:
    return f"values of a {type} may be equal and spelled differently"
