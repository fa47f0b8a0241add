"""Virtual time: things to do, in order."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from attrs import Factory, define


@define
class Agenda:
    """Things to do at given times (ms); those of one time in the order in which they were noted."""

    now: int = 0
    _heap: list[tuple[int, int, Callable[[], object]]] = Factory(list)
    _count: int = 0

    def at(self, time: int, work: Callable[[], object]) -> None:
        self._count += 1
        heapq.heappush(self._heap, (time, self._count, work))

    def next(self) -> bool:
        """Moves to the next time that has anything and does all of it; false when there is none."""
        if not self._heap:
            return False
        self.now = max(self.now, self._heap[0][0])
        while self._heap and self._heap[0][0] <= self.now:
            heapq.heappop(self._heap)[2]()
        return True
