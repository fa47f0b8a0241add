"""Derives, from an analysed query, which partitions of the view a changed source partition affects.

``query`` reads the query, ``relation`` its tables. ``image`` and ``span`` say what follows from a partition's values,
``resolve`` what that says of an expression, ``touched_rows`` what is known about the rows a change can touch. ``rules``
says how each operator changes that, ``problems`` which queries cannot be materialized views. Nothing is
guessed: a column of the view that no rule determines is free, and a reason says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from headwater.algebra.derive.image import TWICE, Image, exact, inexact
from headwater.algebra.derive.problems import Refusal, problems
from headwater.algebra.derive.query import Node, Reader, Zones
from headwater.algebra.derive.relation import PartitionText, partition_texts, relations_of, short, source
from headwater.algebra.derive.relation import partition_columns as columns_of
from headwater.algebra.derive.resolve import Known, resolve
from headwater.algebra.derive.rules import transfer
from headwater.algebra.derive.touched_rows import Delta
from headwater.model.dependency import Dependency, Expression, Occurrence
from headwater.model.reason import Code, Reason, together

__all__ = ["Derivation", "PartitionText", "Refusal", "ReadTable", "Zones", "derive"]


@frozen
class ReadTable:
    """A table that the query reads, with the names and types of its columns."""

    source: str
    kind: str
    format: str
    partitioned_by: tuple[PartitionText, ...]
    columns: tuple[tuple[str, str], ...]

    @property
    def partition_columns(self) -> tuple[tuple[str, str], ...]:
        return tuple((each.name, each.type) for each in self.partitioned_by)


@frozen
class Derivation:
    """What a query's text says about the view it defines."""

    reads: tuple[ReadTable, ...]
    views: tuple[str, ...]
    dependencies: tuple[Dependency, ...]
    problems: tuple[Refusal, ...]


@frozen
class PartitionColumn:
    """A partition column of the view: the query computes ``number`` in the type ``queried``, and a publication
    casts it to ``type``."""

    name: str
    type: str
    number: int
    queried: str


def derive(
    description: Mapping[str, Any],
    partition_columns: Sequence[str],
    columns: Sequence[tuple[str, str]],
    zone: Zones = lambda table: "UTC",
) -> Derivation:
    """The derivation for a view of this query, partitioned by these columns.

    Args:
        description: the analysed query, as ``PlanJson.analysed`` writes it, parsed.
        partition_columns: the view's partition columns, each one of ``columns``.
        columns: name and type of the view's columns, by position. The type is the declared one, if there is one.
        zone: the time zone in which a lake table's partition values are spelled, by the table's key.
    """
    reader = Reader(description, zone)
    relations = relations_of(reader.root)
    views = (node.facts for node in reader.root.walk() if node.op == "View")
    outputs = _outputs(description, partition_columns, columns)
    return Derivation(
        reads=tuple(_read(name, each[0]) for name, each in relations.items()),
        views=tuple(dict.fromkeys(each["name"] for each in views if not each["temporary"])),
        dependencies=tuple(
            Dependency(name, tuple(_occurrence(reader, node, outputs) for node in nodes))
            for name, nodes in relations.items()
        ),
        problems=problems(reader.root, description["clock"], description["patterns"], description.get("options", ())),
    )


def _outputs(
    description: Mapping[str, Any], partition_columns: Sequence[str], columns: Sequence[tuple[str, str]]
) -> list[PartitionColumn]:
    """The partition columns, each with the query's column at its position."""
    # As Spark compares names: `maße` and `masse` are two columns, though their case folds alike.
    positions = {name.lower(): i for i, (name, _) in enumerate(columns)}
    found = []
    for name in partition_columns:
        position = positions[name.lower()]
        queried = description["columns"][position]
        found.append(PartitionColumn(name, columns[position][1], queried["id"], queried["type"]))
    return found


def _read(name: str, node: Node) -> ReadTable:
    return ReadTable(name, node.facts["kind"], node.facts["format"], partition_texts(node), _columns(node))


def _columns(node: Node) -> tuple[tuple[str, str], ...]:
    return tuple((each["name"], each["type"]) for each in node.facts["columns"])


def _occurrence(reader: Reader, relation: Node, outputs: Sequence[PartitionColumn]) -> Occurrence:
    if not columns_of(relation):
        return Occurrence(reason=_unpartitioned(relation) if outputs else None)
    delta = transfer(reader.root, relation)
    bound: list[tuple[str, Expression]] = []
    reasons = []
    for output in outputs:
        known = resolve(reader.attr(output.number), delta.facts)
        is_exact = exact(output.queried) and exact(output.type)
        expression = known.to(output.queried, output.type) if known is not None and is_exact else None
        if expression is not None:
            bound.append((output.name, expression))
        else:
            reasons.append(_reason(output, delta, known, short(source(relation))))
    return Occurrence(tuple(bound), together(reasons))


def _unpartitioned(relation: Node) -> Reason:
    name, transforms = short(source(relation)), relation.facts.get("transforms")
    if not transforms:
        return Reason(Code.SOURCE_UNPARTITIONED, f"{name} is not partitioned")
    listed = ", ".join(f"{each['name']}({', '.join([*each['arguments'], *each['over']])})" for each in transforms)
    compared = f"{name} is partitioned by {listed}, which no column of a view can be compared with"
    return Reason(Code.SOURCE_TRANSFORM, compared)


def _reason(output: PartitionColumn, delta: Delta, known: Known | None, table: str) -> Reason:
    lost = delta.lost.get(output.number)
    if lost is not None:
        return lost.of(output.name, table, "partition column")
    for type in (output.queried, output.type):
        if not exact(type):
            return Reason(Code.QUERY_INEXACT_TYPE, f"`{output.name}` is {inexact(type)}")
    if isinstance(known, Image):
        return Reason(TWICE.code, f"`{output.name}` is a {output.type} of a moment, {TWICE}")
    if known is not None:
        several = f"`{output.name}` has no one period of those that {table} is partitioned by"
        return Reason(Code.QUERY_PERIODS, several)
    unknown = f"`{output.name}` is not known from the partition columns of {table}"
    return Reason(Code.QUERY_NOT_DERIVED, unknown)
