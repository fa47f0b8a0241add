"""Derives whether the totals of a query can follow changed rows of a source.

Example: ``SELECT customer, sum(price) FROM sales GROUP BY customer``. Its *totals* are, for each customer, the number
of rows, the sum of the prices and the count of those that are not NULL. The totals of rows that came are added to
them, those of rows that went are subtracted.

An aggregate with ``count(DISTINCT item)`` has these for each customer and item. How many items a customer has is the
number of such totals then.

A query without an aggregate, such as ``SELECT * FROM sales WHERE price > 0``, has no totals. Rows that came are rows of
the view, if each operator is linear.

The totals are those of the lowest aggregate above which each operator has one input. Below it, a source may be read in
several places. Each operator on the way to one of them must be linear in its rows: the result for the rows of a bag is
the sum of the results for each of them, whatever other places hold ([Adler20] ch. 2). All above the aggregate is
computed from the totals anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve

from headwater.algebra.derive.image import comparable, plain, type_of
from headwater.algebra.derive.query import Call, Expr, Node, Reader, parts
from headwater.algebra.derive.relation import otherwise, relations_of, short, source
from headwater.algebra.derive.rules import ROWWISE
from headwater.model.dependency import Adding
from headwater.model.format import Format
from headwater.model.reason import Code, Reason

# Of a union, the rows of the other inputs are left out where changed rows stand in for a table (``Totals.scala``).
LINEAR = ROWWISE | {"CTERelationRef", "Project", "Filter", "Expand", "Generate", "Union"}
"""Operators of which each row of an input makes rows of its own."""

SIDES = {
    "INNER": (0, 1),
    "CROSS": (0, 1),
    "LEFT OUTER": (0,),
    "LEFT SEMI": (0,),
    "LEFT ANTI": (0,),
    "RIGHT OUTER": (1,),
}
"""The sides in whose rows a join is linear."""

_SUMMED = re.compile(r"TINYINT|SMALLINT|INT|BIGINT|DECIMAL\(.*\)", re.I)
_AVERAGED = re.compile(r"TINYINT|SMALLINT|INT|DECIMAL\(.*\)", re.I)
"""Types whose averages Spark computes from an exact sum."""

_WIDE = re.compile(r"DECIMAL\((29|3\d),.*\)", re.I)
"""Types of which ten values may have a sum of more than 38 digits."""

_WITH_COPIES = ("Min", "Max", "BoolAnd", "BoolOr")
"""Aggregates that have the same result with copies of rows."""

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


def derive_totals(description: Mapping[str, Any]) -> dict[str, Adding]:
    """For each table that a query reads, whether the totals can follow its changed rows.

    Args:
        description: the analysed query, as ``PlanJson.analysed`` writes it, parsed.
    """
    root = Reader(description).root
    sources = relations_of(root)
    aggregate = _lowest(root)
    if aggregate is None:
        return {table: evolve(_followed(root, table), rows=True) for table in sources}
    if why := _without(aggregate):
        return {table: Adding(why) for table in sources}
    if _is_of_sets(aggregate):
        below = Node("Union", aggregate.output, tuple(_sides(aggregate)), {})
        return {table: _followed(below, table, copies=True) for table in sources}
    [below] = aggregate.children
    return {table: _followed(below, table, _ignores_copies(aggregate)) for table in sources}


def _lowest(root: Node) -> Node | None:
    """The lowest aggregate above which each operator has one input. ``Totals.scala`` finds the same one."""
    found, node = None, root
    while True:
        if node.op in ("Aggregate", "Distinct") or _is_of_sets(node):
            found = node
        if len(node.children) != 1:
            return found
        [node] = node.children


def _is_of_sets(node: Node) -> bool:
    """Whether a node is ``INTERSECT`` or ``EXCEPT``, which leave out copies. Each is an aggregate: which of its inputs
    have a row tells whether the row is there. ``SetOperations.scala`` rewrites it so."""
    return node.op in ("Intersect", "Except") and not node.facts["facts"][0]


def _sides(node: Node) -> Iterator[Node]:
    """What set operations compare, also that of operations in them."""
    match node:
        case Node(op="Distinct", children=(Node(op="Union") as union,)):
            yield from (side for each in union.children for side in _sides(each))
        case _ if _is_of_sets(node):
            yield from (side for each in node.children for side in _sides(each))
        case _:
            yield node


# --- the aggregate


def _without(aggregate: Node) -> Reason | None:
    """Why an aggregate has no totals; ``None`` if it has."""
    keys: tuple[Expr, ...] = aggregate.groupings if aggregate.op == "Aggregate" else aggregate.output
    for key in keys:
        if not comparable(type_of(key)):
            return Reason(Code.QUERY_INEXACT_TYPE, f"it groups by a {type_of(key)}")
    for each in _parts(aggregate):
        match each:
            case Call(plan=Node()):
                return Reason(Code.QUERY_SUBQUERY, "its aggregate has a subquery")
            case Call(deterministic=False):
                return Reason(Code.QUERY_NONDETERMINISTIC, f"{each.name} has another value each time")
            case Call(kind="aggregate"):
                if why := _unknown(each):
                    return why
            case Call(kind="window" | "function"):
                code = Code.QUERY_WINDOW if each.kind == "window" else Code.QUERY_FUNCTION
                return Reason(code, f"its aggregate is computed with {each.name}")
    return _overflow(aggregate)


def _overflow(aggregate: Node) -> Reason | None:
    """Why totals by value have no sum where the group has one: those of two values may be too large, and of other
    signs."""
    functions = [each for each in _parts(aggregate) if isinstance(each, Call) and each.kind == "aggregate"]
    if any(each.distinct and each.call not in _WITH_COPIES for each in functions):
        for each in functions:
            if each.call in ("Sum", "Average") and not each.distinct and _WIDE.fullmatch(plain(type_of(each.args[0]))):
                why = f"the sum of a {plain(type_of(each.args[0]))} may be too large for one value of a DISTINCT"
                return Reason(Code.QUERY_INEXACT_TYPE, why)
    return None


def _ignores_copies(aggregate: Node) -> bool:
    """Whether copies of a row below an aggregate do not matter to it. So a ``Distinct`` below it does not either:
    ``a UNION b UNION c`` has the rows of ``a UNION ALL b UNION ALL c``, each once (``CopiesOfRows.scala``)."""
    functions = [each for each in _parts(aggregate) if isinstance(each, Call) and each.kind == "aggregate"]
    return all(each.distinct or each.call in _WITH_COPIES for each in functions)


def _parts(node: Node) -> Iterator[Expr]:
    return (part for each in node.expressions() for part in parts(each))


def _unknown(call: Call) -> Reason | None:
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


# --- the way from a source to the aggregate, or to the view


def _followed(below: Node, table: str, copies: bool = False) -> Adding:
    """Whether each place where a plan reads a table is one in which changed rows may stand; ``copies``: whether copies
    of rows do not matter."""
    places = [each for each in below.walk() if each.op == "Relation" and source(each) == table]
    hurdles = (_hurdle(below, each, copies) or _unfit(each) for each in places)
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


def _hurdle(node: Node, place: Node, copies: bool) -> Reason | None:
    """The first operator, from the top, that is not linear in the rows of a relation; ``None`` if all are."""
    if node is place:
        return None
    table = short(source(place))
    if any(each is place for plan in node.subqueries() for each in plan.walk()):
        return Reason(Code.QUERY_SUBQUERY, f"a subquery reads {table}")
    if any(isinstance(each, Call) and not each.deterministic for each in _parts(node)):
        return Reason(Code.QUERY_NONDETERMINISTIC, "an expression has another value each time")
    side = next(i for i, child in enumerate(node.children) if any(each is place for each in child.walk()))
    match node.op:
        case op if op in LINEAR:
            pass
        case "Distinct" if copies and all(comparable(type_of(each)) for each in node.output):
            pass
        case "Join" | "LateralJoin":
            kind = node.facts.get("type", "").upper()
            if side not in SIDES.get(kind, ()) or (node.op == "LateralJoin" and side):
                depends = f"{table} is on a side of a {kind} JOIN whose rows depend on each other"
                return Reason(Code.QUERY_JOIN_TYPE, depends)
        case op:
            return Reason(Code.QUERY_ROWS_TOGETHER, f"{op} takes several rows of {table} together")
    return _hurdle(node.children[side], place, copies)
