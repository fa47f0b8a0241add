"""Derives which rows of a view a changed row of a source reaches through a window function.

A row of the window differs only if a row of its input came or went that it is made of, or that its functions look at.
What each such row has in ``PARTITION BY`` and ``ORDER BY`` is known from the changed row of the source
(``touched_rows``). Each row of the view is made of one row of the window at most, and shows these columns. So the rows
of the view that differ show the values of a changed row, or values that are near to these. What is near depends on the
functions: see ``frames``, ``neighbours`` and ``foremost``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.algebra.derive.foremost import foremost
from headwater.algebra.derive.frames import is_framed
from headwater.algebra.derive.image import Image, comparable, plain
from headwater.algebra.derive.neighbours import is_beside
from headwater.algebra.derive.query import Attr, Call, Node, parts
from headwater.algebra.derive.resolve import resolve
from headwater.algebra.derive.rules import ROWWISE, transfer
from headwater.algebra.derive.way import SIDES
from headwater.model.dependency import Foremost, Frames, Neighbours, Through

_BELOW = ROWWISE | {
    *("CTERelationRef", "Project", "Filter", "Join", "Union", "Aggregate", "Distinct", "Expand", "Generate"),
    *("Relation", "LocalRelation", "ResolvedInlineTable", "OneRowRelation", "Range", "Intersect", "Except"),
}
"""Operators that make the same rows each time. The rows below the window are read twice."""


def derive_window(root: Node, places: Sequence[Node], shown: Mapping[int, str]) -> Through | None:
    """Which rows a changed row of a table reaches through a window; ``None`` if it reaches its whole partition, or
    other rows, too.

    Args:
        places: where the query reads the table.
        shown: the names of the view's columns that may be keys, by the query's columns.
    """
    windows = [each for each in root.walk() if each.op == "Window"]
    if len(windows) != 1:
        return None
    [window], [below] = windows, windows[0].children
    above = _above(root, window, shown)
    if above is None or not window.partition_by or not _same_each_time(window):
        return None
    names = {_origin(below, each): name for each, name in reversed(above.items())}
    spec = [each for each in (*window.partition_by, *_order(window)) if isinstance(each, Attr)]
    columns = tuple(names.get(_origin(below, each.id), "") for each in spec)
    grouped, several = len(window.partition_by), len(window.facts["order_by"])
    if not all(columns) or len({*columns}) < grouped + several or not several:
        return None
    values = [_values(below, place, spec) for place in places]
    known = tuple(each for each in values if each is not None)
    if len(known) < len(places):
        return None
    functions = window.others[several:]
    if several == 1 and all(map(is_framed, functions)):
        return Frames(columns, known)
    if all(map(is_beside, functions)):
        return Neighbours(columns, known, grouped)
    most = foremost(root, window)
    return None if most is None else Foremost(columns, known, grouped, most)


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


def _order(window: Node) -> list[Attr]:
    """Those of the columns that a window is ordered by that are no expressions."""
    return [
        each.args[0]
        for each in window.others[: len(window.facts["order_by"])]
        if isinstance(each, Call) and isinstance(each.args[0], Attr)
    ]


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
