"""Derives whether the totals of a query can follow changed rows of a source.

Example: ``SELECT customer, sum(price) FROM sales GROUP BY customer``. Its *totals* are, for each customer, the number
of rows, the sum of the prices and the count of those that are not NULL. The totals of rows that came are added to
them, those of rows that went are subtracted.

An aggregate with ``count(DISTINCT item)`` has these for each customer and item. How many items a customer has is the
number of such totals then.

A query without an aggregate, such as ``SELECT * FROM sales WHERE price > 0``, has no totals. Its rows are a bag, to
which rows come and from which they go. If each operator on the way is linear, rows that came take none away.

The totals are those of the lowest aggregate above which each operator has one input. Below it, a source may be read in
several places. Changed rows go from each of these up to the aggregate (``way.py``). All above the aggregate is computed
from the totals anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve

from headwater.algebra.derive.functions import unknown
from headwater.algebra.derive.image import comparable, plain, type_of
from headwater.algebra.derive.query import Call, Expr, Node, Reader, parts
from headwater.algebra.derive.relation import relations_of
from headwater.algebra.derive.way import followed
from headwater.model.dependency import Adding
from headwater.model.reason import Code, Reason

_WIDE = re.compile(r"DECIMAL\((29|3\d),.*\)", re.I)
"""Types of which ten values may have a sum of more than 38 digits."""

_WITH_COPIES = ("Min", "Max", "BoolAnd", "BoolOr")
"""Aggregates that have the same result with copies of rows."""


def derive_totals(
    description: Mapping[str, Any], joined: Mapping[str, Any] | None = None, exact: bool = False
) -> dict[str, Adding]:
    """For each table that a query reads, whether the totals can follow its changed rows.

    Args:
        description: the analysed query, as ``PlanJson.analysed`` writes it, parsed.
        joined: what its lowest aggregate takes, or the query if it has no aggregate, with joins in place of subqueries;
            none if it has no subquery.
        exact: whether the view asks for exact sums of floating-point numbers.
    """
    root = Reader(description).root
    sources = relations_of(root)
    aggregate = _lowest(root)
    if aggregate is None:
        found = _followed(root, joined, sources)
        # Rows may go, too, where an operator takes several rows of a table together.
        linear = {table: followed(root, table, keyed=False).possible for table in sources}
        return {
            table: evolve(each, rows=True, takes=each.possible and not linear[table]) for table, each in found.items()
        }
    if why := _without(aggregate, exact):
        return {table: Adding(why) for table in sources}
    return _followed(_below(aggregate), joined, sources, _is_of_sets(aggregate) or _ignores_copies(aggregate))


def _followed(
    below: Node, joined: Mapping[str, Any] | None, sources: Iterable[str], copies: bool = False
) -> dict[str, Adding]:
    """For each table, whether its changed rows may stand in all its places of a plan, or of the same with joins."""
    found = {table: followed(below, table, copies) for table in sources}
    if joined is None:
        return found
    # Several tables may change at once. If a subquery reads one of them, all go through its joins.
    beside = Reader(joined).root
    through = {table: followed(beside, table, copies) for table in sources}
    if any(found[each].possible and not through[each].possible for each in sources):
        return found
    within = {table for table, each in found.items() if each.reason and each.reason.code is Code.QUERY_SUBQUERY}
    return {table: through[table] if table in within else found[table] for table in sources}


def _below(aggregate: Node) -> Node:
    """What an aggregate takes."""
    if _is_of_sets(aggregate):
        return Node("Union", aggregate.output, tuple(_sides(aggregate)), {})
    [below] = aggregate.children
    return below


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


def _without(aggregate: Node, exact: bool) -> Reason | None:
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
                if why := unknown(each, exact):
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
