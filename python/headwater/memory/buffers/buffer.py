"""The buffer of an engine: the place where rows lie for their readers before they are in the warehouse.

Example: a run is foreseen to make 3 MB, and 2 GB are free. 3 MB are set aside, and the run starts. When it has written
5 MB, 5 MB are set aside instead. Where that many are not left, the run is stopped and written to the warehouse.
"""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from attrs import frozen
from pyspark.sql import DataFrame, SparkSession

from headwater.logger import log
from headwater.memory.planning.means import Costs, Means
from headwater.model.command import Launch, Written
from headwater.model.error import RefreshFailed
from headwater.model.measure import Place
from headwater.model.partition import Version
from headwater.spark.jvm.counted import Counted
from headwater.spark.jvm.failures import first_line
from headwater.spark.jvm.settings import Settings
from headwater.spark.jvm.shim import SPARK_ERRORS, Shim
from headwater.spark.tables.writer import Writer

HEADROOM = 0.1
"""The share of the limit that stays free: for the bytes between two looks, and while a run is being stopped."""
LOOK = 0.02
"""Seconds between two looks at the bytes that a run has written."""


class BufferFull(RefreshFailed):
    """The rows of a run need more space than there is."""


@frozen
class Application:
    """The Spark application of an engine, as far as buffers depend on it.

    Attributes:
        local: whether the tasks run on the driver's machine.
        warehouse: the directory of its tables.
    """

    session: SparkSession
    shim: Shim
    settings: Settings
    local: bool
    warehouse: str


class Buffer(ABC):
    """The rows that one engine keeps, each output under the version of its run, and the bound on their bytes.

    Attributes:
        kind: its name in plans and in the journal.
        limit: bytes that may lie there at any moment.
    """

    kind: Place

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._reserved: dict[Version, int] = {}

    # --- the differences between buffers

    @abstractmethod
    def size(self, version: Version) -> int:
        """Bytes that an output takes now."""

    @abstractmethod
    def keep(self, launch: Launch, frame: DataFrame, writer: Writer) -> tuple[Written, Counted]:
        """Computes a run's rows and leaves them here."""

    @abstractmethod
    def bring(self, session: SparkSession, launch: Launch, kept: Written, writer: Writer) -> Written | None:
        """The rows of a run in the warehouse; ``None`` if some of them are not here any more."""

    @abstractmethod
    def leave(self, frame: DataFrame, number: Version, writer: Writer) -> tuple[str, int]:
        """Leaves the rows of a scan here: the directory, or nothing where there is none, and how many bytes lie
        there."""

    @abstractmethod
    def costs(self, application: Application) -> Costs:
        """The saving of a byte that lies here and not in the warehouse, as measured."""

    def means(self, application: Application) -> Means | None:
        """All that a plan may use; ``None`` if that is nothing."""
        try:
            return Means(self.costs(application), self.free, application.settings.tracks, self.kind)
        except SPARK_ERRORS as error:
            log.warning("nothing is kept in memory: the warehouse's speed cannot be measured (%s)", first_line(error))
            return None

    def close(self) -> None:
        """Removes everything."""
        with self._lock:
            self._reserved.clear()

    def remove(self, version: Version) -> None:
        """Removes an output."""
        with self._lock:
            self._reserved.pop(version, None)

    # --- the bound

    @property
    def free(self) -> int:
        """Bytes that no run has set aside."""
        with self._lock:
            return int(self.limit * (1 - HEADROOM)) - sum(self._reserved.values())

    def reserve(self, version: Version, size: int) -> bool:
        """Sets so many bytes aside for a run, instead of its share so far; whether there is as much."""
        with self._lock:
            others = sum(held for each, held in self._reserved.items() if each != version)
            fits = others + size <= self.limit * (1 - HEADROOM)
            if fits:
                self._reserved[version] = size
            return fits

    @contextlib.contextmanager
    def watched(self, version: Version, stop: Callable[[], object]) -> Iterator[None]:
        """Looks at the bytes that a run writes: sets more aside when they are more than was foreseen, and calls
        ``stop`` when there is no more space.

        Raises:
            BufferFull: it was stopped.
        """
        ended, most = threading.Event(), 0

        def look() -> None:
            nonlocal most
            while not ended.wait(LOOK):
                written = self.size(version)
                if written > self._reserved.get(version, 0) and not self.reserve(version, written):
                    most = max(most, written)
                    stop()

        watching = threading.Thread(target=look, daemon=True, name="headwater-buffer")
        watching.start()
        try:
            yield
        except Exception as error:
            if most:  # what is there now is less: a run that is stopped may take along what it has made
                raise BufferFull(f"its {most >> 20} MB and more do not fit") from error
            raise
        finally:
            ended.set()
            watching.join()
        if not self.reserve(version, self.size(version)):
            raise BufferFull(f"its {self.size(version) >> 20} MB do not fit")


class NoBuffer(Buffer):
    """The buffer of an engine that keeps nothing: no output fits there, so none is ever asked for."""

    kind = Place.WAREHOUSE

    def __init__(self) -> None:
        super().__init__(0)

    def reserve(self, version: Version, size: int) -> bool:
        return False

    def size(self, version: Version) -> int:
        return 0

    def keep(self, launch: Launch, frame: DataFrame, writer: Writer) -> tuple[Written, Counted]:
        return writer.write(launch, frame)

    def bring(self, session: SparkSession, launch: Launch, kept: Written, writer: Writer) -> Written:
        return kept

    def leave(self, frame: DataFrame, number: Version, writer: Writer) -> tuple[str, int]:
        raise BufferFull("nothing is kept")

    def costs(self, application: Application) -> Costs:
        return Costs(0.0, 0.0, 0.0)

    def means(self, application: Application) -> None:
        return None
