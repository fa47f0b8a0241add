"""Partition specs of Iceberg: the slices that the files of one spec lie in.

Example: a table is ``PARTITIONED BY (region, days(ts), bucket(8, id))``. Its slices bind ``region`` and ``ts_day``. A
bucket says nothing that a query can be compared with, so no slice binds it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import product
from typing import Any

from attrs import frozen

from headwater.model.calendar import Unit
from headwater.model.partition import Slice, Value, of_unit
from headwater.spark.tables.iceberg import values

MANY = 10_000
"""The number of finer periods at which a coarser one counts as unknown."""


@frozen
class Field:
    """A field of a partition spec.

    Attributes:
        number: Iceberg's number of the field, by which files give its value.
        name: its column in slices: ``ts_day`` for the days of ``ts``, else the column itself.
        column: the number of the column that it is made from.
        transform: as Iceberg spells it.
        type: that column's type, as Iceberg spells it.
    """

    number: int
    name: str
    column: int
    transform: str
    type: str

    @property
    def unit(self) -> Unit | None:
        """The calendar unit of its values, if it has one."""
        return values.UNITS.get(self.transform)

    @property
    def binds(self) -> bool:
        """Whether slices bind it."""
        return self.unit is not None or (self.transform == "identity" and values.is_spelled(self.type))


@frozen
class Spec:
    """A partition spec; ``bound`` are the fields that slices bind."""

    number: int
    fields: tuple[Field, ...]

    @classmethod
    def of(
        cls, described: Mapping[str, Any], columns: Mapping[int, tuple[str, str]], taken: Collection[str] = ()
    ) -> Spec:
        """The spec that Iceberg's JSON describes.

        Args:
            columns: name and type of each column that the table ever had, by its number.
            taken: the names of the columns that rows have.
        """
        fields = []
        for each in described["fields"]:
            name, type = columns.get(each["source-id"], (each["name"], ""))
            unit = values.UNITS.get(each["transform"])
            named = name if unit is None else of_unit(name, unit, taken)
            fields.append(Field(each["field-id"], named, each["source-id"], each["transform"], type))
        return cls(described["spec-id"], tuple(fields))

    @property
    def bound(self) -> tuple[Field, ...]:
        return tuple(each for each in self.fields if each.binds)

    @property
    def shows_moments(self) -> bool:
        """Whether slices bind timestamps, whose spelling depends on a time zone."""
        return any(each.unit is None and each.type == values.INSTANT for each in self.bound)

    def slices(self, written: Spec, file: Mapping[str, Any], zone: str) -> list[Slice]:
        """The slices of this spec that a file of the spec ``written`` may have rows in.

        Args:
            file: the file's partition values in Iceberg's JSON form, by the numbers of its spec's fields.
            zone: the zone in which timestamps are spelled.
        """
        found: list[tuple[str, list[Value]]] = []
        for field in self.bound:
            reached = _reached(field, written, file, zone)
            if reached is not None:
                found.append((field.name, reached))
        names = [name for name, _ in found]
        return [Slice(tuple(zip(names, each, strict=True))) for each in product(*(some for _, some in found))]

    def is_partition(self, each: Slice) -> bool:
        """Whether a slice binds all that slices of this spec can."""
        return len(each.bound) == len(self.bound)


def _reached(field: Field, written: Spec, file: Mapping[str, Any], zone: str) -> list[Value] | None:
    """The values of a field that rows of a file may have; ``None`` if any."""
    known = {each.transform: (each, file.get(str(each.number))) for each in _alike(field, written.fields)}
    if field.transform in known:
        return [_spelled(field, known[field.transform][1], zone)]
    unit = field.unit
    if unit is None:
        return None
    if "identity" in known:
        _, value = known["identity"]
        period = None if value is None else values.period_of(value, field.type, unit)
        return [None if period is None else values.spelled_period(period, unit)]
    of_calendar = [(each.unit, value) for each, value in known.values() if each.unit is not None]
    options = [_periods(value, of, unit) for of, value in of_calendar if of is not None]
    best = min(options, key=len, default=None)
    return best if best is None or len(best) <= MANY else None


def _alike(field: Field, fields: Iterable[Field]) -> list[Field]:
    """The fields that are made from the same column."""
    return [each for each in fields if each.column == field.column]


def _spelled(field: Field, value: Any, zone: str) -> Value:
    unit = field.unit
    if unit is None:
        return values.spelled(value, field.type, zone)
    if unit is Unit.DAY and isinstance(value, str):
        return value
    return None if value is None else values.spelled_period(values.period(value, unit), unit)


def _periods(value: Any, of: Unit, unit: Unit) -> list[Value]:
    if value is None:
        return [None]
    return [values.spelled_period(each, unit) for each in values.periods(values.period(value, of), of, unit)]
