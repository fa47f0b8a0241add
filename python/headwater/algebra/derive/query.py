"""An analysed query as frozen values, read from the JSON that ``PlanJson`` writes.

The JSON::

    {"columns":    [{"id", "name", "type", "nullable", "comment"}],      the query's output
     "attributes": [{"id", "name", "type"}],                             every attribute in it
     "plan":       node,
     "clock":      [text],                 parts that Spark replaces by the date or time: DATE 'today'
     "patterns":   [text],                 patterns of paths: parquet.`/data/2024*`
     "options":    [text]}                 tables that are read with options: FROM t WITH ('sep' = ';')
    node       = {"op", "output": [ids], "children": [nodes], ...facts of the operator}
    expression = {"attr": id, "outer": true?}
               | {"lit": sql, "type"}
               | {"alias": name, "id", "child": expression}
               | {"call": class, "name", "kind", "sql", "args", "type", "deterministic",
                  "standalone"?, "value"?, "plan"?: node, "filter"?, "distinct"?, "beside"?: [JSON]}

A call's ``sql`` is a template over its arguments, written "$0", "$1" in backticks; ``standalone``
says that Spark reads that text as the same call again; ``value`` is that of a call of literals.

A relation's facts are those of ``PlanSource``: "table" (a key) or "path", "kind", "format" and "partition_columns". An
Iceberg table partitioned by more than columns has "transforms": [{"name", "over", "arguments"}]. A lake table has
the "zone" of the session that reads it; the reader adds "spelled", the zone in which its partitions are spelled.
"aspect" says that something else of a lake table is read than its rows as they are: "snapshot", "branch", "changes" or
"metadata". A column of metadata has "metadata": true. A ``SubqueryAlias`` over the text of a view of another catalog
has its "view".

A reference to a CTE becomes a copy of its definition under a ``CTERelationRef`` node, so that each
place where a table is read is a node of its own. Nodes are compared by identity.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from json import dumps
from typing import Any

from attrs import field, frozen

Zones = Callable[[str], str]
"""The zone in which timestamps among the partition values of a table are spelled, by the table's key."""


@frozen
class Attr:
    """A column of a row; ``outer`` when it is a column of the row that a subquery is evaluated for."""

    id: int
    outer: bool = False
    name: str = field(default="", eq=False)
    type: str = field(default="", eq=False)


@frozen
class Lit:
    sql: str
    type: str


@frozen
class Call:
    """A function or operator over ``args``."""

    call: str
    sql: str
    args: tuple[Expr, ...]
    type: str
    name: str = field(default="", eq=False)
    kind: str = "scalar"
    deterministic: bool = field(default=True, eq=False)
    standalone: bool = field(default=False, eq=False)
    plan: Node | None = None
    filter: Expr | None = None
    distinct: bool = False
    beside: str = ""


Expr = Attr | Lit | Call


@frozen
class Named:
    """An expression computed under a column: an alias, or a column passed through."""

    attr: Attr
    expr: Expr


@frozen(eq=False)
class Node:
    """A plan operator. ``facts`` is its JSON; expressions in it are read on construction."""

    op: str
    output: tuple[Attr, ...]
    children: tuple[Node, ...]
    facts: Mapping[str, Any]
    projections: tuple[Named, ...] = ()
    groupings: tuple[Expr, ...] = ()
    partition_by: tuple[Expr, ...] = ()
    condition: Expr | None = None
    expansions: tuple[tuple[Expr, ...], ...] = ()
    others: tuple[Expr, ...] = ()

    def expressions(self) -> Iterator[Expr]:
        yield from (each.expr for each in self.projections)
        yield from self.groupings
        yield from self.partition_by
        if self.condition is not None:
            yield self.condition
        for row in self.expansions:
            yield from row
        yield from self.others

    def subqueries(self) -> Iterator[Node]:
        """The plans of subqueries in this node's own expressions."""
        for expression in self.expressions():
            for each in parts(expression):
                if isinstance(each, Call) and each.plan is not None:
                    yield each.plan

    def walk(self) -> Iterator[Node]:
        """This node and all below it, subqueries included, sources before what reads them."""
        for child in self.children:
            yield from child.walk()
        for subquery in self.subqueries():
            yield from subquery.walk()
        yield self


def parts(expression: Expr) -> Iterator[Expr]:
    """The expression and everything in it, outermost first; not into subqueries' plans."""
    yield expression
    if isinstance(expression, Call):
        for each in expression.args:
            yield from parts(each)
        if expression.filter is not None:
            yield from parts(expression.filter)


def attributes(expression: Expr) -> Iterator[Attr]:
    return (each for each in parts(expression) if isinstance(each, Attr))


_PLACEHOLDER = re.compile(r"`\$(\d+)`")


def fill(template: str, arguments: list[str]) -> str:
    """The template with its placeholders replaced, in one pass."""
    return _PLACEHOLDER.sub(lambda found: arguments[int(found[1])], template)


def display(expression: Expr) -> str:
    """The expression as a person would write it, with plain names."""
    match expression:
        case Attr(name=name):
            return name
        case Lit(sql=sql):
            return sql
        case Call(kind="subquery"):
            return "(SELECT …)"
        case Call(call="Cast", args=(Attr(name=name),)):
            return name
        case Call(sql=sql, args=args) if "`$a" not in sql:
            return fill(sql, [display(each) for each in args])
        case Call(name=name, args=args):
            return f"{name}({', '.join(display(each) for each in args)})"


_INLINE = "ResolvedInlineTable"
"""A table of ``VALUES`` that Spark does not evaluate at once: a row of it depends on the moment."""


class Reader:
    """Reads one description. Definitions of CTEs are in scope from ``WithCTE`` downward."""

    def __init__(self, description: Mapping[str, Any], zone: Zones = lambda table: "UTC") -> None:
        self._zone = zone
        self._attributes = {each["id"]: each for each in description["attributes"]}
        self._ctes: dict[int, Mapping[str, Any]] = {}
        self._open: set[int] = set()
        self.root = self._node(description["plan"])

    def attr(self, number: int, outer: bool = False) -> Attr:
        known = self._attributes[number]
        return Attr(number, outer, known["name"], known["type"])

    def _node(self, json: Mapping[str, Any]) -> Node:
        op, facts = json["op"], json
        for definition in json.get("definitions", ()):
            self._ctes[definition["cte"]] = definition["plan"]
        children = tuple(self._node(each) for each in json["children"])
        if op == "CTERelationRef":
            children = self._definition(json["cte"])
        if op == "Relation":
            facts = {**json, "spelled": self._zone(json.get("table", ""))}
        projections = json.get("projections", ())
        expansions: tuple[tuple[Expr, ...], ...] = ()
        if op == "Expand":
            expansions = tuple(tuple(map(self._expr, row)) for row in projections)
            projections = ()
        condition = json.get("condition")
        return Node(
            op,
            tuple(map(self.attr, json["output"])),
            children,
            facts,
            tuple(map(self._named, projections)),
            tuple(map(self._expr, json.get("groupings", ()))),
            tuple(map(self._expr, json.get("partition_by", ()))),
            None if condition is None else self._expr(condition),
            expansions,
            (
                *(self._expr(each) for key in ("order_by", "windows", "expressions") for each in json.get(key, ())),
                *(self._expr(each) for row in json.get("rows", ()) if op == _INLINE for each in row),
            ),
        )

    def _definition(self, cte: int) -> tuple[Node, ...]:
        """A copy of the CTE's plan; nothing where it refers to itself."""
        if cte in self._open or cte not in self._ctes:
            return ()
        self._open.add(cte)
        try:
            return (self._node(self._ctes[cte]),)
        finally:
            self._open.discard(cte)

    def _named(self, json: Mapping[str, Any]) -> Named:
        if "alias" in json:
            return Named(self.attr(json["id"]), self._expr(json["child"]))
        return Named(self.attr(json["attr"]), self._expr(json))

    def _expr(self, json: Mapping[str, Any]) -> Expr:
        match json:
            case {"attr": number}:
                return self.attr(number, json.get("outer", False))
            case {"lit": sql, "type": type}:
                return Lit(sql, type)
            case {"alias": _, "child": child}:
                return self._expr(child)
            case {"value": value, "type": type}:
                return Lit(value, type)
        return self._call(json)

    def _call(self, json: Mapping[str, Any]) -> Expr:
        args = tuple(map(self._expr, json["args"]))
        if json["call"] in ("Cast", "KnownNullable", "KnownNotNull") and args[0].type == json["type"]:
            return args[0]
        return Call(
            json["call"],
            json["sql"],
            args,
            json["type"],
            json["name"],
            json["kind"],
            json["deterministic"],
            json.get("standalone", False),
            self._node(json["plan"]) if "plan" in json else None,
            self._expr(json["filter"]) if "filter" in json else None,
            json.get("distinct", False),
            dumps(json["beside"], sort_keys=True) if "beside" in json else "",
        )
