"""Looks at the tables of a world, as the observer takes them: a table is looked at, and later its event is recorded.

Other engines may record something between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from headwater.engine.record import changes
from headwater.engine.record.changes import Finding, differences
from headwater.model.event import Changed, Event
from headwater.model.partition import Slice
from headwater.model.seen import Command, Seen
from headwater.model.state import State

if TYPE_CHECKING:
    from machine import Machine


def glance(machine: Machine, table: str, named: tuple[Slice, ...] = (), before: int = 0) -> Finding:
    """Looks at a table. ``named`` are the partitions that a statement is known to have written."""
    seen = _seen(machine, table)
    if not seen.pinned:
        seen = evolve(seen, asked=named, columns=frozenset(column for each in named for column in each.columns))
    standing, is_view = changes.standing(machine.state, table), table in machine.state.views
    return Finding(seen, Command("a write" if named else ""), before, is_view, standing)


def record(machine: Machine, found: Finding) -> None:
    """Records what a look found, or looks again if another one came between."""
    table = found.seen.table
    if changes.is_outdated(machine.state, found.seen):
        return record(machine, glance(machine, table, found.seen.asked, found.before))

    def build(state: State) -> Event | None:
        event = changes.noticed(state, found, machine.now)
        # The same word whoever wrote, so that tests are short.
        return evolve(event, verb="was written") if isinstance(event, Changed) else event

    machine.recorder.record(build)
    return None


def is_unseen(machine: Machine, table: str) -> bool:
    """Whether what readers of a table see is not what is recorded of it."""
    seen = _seen(machine, table)
    return bool(differences(machine.state.tables.get(table), seen.partitions, seen.looked))


def _seen(machine: Machine, table: str) -> Seen:
    known = machine.state.tables.get(table)
    return machine.world.seen(table, known.snapshot if known is not None else "")
