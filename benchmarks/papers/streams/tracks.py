"""Which refresh may run on which track: [Golab11] §3.2.

A track is a share of the machine on which one refresh runs at a time. Short refreshes have tracks of their own, so that
they do not wait until a long one ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from attrs import field, frozen

from benchmarks.papers.streams.task import Task


class Tracks(Protocol):
    """A way to give tracks to waiting refreshes."""

    def place(self, waiting: Sequence[int], free: Sequence[int]) -> list[tuple[int, int]]:
        """Refreshes that start now, each with its track.

        Args:
            waiting: the numbers of tasks, the most urgent first.
            free: the tracks on which nothing runs.
        """


@frozen
class Shared:
    """Any refresh runs on any track: global scheduling."""

    def place(self, waiting: Sequence[int], free: Sequence[int]) -> list[tuple[int, int]]:
        return list(zip(waiting, free, strict=False))


@frozen
class Homes:
    """Refreshes run on tracks of their own, and on others only if these are not needed there.

    Attributes:
        homes: of each task the tracks that are its own, the one that it takes first at the front.
        spare: tracks that are nobody's own.
        others: of each task the tracks of others on which it may run.
        aggressive: a more urgent refresh takes the track of others also while one of theirs waits.
    """

    homes: tuple[tuple[int, ...], ...]
    spare: tuple[int, ...]
    others: tuple[tuple[int, ...], ...]
    aggressive: bool = False
    _owners: dict[int, frozenset[int]] = field(init=False, eq=False)

    def __attrs_post_init__(self) -> None:
        tracks = {each for some in self.homes for each in some}
        owners = {track: frozenset(i for i, some in enumerate(self.homes) if track in some) for track in tracks}
        object.__setattr__(self, "_owners", owners)

    def place(self, waiting: Sequence[int], free: Sequence[int]) -> list[tuple[int, int]]:
        left, found = set(free), []
        for n, task in enumerate(waiting):
            if not left:
                break
            track = self._track(task, left, waiting, n + 1)
            if track is not None:
                left.discard(track)
                found.append((task, track))
        return found

    def _track(self, task: int, free: set[int], waiting: Sequence[int], after: int) -> int | None:
        for track in (*self.homes[task], *self.spare):
            if track in free:
                return track
        for track in self.others[task]:
            if track not in free:
                continue
            if self.aggressive or self._owners.get(track, frozenset()).isdisjoint(waiting[after:]):
                return track
        return None


def partitioned(tasks: Sequence[Task], count: int, aggressive: bool = False) -> Homes | None:
    """Each task on one track, such that each would meet its deadlines there: [Golab11] §3.2.1 and §3.2.2. ``None``: the
    tasks need more tracks than there are.

    A task is promoted to another track if it would fit there. The paper's condition leaves out its own load, and the
    paper's example does not; the example counts here.
    """
    tracks: list[list[int]] = []
    for n in sorted(range(len(tasks)), key=lambda each: tasks[each].period):
        if tracks and _fits([*tracks[-1], n], tasks):
            tracks[-1].append(n)
        else:
            tracks.append([n])
    if len(tracks) > count:
        return None
    home_of = {n: at for at, track in enumerate(tracks) for n in track}
    homes = tuple((home_of[n],) for n in range(len(tasks)))
    others = tuple(
        tuple(at for at, track in enumerate(tracks) if at != home_of[n] and _fits([*track, n], tasks))
        for n in range(len(tasks))
    )
    return Homes(homes, tuple(range(len(tracks), count)), others, aggressive)


def proportional(
    tasks: Sequence[Task], count: int, spread: float = 10.0, everything: bool = True, aggressive: bool = True
) -> Homes:
    """Tasks of like lengths share tracks in the measure of their load: [Golab11] §3.2.3.

    Args:
        spread: ``k`` of the paper: a task joins a cluster if its period is at most so many times the least one there.
        everything: give all tracks to clusters (``M`` is N / U); else as few as hold the load, and the rest is spare.
    """
    clusters = _clusters(tasks, spread)
    loads = [sum(tasks[n].load for n in cluster) for cluster in clusters]
    whole = count if everything else min(count, math.ceil(sum(loads) - 1e-9))
    scale = whole / sum(loads)
    homes: dict[int, tuple[int, ...]] = {}
    others: dict[int, tuple[int, ...]] = {}
    low = 0.0
    for cluster, load in reversed(list(zip(clusters, loads, strict=True))):
        high = low + scale * load
        first, last = min(math.floor(low + 1e-9), whole - 1), min(math.ceil(high - 1e-9), whole)
        for n in cluster:
            homes[n] = (*range(first + 1, last), first)
            others[n] = tuple(range(first))
        low = high
    own, beside = (tuple(some[n] for n in range(len(tasks))) for some in (homes, others))
    return Homes(own, tuple(range(whole, count)), beside, aggressive)


def reserved(tasks: Sequence[Task], count: int, spread: float = 10.0) -> Homes:
    """Each cluster of longer tasks has one track less than the one before it, as long as it has one. So a short refresh
    waits for a long one only where all short ones are busy, and no track idles while anything may run there."""
    clusters = _clusters(tasks, spread)
    homes: dict[int, tuple[int, ...]] = {}
    for n, cluster in enumerate(clusters):
        for each in cluster:
            homes[each] = tuple(reversed(range(max(1, count - n))))
    none = ((),) * len(tasks)
    return Homes(tuple(homes[n] for n in range(len(tasks))), (), none, aggressive=True)


# --- inside


def _fits(track: Sequence[int], tasks: Sequence[Task]) -> bool:
    """Whether refreshes on one track meet their deadlines, whatever the order in which changes come."""
    longest = max(tasks[n].takes(tasks[n].period) for n in track)
    return sum(tasks[n].load for n in track) <= 1 - longest / min(tasks[n].period for n in track)


def _clusters(tasks: Sequence[Task], spread: float) -> list[list[int]]:
    """Tasks by the time that they take, in clusters of like periods. The paper's words compare a time with a period,
    its example compares two periods, and the example counts here."""
    found: list[list[int]] = []
    for n in sorted(range(len(tasks)), key=lambda each: tasks[each].takes(tasks[each].period)):
        if found and tasks[n].period <= spread * min(tasks[each].period for each in found[-1]):
            found[-1].append(n)
        else:
            found.append([n])
    return found
