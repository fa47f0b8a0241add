"""Is a partition consistent with what it is made from, and with its siblings ([Xu23] §2.3)?

A partition reflects a change when no request for it carries that change any more. So every question
is one about the changes that are pending for it, of which the state has all: exactly those recorded
changes that reach the partition and are not in it yet. A view that does not follow what it reads lacks
nothing, by its own policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import frozen

from headwater.engine.requests.coverage import cover_each, downstream, unresolved, upstream
from headwater.model.partition import WHOLE, Slice, Version
from headwater.model.state import Origin, State

Request = tuple[str, Slice]
Owed = dict[Version, list[Request]]


@frozen
class Verdict:
    """The answer to one question.

    Attributes:
        other: the upstream table, or the sibling, that the question is about.
        lacks: the changes that are not reflected (vertical), or by only one of the two (horizontal),
            oldest first; none when they are consistent.
        requests: the pending or running slices that will make it so.
        since: when the oldest of those changes was recorded (ms).
    """

    other: str
    lacks: tuple[Origin, ...] = ()
    requests: tuple[Request, ...] = ()

    @property
    def consistent(self) -> bool:
        return not self.lacks

    @property
    def since(self) -> int | None:
        return self.lacks[0].at if self.lacks else None


def vertical(state: State, name: str, partition: Slice = WHOLE) -> tuple[Verdict, ...]:
    """Whether partitions of a view reflect every recorded change of each table upstream.

    A change made further up counts against each table that it reaches the view through; one of the view's
    own definition counts against all.
    """
    owed = _owed(state, name, partition)
    verdicts = []
    for table in sorted(upstream(state, name) - {name}):
        above = upstream(state, table) | {name}
        lacks = [version for version in owed if state.origins[version].table in above]
        verdicts.append(_verdict(state, table, lacks, owed))
    return tuple(verdicts)


def lacking(state: State) -> dict[str, tuple[Verdict, ...]]:
    """For every view, those answers of ``vertical`` that say it is not consistent.

    Each request is followed downstream once, instead of once for each view there, and a view that lacks
    nothing costs nothing.
    """
    owed: dict[str, Owed] = {name: {} for name in state.views}
    for table in state.views:
        for each, origins in unresolved(state, table).items():
            for some, _, reached in cover_each(state, table, (each,), origins):
                for name in (table, *reached):
                    for version in some:
                        owed[name].setdefault(version, []).append((table, each))
    below: dict[str, set[str]] = {}
    return {name: tuple(_lacking(state, name, owed[name], below)) for name in sorted(state.views)}


def horizontal(state: State, name: str, sibling: str, partition: Slice = WHOLE, other: Slice = WHOLE) -> Verdict:
    """Whether partitions of two views reflect the same changes of what both are made from."""
    mine, its = _owed(state, name, partition), _owed(state, sibling, other)
    common = upstream(state, name) & upstream(state, sibling)
    apart = [version for version in mine.keys() ^ its.keys() if state.origins[version].table in common]
    return _verdict(state, sibling, apart, mine, its)


def _lacking(state: State, name: str, owed: Owed, below: dict[str, set[str]]) -> Iterator[Verdict]:
    """``below`` keeps what is downstream of the tables at which changes started."""
    starts = {state.origins[version].table for version in owed}
    for start in starts - below.keys():
        below[start] = downstream(state, start)
    for table in sorted(upstream(state, name) - {name}) if owed else ():
        through = {start for start in starts if start == name or table in below[start]}
        lacks = [version for version in owed if state.origins[version].table in through]
        if lacks:
            yield _verdict(state, table, lacks, owed)


def _owed(state: State, name: str, partition: Slice) -> Owed:
    """The changes that partitions of a view do not reflect yet, with the requests for each, here and upstream."""
    owed: Owed = {}
    for each, origins in unresolved(state, name).items():
        if each.overlaps(partition):
            for version in origins:
                owed.setdefault(version, []).append((name, each))
    for table in upstream(state, name) - {name}:
        # A view that is suspended, broken or failing does not pass on what it lacks; its readers lack it too.
        for each, origins in unresolved(state, table).items() if table in state.views else ():
            for some, _, reached in cover_each(state, table, (each,), origins):
                if any(hit.overlaps(partition) for hit in reached.get(name, ())):
                    for version in some:
                        owed.setdefault(version, []).append((table, each))
    return owed


def _verdict(state: State, other: str, lacks: Iterable[Version], *owed: Owed) -> Verdict:
    found = sorted(lacks)
    requests = {each for some in owed for version in found for each in some.get(version, ())}
    return Verdict(other, tuple(state.origins[version] for version in found), tuple(sorted(requests, key=str)))
