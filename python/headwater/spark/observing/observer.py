"""Finds out the changes of tables: hints and checks in, recorded changes out.

A hint only says where to look. A comparison of the table's own state with the one on record decides, so lost events,
partial ones and writes by other programs are all alike. Nothing here asks Spark while it holds the recorder's lock:
a look comes first, and each event is built under the lock, of the state as it is then.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from attrs import define, evolve, field

from headwater.engine.record import changes
from headwater.engine.record.changes import Finding, Standing
from headwater.engine.requests.coverage import upstream
from headwater.model.error import DefinitionError, StoreError
from headwater.model.event import Dropped, Renamed
from headwater.model.name import FunctionName, PathName, TableName, loosely, named, spelled
from headwater.model.partition import Slice
from headwater.model.reason import Reason
from headwater.model.seen import Command, Seen, TableQuestion
from headwater.model.state import State
from headwater.model.version import Version
from headwater.model.view import Definition
from headwater.runtime.execute import guarded
from headwater.runtime.recorder import Recorder
from headwater.spark.defining.analyse import Analyst
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.jvm.wire import Hint
from headwater.spark.observing.reanalysis import Reanalysis
from headwater.spark.tables import catalog, hidden
from headwater.spark.tables.formats import Formats
from headwater.spark.tables.view_tables import forget_replaced, is_waiting

log = logging.getLogger("headwater")

TOGETHER = 100
"""So many tables are compared with the record at once, while nobody else reads or writes it."""


@define
class Target:
    """Where to look: tables, each with the partitions that were named, or ``None`` for all; the command that wrote
    there, if one is known to have; the run that is about to read there, if one is; and the watermarks (ms) of streams
    that wrote there."""

    tables: dict[str, list[Slice] | None] = field(factory=dict)
    command: Command = Command()
    before: Version = 0
    watermarks: dict[str, int] = field(factory=dict)

    def add(self, table: str, partitions: Iterable[Slice] | None) -> None:
        known, some = self.tables.get(table, []), list(partitions or ())
        self.tables[table] = None if not some or known is None else [*known, *some]


class Observer:
    """Compares tables with the record, for one engine.

    Attributes:
        noticed: set while hints wait for a look.
    """

    def __init__(self, recorder: Recorder, shim: Shim, formats: Formats, analyst: Analyst, sessions: Sessions) -> None:
        self._recorder, self._shim, self._sessions, self._formats = recorder, shim, sessions, formats
        self._reanalysis = Reanalysis(recorder, analyst, self.first_look, self.catch_up)
        self._looking = threading.RLock()
        self._hints: queue.SimpleQueue[Hint] = queue.SimpleQueue()
        self._unrecorded: list[Target] = []
        self._away: dict[str, Sequence[str]] = {}
        self._places: dict[str, str] = {}  # of views in lakes, whose catalogs know nothing of them after a drop
        self.noticed = threading.Event()

    def notice(self, hint: Hint) -> None:
        """Keeps one of the driver's hints for the next look, whoever takes it."""
        self._hints.put(hint)
        self.noticed.set()

    def pointed_at(self, hints: Iterable[Hint]) -> set[str]:
        """The tables, of those that matter to any view, that the driver's hints point at."""
        return {table for hint in hints for table, _ in self._targets(hint)}

    def hinted(self, before: Version = 0) -> None:
        """Looks where the hints point that wait, if any view could care; ``before`` a run that is about to read."""
        with self._looking:
            self._unrecorded += self._waiting()
            while self._unrecorded:
                target = self._unrecorded.pop(0)
                target.before = before
                try:
                    self.look(target)
                except StoreError:
                    self._unrecorded.insert(0, target)  # it is recorded when the store is back
                    self.noticed.set()
                    raise

    def check(self, view: str | None = None) -> None:
        """Looks at everything that a view reads, and at the views themselves; with ``view``, at that one and at all
        that it is made from."""
        self.look_after_hints(Target(dict.fromkeys(self.watched(view))))
        self._reanalysis.retry()

    def watched(self, view: str | None = None) -> list[str]:
        """The tables, paths and functions that matter to any view; or to one, and to those that it is made from."""
        return self._recorder.read(partial(_watched, view=view))

    def formats(self, view: str) -> dict[str, str]:
        """The format of each source of a view."""
        sources = self._recorder.read(lambda state: state.views[view].definition.sources)
        return {each: self._formats.of(each).name for each in sources}

    def unstorable(self, definition: Definition) -> str:
        """Why the format of a view cannot store its columns, as far as it says so before a write; else empty."""
        return self._formats.of_view(definition).unstorable(definition)

    def look(self, target: Target) -> None:
        """Observes tables and records how they differ.

        One look at a time: who asked for a check then knows that every earlier one is recorded.
        """
        with self._looking:
            looks, standings = self._asked(target)
            seen = self._formats.look(looks)
            for first in range(0, len(seen), TOGETHER):
                self._record(seen[first : first + TOGETHER], standings, target)

    def baseline(self, definition: Definition) -> None:
        """Looks at all tables that a view about to be declared reads. One that no view reads was not followed, and
        another program may have written to any of them.

        Raises:
            DefinitionError: one of them cannot be looked at.
        """
        for table, why in self._looked_at(definition, _needed(definition)).items():
            raise DefinitionError(
                "UNREADABLE", f"{definition.view} reads {table}, which cannot be read: {why}. Create it when it can be"
            )

    def note_place(self, view: str) -> None:
        """Notes where the table of a view lies that somebody is about to drop."""
        definition = self._recorder.read(lambda state: state.definition(view))
        if definition is not None and definition.storage.commits:
            self._places[view] = self._formats.of_view(definition).location(definition)

    def away(self, definition: Definition) -> dict[str, Sequence[str]]:
        """The places without a directory that count as empty, by the sources of a definition that was looked at."""
        return {each: places for each in definition.sources if (places := self._away.get(each))}

    def catch_up(self, definition: Definition) -> None:
        """Looks again at all tables that a view reads, once it is on record: a hint of what was written since the
        first look counted for nobody."""
        self._looked_at(definition, _needed(definition))

    def reanalyse(self, table: str) -> None:
        """Analyses again the views that read a table with other columns."""
        self._reanalysis.of_readers(table)

    def first_look(self, definition: Definition) -> dict[str, Reason]:
        """Looks at those tables of a definition that nobody follows or could look at; those that nobody can look at,
        with the reason. What is on record of a table that no view reads is as old as the last view that did."""
        return self._looked_at(definition, self._recorder.read(partial(_unsure, definition=definition)))

    def _looked_at(self, definition: Definition, tables: Iterable[str]) -> dict[str, Reason]:
        """Looks at tables of a definition; those of all of them that nobody can look at, with the reason."""
        if asked := dict.fromkeys(tables):
            self.look(Target(asked))
        return self.unreadable(_needed(definition))

    def look_after_hints(self, target: Target) -> None:
        """Looks where hints point first: a change found by one is on record with the command that made it."""
        with self._looking:
            self.hinted(target.before)
            self.look(target)

    def unreadable(self, tables: Collection[str]) -> dict[str, Reason]:
        """Those of some tables that cannot be looked at now, with the reason."""
        return self._recorder.read(
            lambda state: {each: why for each, why in state.unreadable.items() if each in tables}
        )

    # --- inside

    def _waiting(self) -> list[Target]:
        """Where the hints point that wait: one target for each command, without tables that no view cares about."""
        self.noticed.clear()
        by_command: dict[Command, Target] = {}
        while not self._hints.empty():
            hint = self._hints.get()
            target = by_command.setdefault(hint.by, Target(command=hint.by))
            for table, partitions in self._targets(hint):
                target.add(table, partitions)
                if hint.watermark is not None:
                    target.watermarks[table] = hint.watermark
        return [target for target in by_command.values() if target.tables]

    def _targets(self, hint: Hint) -> list[tuple[str, Sequence[Slice] | None]]:
        watched = self.watched()
        by_name: dict[str, list[str]] = {}
        for table in watched:  # a catalog that tells cases apart may have several
            by_name.setdefault(loosely(table), []).append(table)
        some = tuple(map(Slice.of, hint.partitions)) or None
        names = [loosely(name) for name in (hint.table, hint.renamed) if name]
        targets: list[tuple[str, Sequence[Slice] | None]] = [
            (table, some) for each in names for table in by_name.get(each, ())
        ]
        if hint.database:
            targets += [(table, None) for table in watched if _database(table) == loosely(hint.database)]
        if hint.path:
            targets += [(table, None) for table in watched if self._formats.touches(table, hint.path)]
        return targets

    def _asked(self, target: Target) -> tuple[list[TableQuestion], dict[str, Standing | None]]:
        """The questions of a look, and how the views among the tables stand before it."""

        def ask(state: State) -> tuple[list[TableQuestion], dict[str, Standing | None]]:
            looks = []
            for table, partitions in target.tables.items():
                since = state.tables[table].snapshot if table in state.tables else ""
                looks.append(TableQuestion(table, None if partitions is None else tuple(partitions), since))
            return looks, {table: changes.standing(state, table) for table in target.tables if table in state.views}

        return self._recorder.read(ask)

    def _record(self, seen: Iterable[Seen], standings: Mapping[str, Standing | None], target: Target) -> None:
        """Records how tables are otherwise than on record. Where others recorded more since the look began, it looks
        again."""
        found = [self._found(each, standings, target) for each in seen]
        recorder, now = self._recorder, self._recorder.clock.now()
        lost = recorder.read(lambda state: [(each, was) for each in found if (was := changes.gone(state, each))])
        # First of all, else a refresh that waits for a table to be readable would make it anew.
        for each, was in lost:
            self._record_lost(each.seen.table, was, target.command)
        there = [each for each in found if not each.seen.unreadable and each not in [of for of, _ in lost]]
        others = recorder.read(lambda state: [each for each in there if changes.is_another(state, each.seen)])
        events = recorder.record_all(
            [partial(changes.readability, seen=each.seen, at=now) for each in found]
            + [partial(changes.noticed, found=each, at=now) for each in there]
        )
        for each, event in zip(found, events, strict=False):
            if event is not None and each.seen.unreadable:
                log.warning("%s cannot be read, and its views wait: %s", each.seen.table, each.seen.unreadable)
        quiet = [each.seen for each, event in zip(there, events[len(found) :], strict=True) if event is None]
        outdated = recorder.read(lambda state: {each.table for each in quiet if changes.is_outdated(state, each)})
        for each in others:
            if not each.is_view and each.seen.table not in outdated:
                self._reanalysis.of_readers(each.seen.table)
        if outdated:
            self.look(evolve(target, tables={each: target.tables[each] for each in outdated}))

    def _found(self, seen: Seen, standings: Mapping[str, Standing | None], target: Target) -> Finding:
        """What a look found; the table is unreadable if files on record are away with their directory."""
        table = seen.table
        seen = evolve(seen, watermark=target.watermarks.get(table))
        seen = self._recorder.read(lambda state: changes.without_lost(state, seen, target.command))
        if seen.looked is None:
            self._away[table] = tuple(seen.away.values())
        if table in standings and seen.location:
            self._places[table] = seen.location
        return Finding(seen, target.command, target.before, table in standings, standings.get(table))

    def _record_lost(self, view: str, was: Standing | None, command: Command) -> None:
        """A view's table is not there under its name. What became of it is asked, and asked again if the view moved on
        meanwhile."""
        recorder = self._recorder
        while was is not None and self._is_lost(view, was):
            to, before = self._table_of(was.definition.owner), was
            readers, highest = recorder.read(lambda state: (tuple(state.index.readers.get(view, ())), state.highest))
            event = recorder.record(partial(changes.lost, view=view, was=was, to=to, at=recorder.clock.now()))
            if isinstance(event, Dropped | Renamed):
                self._follow_lost(event, was.definition, command, readers)
                if (
                    isinstance(event, Dropped)
                    and was.definition.storage.commits
                    and (place := self._places.pop(view, ""))
                ):
                    guarded(partial(hidden.remove_old, self._shim, place, highest), f"the totals of {view} stay")
                return
            was = recorder.read(partial(changes.standing, view=view, running=True))
            if was == before:
                return  # another view has taken the name that its table has now

    def _follow_lost(
        self, event: Dropped | Renamed, definition: Definition, command: Command, readers: Iterable[str]
    ) -> None:
        match event:
            case Renamed(to=to):
                done = f"was renamed to {to}"
            case Dropped():
                done = "was dropped"
                release = partial(self._shim.release, definition.root, definition.owner)
                guarded(release, f"the files of {definition.view} stay")
                guarded(
                    partial(forget_replaced, self._sessions.of_table(), self._shim, definition),
                    f"the table {catalog.replacement(definition.view)} stays",
                )
        log.warning("%s %s (%s)", definition.view, done, command.said or "by another program")
        for reader in readers:
            self._reanalysis.of_view(reader, definition.view)

    def _is_lost(self, view: str, was: Standing) -> bool:
        """Whether the table of a view is gone, or another one has its name. A swap that goes on, or was cut off, left
        the filled replacement: then a refresh gives it the view's name. It is asked first, as it is gone afterwards."""
        waiting = is_waiting(self._shim, was.definition)
        [seen] = self._formats.look([TableQuestion(view)])
        if seen.unreadable:
            return False
        if seen.exists:
            return seen.owner != was.definition.owner
        return not waiting

    def _table_of(self, owner: str) -> str | None:
        """The table that belongs to an owner, if no view on record has its name."""
        tables = [each.table for each in self._shim.views() if each.properties.get(catalog.OWNER) == owner]
        known = self._recorder.read(lambda state: {*state.views})
        return next((each for each in tables if each not in known and not catalog.replaced(each)), None)


def _watched(state: State, view: str | None = None) -> list[str]:
    tables = {*state.index.readers, *state.views} if view is None else upstream(state, view)
    through = {each for name in tables & state.views.keys() for each in state.views[name].definition.through}
    return sorted(tables | through)


def _unsure(state: State, definition: Definition) -> list[str]:
    """What a view needs that nobody follows, or could look at."""
    followed = set(_watched(state)) & state.tables.keys() - state.unreadable.keys()
    return [each for each in _needed(definition) if each not in followed]


def _needed(definition: Definition) -> tuple[str, ...]:
    """All that the rows of a view come from: its sources, and the ordinary views and functions between."""
    return tuple(dict.fromkeys((*definition.sources, *definition.through)))


def _database(table: str) -> str | None:
    """The database of a table or function, in lower case."""
    match named(table):
        case TableName(namespace=namespace):
            return loosely(spelled(namespace))
        case FunctionName(database=database):
            return loosely(database)
        case PathName():
            return None
