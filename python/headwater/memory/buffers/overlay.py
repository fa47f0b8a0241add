"""Overlays: the rows that a run reads in place of published ones, because they are newer or lie in memory.

Example: a run of ``by_region`` is on run 7 of ``sales_by_day``. The shim reads run 7's directory in place of the
partitions that run 7 computed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from attrs import frozen

from headwater.memory.buffers.scans import KeptScan, Part
from headwater.model.command import Written
from headwater.model.extract import Shared
from headwater.model.measure import Place
from headwater.model.partition import WHOLE, Slice, Version
from headwater.model.state import Run
from headwater.spark.jvm import sql

PROPERTY = "spark.headwater.overlay"
"""The local property of a thread that tells the shim its overlay; ``Overlay.scala`` describes the text."""


@frozen
class Output:
    """The rows of a run.

    Attributes:
        whole: whether they are all rows of its view.
        without: the partitions that they take the place of.
        places: the location of each partition that it made.
        size: the bytes there.
        place: the kind of place.
        held: the version whose rows Spark's memory holds in place of files, if any.
    """

    whole: bool
    without: Collection[Slice]
    places: Mapping[Slice, str]
    size: int
    place: Place = Place.WAREHOUSE
    held: Version | None = None

    @classmethod
    def of(cls, run: Run, existing: Iterable[Slice], written: Written) -> Output:
        """The rows that a run wrote in place of partitions that exist."""
        files, made = written.handle, (each.slice for each in written.made)
        whole, without = WHOLE in run.slices, frozenset((*existing, *written.removed, *made))
        if written.place is Place.BLOCKS:
            return cls(whole, without, {}, 0, written.place, run.version)
        places = {each: location for location, each in files.places.items()}
        return cls(whole, without, places, written.measured.size, written.place)

    @property
    def encoded(self) -> dict[str, Any]:
        """The text for the shim, as a value."""
        encoded = {
            "whole": self.whole,
            "without": [sql.spec(each) for each in self.without],
            "with": [{"spec": sql.spec(each), "location": place} for each, place in self.places.items()],
            "bytes": self.size,
        }
        return encoded if self.held is None else {**encoded, "held": self.held}


class Overlays:
    """The outputs that other runs may read where they lie, by the versions of the runs that made them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: dict[Version, tuple[str, Output]] = {}
        self._published: set[Version] = set()

    def add(self, run: Run, output: Output) -> None:
        with self._lock:
            self._of[run.version] = run.view, output

    def publish(self, version: Version) -> None:
        """Notes that the rows of a run are in the warehouse, too."""
        with self._lock:
            if version in self._of:
                self._published.add(version)

    def forget(self, versions: Iterable[Version]) -> None:
        """Lets those of these outputs that are published be read in the warehouse from now on."""
        with self._lock:
            for version in self._published.intersection(versions):
                self._of.pop(version, None)

    def remove(self, version: Version) -> None:
        with self._lock:
            self._of.pop(version, None)
            self._published.discard(version)

    def encoded(self, run: Run, scans: Mapping[str, KeptScan]) -> str | None:
        """The overlay of a run that also reads these scans, as text for the shim; ``None`` if it reads published rows
        only. An output that is not kept any more was published, so it is read in the warehouse."""
        found = {view: output.encoded for view, output in self._read(run).items()}
        found |= {table: scan.encoded for table, scan in scans.items()}
        return json.dumps(found) if found else None

    def part(self, run: Run, shared: Shared) -> Part:
        """The part of a table that a scan reads: the rows of another run, if this one is on that."""
        output = self._read(run).get(shared.table)
        return Part.of(shared.slices) if output is None else Part(output.whole, output.without)

    def places(self, run: Run) -> dict[str, Place | None]:
        """The place of the rows that a run reads of other runs, by their views; ``None``: several places."""
        return {
            view: output.place if output.whole or output.place is Place.WAREHOUSE else None
            for view, output in self._read(run).items()
        }

    def _read(self, run: Run) -> dict[str, Output]:
        with self._lock:
            return dict(self._of[version] for version in sorted(run.on) if version in self._of)
