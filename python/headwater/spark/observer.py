"""Finds out what changed: hints and checks in, recorded changes out.

A hint only says where to look. What changed is decided by comparing the table's own state with the
one last recorded, so lost events, partial ones and writes by other programs are all alike.
"""

from __future__ import annotations

import hashlib
import logging
import queue
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define, evolve, field

from headwater.algebra.dependency import backward
from headwater.engine.coverage import upstream
from headwater.ledger.compare import differences, revisited, summary
from headwater.model.error import DefinitionError
from headwater.model.event import Changed, Dropped, Event, Observed, Renamed, Unreadable
from headwater.model.name import FunctionName, PathName, TableName, named, spelled
from headwater.model.partition import WHOLE, Slice, simplified
from headwater.model.state import Run, State, TableRecord
from headwater.model.view import Definition
from headwater.runtime.execute import guarded
from headwater.runtime.record import Change, Recorder
from headwater.spark import catalog, found, paths
from headwater.spark.define import Analyst
from headwater.spark.reanalysis import Reanalysis
from headwater.spark.shim import Shim

log = logging.getLogger("headwater")


@define
class Hint:
    """Where to look: tables (with the partitions that were named, or ``None`` for all); the command that wrote
    there, if one is known to have; and the run that is about to read there, if one is."""

    tables: dict[str, list[dict[str, str]] | None] = field(factory=dict)
    command: str = ""
    before: int = 0

    def add(self, table: str, partitions: list[dict[str, str]] | None) -> None:
        known = self.tables.get(table, [])
        self.tables[table] = None if not partitions or known is None else [*known, *partitions]


class Observer:
    """Compares tables with the record, for one engine.

    Attributes:
        noticed: set while hints wait for a look.
    """

    def __init__(self, recorder: Recorder, shim: Shim, analyst: Analyst) -> None:
        self._recorder, self._shim = recorder, shim
        self._reanalysis = Reanalysis(recorder, analyst, self.first_look)
        self._looking = threading.RLock()
        self._hints: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()
        self.noticed = threading.Event()
        self._locations: dict[str, str] = {}
        self._scattered: set[str] = set()  # tables with a partition outside their own directory
        self._regular: set[str] = set()  # tables whose partitions all have the names that Spark gives them

    def notice(self, message: Mapping[str, Any]) -> None:
        """Keeps one of the driver's hints for the next look, whoever takes it."""
        self._hints.put(message)
        self.noticed.set()

    def pointed_at(self, messages: Iterable[Mapping[str, Any]]) -> set[str]:
        """The tables, of those that matter to any view, that the driver's hints point at."""
        return {table for message in messages for table, _ in self._targets(message)}

    def hinted(self, before: int = 0) -> None:
        """Looks where the hints point that wait, if any view could care; ``before`` a run that is about to read."""
        with self._looking:
            for hint in self._waiting():
                hint.before = before
                self.look(hint)

    def check(self, view: str | None = None) -> None:
        """Looks at everything that a view reads, and at the views themselves; with ``view``, at that one and at all
        that it is made from.

        Hints come first: a change found by one is on record with the command that made it.
        """
        with self._looking:
            self.hinted()
            self.look(Hint({table: None for table in self.watched(view)}))
        self._reanalysis.retry()

    def watched(self, view: str | None = None) -> list[str]:
        """The tables, paths and functions that matter to any view; or to one, and to those that it is made from."""
        with self._recorder.lock:
            state = self._recorder.state
            tables = {*state.index.readers, *state.views} if view is None else upstream(state, view)
            through = {each for name in tables & state.views.keys() for each in state.views[name].definition.through}
            return sorted(tables | through)

    def look(self, hint: Hint) -> None:
        """Observes tables and records how they differ.

        One look at a time: who asked for a check then knows that every earlier one is recorded.
        """
        with self._looking:
            self._look(hint)

    def _look(self, hint: Hint) -> None:
        asked = [
            {"table": table, "partitions": partitions, "whole": partitions is None or table not in self._regular}
            for table, partitions in hint.tables.items()
        ]
        shaken: set[str] = set()
        changes: list[Change] = []
        for fact in self._shim.observe(asked):
            table = fact["table"]
            if not self._readable(table, fact.get("unreadable", "")):
                continue
            if fact.get("location"):
                self._locations[table] = fact["location"]
            self._note_spelling(table, fact)
            if self._record(table, fact, hint, changes):
                shaken.add(table)
        self._recorder.change_all(changes)
        for table in shaken:
            self._reanalysis.of_readers(table)

    def baseline(self, definition: Definition) -> None:
        """Takes the first look at the tables that a view about to be declared reads.

        Raises:
            DefinitionError: one of them cannot be looked at.
        """
        for table, why in self.first_look(definition).items():
            raise DefinitionError(
                "UNREADABLE", f"{definition.view} reads {table}, which cannot be read: {why}. Create it when it can be"
            )

    def reanalyse(self, table: str) -> None:
        """Analyses again the views that read a table with other columns."""
        self._reanalysis.of_readers(table)

    def first_look(self, definition: Definition) -> dict[str, str]:
        """Looks at those tables of a definition that nobody could look at before; those that nobody can, with the
        reason."""
        needed = (*definition.sources, *definition.through)
        with self._recorder.lock:
            state = self._recorder.state
            unknown = [each for each in needed if each not in state.tables or each in state.unreadable]
        if unknown:
            self.look(Hint({table: None for table in unknown}))
        with self._recorder.lock:
            return {each: why for each, why in self._recorder.state.unreadable.items() if each in needed}

    def reading(self, run: Run, definition: Definition, before: bool) -> None:
        """Looks at what a run reads of base tables. Done before it reads and after, so that what it may have
        seen is on record, and a request remains if that changed meanwhile or goes away again."""
        with self._recorder.lock:
            bases = [each for each in definition.dependencies if each.source not in self._recorder.state.views]
        hint = Hint(before=run.version if before else 0)
        for dependency in bases:
            read = simplified(each for one in run.slices for each in backward(dependency, one))
            hint.add(dependency.source, None if WHOLE in read else [dict(each.bound) for each in read])
        with self._looking:
            self.hinted(hint.before)  # a change that a hint tells of is on record with the command that made it
            self.look(hint)

    # --- inside

    def _waiting(self) -> list[Hint]:
        """The hints that wait, one for each command, without those that no view cares about."""
        self.noticed.clear()
        by_command: dict[str, Hint] = {}
        while not self._hints.empty():
            message = self._hints.get()
            hint = by_command.setdefault(message["command"], Hint(command=message["command"]))
            for table, partitions in self._targets(message):
                hint.add(table, partitions)
        return [hint for hint in by_command.values() if hint.tables]

    def _targets(self, message: Mapping[str, Any]) -> list[tuple[str, list[dict[str, str]] | None]]:
        watched = self.watched()
        by_name = {table.lower(): table for table in watched}
        targets: list[tuple[str, list[dict[str, str]] | None]] = []
        for name in (message.get("table"), message.get("renamed")):
            if name and name.lower() in by_name:
                targets.append((by_name[name.lower()], message.get("partitions") or None))
        if message.get("database"):
            dropped = message["database"].lower()
            targets += [(table, None) for table in watched if _database(table) == dropped]
        if message.get("path"):
            targets += [(table, None) for table in watched if self._touches(table, message["path"])]
        return targets

    def _touches(self, table: str, path: str) -> bool:
        """Whether a write to ``path`` may change what is read from ``table``. A partition may lie
        anywhere, so the files of a table with a partition elsewhere count too."""
        match named(table):
            case PathName(path=location):
                pass
            case FunctionName():
                return False
            case _ if table in self._locations:
                location = self._locations[table]
            case _:
                return True
        mine, written = paths.plain(location), paths.plain(path)
        near = paths.is_within(mine, written) or paths.is_within(written, mine)
        return near or "*" in mine or table in self._scattered

    def _readable(self, table: str, reason: str) -> bool:
        """Whether a table could be looked at. A new ``reason`` why not, or its end, is recorded."""
        recorder = self._recorder

        def build(state: State, _version: int) -> Event | None:
            known = state.unreadable.get(table, "")
            return None if known == reason else Unreadable(recorder.clock.now(), table, reason)

        with recorder.lock:
            known = recorder.state.unreadable.get(table, "")
        if known != reason and recorder.record(build) is not None and reason:
            log.warning("%s cannot be read, and its views wait: %s", table, reason)
        return not reason

    def _record(self, table: str, fact: Mapping[str, Any], hint: Hint, changes: list[Change]) -> bool:
        """Notes a difference among ``changes``; whether the table's columns, incarnation or existence changed."""
        recorder, command = self._recorder, hint.command
        if table in recorder.state.views:
            return self._record_view(table, fact, command)
        if not fact["exists"]:
            return self._record_missing(table, command)
        self._note_scattered(table, fact)
        schema = hashlib.sha256(fact["schema"].encode()).hexdigest()[:16]
        states, empty = found.fingerprints(fact), found.empty(fact)
        asked = [Slice.of(values) for values in fact.get("asked", ())] or None
        looked = None if fact.get("whole") else asked
        columns = frozenset(each["name"] for each in fact.get("partition_columns", ()))
        named = [each for each in _named(command, asked, empty) if each.columns == columns]

        def differing(record: TableRecord | None) -> tuple[Observed, ...]:
            return differences(record, states, looked) + revisited(record, states, empty, named)

        with recorder.lock:
            before = recorder.state.tables.get(table)
            shaken = before is not None and (before.schema, before.created) != (schema, fact["created"])
            changed = differing(before)
            if not changed and not shaken and before is not None:
                return False

            def build(state: State, version: int) -> Event | None:
                record = state.tables.get(table)
                changed = differing(record)
                if not changed and not shaken and record is not None:
                    return None  # another engine was faster
                verb = summary(changed, record, command) if changed else f"has other columns ({command})"
                first, now = record is None, recorder.clock.now()
                return Changed(now, version, table, changed, schema, fact["created"], verb, first, hint.before)

            changes.append(Change(table, tuple(each.slice for each in changed), build))
        return shaken

    def _note_spelling(self, table: str, fact: Mapping[str, Any]) -> None:
        """A look by value misses partitions of other names, so it is good only for tables that have none."""
        if not fact["exists"] or not found.is_spelled_as_spark_does(fact):
            self._regular.discard(table)
        elif fact.get("whole"):
            self._regular.add(table)

    def _note_scattered(self, table: str, fact: Mapping[str, Any]) -> None:
        root = fact.get("location")
        elsewhere = (each["location"] for each in fact["partitions"] if root and each.get("location"))
        if any(not paths.is_within(paths.plain(each), paths.plain(root)) for each in elsewhere):
            self._scattered.add(table)

    def _record_missing(self, table: str, command: str) -> bool:
        recorder = self._recorder
        with recorder.lock:
            record = recorder.state.tables.get(table)
            if record is not None and record.created == 0:
                return False
            recorder.record(
                lambda _, version: Changed(recorder.clock.now(), version, table, (), "", 0, f"is gone ({command})")
            )
        return True

    def _record_view(self, view: str, fact: Mapping[str, Any], command: str) -> bool:
        """A view found gone was dropped past Headwater; one with other files was written past it."""
        recorder = self._recorder
        with recorder.lock:
            state = recorder.state
            if view not in state.views or view in state.running:
                return False
            if not fact["exists"]:
                seen = self._shim.observe([{"table": view}, {"table": catalog.replacement(view)}])
                # A swap that was cut off left the replacement; the refresh that is pending makes the view anew.
                if not any(each.get("exists", True) for each in seen):
                    self._record_dropped(view, command)
                return False
            if fact["properties"].get(catalog.OWNER) != state.views[view].definition.owner:
                self._record_dropped(view, command)
                return False
            if _drift(state.tables[view], fact):
                self._record_drift(view, command)
        return False

    def _record_dropped(self, view: str, command: str) -> None:
        """The table of a view is gone, or another table has its name. If its own table has another name now, the view
        keeps its files under that name."""
        recorder = self._recorder
        readers, definition = recorder.state.index.readers.get(view, ()), recorder.state.views[view].definition
        to = self._table_of(definition.owner)
        if to is None:
            recorder.record(lambda _s, _v: Dropped(recorder.clock.now(), view))
            guarded(lambda: self._shim.release(definition.root, definition.owner), f"the files of {view} stay")
            log.warning("%s was dropped (%s)", view, command or "by another program")
        else:
            recorder.record(lambda _s, _v: Renamed(recorder.clock.now(), view, to, evolve(definition, view=to)))
            log.warning("%s was renamed to %s (%s)", view, to, command or "by another program")
        for reader in readers:
            self._reanalysis.of_view(reader, view)

    def _table_of(self, owner: str) -> str | None:
        """The table that belongs to an owner, if no view on record has its name."""
        tables = (each["table"] for each in self._shim.views() if each["properties"].get(catalog.OWNER) == owner)
        return next((each for each in tables if each not in self._recorder.state.views), None)

    def _record_drift(self, view: str, command: str) -> None:
        recorder = self._recorder
        [fact] = self._shim.observe([{"table": view}])
        record = recorder.state.tables[view]
        drifted = _drift(record, fact)
        if drifted:
            verb = f"was written past Headwater ({command or 'by another program'})"
            recorder.change(
                view,
                [each.slice for each in drifted],
                lambda _, version: Changed(
                    recorder.clock.now(), version, view, drifted, record.schema, record.created, verb
                ),
            )


def _drift(record: TableRecord, fact: Mapping[str, Any]) -> tuple[Observed, ...]:
    """Where a view is not as it was published."""
    if record.highest == 0 or not fact["exists"]:
        return ()
    return differences(record, found.fingerprints(fact))


def _named(command: str, asked: Iterable[Slice] | None, empty: Iterable[Slice]) -> Iterable[Slice]:
    """The partitions, or families of them, that a command wrote, as far as that is known."""
    if asked:
        return asked if command else ()
    return empty if command.startswith(("INSERT", "TRUNCATE")) else ()


def _database(table: str) -> str | None:
    """The database of a table or function, in lower case."""
    match named(table):
        case TableName(namespace=namespace):
            return spelled(namespace).lower()
        case FunctionName(database=database):
            return database.lower()
        case PathName():
            return None
