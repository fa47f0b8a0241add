"""Room for outputs that are kept in memory for their readers before they are in the warehouse.

What may lie there at any moment is bounded: room is set aside before a run starts, and a run that needs more than was
foreseen, and more than is left, is stopped and written to the warehouse instead.
"""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from headwater.model.error import RefreshFailed
from headwater.model.state import Version

HEADROOM = 0.1
"""The share of the limit that is left free: what a run writes between two looks, and while it is being stopped."""
LOOK = 0.02
"""Seconds between two looks at how much a run has written."""


class OutOfRoom(RefreshFailed):
    """What a run makes needs more room than there is."""


class Room(ABC):
    """What one engine may keep in memory, and does.

    Attributes:
        limit: bytes that may lie there at any moment.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._reserved: dict[Version, int] = {}

    @abstractmethod
    def size(self, version: Version) -> int:
        """Bytes that a run's output takes now."""

    def close(self) -> None:
        """Removes everything."""
        with self._lock:
            self._reserved.clear()

    def remove(self, version: Version) -> None:
        """Removes a run's output."""
        with self._lock:
            self._reserved.pop(version, None)

    @property
    def free(self) -> int:
        """Bytes that no run has set aside."""
        with self._lock:
            return int(self.limit * (1 - HEADROOM)) - sum(self._reserved.values())

    def reserve(self, version: Version, size: int) -> bool:
        """Sets so much room aside for a run, instead of what it had; whether there is as much."""
        with self._lock:
            others = sum(held for each, held in self._reserved.items() if each != version)
            fits = others + size <= self.limit * (1 - HEADROOM)
            if fits:
                self._reserved[version] = size
            return fits

    @contextlib.contextmanager
    def watched(self, version: Version, stop: Callable[[], object]) -> Iterator[None]:
        """Looks at what a run writes: sets more room aside when that is more than was foreseen, and calls ``stop``
        when there is no more.

        Raises:
            OutOfRoom: it was stopped.
        """
        ended, most = threading.Event(), 0

        def look() -> None:
            nonlocal most
            while not ended.wait(LOOK):
                written = self.size(version)
                if written > self._reserved.get(version, 0) and not self.reserve(version, written):
                    most = max(most, written)
                    stop()

        watching = threading.Thread(target=look, daemon=True, name="headwater-room")
        watching.start()
        try:
            yield
        except Exception as error:
            if most:  # what is there now is less: a run that is stopped may take along what it has made
                raise OutOfRoom(f"its {most >> 20} MB and more do not fit") from error
            raise
        finally:
            ended.set()
            watching.join()
        if not self.reserve(version, self.size(version)):
            raise OutOfRoom(f"its {self.size(version) >> 20} MB do not fit")
