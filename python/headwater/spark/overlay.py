"""What refreshes read in place of what is published: outputs of other runs that are not, or that lie closer at hand."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from headwater.model.partition import WHOLE, Slice
from headwater.model.state import Run, Version
from headwater.spark import sql

PROPERTY = "spark.headwater.overlay"
"""The local property of a thread that tells the shim, in which ``Overlay.scala`` says what it means."""


@frozen
class Output:
    """What a run made.

    Attributes:
        version: the run's.
        whole: whether that is all of its view.
        without: the partitions that it takes the place of.
        places: where each of those that it made lies.
    """

    version: Version
    whole: bool
    without: Collection[Slice]
    places: Mapping[Slice, str]

    @classmethod
    def of(cls, run: Run, existing: Iterable[Slice], places: Mapping[Slice, str]) -> Output:
        return cls(run.version, WHOLE in run.slices, frozenset((*existing, *places)), places)

    @property
    def told(self) -> dict[str, Any]:
        """What the shim is told."""
        return {
            "whole": self.whole,
            "without": [sql.spec(each) for each in self.without],
            "with": [{"spec": sql.spec(each), "location": place} for each, place in self.places.items()],
        }


class Overlays:
    """The last output of each view that other runs may read where it lies."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: dict[str, Output] = {}

    def add(self, view: str, output: Output) -> None:
        with self._lock:
            self._of[view] = output

    def remove(self, version: Version) -> None:
        with self._lock:
            self._of = {view: each for view, each in self._of.items() if each.version != version}

    def told(self, run: Run, sources: Sequence[str]) -> str | None:
        """What the shim is told of what a run reads; ``None`` when that is what readers see."""
        with self._lock:
            found = {
                each: known.told
                for each in sources
                if (known := self._of.get(each)) is not None and known.version in run.on
            }
        return json.dumps(found) if found else None
