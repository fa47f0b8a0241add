"""Derives whether the totals of a query can follow changed rows of a source.

Example: ``SELECT customer, sum(price) FROM sales GROUP BY customer``. Its *totals* are, for each customer, the number
of rows, the sum of the prices and the count of those that are not NULL. The totals of rows that came are added to
them, those of rows that went are subtracted.

A query without an aggregate, such as ``SELECT * FROM sales WHERE price > 0``, has no totals. Rows that came are rows of
the view, if each operator is linear.

The totals are those of the lowest aggregate above which each operator has one input. Below it, a source may be read in
one place, and each operator on the way must be linear in its rows: the result for the rows of a bag is the sum of the
results for each of them, whatever other tables hold ([Adler20] ch. 2). All above the aggregate is computed from the
totals anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve

from headwater.algebra.derive.image import COMPARABLE, exact, plain, type_of
from headwater.algebra.derive.query import Call, Expr, Node, Reader, parts
from headwater.algebra.derive.relation import short, source
from headwater.algebra.derive.rules import ROWWISE
from headwater.model.dependency import Adding
from headwater.model.format import Format

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

_NAMES = {"Sum": ("sum",), "Average": ("avg", "mean"), "Count": ("count",), "Min": ("min",), "Max": ("max",)}
"""The aggregates that have totals; others have the same class and another name, such as ``try_sum``."""


def derive_totals(description: Mapping[str, Any]) -> dict[str, Adding]:
    """For each table that a query reads, whether the totals can follow its changed rows.

    Args:
        description: the analysed query, as ``PlanJson.analysed`` writes it, parsed.
    """
    root = Reader(description).root
    sources = dict.fromkeys(source(each) for each in root.walk() if each.op == "Relation")
    aggregate = _lowest(root)
    if aggregate is None:
        return {table: evolve(_followed(root, table), rows=True) for table in sources}
    if why := _without(aggregate):
        return {table: Adding(reason=why) for table in sources}
    [below] = aggregate.children
    return {table: _followed(below, table) for table in sources}


def _lowest(root: Node) -> Node | None:
    """The lowest aggregate above which each operator has one input. ``Totals.scala`` finds the same one."""
    found, node = None, root
    while len(node.children) == 1:
        if node.op in ("Aggregate", "Distinct"):
            found = node
        [node] = node.children
    return found


# --- the aggregate


def _without(aggregate: Node) -> str:
    """Why an aggregate has no totals; empty if it has."""
    if aggregate.op == "Distinct":
        keys: tuple[Expr, ...] = aggregate.children[0].output
    else:
        keys = aggregate.groupings
    for key in keys:
        if not _comparable(key):
            return f"it groups by a {type_of(key)}"
    for each in _parts(aggregate):
        match each:
            case Call(plan=Node()):
                return "its aggregate has a subquery"
            case Call(deterministic=False):
                return f"{each.name} has another value each time"
            case Call(kind="aggregate"):
                if why := _unknown(each):
                    return why
            case Call(kind="window" | "function"):
                return f"its aggregate is computed with {each.name}"
    return ""


def _parts(node: Node) -> Iterator[Expr]:
    return (part for each in node.expressions() for part in parts(each))


def _comparable(expression: Expr) -> bool:
    type = type_of(expression)
    return exact(type) and bool(COMPARABLE.fullmatch(plain(type)))


def _unknown(call: Call) -> str:
    """Why an aggregate function cannot follow changes; empty if it can."""
    if call.name not in _NAMES.get(call.call, ()):
        return f"{call.name} is computed from all rows of a group"
    if call.distinct:
        return f"{call.name}(DISTINCT …) is computed from all rows of a group"
    types = [plain(type_of(each)) for each in call.args]
    match call.call:
        case "Sum" if not _SUMMED.fullmatch(types[0]):
            return f"the sum of a {types[0]} depends on the order of the rows"
        case "Average" if not _AVERAGED.fullmatch(types[0]):
            return f"the average of a {types[0]} depends on the order of the rows"
        case "Min" | "Max" if not _comparable(call.args[0]):
            return f"values of a {types[0]} may be equal and spelled differently"
    return ""


# --- the way from a source to the aggregate, or to the view


def _followed(below: Node, table: str) -> Adding:
    places = [each for each in below.walk() if each.op == "Relation" and source(each) == table]
    if len(places) > 1:
        return Adding(reason=f"it reads {short(table)} in {len(places)} places")
    why = _hurdle(below, places[0]) or _unfit(places[0]) if places else ""
    return Adding(reason=why) if why else Adding(True, bool(places))


def _unfit(relation: Node) -> str:
    """Why changed rows of a table cannot stand in its place."""
    table = short(source(relation))
    if "aspect" in relation.facts:
        return f"the query reads {table} otherwise than as it is"
    facts = relation.facts
    listed = facts.get("kind") == "file" and "table" in facts and not facts.get("partition_columns")
    if not (listed or Format.of(facts.get("kind", "")).tells_changes):
        return f"{table} has a format without a record of changed rows"
    for each in relation.facts["columns"]:
        if each.get("metadata") or re.match(r"CHAR\b", each["type"], re.I):
            return f"the query reads {each['name']} of {table}"
    return ""


def _hurdle(node: Node, place: Node) -> str:
    """The first operator, from the top, that is not linear in the rows of a relation; empty if all are."""
    if node is place:
        return ""
    table = short(source(place))
    if any(each is place for plan in node.subqueries() for each in plan.walk()):
        return f"a subquery reads {table}"
    if any(isinstance(each, Call) and not each.deterministic for each in _parts(node)):
        return "an expression has another value each time"
    side = next(i for i, child in enumerate(node.children) if any(each is place for each in child.walk()))
    match node.op:
        case op if op in LINEAR:
            pass
        case "Join" | "LateralJoin":
            kind = node.facts.get("type", "").upper()
            if side not in SIDES.get(kind, ()) or (node.op == "LateralJoin" and side):
                return f"{table} is on a side of a {kind} JOIN whose rows depend on each other"
        case op:
            return f"{op} takes several rows of {table} together"
    return _hurdle(node.children[side], place)
