"""Which queries have the first rows of each partition of a window, and no others.

Example: ``row_number() OVER (PARTITION BY symbol ORDER BY price DESC)``, and above it ``place <= 3``. A row that comes
or goes after the third one of its symbol changes nothing.

Let a view have at least *k* rows of a partition, and let *t* be the last place of these. At least *k* rows of the
partition are then no later than *t*, so each row after *t* has a rank above *k*: it is not in the view, and rows before
it do not depend on it. If no row at *t* or before it came or went, the view has the same rows of the partition.
"""

from __future__ import annotations

import re

from headwater.algebra.derive.query import Attr, Call, Expr, Lit, Node
from headwater.algebra.derive.rules import ROWWISE
from headwater.algebra.derive.touched_rows import conjuncts

_RANKS = ("RowNumber", "Rank")
"""Functions that are above *k* for all rows but the first *k* and those that share their place."""

_BEFORE = (*_RANKS, "DenseRank")
"""Functions whose value does not depend on rows after a row."""

_NUMBER = re.compile(r"-?\d+")
"""A literal that is no NULL."""


def foremost(root: Node, window: Node) -> int | None:
    """So many rows of each partition of a window a query has at most, but for equal ones; ``None`` if it may have
    others, or if rows are not told apart."""
    ids = [each["id"] for each in window.facts["windows"]]
    functions = dict(zip(ids, window.others[len(window.facts["order_by"]) :], strict=True))
    if not all(_is(each, _BEFORE) for each in functions.values()):
        return None
    known = {id for id, each in functions.items() if _is(each, _RANKS)}
    found = _limits(root, window, known)
    most = min(found[1], default=0) if found is not None else 0
    return most if most > 0 else None


def _is(function: Expr, names: tuple[str, ...]) -> bool:
    match function:
        case Call(call="WindowExpression", args=(Call(call=name), *_)):
            return name in names
    return False


def _limits(node: Node, window: Node, ranks: set[int]) -> tuple[set[int], list[int]] | None:
    """The columns that are ranks, and what conditions say of them; ``None`` if a node may make several rows of one."""
    if node is window:
        return ranks, []
    if len(node.children) != 1:
        return None
    [child] = node.children
    below = _limits(child, window, ranks)
    if below is None:
        return None
    known, limits = below
    match node.op:
        case op if op in ROWWISE or op == "CTERelationRef":
            return {one.id for one, other in zip(node.output, child.output, strict=True) if other.id in known}, limits
        case "Project":
            return {n.attr.id for n in node.projections if isinstance(n.expr, Attr) and n.expr.id in known}, limits
        case "Filter":
            return known, [*limits, *(most for each in conjuncts(node.condition) for most in _said(each, known))]
    return None


def _said(condition: Expr, ranks: set[int]) -> list[int]:
    """What a condition says of a rank: the greatest value that it may have."""
    match condition:
        case Call(call=call, args=(Attr(id=id), Lit(sql=sql, type="INT"))) if id in ranks and _NUMBER.fullmatch(sql):
            known = {"LessThanOrEqual": int(sql), "LessThan": int(sql) - 1, "EqualTo": int(sql)}
            return [known[call]] if call in known else []
    return []
