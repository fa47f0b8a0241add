"""Joins: where an equality carries a partition map from one table to another's columns.

Write ``inner`` for what is known of matching pairs: the facts of both sides and the condition's
equalities. With the source on one side, a pair (l, r) in delta contains one of its changed rows.
"""

from __future__ import annotations

from attrs import evolve

from headwater.algebra.derive.query import Attr, Call, Expr, Node
from headwater.algebra.derive.resolve import resolve
from headwater.algebra.derive.touched_rows import Delta, Lost, equalities
from headwater.model.reason import Code, Reason


def join(node: Node, left: Delta, right: Delta) -> Delta:
    """See the function of each kind of join."""
    both = Delta(facts={**left.facts, **right.facts}, same=(*left.same, *right.same), lost={**left.lost, **right.lost})
    inner = both.where(node.condition)
    if left.changed and right.changed:  # a subquery in the condition: it decides over pairs
        return inner if node.facts["type"] in ("INNER", "CROSS") else _unknown(node, both)
    match node.facts["type"]:
        case "INNER" | "CROSS":
            return inner
        case "LEFT OUTER":
            return _outer(node, left, right, inner, preserved=0)
        case "RIGHT OUTER":
            return _outer(node, right, left, inner, preserved=1)
        case "FULL OUTER":
            return _full(node, both, inner)
        case "LEFT SEMI":
            return inner.only(_ids(node, 0))
        case "LEFT ANTI":
            return _anti(node, left, inner)
    return _unknown(node, both)


def lateral(node: Node, left: Delta, right: Delta) -> Delta:
    """A join whose right side is evaluated for each left row: that row is its outer row."""
    return join(node, left, right.inside())


def _outer(node: Node, kept: Delta, nulled: Delta, inner: Delta, preserved: int) -> Delta:
    """The preserved side's rows all appear, with nulls where nothing matches.

    Source on the preserved side: a changed row appears with its own columns, matched or not, so
    its side's facts hold; the condition's equalities do not, since it may be unmatched.

    Source on the nullable side: a preserved row l is affected only if it matches a changed row
    (which replaces (l, null), or is replaced by it). So ``inner`` holds as far as it speaks of
    l's columns only; the other side's may be null in one of the two results.
    """
    ids = _ids(node, preserved)
    facts = inner.only(ids).facts if nulled.changed else kept.facts
    kind = node.facts["type"]
    blocked = inner.blocked(facts, _null(kind))
    return evolve(inner, facts=facts, same=kept.same, lost={**inner.lost, **blocked})


def _anti(node: Node, left: Delta, inner: Delta) -> Delta:
    """Left rows without a match. A changed left row brings its own facts, but no equality.

    A changed right row decides over the left rows that it matches; ``inner`` holds on those.
    """
    if left.changed:
        return evolve(left, lost=inner.lost)
    return evolve(inner.only(_ids(node, 0)), same=left.same)


def _full(node: Node, both: Delta, inner: Delta) -> Delta:
    """Both sides are preserved and both can be null; only ``coalesce(x, y)`` over x = y is known.

    With x the source's, x = g: a pair has x = y = g; a changed row alone has x = g, y null; a row
    that it matches, alone before or after, has x null, y = g. If g is null nothing matches, and
    coalesce(null, null) is null too. (This is what ``FULL JOIN … USING (x)`` selects.)
    """
    facts = dict(both.outer())
    for one, other in equalities(node.condition):
        if isinstance(one, Attr) and isinstance(other, Attr) and _across(node, one, other):
            image = resolve(one, both.facts) or resolve(other, both.facts)
            if image is not None:
                facts[_coalesce(one, other)] = facts[_coalesce(other, one)] = image
    lost = inner.blocked(facts, _null("FULL OUTER"))
    return evolve(both, facts=facts, same=(), lost={**both.lost, **lost})


def _null(kind: str) -> Lost:
    return Lost("", Reason(Code.QUERY_OUTER_JOIN, f"which is NULL where the {kind} JOIN finds no match"))


def _coalesce(one: Expr, other: Expr) -> Call:
    return Call("Coalesce", "coalesce(`$0`, `$1`)", (one, other), one.type, "coalesce")


def _across(node: Node, one: Attr, other: Attr) -> bool:
    left, right = _ids(node, 0), _ids(node, 1)
    return (one.id in left and other.id in right) or (one.id in right and other.id in left)


def _unknown(node: Node, both: Delta) -> Delta:
    why = Reason(Code.QUERY_JOIN_TYPE, f"and no map is derived through a {node.facts['type']} JOIN")
    return evolve(both.keys((), why), same=())


def _ids(node: Node, child: int) -> frozenset[int]:
    return frozenset(each.id for each in node.children[child].output)
