"""How much of what waits a refresh takes at once: [Golab11] §3.4.

Example: a source comes back after a day with 24 partitions. In one refresh they would take a track for an hour. In 24
refreshes, in the order of time, others run in between.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.papers.streams.task import Task

CALM = 0.8
"""Up to so much load a track catches up. Beyond it refreshes must save the fixed part of their time, and take all."""


def periods(tasks: Sequence[Task], tracks: int) -> float:
    """The periods whose data a refresh takes at most: c of the paper."""
    return 1.0 if sum(each.load for each in tasks) <= CALM * tracks else float("inf")
