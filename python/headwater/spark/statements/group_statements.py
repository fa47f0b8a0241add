"""Statements about groups of views, and reads at their epochs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from headwater.engine.groups.epochs import members, next_epoch, shows
from headwater.engine.groups.reading import group_of, read_states
from headwater.engine.requests.coverage import upstream
from headwater.engine.tell.group_rows import group_rows, state_rows
from headwater.engine.tell.waiting import failing
from headwater.model.error import StatementError
from headwater.model.name import loosely
from headwater.model.partition import Version
from headwater.model.reason import Code, Reason
from headwater.model.state import State
from headwater.runtime.recorder import Recorder
from headwater.runtime.wait import Waiting
from headwater.spark.jvm import wire
from headwater.spark.jvm.facts import Pin, ReadAt
from headwater.spark.jvm.settings import EPOCH
from headwater.spark.observing.observer import Observer
from headwater.spark.refreshing.group_commits import GroupCommits
from headwater.spark.statements.view_names import Names

LASTING = (Code.CUT_RELEASED, Code.CUT_PROPAGATE, Code.CUT_UNKNOWN)
"""Why a group has no newer epoch, whatever is waited for."""

Pins = Callable[[Mapping[str, str]], Mapping[str, Pin]]
"""How tables are read at snapshots."""


class Groups:
    """The groups of one engine's views."""

    def __init__(
        self, recorder: Recorder, observer: Observer, waiting: Waiting, names: Names, pins: Pins, commits: GroupCommits
    ) -> None:
        self._recorder, self._observer, self._waiting = recorder, observer, waiting
        self._names, self._pins, self._commits = names, pins, commits

    def shown(self) -> list[wire.Row]:
        """``SHOW MATERIALIZED VIEW GROUPS``"""
        self._recorder.sync()
        now = self._recorder.clock.now()
        return [each.row for each in self._recorder.read(lambda state: group_rows(state, now))]

    def described(self, name: str, session: wire.Session, epoch: int | None = None) -> list[wire.Row]:
        """``DESCRIBE MATERIALIZED VIEW GROUP``, at the epoch that the statement names, or else the session.

        Raises:
            StatementError: there is no such group, or epoch.
        """
        self._recorder.sync()
        group = self._recorder.read(lambda state: group_of(state, name))
        number, now = epoch or _number(session.settings.get(EPOCH)), self._recorder.clock.now()
        return [each.row for each in self._recorder.read(lambda state: state_rows(state, group, now, number))]

    def refresh(self, name: str, token: int) -> list[wire.Row]:
        """``REFRESH MATERIALIZED VIEW GROUP``: waits for an epoch with all that is recorded now.

        Raises:
            StatementError: there is no such group, or it has no such epoch.
        """
        self._recorder.sync()
        group = self._recorder.read(lambda state: group_of(state, name))
        for view in self._recorder.read(lambda state: members(state, group)):
            self._observer.check(view)
        since = self._recorder.seq
        version = self._waiting.hurry(lambda state: members(state, group))
        everything = partial(_needed, group=group)
        self._waiting.until_fresh(everything, version, since=since, token=token)
        ended: list[str] = []

        def over(state: State) -> bool:
            ended[:] = [why for why in [_ended(state, group, version)] if why is not None]
            return bool(ended)

        self._waiting.until(over, token)
        if why := ended[0]:
            raise StatementError(f"{group} has no epoch with all changes: {why}")
        self._commits.settle(only=group)
        now = self._recorder.clock.now()
        return [each.row for each in self._recorder.read(lambda state: group_rows(state, now)) if each.group == group]

    def read(self, question: wire.Pinning) -> ReadAt:
        """How a statement reads tables at an epoch.

        Raises:
            StatementError: one of them cannot be read at it.
        """
        self._recorder.sync()
        now = self._recorder.clock.now()
        keys = {each: self._names.meant(each) or each for each in question.tables}
        if question.sources:
            self._recorder.read(lambda state: _refuse_other_case(state, keys.values()))
        found = self._recorder.read(
            lambda state: read_states(state, set(keys.values()), question.epoch, question.sources, now, question.moment)
        )
        pins = self._pins({table: known.snapshot for table, known in found.states.items()})
        if lost := sorted(found.states.keys() - pins.keys()):
            raise StatementError(f"the state of {', '.join(lost)} at the moment {found.moment} cannot be read any more")
        return ReadAt(found.moment, {each: pins[key] for each, key in keys.items() if key in pins})


def _refuse_other_case(state: State, tables: Iterable[str]) -> None:
    """Refuses a table that may be a source of a group in another case: it would be read as it is."""
    newest = (known[-1] for known in state.groups.values() if known)
    sources = {each.table for epoch in newest for each in epoch.sources}
    for table in tables:
        alike = [each for each in sorted(sources) if loosely(each) == loosely(table) and each != table]
        if alike and table not in state.tables:
            raise StatementError(f"{table} may be {alike[0]}, which is a source of a group; write its name so")


def _number(text: str | None) -> int | None:
    """The epoch that a session names; ``None`` if it names none.

    Raises:
        StatementError: the text is no number.
    """
    if text is None:
        return None
    if not text.strip().isdecimal():
        raise StatementError(f"{EPOCH} is '{text}'; write the number of an epoch")
    return int(text)


def _needed(state: State, group: str) -> set[str]:
    return {each for name in members(state, group) for each in upstream(state, name)}


def _ended(state: State, group: str, version: Version) -> str | None:
    """Why a wait for an epoch with all changes up to a version is over; empty if there is one; ``None``: it is not."""
    if not members(state, group):
        return "it has no members any more"
    if shows(state, group, version):
        return ""
    why = next_epoch(state, group, 0)
    if isinstance(why, Reason) and why.code in LASTING:
        return why.text
    return next(iter(failing(state, _needed(state, group), version).values()), None)
