"""Relations: the tables and paths that a query reads, and what their partition columns say of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from headwater.algebra.derive.image import Image, exact, inexact, quoted
from headwater.algebra.derive.query import Expr, Node
from headwater.algebra.derive.resolve import Known
from headwater.algebra.derive.span import UTC, of_periods
from headwater.algebra.derive.touched_rows import Delta, Lost
from headwater.model.calendar import Unit
from headwater.model.format import Format
from headwater.model.name import PathName, named
from headwater.model.partition import of_unit
from headwater.model.reason import Code, Reason

UNITS = {"hours": Unit.HOUR, "days": Unit.DAY, "months": Unit.MONTH, "years": Unit.YEAR}
"""The transforms into periods, from the finest."""

TYPES = {Unit.DAY: "DATE", Unit.MONTH: "DATE", Unit.YEAR: "DATE"}
"""The type to which the spelling of a unit's periods can be cast; that of an hour has the type of the column."""


@frozen
class PartitionText:
    """What the text of a partition column says.

    Attributes:
        name: of the column.
        type: of its values.
        value: the value that the text is of, as SQL, or why no SQL has it.
        shown: the zone whose clock shows a moment as this text, or the start of the period that it lies in; empty for
            values that are no moments.
        zone: that of the session that reads the table; empty for values that are no moments.
    """

    name: str
    type: str
    value: Image | Reason
    shown: str = ""
    zone: str = ""


def leaf(node: Node, changed: bool) -> Delta:
    """The source: a row of partition p has p's values. Of other tables nothing is known."""
    table = short(source(node))
    facts: dict[Expr, Known] = {}
    lost: dict[int, Lost] = {}
    for attribute, column in zip(node.output, node.facts["columns"], strict=True):
        if not changed:
            tie = f"a column of {table}, which no equality ties to {{column}}"
            lost[attribute.id] = Lost(attribute.name, Reason(Code.QUERY_NO_EQUALITY, tie))
            continue
        match _known(node.facts, column["name"], column["type"]):
            case Reason() as why:
                lost[attribute.id] = Lost(attribute.name, why)
            case known:
                facts[attribute] = known
    return Delta(facts=facts, lost=lost, changed=changed)


def partition_columns(relation: Node) -> tuple[tuple[str, str], ...]:
    """Name and type of each column that a source's slices bind. Those of periods are no columns of its rows."""
    return tuple((each.name, each.type) for each in partition_texts(relation))


def partition_texts(relation: Node) -> tuple[PartitionText, ...]:
    """What the texts say that a source's slices bind."""
    facts = relation.facts
    types = {each["name"]: each["type"] for each in facts["columns"]}
    own = (_text(facts, name, types.get(_column(name, facts) or "", "")) for name in facts["partition_columns"])
    periods = (
        _period_text(facts, partition, unit, types.get(_column(column, facts) or "", ""))
        for column, unit, partition in _periods(facts)
    )
    return (*own, *periods)


def relations_of(root: Node) -> dict[str, list[Node]]:
    """The places where a query reads each table or path, by its key."""
    found: dict[str, list[Node]] = {}
    for node in root.walk():
        if node.op == "Relation":
            found.setdefault(source(node), []).append(node)
    return found


def source(relation: Node) -> str:
    """The key of the table or path that a relation reads; the format of one that has neither."""
    facts = relation.facts
    if "path" in facts and "table" not in facts:
        return PathName(facts["path"]).key
    found: str = facts["table"] if "table" in facts else facts["format"]
    return found


def short(key: str) -> str:
    """The own name of a table, or the path, for sentences."""
    match named(key):
        case PathName(path):
            return path
        case name:
            return name.name


def otherwise(table: str) -> Reason:
    """Why changed rows of a table are not followed of which something else is read than its rows as they are."""
    return Reason(Code.QUERY_ASPECT, f"the query reads {table} otherwise than as it is")


def _known(facts: Mapping[str, Any], name: str, type: str) -> Known | Reason:
    """What a partition says of a column of its rows, or why it says nothing."""
    if name in [_column(each, facts) for each in facts["partition_columns"]]:
        if not exact(type):
            return inexact(type)
        return _text(facts, name, type).value
    for column, unit, partition in _periods(facts):
        if _column(column, facts) == name:
            return of_periods(partition, unit, type, facts["zone"])
    return Reason(Code.QUERY_NOT_PARTITIONED_BY, "not from {column}")


def _text(facts: Mapping[str, Any], name: str, type: str) -> PartitionText:
    """What the text of one of a table's own columns says."""
    format = Format.of(facts["kind"])
    if type == "TIMESTAMP" and "zone" in facts:
        zone, shown = facts["zone"], facts["spelled"] if format.zoned else facts["zone"]
        value = _moment(name, zone, shown) if format.zoned else _read(name, zone)
        return PartitionText(name, type, value, shown, zone)
    texts = (name,) if type == "STRING" and format.tells_empty_text else ()
    return PartitionText(name, type, evolve(Image.of_column(name, type), texts=texts))


def _period_text(facts: Mapping[str, Any], name: str, unit: Unit, type: str) -> PartitionText:
    """What the text of a period says of a column of this type. An hour is a moment of UTC, or the time of a value
    without a zone."""
    if unit is Unit.HOUR and type == "TIMESTAMP":
        zone = facts.get("zone", "UTC")
        return PartitionText(name, type, _moment(name, zone, "UTC"), "UTC", zone)
    own = type if unit is Unit.HOUR else TYPES[unit]
    if type == "TIMESTAMP" and facts.get("zone", "UTC") not in UTC:
        overlap = f"a {unit.value} of UTC, which overlaps several of this view in {facts['zone']}"
        return PartitionText(name, own, Reason(Code.QUERY_TIME_ZONE, overlap), "UTC", facts["zone"])
    return PartitionText(name, own, Image.of_column(name, own))


def _column(name: str, facts: Mapping[str, Any]) -> str | None:
    """The column of a relation that a name means: the one that is spelled so, or else the only one that differs in case
    alone. In a session that tells cases apart, a table may have both."""
    names = [each["name"] for each in facts["columns"]]
    alike = [each for each in names if each.lower() == name.lower()]
    return name if name in names else alike[0] if len(alike) == 1 else None


def _moment(name: str, zone: str, spelled: str) -> Image | Reason:
    """A moment that is spelled in one zone, in another. On a clock that is set back, one text means two moments."""
    if {zone, spelled} <= set(UTC):
        return Image.of_column(name, "TIMESTAMP")
    if zone == spelled:
        return evolve(Image.of_column(name, "TIMESTAMP"), twice=True)
    if spelled in UTC:
        return Image(f"CAST(concat({quoted(name)}, 'Z') AS TIMESTAMP)", (name,), "TIMESTAMP")
    declared = f"a TIMESTAMP of {{source}}, which was declared in the time zone {spelled}, and this view in {zone}"
    return Reason(Code.QUERY_TIME_ZONE, declared)


def _read(name: str, zone: str) -> Image:
    """The moment that the text of a directory is in the zone of the session that reads it. An hour that the clock skips
    there becomes the next one, so the text of the moment may be another."""
    read = Image.of_column(name, "TIMESTAMP")
    return read if zone in UTC else evolve(read, column=None)


def _periods(facts: Mapping[str, Any]) -> Iterator[tuple[str, Unit, str]]:
    """The columns whose periods a table is partitioned by, each with unit and partition column; finest first."""
    names = [each["name"] for each in facts["columns"] if not each.get("metadata")]
    transforms = [(each["name"], each["over"]) for each in facts.get("transforms", ())]
    for name, unit in UNITS.items():
        for [column] in (columns for transform, columns in transforms if transform == name):
            yield column, unit, of_unit(column, unit, names)
