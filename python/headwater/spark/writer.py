"""Writes what runs make: to memory if it is to be kept and fits there, else to the warehouse, and from memory to the
warehouse. Every version of a view lies in a hidden directory ``.v<version>`` of the view's root."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, frozen
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.engine.policy import cuts_off
from headwater.model.action import Launch
from headwater.model.error import RefreshFailed
from headwater.model.event import Made, Place
from headwater.model.partition import Slice
from headwater.model.state import PartitionRecord, Run, Version
from headwater.ports import Written
from headwater.spark import sql
from headwater.spark.blocks import Blocks
from headwater.spark.counted import Counted, counts, slice_of
from headwater.spark.room import OutOfRoom
from headwater.spark.shim import FailureKind, Shim, is_gone
from headwater.spark.volume import Volume

log = logging.getLogger("headwater")


@frozen
class Files:
    """What a run wrote: a publication request for the shim, which partition lies where, and of what is not in the
    warehouse yet in what kind of ``place`` it is, and there, if that is a volume, in which directory it is ``kept``."""

    request: dict
    places: Mapping[str, Slice]
    place: Place = Place.WAREHOUSE
    kept: str = ""


class Writer:
    """The way of what runs make to memory and to the warehouse.

    Args:
        bandwidth: with how many bytes a second what is kept is brought to the warehouse, at most; 0: no limit.
    """

    def __init__(self, shim: Shim, room: Volume | Blocks | None, bandwidth: int) -> None:
        self._shim, self._room, self._bandwidth = shim, room, bandwidth

    def make(
        self, launch: Launch, frame: Callable[[], DataFrame], stop: Callable[[], object]
    ) -> tuple[Written, Counted]:
        """What a run makes, close at hand if it is to be kept and fits there; ``stop`` lets the computing of ``frame``
        fail, should it turn out not to fit."""
        run, room = launch.run, self._room
        if run.kept and room is not None and room.reserve(run.version, launch.size):
            try:
                with room.watched(run.version, stop):
                    return self._kept(launch, frame(), room)
            except OutOfRoom as error:
                self._leave(room, run, str(error))
            except (PySparkException, Py4JError) as error:
                if is_gone(error) or (failure := self._shim.failure(error)).kind is not FailureKind.UNWRITABLE:
                    raise
                self._leave(room, run, failure.said)
        return self._write(launch, frame(), _place(launch))

    def bring(self, session: SparkSession, launch: Launch, kept: Written) -> Written:
        """What a run made and memory holds, in the warehouse.

        Raises:
            RefreshFailed: it is not all there any more.
        """
        if kept.handle.place is Place.BLOCKS:
            return self._unloaded(session, launch, kept)
        return self._copied(launch, kept)

    # --- inside

    def _leave(self, room: Volume | Blocks, run: Run, why: str) -> None:
        room.remove(run.version)
        log.warning("%s cannot be kept in memory (%s); it is written to the warehouse", run.view, why)

    def _kept(self, launch: Launch, frame: DataFrame, room: Volume | Blocks) -> tuple[Written, Counted]:
        match room:
            case Volume():
                return self._write(launch, frame, room.place(launch.run.version))
            case Blocks():
                return self._held(launch, frame, room)

    def _held(self, launch: Launch, frame: DataFrame, room: Blocks) -> tuple[Written, Counted]:
        """What a run makes, in Spark's memory. How long writing takes is part of how long batches take to be made."""
        run, columns = launch.run, launch.definition.partitioned_by
        counted = self._shim.counted(frame, columns, cuts_off(launch.definition))
        room.hold(counted.frame, run.version)
        made = tuple(counts(counted.sums(), columns).values())
        slices = {each.slice for each in made}
        removed = tuple(each for each in launch.existing if each not in slices)
        return Written(made, removed, Files({}, {}, Place.BLOCKS), held=room.size(run.version)), counted

    def _write(self, launch: Launch, frame: DataFrame, place: str) -> tuple[Written, Counted]:
        counted = self._saved(launch, frame, place, cuts_off(launch.definition))
        return self._written(launch, place, counts(counted.sums(), launch.definition.partitioned_by)), counted

    def _copied(self, launch: Launch, written: Written) -> Written:
        """What lies in the volume, as bytes in the warehouse."""
        place = _place(launch)
        self._shim.copy(group(launch.run.view, launch.run.version), written.handle.kept, place, self._bandwidth)
        brought = self._written(launch, place, {each.slice: each for each in written.made})
        if brought.size != written.size:
            raise RefreshFailed(f"what {written.handle.kept} kept of {launch.run.view} is not all there any more")
        return brought

    def _unloaded(self, session: SparkSession, launch: Launch, written: Written) -> Written:
        """What Spark's memory holds, written to the warehouse. Sums are of the rows as they were made: one that was
        held may have other bytes and mean the same."""
        run, place = launch.run, _place(launch)
        known = {each.slice: each for each in written.made}
        counted = self._saved(launch, self._shim.held(session, run.version), place, hashed=False)
        found = counts(counted.sums(), launch.definition.partitioned_by)
        if {each: made.rows for each, made in found.items()} != {each: made.rows for each, made in known.items()}:
            raise RefreshFailed(f"what Spark's memory held of {run.view} is not all there any more")
        return self._written(launch, place, known)

    def _saved(self, launch: Launch, frame: DataFrame, place: str, hashed: bool) -> Counted:
        """A view's rows, as files below a place."""
        definition, columns = launch.definition, launch.definition.partitioned_by
        if columns:
            frame = frame.hint("rebalance", *[F.col(sql.identifier(column)) for column in columns])
        counted = self._shim.counted(frame, columns, hashed)
        writer = counted.frame.write.format(definition.format).mode("overwrite")
        (writer.partitionBy(*columns) if columns else writer).save(place)
        return counted

    def _written(self, launch: Launch, place: str, known: Mapping[Slice, Made]) -> Written:
        """What lies at a place, of which rows and sums are known."""
        run, definition = launch.run, launch.definition
        columns = definition.partitioned_by
        files = {slice_of(each, columns): each for each in self._shim.written(place, len(columns))}
        made = tuple(evolve(known[each], fingerprint=file["fingerprint"]) for each, file in files.items())
        removed = tuple(each for each in launch.existing if each not in files)
        request: dict[str, Any] = {"table": run.view, "owner": definition.owner, "version": run.version}
        parts = [_part(each, files[each.slice], launch.existing.get(each.slice)) for each in made]
        if columns:
            specs = [{"spec": sql.spec(each.slice), **part} for each, part in zip(made, parts, strict=True)]
            request |= {"partitions": specs, "removed": [sql.spec(each) for each in removed]}
        else:
            request |= parts[0]
        places = {file["location"]: each for each, file in files.items()}
        found = Files(request, places)
        if place != _place(launch):
            found = evolve(found, place=Place.VOLUME, kept=place)
        return Written(made, removed, found, sum(file["bytes"] for file in files.values()))


def group(view: str, version: Version) -> str:
    """The name of a run's Spark jobs, as a job group, and of its copy; by it they are cancelled."""
    return f"headwater {view} {version}"


def _place(launch: Launch) -> str:
    """Where in the warehouse a run's output lies. Spark takes a directory whose own name is hidden for one to ignore,
    hence the level below."""
    return f"{launch.definition.root}/.v{launch.run.version}/data"


def _part(made: Made, file: Mapping[str, Any], known: PartitionRecord | None) -> dict[str, Any]:
    """A partition to publish. If it holds the rows that the record says it held, ``was`` is the fingerprint of the
    files that must be found in its place: of others, readers may have seen other rows."""
    part = {"location": file["location"], "rows": made.rows, "bytes": file["bytes"]}
    if known is not None and made.content and (made.content, made.rows) == (known.content, known.rows):
        part["was"] = known.fingerprint
    return part
