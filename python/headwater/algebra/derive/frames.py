"""Derives which rows of a view a changed row of a source reaches through the frames of a window.

Example: ``max(price) OVER (PARTITION BY symbol ORDER BY day RANGE BETWEEN INTERVAL 364 DAYS PRECEDING AND CURRENT
ROW)``. A changed row is in the frames of its own day and of the 364 days after it, and in no others.

A row of the window differs only if a row of its input came or went that it is made of, or that is in its frame. What
each such row has in ``PARTITION BY`` and ``ORDER BY`` is known from the changed row of the source (``touched_rows``).
Each row of the view is made of one row of the window at most, and shows these columns. So the rows of the view that
differ show the values of a changed row, or values whose frame has these.

The frames themselves stay in the query (``Framed.scala``). Here it is decided for which of them a frame is all rows
between two values, as Spark computes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from headwater.algebra.derive.image import Image, comparable, exact, plain, type_of
from headwater.algebra.derive.query import Attr, Call, Expr, Lit, Node, parts
from headwater.algebra.derive.resolve import resolve
from headwater.algebra.derive.rules import ROWWISE, transfer
from headwater.algebra.derive.way import SIDES
from headwater.model.dependency import Frames

_BELOW = ROWWISE | {
    *("CTERelationRef", "Project", "Filter", "Join", "Union", "Aggregate", "Distinct", "Expand", "Generate"),
    *("Relation", "LocalRelation", "ResolvedInlineTable", "OneRowRelation", "Range", "Intersect", "Except"),
}
"""Operators that make the same rows each time. The rows below the window are read twice."""

_WHOLE = re.compile(r"TINYINT|SMALLINT|INT|BIGINT|DECIMAL\(.*\)")
"""Types whose sums are exact. Spark averages a BIGINT by a sum of DOUBLE."""

_INTEGRAL = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_MONTHS = ("INTERVAL YEAR", "INTERVAL MONTH", "INTERVAL YEAR TO MONTH")
_SHORT = re.compile(r"INTERVAL '-?(\d{1,9})(?:\.\d+)?' (HOUR|MINUTE|SECOND)", re.I)
_IN_A_DAY = {"HOUR": 24, "MINUTE": 1440, "SECOND": 86400}


def derive_frames(root: Node, places: Sequence[Node], shown: Mapping[int, str]) -> Frames | None:
    """The frames in which a changed row of a table is; ``None`` if it reaches other rows, too.

    Args:
        places: where the query reads the table.
        shown: the names of the view's columns that may be keys, by the query's columns.
    """
    windows = [each for each in root.walk() if each.op == "Window"]
    if len(windows) != 1:
        return None
    [window], [below] = windows, windows[0].children
    above, order = _above(root, window, shown), _order(window)
    if above is None or order is None or not window.partition_by or not _same_each_time(window):
        return None
    names = {_origin(below, each): name for each, name in reversed(above.items())}
    of = {each: _origin(below, each.id) for each in (*window.partition_by, order) if isinstance(each, Attr)}
    spec = [each for each, origin in of.items() if origin in names]
    if len(spec) <= len(window.partition_by) or not all(map(_followed, _functions(window))):
        return None
    values = [_values(below, place, spec) for place in places]
    known = tuple(each for each in values if each is not None)
    return Frames(tuple(names[of[each]] for each in spec), known) if len(known) == len(places) else None


# --- inside


def _above(node: Node, window: Node, shown: Mapping[int, str]) -> dict[int, str] | None:
    """The columns of the window that the view shows, with their names there; ``None`` if an operator above the window
    makes a row of several."""
    if node is window:
        return dict(shown)
    side = next((n for n, child in enumerate(node.children) if any(each is window for each in child.walk())), None)
    if side is None or not _is_deterministic(node):
        return None
    child = node.children[side]
    match node.op:
        case op if op in ROWWISE or op == "CTERelationRef":
            pairs = [(one.id, other.id) for one, other in zip(node.output, child.output, strict=True)]
        case "Project":
            pairs = [(each.attr.id, each.expr.id) for each in node.projections if isinstance(each.expr, Attr)]
        case "Filter":
            pairs = [(each.id, each.id) for each in child.output]
        case "Join" if side in SIDES.get(node.facts["type"].upper(), ()):
            pairs = [(each.id, each.id) for each in child.output]
        case _:
            return None
    return _above(child, window, {below: shown[own] for own, below in reversed(pairs) if own in shown})


def _origin(node: Node, column: int) -> int:
    """The column that another one renames. Example: a query shows ``d AS day``, and its window is ordered by ``d``."""
    while node.op == "Project":
        named = {each.attr.id: each.expr for each in node.projections}
        match named.get(column):
            case Attr(id=below, outer=False):
                [node], column = node.children, below
            case _:
                break
    return column


def _same_each_time(window: Node) -> bool:
    """Whether the window and all below it make the same rows each time."""
    return all(
        each.op in _BELOW and _is_deterministic(each) and not any(each.subqueries())
        for each in window.walk()
        if each is not window
    ) and _is_deterministic(window)


def _is_deterministic(node: Node) -> bool:
    every = (part for each in node.expressions() for part in parts(each))
    return all(each.deterministic for each in every if isinstance(each, Call))


def _order(window: Node) -> Expr | None:
    """The one column that a window is ordered by."""
    match window.others[: len(window.facts["order_by"])]:
        case [Call(call="SortOrder", args=(Attr() as column,))]:
            return column
    return None


def _functions(window: Node) -> Iterator[Expr]:
    return iter(window.others[len(window.facts["order_by"]) :])


def _followed(function: Expr) -> bool:
    """Whether the value of a window function is that of an aggregate over the rows between two values of one column, or
    up to or from one, in any order of these rows."""
    match function:
        case Call(call="WindowExpression", args=(Call(kind="aggregate", filter=None) as aggregate, Call(args=spec))):
            match spec[-2:]:
                case [Call(call="SortOrder", args=(Attr() as order,)), Call(call="SpecifiedWindowFrame") as frame]:
                    ends = [each for each in frame.args if not _is_open(each)]
                    moves = bool(ends) and all(_moves(order, each) for each in ends)
                    return moves and _is_exact(aggregate) and _is_range(frame)
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


def _is_range(frame: Call) -> bool:
    match json.loads(frame.beside or "[]"):
        case [{"of": kind}]:
            return str(kind).endswith(".RangeFrame$")
    return False


def _is_open(bound: Expr) -> bool:
    match bound:
        case Call(call="UnboundedPreceding$" | "UnboundedFollowing$"):
            return True
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


def _values(below: Node, place: Node, spec: Sequence[Attr]) -> tuple[str, ...] | None:
    """What a changed row in a place says of the rows below the window that come or go: SQL for each column. Of a place
    above the window nothing is known there."""
    facts = transfer(below, place).facts
    images = [resolve(each, facts) for each in spec]
    found = [
        f"CAST({image.sql} AS {plain(each.type)})"
        for image, each in zip(images, spec, strict=True)
        if isinstance(image, Image) and comparable(each.type)
    ]
    return tuple(found) if len(found) == len(spec) else None
