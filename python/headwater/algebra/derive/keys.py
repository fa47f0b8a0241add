"""Derives the keys of a view that a changed row of a source reaches.

Example: ``SELECT customer, sum(price) FROM sales GROUP BY customer``. A changed row of ``sales`` reaches the rows of
the view with its customer, and no others. So ``customer`` is a key.

A key is an undeclared partition. The theorem of ``touched_rows`` holds for any way to divide the rows of a source
into partitions. Here each column of the source divides them, so the rules say of every column of the view whether a
changed row determines it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.algebra.derive.image import Image, comparable, plain
from headwater.algebra.derive.query import Attr, Node, Reader
from headwater.algebra.derive.relation import otherwise, relations_of, short, source
from headwater.algebra.derive.resolve import resolve
from headwater.algebra.derive.rules import transfer
from headwater.algebra.derive.touched_rows import Delta
from headwater.algebra.derive.window import derive_window
from headwater.model.dependency import Keys
from headwater.model.reason import Code, Reason, together

SAID = 2
"""The most columns for which the reason is given why they are no keys."""


def derive_keys(
    description: Mapping[str, Any], apart: Sequence[str], columns: Sequence[tuple[str, str]]
) -> dict[str, Keys]:
    """The keys for each table that a query reads.

    Args:
        description: the analysed query, as ``PlanJson.analysed`` writes it, parsed.
        apart: the view's partition columns. They are no keys, since their values are spelled by the catalog.
        columns: name and type of the view's columns, by position. The type is the declared one, if there is one.
    """
    reader = Reader(_divided(description))
    outputs = [
        (name, type, reader.attr(queried["id"]))
        for (name, type), queried in zip(columns, description["columns"], strict=True)
    ]
    apart = [each.casefold() for each in apart]
    return {table: _of_table(reader, nodes, outputs, apart) for table, nodes in relations_of(reader.root).items()}


def _of_table(
    reader: Reader, nodes: Sequence[Node], outputs: Sequence[tuple[str, str, Attr]], apart: Sequence[str]
) -> Keys:
    """The columns of the view that every place determines where a table is read."""
    table, found, reasons = short(source(nodes[0])), [], dict[Reason, None]()
    for node in nodes:
        if "aspect" in node.facts:
            return Keys(reason=otherwise(table))
        delta = transfer(reader.root, node)
        determined = {}
        for name, type, queried in outputs:
            image = resolve(queried, delta.facts)
            if not isinstance(image, Image) or not (comparable(queried.type) and comparable(type)):
                reasons[_reason(name, queried, delta, table)] = None
            elif name.casefold() not in apart:
                determined[name] = _cast(image, queried.type, type)
        found.append(determined)
    common = [name for name in found[0] if all(name in each for each in found)]
    if not common:
        whole = Reason(Code.QUERY_ONLY_PARTITIONS, f"a changed row of {table} reaches whole partitions")
        more = f"; and {len(reasons) - SAID} more columns" if len(reasons) > SAID else ""
        return Keys(reason=together([*reasons][:SAID], more) or whole)
    shown = {
        queried.id: name
        for name, type, queried in reversed(outputs)
        if comparable(type)
        and plain(type).casefold() == plain(queried.type).casefold()
        and name.casefold() not in apart
    }
    through = derive_window(reader.root, nodes, shown)
    return Keys(tuple(common), tuple(tuple(each[name] for name in common) for each in found), through=through)


def _cast(image: Image, queried: str, declared: str) -> str:
    """The image as the view has it: the query computes a type, and a publication casts it to another one."""
    own = f"CAST({image.sql} AS {plain(queried)})"
    return own if plain(queried).casefold() == plain(declared).casefold() else f"CAST({own} AS {plain(declared)})"


def _reason(name: str, queried: Attr, delta: Delta, table: str) -> Reason:
    lost = delta.lost.get(queried.id)
    if lost is not None and queried not in delta.facts:
        return lost.of(name, table, "column")
    if not comparable(queried.type):
        return Reason(Code.QUERY_INEXACT_TYPE, f"`{name}` is a {queried.type}, and no key")
    return Reason(Code.QUERY_NOT_DERIVED, f"`{name}` is not known from a row of {table}")


def _divided(json: Any) -> Any:
    """A description in which each column of a table divides its rows, and not only those of its partitions."""
    match json:
        case {"op": "Relation", "columns": columns}:
            rest = {key: value for key, value in json.items() if key not in ("zone", "transforms")}
            own = [each["name"] for each in columns if not each.get("metadata")]
            return {**rest, "partition_columns": own}
        case dict():
            return {key: _divided(value) for key, value in json.items()}
        case list():
            return [_divided(each) for each in json]
    return json
