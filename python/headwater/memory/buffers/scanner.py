"""Makes scans that runs share: reads a part of a table once, and keeps it in the buffer."""

from __future__ import annotations

import time
from collections.abc import Callable

from attrs import define, field
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.logger import log
from headwater.memory.buffers.buffer import Buffer, BufferFull
from headwater.memory.buffers.scans import KeptScan, Number, Part
from headwater.model.extract import Extract, Shared
from headwater.model.measure import Effort, Scanned
from headwater.spark.jvm import sql
from headwater.spark.jvm.shim import SPARK_ERRORS, Shim
from headwater.spark.tables.writer import Writer


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
            frame = scanned(self.session.table(sql.quoted(shared.table)), part, shared.extract)
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
