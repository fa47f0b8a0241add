"""Writes the rows of runs: to the warehouse, to another place, and from there to the warehouse."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame

from headwater.model.command import Launch, Written
from headwater.model.event import Made
from headwater.spark.jvm.counted import Counted, counts
from headwater.spark.jvm.job_groups import group
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.files import place_of
from headwater.spark.tables.key_files import KeyFiles
from headwater.spark.tables.registry import Formats


class Writer:
    """The way of rows to files.

    Args:
        formats: of the views' tables.
        bandwidth: with how many bytes a second a copy is made, at most; 0: no limit.
    """

    def __init__(self, shim: Shim, formats: Formats, bandwidth: int) -> None:
        self._shim, self._formats, self._bandwidth = shim, formats, bandwidth

    def write(
        self, launch: Launch, frame: DataFrame, place: str = "", key_files: KeyFiles | None = None
    ) -> tuple[Written, Counted]:
        """A run's rows, in the warehouse or at another place; in that of the files that hold its keys, if there are
        some."""
        tables = self._formats.of_view(launch.definition)
        place = place or place_of(launch)
        counted = tables.write(launch, frame, place, launch.definition.policy.cutoff, key_files)
        known = counts(counted.sums(), launch.definition.partitioned_by)
        return tables.written(launch, place, known), counted

    def rewrite(self, launch: Launch, frame: DataFrame, made: Iterable[Made]) -> Written | None:
        """Rows that were counted before, in the warehouse; ``None`` if some are not there any more. Sums are of the
        rows as they were made: a row that was held may have other bytes and mean the same."""
        tables = self._formats.of_view(launch.definition)
        place, known = place_of(launch), {each.slice: each for each in made}
        counted = tables.write(launch, frame, place, hashed=False)
        found = counts(counted.sums(), launch.definition.partitioned_by)
        if {each: one.rows for each, one in found.items()} != {each: one.rows for each, one in known.items()}:
            return None
        return tables.written(launch, place, known)

    def copy(self, launch: Launch, source: str, made: Iterable[Made]) -> Written:
        """The rows of a place, as bytes in the warehouse."""
        run, place, tables = launch.run, place_of(launch), self._formats.of_view(launch.definition)
        self._shim.copy(group(run.view, run.version), source, place, self._bandwidth)
        return tables.written(launch, place, {each.slice: each for each in made})

    def size(self, place: str) -> int:
        """Bytes of the files at a place."""
        return sum(each.bytes for each in self._shim.written(place, 0))
