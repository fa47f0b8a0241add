"""Scans that several runs share: the first of them makes one, and it goes with the last ([Golab11] §2.1).

A scan is of one version of a table. A run for which the table has changed reads the table. So does a run that needs
more than was scanned: Spark's plan of its query tells its needs anew each time.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from attrs import Factory, define, field, frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.logger import log
from headwater.memory.buffers.buffer import Buffer, BufferFull
from headwater.model.extract import Extract, Shared
from headwater.model.measure import Effort, Scanned
from headwater.model.partition import WHOLE, Slice, Version
from headwater.model.state import Run
from headwater.spark.jvm import sql
from headwater.spark.jvm.shim import SPARK_ERRORS, Shim
from headwater.spark.tables.writer import Writer

Number = int
"""Of a scan, in the buffer: below zero, where runs have their versions."""


@frozen
class Part:
    """The part of a table that is scanned: the whole of it, or some partitions."""

    whole: bool
    slices: Collection[Slice]

    @classmethod
    def of(cls, slices: Collection[Slice]) -> Part:
        return cls(WHOLE in slices, () if WHOLE in slices else slices)


@frozen
class KeptScan:
    """A scan in the buffer.

    Attributes:
        place: a directory; empty if Spark's memory holds it.
        size: the bytes that are there.
    """

    number: Number
    part: Part
    columns: tuple[str, ...]
    place: str
    size: int

    @property
    def encoded(self) -> dict[str, Any]:
        """The text for the shim, as a value (see ``Overlay.scala``)."""
        without = [sql.spec(each) for each in self.part.slices]
        encoded = {"whole": self.part.whole, "without": without, "with": []}
        if not self.place:
            return {**encoded, "bytes": 0, "held": self.number}
        return {**encoded, "bytes": self.size, "scan": self.place, "columns": list(self.columns)}


@define(eq=False)
class _Scan:
    extract: Extract
    number: Number
    kept: KeptScan | None = None
    made: threading.Event = Factory(threading.Event)
    holders: set[Version] = Factory(set)


class Scans:
    """The scans of one engine.

    Args:
        remove: called with the number of a scan that nobody reads any more.
    """

    def __init__(self, remove: Callable[[Number], None]) -> None:
        self._remove = remove
        self._lock = threading.Lock()
        self._numbers = itertools.count(-1, -1)
        self._known: dict[tuple[str, Version, tuple[Slice, ...]], _Scan] = {}
        self._read: dict[Version, dict[str, KeptScan]] = {}
        self._refused: set[str] = set()

    def take(
        self,
        run: Run,
        seen: Mapping[str, Version],
        needs: Mapping[str, Extract],
        make: Callable[[Shared, Number], KeptScan | None],
    ) -> None:
        """Lets a run read its shared scans that have all it needs, once they are made.

        Args:
            seen: the versions of its sources that it is to see.
            make: called if the run is the first that needs a scan; ``None`` if that cannot be made.
        """
        for shared in run.shared:
            if shared.table in needs and shared.table in seen and shared.table not in self._refused:
                kept = self._taken(run, shared, seen[shared.table], needs[shared.table], make)
                if kept is not None:
                    with self._lock:
                        self._read.setdefault(run.version, {})[shared.table] = kept

    def read(self, run: Run) -> Mapping[str, KeptScan]:
        """The scans that a run reads, by table."""
        with self._lock:
            return dict(self._read.get(run.version, {}))

    def refuse(self, run: Run) -> Collection[str]:
        """Lets all runs read tables themselves from now on, if a run could not read its scans of them: the next run
        would fail, too. The answer is these tables."""
        with self._lock:
            tables = self._read.pop(run.version, {}).keys()
            self._refused |= tables
            return tables

    def release(self, version: Version) -> None:
        """Removes the scans that only this run held."""
        with self._lock:
            self._read.pop(version, None)
            for scan in self._known.values():
                scan.holders.discard(version)
            gone = [key for key, scan in self._known.items() if not scan.holders]
            numbers = [self._known.pop(key).number for key in gone]
        for number in numbers:
            self._remove(number)

    def _taken(
        self,
        run: Run,
        shared: Shared,
        version: Version,
        needed: Extract,
        make: Callable[[Shared, Number], KeptScan | None],
    ) -> KeptScan | None:
        with self._lock:
            key = shared.table, version, shared.slices
            scan, mine = self._known.get(key), False
            if not (scan.extract if scan else shared.extract).covers(needed):
                return None
            if scan is None:
                scan, mine = _Scan(shared.extract, next(self._numbers)), True
                self._known[key] = scan
            scan.holders.add(run.version)
        if mine:
            try:
                scan.kept = make(shared, scan.number)
            finally:
                scan.made.set()
        scan.made.wait()
        return scan.kept


@define(eq=False)
class Scanner:
    """Makes scans for one run.

    Attributes:
        part: the part of a table that a scan reads.
        stop: called if a scan needs more space than there is.
        effort: the work of the run's tasks so far.
        made: the time and bytes of the scans that it made or, where they did not fit, began to make.
    """

    session: SparkSession
    shim: Shim
    buffer: Buffer
    writer: Writer
    part: Callable[[Shared], Part]
    stop: Callable[[], object]
    effort: Callable[[], Effort | None]
    made: list[Scanned] = field(factory=list, init=False)

    def __call__(self, shared: Shared, number: Number) -> KeptScan | None:
        """Makes a scan; ``None`` if it does not fit or cannot be read, so that runs read the table."""
        if not self.buffer.reserve(number, shared.size):
            return None
        began, before = time.perf_counter(), self.effort()
        try:
            part = self.part(shared)
            frame = scanned(self.session.table(sql.with_catalog(shared.table)), part, shared.extract)
            with self.buffer.watched(number, self.stop):
                place, size = self.buffer.leave(frame, number, self.writer)
        except BufferFull as error:
            self._leave_out(shared, number, str(error))
            self._note(shared, self.buffer.limit + 1, began, before)
            return None
        except SPARK_ERRORS as error:
            if self.shim.is_gone(error):
                raise
            self._leave_out(shared, number, self.shim.failure(error).text)
            return None
        self._note(shared, size, began, before)
        return KeptScan(number, part, tuple(frame.columns), place, size)

    def _leave_out(self, shared: Shared, number: Number, why: str) -> None:
        self.buffer.remove(number)
        log.warning("%s is not scanned once for %s (%s)", shared.table, ", ".join(shared.readers), why)

    def _note(self, shared: Shared, size: int, began: float, before: Effort | None) -> None:
        micros, effort = 1e6 * (time.perf_counter() - began), self.effort()
        if effort is not None:
            micros = effort.since(before).own(micros)
        self.made.append(Scanned(shared.table, shared.extract, size, round(micros)))


def scanned(table: DataFrame, part: Part, extract: Extract) -> DataFrame:
    """The rows and columns of a scan; of partitions, with the columns that tell them apart."""
    types = {field.name: field.dataType.simpleString() for field in table.schema.fields}
    wanted = {*extract.columns, *(column for each in part.slices for column in each.columns)}
    rows = table if part.whole else table.where(sql.predicate(tuple(part.slices), types))
    if extract.condition:
        rows = rows.where(extract.condition)
    return rows.select(*(F.col(sql.identifier(name)) for name in types if name in wanted))
