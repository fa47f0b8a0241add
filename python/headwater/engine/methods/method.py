"""What a refresh method is: how it would renew what is behind, at which cost, and its words for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen

from headwater.model.event import Published
from headwater.model.partition import WHOLE, Region, Slice
from headwater.model.reason import Reason
from headwater.model.state import Run, State, ViewState
from headwater.model.view import Definition
from headwater.model.work import FollowsChanges, Mode, Whole, Work

Slices = Sequence[Slice]


@frozen
class Cost:
    """The cost of one run, as far as past runs tell; ``None`` where nobody knows.

    Attributes:
        partitions: that it writes, at most.
        seconds: that it takes at most. Runs of the past took so long for as many partitions as they wrote.
        read, written: bytes.
        cores: core-seconds that it takes at most.
    """

    partitions: int
    seconds: float | None = None
    read: int | None = None
    written: int | None = None
    cores: float | None = None

    @property
    def told(self) -> str:
        """The duration with the cost by which methods are compared, as far as both are known."""
        known = self.seconds is not None and self.cores is not None
        return f"{self.said} ({self.cores:.1f} core-seconds)" if known else self.said

    @property
    def said(self) -> str:
        if self.seconds is not None:
            return f"about {self.seconds:.1f} s"
        return "of unknown duration" if self.read is None else f"about {self.read / 1e6:.1f} MB to read"


@frozen
class Offer:
    """How a method would renew slices of a view.

    Attributes:
        frame: the slices that it writes. They cover those that it renews.
        work: that of the run.
        untried: why a view that names no method does not take it, as long as no run tells its cost; ``None`` if it may.
    """

    frame: tuple[Slice, ...]
    cost: Cost
    work: Work
    untried: Reason | None = None


@frozen(eq=False)
class Method:
    """One way to renew slices of a view.

    Attributes:
        work: what its runs compute.
        said: how a sentence says it.
        offer: how it renews these slices of a view; or why it cannot.
        learn: adds what a run took to what is known of its view.
        suits: whether it is the one for views of this definition, of those with the same words.
        barred: why it can follow the changes of no source of a view; ``None`` if it can follow those of one.
    """

    work: type[Whole] | type[FollowsChanges]
    said: str
    offer: Callable[[State, str, Slices], Offer | Reason]
    learn: Callable[[State, ViewState, Run, Published], None]
    suits: Callable[[Definition], bool] = lambda _: True
    barred: Callable[[Definition], Reason | None] = lambda _: None

    @property
    def mode(self) -> Mode:
        return self.work.mode


def existing(state: State, name: str) -> int:
    """The partitions that a view has on record; one at least."""
    known = state.tables[name].partitions if name in state.tables else {}
    return max(1, sum(1 for each in known.values() if each.fingerprint is not None))


def count(state: State, name: str, frame: tuple[Slice, ...], slices: Slices) -> int:
    """The partitions in a frame: those on record, and the new ones among those to renew."""
    columns = frozenset(state.views[name].definition.partitioned_by)
    known = state.tables[name].partitions if name in state.tables else {}
    if WHOLE not in frame and all(each.columns == columns for each in frame):
        return len(frame)
    new = sum(1 for each in slices if each.columns == columns and each not in known)
    asked = Region(frame)
    there = len(known) if WHOLE in frame else sum(1 for each in known if asked.covers(each))
    return max(1, there + new)
