"""Writes the rows of runs as files. Every version of a view lies in a hidden directory ``.v<version>`` of the view's
root."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve, frozen
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.model.command import Launch
from headwater.model.event import Made, Place
from headwater.model.partition import Slice
from headwater.model.state import PartitionRecord, Version
from headwater.ports import Written
from headwater.spark import sql
from headwater.spark.counted import Counted, counts, slice_of
from headwater.spark.shim import Shim


@frozen
class Files:
    """The rows that a run wrote: a publication request for the shim, the partition of each location, and the kind of
    ``place`` where they lie."""

    request: dict
    places: Mapping[str, Slice]
    place: Place = Place.WAREHOUSE


class Writer:
    """Writes rows as files, and describes the files of a place.

    Args:
        bandwidth: with how many bytes a second a copy is made, at most; 0: no limit.
    """

    def __init__(self, shim: Shim, bandwidth: int) -> None:
        self._shim, self._bandwidth = shim, bandwidth

    def write(self, launch: Launch, frame: DataFrame, place: str = "") -> tuple[Written, Counted]:
        """A run's rows, in the warehouse or at another place."""
        place = place or home(launch)
        counted = self.save(launch, frame, place, launch.definition.policy.cutoff)
        return self.written(launch, place, counts(counted.sums(), launch.definition.partitioned_by)), counted

    def copy(self, launch: Launch, source: str, made: Iterable[Made]) -> Written:
        """The rows of a place, as bytes in the warehouse."""
        run, place = launch.run, home(launch)
        self._shim.copy(group(run.view, run.version), source, place, self._bandwidth)
        return self.written(launch, place, {each.slice: each for each in made})

    def size(self, place: str) -> int:
        """Bytes of the files at a place."""
        return sum(each["bytes"] for each in self._shim.written(place, 0))

    def save(self, launch: Launch, frame: DataFrame, place: str, hashed: bool) -> Counted:
        """A view's rows, as files below a place."""
        definition, columns = launch.definition, launch.definition.partitioned_by
        if columns:
            frame = frame.hint("rebalance", *[F.col(sql.identifier(column)) for column in columns])
        counted = self._shim.counted(frame, columns, hashed)
        writer = counted.frame.write.format(definition.format).mode("overwrite")
        (writer.partitionBy(*columns) if columns else writer).save(place)
        return counted

    def written(self, launch: Launch, place: str, known: Mapping[Slice, Made]) -> Written:
        """The files of a place, whose rows and sums are known."""
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
        return Written(made, removed, Files(request, places), sum(file["bytes"] for file in files.values()))


def group(view: str, version: Version) -> str:
    """The name of a run's Spark jobs, as a job group, and of its copy; by it they are cancelled."""
    return f"headwater {view} {version}"


def home(launch: Launch) -> str:
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
