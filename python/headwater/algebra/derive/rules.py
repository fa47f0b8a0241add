"""What each operator does to a ``Delta``: one function per operator, with its soundness argument."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from headwater.algebra.derive.image import exact, type_of
from headwater.algebra.derive.query import Attr, Call, Expr, Named, Node
from headwater.algebra.derive.relation import leaf
from headwater.algebra.derive.resolve import Facts, Known, resolve
from headwater.algebra.derive.touched_rows import OF_A_WINDOW, Delta, Lost, conjuncts, equalities
from headwater.model.reason import Code, Reason

ROWWISE = {
    *("SubqueryAlias", "View", "Sort", "WithCTE", "ResolvedHint", "LimitAll", "PipeOperator"),
    *("Repartition", "RepartitionByExpression", "RebalancePartitions"),
}
"""Operators whose result has their child's rows, each unchanged."""


def transfer(node: Node, target: Node) -> Delta:
    """The ``Delta`` of ``node``'s result when the relation ``target`` changes in one partition."""
    if node.op == "Relation":
        return leaf(node, node is target)
    below = [transfer(each, target) for each in node.children]
    inside = [delta for each in node.subqueries() if (delta := transfer(each, target)).changed]
    if inside and below:
        below = [_touched(each, inside[0]) for each in below]
    result = _apply(node, below, target)
    changed = bool(inside) or any(each.changed for each in below)
    # Of an unchanged input delta is empty, where any fact is true and none may be used above.
    return evolve(result, changed=changed, facts=result.facts if changed else {})


def _touched(below: Delta, inside: Delta) -> Delta:
    """The source is read in a subquery of this operator's expressions.

    The operator changes only for input rows for which the subquery's result changes; facts about
    the outer row hold on those. The input itself is the same as before.
    """
    facts = evolve(inside, facts=inside.outer()).inside().facts
    why = Reason(Code.QUERY_SUBQUERY, "and a subquery on {source} decides over its rows")
    lost = {each: Lost(one.origin, why) for each, one in below.lost.items()}
    return evolve(below, facts=facts, lost=lost, changed=True)


def _apply(node: Node, below: list[Delta], target: Node) -> Delta:
    match node.op, below:
        case op, [child] if op in ROWWISE:
            return _positional(node, 0, child)
        case "CTERelationRef", [child]:
            return _positional(node, 0, child)
        case "Project", [child]:
            return child.project(node.projections)
        case "Filter", [child]:
            return _filter(node, child, target)
        case "Aggregate", [child]:
            return _aggregate(node, child)
        case "Distinct", [child]:
            return child.grouped()
        case "Window", [child]:
            return _window(node, child)
        case "Expand", [child]:
            return _expand(node, child)
        case "Generate", [child]:
            return _generate(node, child)
        case "Union" | "Intersect" | "Except", _:
            return _set_operation(node, below)
        case "Join", [left, right]:
            return join(node, left, right)
        case "LateralJoin", [left, right]:
            return join(node, left, right.inside())  # evaluated for each left row, which is its outer row
        case "LocalRelation" | "ResolvedInlineTable" | "OneRowRelation" | "Range", []:
            return Delta(lost=_new(node, Reason(Code.QUERY_CONSTANT, "a value that the query itself states")))
    return _whole(node, below)


def _positional(node: Node, child: int, below: Delta) -> Delta:
    """The child's columns under other ids, column by column."""
    columns = node.children[child].output
    if columns == node.output:
        return below
    return below.project([Named(*pair) for pair in zip(node.output, columns, strict=False)])


def _filter(node: Node, child: Delta, target: Node) -> Delta:
    """Rows that pass satisfy the condition. Its equalities hold on them.

    ``x IN (SELECT y FROM source)`` as a conjunct is a semi-join: a row's fate changes only if a
    changed row has y = x. (Not so ``NOT IN``, where one null y decides over every row.)
    """
    facts: dict[Expr, Known] = dict(child.facts)
    for each in conjuncts(node.condition):
        match each:
            case Call(call="InSubquery", args=(*values, Call(plan=Node() as plan))):
                within = transfer(plan, target)
                for value, column in zip(values, plan.output, strict=False):
                    image = within.facts.get(column) if within.changed else None
                    if image and type_of(value) == type_of(column) and exact(type_of(value)):
                        facts[value] = image
    return evolve(child, facts=facts).where(node.condition)


def _aggregate(node: Node, child: Delta) -> Delta:
    """A group changes only if a row of it does, and then its keys are that row's.

    So only what follows from the grouping keys is known. Equalities between keys survive; keys
    of inexact types are dropped, since a group shows one of several equal spellings.

    Without keys there is one row, even where the child has none to vouch for an equality. No
    equality survives, also none that speaks of the outer row only. A fact about the outer row
    does: the row changes only if some row of the child does, and the fact holds there.
    """
    grouping = {each.id for each in node.groupings if isinstance(each, Attr)}
    why = Reason(Code.QUERY_AGGREGATE_WITHOUT_GROUP, "and an aggregate does not group by it")
    keyed = child.keys(node.groupings, why).grouped()
    same = keyed.only(grouping).same if node.groupings else ()
    return evolve(keyed, same=same).project(node.projections)


def _window(node: Node, child: Delta) -> Delta:
    """A row's window values depend on the rows with equal partition keys only.

    So a changed row reaches those that share its keys, and only what follows from the keys is
    known of them. With no PARTITION BY, nothing is.
    """
    why = "and a window function above it is not partitioned by it"
    result = child.keys(node.partition_by, Reason(Code.QUERY_WINDOW_WITHOUT_PARTITION, why))
    return evolve(result, lost={**result.lost, **_new(node, OF_A_WINDOW)})


def _expand(node: Node, child: Delta) -> Delta:
    """Each row becomes one per grouping set. A column is known if all of them compute it alike."""
    alike, nulled = [], {}
    for position, attribute in enumerate(node.output):
        versions = {row[position] for row in node.expansions}
        if len(versions) == 1:
            alike.append(Named(attribute, versions.pop()))
        else:
            why = "which GROUPING SETS, ROLLUP or CUBE replaces by NULL in some rows"
            nulled[attribute.id] = Lost(attribute.name, Reason(Code.QUERY_GROUPING_SETS, why))
    result = child.project(alike)
    return evolve(result, lost={**result.lost, **nulled})


def _generate(node: Node, child: Delta) -> Delta:
    """Each row becomes several that keep its columns."""
    result = child.only({each.id for each in node.output})
    return evolve(result, lost={**result.lost, **_new(node, Reason(Code.QUERY_GENERATED, "a generated row"))})


def _set_operation(node: Node, below: Sequence[Delta]) -> Delta:
    """How often a row occurs depends on how often it occurs on each side, by position.

    So a row that changes in the result changes in the side that reads the source. Equalities that
    hold in one branch need not hold in another and are dropped.
    """
    side = next((i for i, each in enumerate(below) if each.changed), 0)
    delta = below[side] if node.op == "Union" else below[side].grouped()
    return evolve(_positional(node, side, delta), same=())


def _whole(node: Node, below: Sequence[Delta]) -> Delta:
    """An operator with no rule, or one like LIMIT where any row decides over any other."""
    depends = f"and {_NAMES.get(node.op, node.op)} above it can make any row depend on any other"
    why = Reason(Code.QUERY_ROWS_TOGETHER, depends)
    facts: Facts = {key: image for each in below for key, image in each.outer().items()}
    lost: dict[int, Lost] = {}
    for each in below:
        lost = {**lost, **each.lost, **each.blocked({}, Lost("", why))}
    return Delta(facts=facts, lost={**_new(node, why), **lost})


_NAMES = {
    "GlobalLimit": "LIMIT",
    "LocalLimit": "LIMIT",
    "Offset": "OFFSET",
    "Tail": "TAIL",
    "Sample": "TABLESAMPLE",
    "CTERelationRef": "a recursive query",
    "UnionLoop": "a recursive query",
    "UnionLoopRef": "a recursive query",
}


def _new(node: Node, why: Reason) -> dict[int, Lost]:
    """The columns that the operator adds to its children's."""
    known = {each for child in node.children for each in child.output}
    return {each.id: Lost(each.name, why) for each in node.output if each not in known}


def join(node: Node, left: Delta, right: Delta) -> Delta:
    """Where an equality carries a partition map from one table to another's columns: see the function of each kind.

    Write ``inner`` for what is known of matching pairs: the facts of both sides and the condition's
    equalities. With the source on one side, a pair (l, r) in delta contains one of its changed rows.
    """
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
