"""Looks at the tables of a world, as the observer takes them: a table is looked at, and later its event is recorded.

Other engines may record something between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve, frozen

from headwater.engine.record import changes
from headwater.engine.record.compare import differences
from headwater.model.event import Event
from headwater.model.partition import Slice
from headwater.model.seen import Command, Seen
from headwater.model.state import State

if TYPE_CHECKING:
    from machine import Machine


@frozen
class Glance:
    """A table as it was found; of a view, how that stood then.

    Attributes:
        before: a run that is about to read the table.
    """

    seen: Seen
    is_view: bool
    was: changes.Standing | None
    command: Command
    before: int

    def event(self, state: State, at: int, version: int) -> Event | None:
        """The event that follows, if the table has other rows than on record."""
        if not self.is_view:
            event = changes.change(state, self.seen, self.command, self.before, at, version)
        else:
            event = self.was and changes.drift(state, self.seen, self.was, self.command, at, version)
        return event and evolve(event, verb="was written")  # the same word whoever wrote, so that tests are short

    def advance(self, state: State, at: int) -> Event | None:
        """The event that follows if it has the same rows."""
        return None if self.is_view and self.was is None else changes.advance(state, self.seen, at)


def glance(machine: Machine, table: str, named: tuple[Slice, ...] = (), before: int = 0) -> Glance:
    """Looks at a table. ``named`` are the partitions that a statement is known to have written."""
    seen = _seen(machine, table)
    if not seen.pinned:
        seen = evolve(seen, asked=named, columns=frozenset(column for each in named for column in each.columns))
    standing, is_view = changes.standing(machine.state, table), table in machine.state.views
    return Glance(seen, is_view, standing, Command("a write" if named else ""), before)


def record(machine: Machine, found: Glance) -> None:
    """Records what a look found, or looks again if another one came between."""
    table = found.seen.table
    if changes.is_outdated(machine.state, found.seen):
        return record(machine, glance(machine, table, found.seen.asked, found.before))
    if (event := found.event(machine.state, machine.now, 0)) is not None:
        slices = [each.slice for each in event.partitions]
        machine.recorder.change(table, slices, lambda state, version: found.event(state, machine.now, version))
    elif found.advance(machine.state, machine.now) is not None:
        machine.recorder.record(lambda state, _: found.advance(state, machine.now))
    return None


def is_unseen(machine: Machine, table: str) -> bool:
    """Whether what readers of a table see is not what is recorded of it."""
    seen = _seen(machine, table)
    return bool(differences(machine.state.tables.get(table), seen.partitions, seen.looked))


def _seen(machine: Machine, table: str) -> Seen:
    known = machine.state.tables.get(table)
    return machine.world.seen(table, known.snapshot if known is not None else "")
