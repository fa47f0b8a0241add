"""Which of the ready runs start now, and in which order: the port of a schedule.

Example: ``v`` and ``w`` are ready, and a plan says that ``w`` comes first and that its rows stay in memory. The
schedule chooses ``w``, kept, and then ``v``.

A schedule has a quick half and a slow half. The quick half reads the state, so it runs while nobody changes that. The
slow half searches for a plan, and needs the question only, so it runs beside everything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from attrs import frozen

from headwater.engine.decide.readiness import Choice, Ready
from headwater.model.extract import Shared
from headwater.model.partition import Version
from headwater.model.state import State, Status, ViewState

Pending = Mapping[str, frozenset[Version]]
"""The views that are to be refreshed, in topological order, each with the changes that it is to reflect."""


@frozen
class Question:
    """A request for a plan; each schedule adds what its search needs.

    Attributes:
        pending: the changes that the plan is for.
    """

    pending: Pending


@frozen
class Planned:
    """A plan, as far as the start of runs needs it. With ``pending`` alone it says nothing of them, and stands for a
    plan that cannot be made.

    Attributes:
        pending: the changes that it is for.
        order: the views, first the one that starts first.
        kept: the views whose rows stay in memory.
        shared: the scans that several runs read in place of a table.
    """

    pending: Pending
    order: tuple[str, ...] = ()
    kept: frozenset[str] = frozenset()
    shared: tuple[Shared, ...] = ()

    def covers(self, state: State) -> bool:
        """Whether the plan is for everything that is pending in a state."""
        return all(
            origins <= self.pending.get(name, frozenset())
            for name, view in state.views.items()
            if _is_pending(view)
            for origins in view.pending.values()
        )

    def explained(self, view: str) -> list[str]:
        """What the plan says of the refresh of a view, as lines of ``EXPLAIN REFRESH``."""
        return []

    def choices(self, ready: Sequence[Ready]) -> list[Choice]:
        """The ready runs in the order of the plan; then those that it does not know, as they come."""
        place = {name: n for n, name in enumerate(self.order)}
        scans: dict[str, tuple[Shared, ...]] = {}
        for each in self.shared:
            for reader in each.readers:
                scans[reader] = (*scans.get(reader, ()), each)
        ordered = sorted(ready, key=lambda each: place.get(each.view, len(place)))
        return [Choice(each, each.view in self.kept, scans.get(each.view, ())) for each in ordered]


Asked = TypeVar("Asked", bound=Question)


class Schedule(Protocol[Asked]):
    """How an engine chooses among ready runs. All methods are pure: the last plan comes from the caller."""

    def question(self, state: State, last: Planned | None) -> Asked | None:
        """The plan that must be made before anything starts; ``None`` if the last one serves. It is quick."""

    def solve(self, question: Asked) -> Planned:
        """The answer to a question: a plan for the same changes. It may be slow.

        Raises:
            PlanError: there is no plan; ``Planned(question.pending)`` stands for it.
        """

    def choose(self, state: State, ready: Sequence[Ready], planned: Planned | None) -> list[Choice]:
        """What may start, in the order in which it should: each view at most once. It is quick."""


class InOrder:
    """Starts what is ready as it is found: the oldest change first. It makes no plan."""

    def question(self, state: State, last: Planned | None) -> None:
        return None

    def solve(self, question: Question) -> Planned:
        return Planned(question.pending)

    def choose(self, state: State, ready: Sequence[Ready], planned: Planned | None) -> list[Choice]:
        return [Choice(each) for each in ready]


def pending_views(state: State) -> tuple[str, ...]:
    """The views that are to be refreshed, in topological order."""
    found = [name for name, view in state.views.items() if _is_pending(view)]
    return tuple(sorted(found, key=state.index.order.__getitem__))


def pending_of(state: State) -> Pending:
    """The same, with their changes."""
    return {name: frozenset().union(*state.views[name].pending.values()) for name in pending_views(state)}


def _is_pending(view: ViewState) -> bool:
    return bool(view.pending) and view.status is Status.ACTIVE
