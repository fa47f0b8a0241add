"""The way of changed rows from a place where a query reads a table up to its lowest aggregate, or to its result.

Operators on it are *linear*, or they are *keyed*.

A linear operator makes of each row rows of its own: the result for the rows of a bag is the sum of the results for
each of them, whatever other places hold ([Adler20] ch. 2). Examples are a filter and an inner join.

A keyed one takes rows with the same key together. Example: in ``customers LEFT JOIN orders USING (customer)``, a
customer without orders has a row padded with NULL. When an order comes, this row goes. The rows of other customers
stay. So the rows of customers with a changed order are computed as they are now and as they were
(``ReachedRows.scala``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attrs import evolve

from headwater.algebra.derive.functions import unknown
from headwater.algebra.derive.image import comparable, type_of
from headwater.algebra.derive.query import Call, Expr, Node, attributes, parts
from headwater.algebra.derive.relation import otherwise, short, source
from headwater.algebra.derive.rules import ROWWISE
from headwater.algebra.derive.touched_rows import Pair, equalities
from headwater.model.dependency import Adding
from headwater.model.format import Format
from headwater.model.reason import Code, Reason

# Of a union, the rows of the other inputs are left out where changed rows stand in for a table (``Terms.scala``).
LINEAR = ROWWISE | {"CTERelationRef", "Project", "Filter", "Expand", "Generate", "Union"}
"""Operators of which each row of an input makes rows of its own."""

SIDES = {
    "INNER": (0, 1),
    "CROSS": (0, 1),
    "LEFT OUTER": (0,),
    "LEFT SEMI": (0,),
    "LEFT ANTI": (0,),
    "EXISTENCE": (0,),
    "RIGHT OUTER": (1,),
}
"""The sides in whose rows a join is linear."""

KEYED = {
    "LEFT OUTER": (1,),
    "LEFT SEMI": (1,),
    "LEFT ANTI": (1,),
    "EXISTENCE": (1,),
    "RIGHT OUTER": (0,),
    "FULL OUTER": (0, 1),
}
"""The sides that decide over rows of a join by the keys that it compares."""

_SETS = {"Distinct", "Intersect", "Except"}

_REPEATED = {"Join", "Aggregate", *_SETS, "Relation", "LocalRelation", "ResolvedInlineTable", "Range", "OneRowRelation"}
"""Operators, beside those of ``LINEAR``, that make the same rows each time."""


def followed(below: Node, table: str, copies: bool = False, keyed: bool = True) -> Adding:
    """Whether each place where a plan reads a table is one in which changed rows may stand.

    Args:
        copies: whether copies of rows do not matter.
        keyed: whether operators on the way may be keyed. Their rows may go though none of the table went.
    """
    places = [each for each in below.walk() if each.op == "Relation" and source(each) == table]
    hurdles = (_hurdle(below, each, copies, keyed) or _unfit(each) for each in places)
    why = next(filter(None, hurdles), None)
    return Adding(why) if why else Adding(None, bool(places))


def _unfit(relation: Node) -> Reason | None:
    """Why changed rows of a table cannot stand in its place; ``None`` if they can."""
    table = short(source(relation))
    if "aspect" in relation.facts:
        return otherwise(table)
    facts = relation.facts
    listed = facts.get("kind") == "file" and "table" in facts and not facts.get("partition_columns")
    if not (listed or Format.of(facts.get("kind", "")).tells_changes):
        return Reason(Code.SOURCE_NO_CHANGED_ROWS, f"{table} has a format without a record of changed rows")
    for each in relation.facts["columns"]:
        if each.get("metadata") or re.match(r"CHAR\b", each["type"], re.I):
            return Reason(Code.QUERY_HIDDEN_COLUMN, f"the query reads {each['name']} of {table}")
    return None


def _hurdle(node: Node, place: Node, copies: bool, keyed: bool) -> Reason | None:
    """The first operator, from the top, that does not let rows of a relation through; ``None`` if all do."""
    if node is place:
        return None
    table = short(source(place))
    if any(each is place for plan in node.subqueries() for each in plan.walk()):
        return Reason(Code.QUERY_SUBQUERY, f"a subquery reads {table}")
    if any(isinstance(each, Call) and not each.deterministic for each in _parts(node)):
        return Reason(Code.QUERY_NONDETERMINISTIC, "an expression has another value each time")
    side = next(i for i, child in enumerate(node.children) if any(each is place for each in child.walk()))
    # Rows that went are computed once more, to be subtracted: with the same rows beside them as when they came.
    beside = (*node.children[:side], *node.children[side + 1 :], *node.subqueries())
    if node.op != "Union" and (why := next(filter(None, map(_unlike, beside)), None)):
        return why
    match node.op:
        case op if op in LINEAR:
            pass
        case "Distinct" if copies and _are_comparable(node.output):
            pass
        case "Join" | "LateralJoin" if side in SIDES.get(_kind(node), ()) and (node.op == "Join" or side == 0):
            pass
        case _:
            if why := _keyless(node, side, table, keyed) or _unlike(node):
                return why
    return _hurdle(node.children[side], place, copies, keyed)


def _kind(join: Node) -> str:
    kind: str = join.facts.get("type", "").upper()
    return kind


def _keyless(node: Node, side: int, table: str, keyed: bool) -> Reason | None:
    """Why it is not known of which keys the rows of an operator change with one of its inputs; ``None`` if it is."""
    match node.op:
        case "Join" if keyed and side in KEYED.get(_kind(node), ()):
            if any(_ties(node, pair) for pair in (*equalities(node.condition), *_not_in(node))):
                return None
            return Reason(Code.QUERY_JOIN_TYPE, f"no equality ties {table} to the other side of a {_kind(node)} JOIN")
        case "Join" | "LateralJoin":
            depends = f"{table} is on a side of a {_kind(node)} JOIN whose rows depend on each other"
            return Reason(Code.QUERY_JOIN_TYPE, depends)
        case "Aggregate" if keyed and node.groupings:
            return None
        case op if keyed and op in _SETS:
            return None
        case op:
            return Reason(Code.QUERY_ROWS_TOGETHER, f"{op} takes several rows of {table} together")


def _not_in(join: Node) -> Iterator[Pair]:
    """The values that ``x NOT IN (SELECT y …)`` compares: it is an anti join on ``x = y OR (x = y) IS NULL``. NULL in a
    changed row decides over all rows, and a row with NULL depends on all changed ones (``ReachedRows.scala``)."""
    match join.condition:
        case Call(call="Or", args=(equal, Call(call="IsNull", args=(again,)))) if equal == again:
            yield from equalities(equal) if _kind(join) == "LEFT ANTI" else ()


def _ties(join: Node, pair: Iterable[Expr]) -> bool:
    """Whether the two expressions are over the two sides of a join."""
    sides = [{each.id for each in child.output} for child in join.children]
    used = [{each.id for each in attributes(expression)} for expression in pair]
    over = [[n for n, side in enumerate(sides) if ids and ids <= side] for ids in used]
    return sorted(over) == [[0], [1]]


def _unlike(keyed: Node) -> Reason | None:
    """Why an operator may make other rows when it is computed again; ``None`` if it makes the same ones, to the last
    digit. Rows as they were are subtracted from totals that have them."""
    for node in keyed.walk():
        if node.op not in LINEAR | _REPEATED:
            return Reason(Code.QUERY_ROWS_TOGETHER, f"{node.op} may make other rows when it is computed again")
        grouped = _grouped(node)
        if not _are_comparable(grouped):
            types = sorted({type_of(each) for each in grouped if not comparable(type_of(each))})
            return Reason(Code.QUERY_INEXACT_TYPE, f"rows are put together below its aggregate by a {types[0]}")
        for each in _parts(node):
            if isinstance(each, Call) and (not each.deterministic or (each.kind == "aggregate" and _is_inexact(each))):
                again = f"{each.name} may have another value when it is computed again"
                return Reason(Code.QUERY_NONDETERMINISTIC, again)
    return None


def _grouped(node: Node) -> tuple[Expr, ...]:
    """By which values an operator puts rows together. Of equal values that are spelled differently any may show."""
    if node.op == "Aggregate":
        return node.groupings
    return node.output if node.op in _SETS else ()


def _are_comparable(expressions: Iterable[Expr]) -> bool:
    return all(comparable(type_of(each)) for each in expressions)


def _is_inexact(call: Call) -> bool:
    return unknown(evolve(call, distinct=False), exact=False) is not None


def _parts(node: Node) -> Iterator[Expr]:
    return (part for each in node.expressions() for part in parts(each))
