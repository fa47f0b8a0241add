"""Derives, from an analysed query, which partitions of the view a changed source partition affects.

``plan`` reads the query, ``image`` says what follows from a partition's values, ``delta`` what is
known about the rows a change can touch, ``rules`` and ``joins`` how each operator changes that,
``problems`` which queries cannot be materialized views. Nothing is guessed: a column of the view
that no rule determines is free, and a reason says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from headwater.algebra.derive.delta import Delta
from headwater.algebra.derive.image import exact, resolve
from headwater.algebra.derive.plan import Node, Reader
from headwater.algebra.derive.problems import Problem, problems
from headwater.algebra.derive.rules import short, source, transfer
from headwater.model.dependency import Dependency, Expression, Occurrence

__all__ = ["Derivation", "Problem", "Read", "derive"]


@frozen
class Read:
    """A table that the query reads."""

    source: str
    kind: str
    format: str
    partition_columns: tuple[tuple[str, str], ...]


@frozen
class Derivation:
    """What a query's text says about the view it defines."""

    reads: tuple[Read, ...]
    views: tuple[str, ...]
    temporary_views: tuple[str, ...]
    dependencies: tuple[Dependency, ...]
    problems: tuple[Problem, ...]


@frozen
class Output:
    """A partition column of the view: the query computes ``number`` in the type ``queried``, and a publication
    casts it to ``type``."""

    name: str
    type: str
    number: int
    queried: str


def derive(
    description: Mapping[str, Any], partition_columns: Sequence[str], columns: Sequence[tuple[str, str]]
) -> Derivation:
    """The derivation for a view of this query, partitioned by these columns.

    Args:
        description: the analysed query, as ``PlanJson.describe`` writes it, parsed.
        partition_columns: the view's partition columns, each one of ``columns``.
        columns: name and type of the view's columns, by position. The type is the declared one, if there is one.
    """
    reader = Reader(description)
    relations: dict[str, list[Node]] = {}
    views: dict[bool, dict[str, None]] = {False: {}, True: {}}
    for node in reader.root.walk():
        if node.op == "Relation":
            relations.setdefault(source(node), []).append(node)
        elif node.op == "View":
            views[node.facts["temporary"]][node.facts["name"]] = None
    outputs = _outputs(description, partition_columns, columns)
    return Derivation(
        reads=tuple(_read(name, each[0]) for name, each in relations.items()),
        views=tuple(views[False]),
        temporary_views=tuple(views[True]),
        dependencies=tuple(
            Dependency(name, tuple(_occurrence(reader, node, outputs) for node in nodes))
            for name, nodes in relations.items()
        ),
        problems=problems(reader.root, description["clock"], description["patterns"]),
    )


def _outputs(
    description: Mapping[str, Any], partition_columns: Sequence[str], columns: Sequence[tuple[str, str]]
) -> list[Output]:
    """The partition columns, each with the query's column at its position."""
    positions = {name.casefold(): i for i, (name, _) in enumerate(columns)}
    found = []
    for name in partition_columns:
        position = positions[name.casefold()]
        queried = description["columns"][position]
        found.append(Output(name, columns[position][1], queried["id"], queried["type"]))
    return found


def _read(name: str, node: Node) -> Read:
    types = {each["name"].casefold(): each["type"] for each in node.facts["columns"]}
    columns = tuple((each, types.get(each.casefold(), "")) for each in node.facts["partition_columns"])
    return Read(name, node.facts["kind"], node.facts["format"], columns)


def _occurrence(reader: Reader, relation: Node, outputs: Sequence[Output]) -> Occurrence:
    if not relation.facts["partition_columns"]:
        return Occurrence(reason=f"{short(source(relation))} is not partitioned" if outputs else "")
    delta = transfer(reader.root, relation)
    bound: list[tuple[str, Expression]] = []
    reasons = []
    for output in outputs:
        image = resolve(reader.attr(output.number), delta.facts)
        if image is not None and exact(output.queried) and exact(output.type):
            bound.append((output.name, image.to(output.queried, output.type)))
        else:
            reasons.append(_reason(output, delta, short(source(relation))))
    return Occurrence(tuple(bound), "; ".join(reasons))


def _reason(output: Output, delta: Delta, table: str) -> str:
    lost = delta.lost.get(output.number)
    if lost is not None:
        return f"`{output.name}` comes from `{lost.origin}`, {lost.why.replace('{source}', table)}"
    for type in (output.queried, output.type):
        if not exact(type):
            return f"`{output.name}` is a {type}, whose equal values may be spelled differently"
    return f"`{output.name}` is not known from the partition columns of {table}"
