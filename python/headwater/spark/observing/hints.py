"""The queue of the driver's hints. A hint only says where to look."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Sequence

from attrs import define, field

from headwater.model.error import StoreError
from headwater.model.name import FunctionName, PathName, TableName, loosely, named, spelled
from headwater.model.partition import Slice, Version
from headwater.model.seen import Command
from headwater.spark.jvm.wire import Hint
from headwater.spark.tables.registry import Formats


@define
class Target:
    """Where to look: tables, each with the partitions that were named, or ``None`` for all; the command that wrote
    there, if one is known to have; the run that is about to read there, if one is; the watermarks (ms) of streams that
    wrote there; whether a look there failed; and the partitions that were named, also of tables of which all are to be
    looked at."""

    tables: dict[str, list[Slice] | None] = field(factory=dict)
    command: Command = Command()
    before: Version = 0
    watermarks: dict[str, int] = field(factory=dict)
    failed: bool = False
    named: dict[str, list[Slice]] = field(factory=dict)

    def add(self, table: str, partitions: Iterable[Slice] | None) -> None:
        known, some = self.tables.get(table, []), list(partitions or ())
        self.tables[table] = None if not some or known is None else [*known, *some]
        if some:
            self.named.setdefault(table, []).extend(some)


class Hints:
    """Hints of one driver, until a look follows them.

    Args:
        watched: the tables, paths and functions that matter to any view.

    Attributes:
        noticed: set while hints wait for a look.
    """

    def __init__(self, watched: Callable[[], list[str]], formats: Formats) -> None:
        self._watched, self._formats = watched, formats
        self._queue: queue.SimpleQueue[Hint] = queue.SimpleQueue()
        self._unrecorded: list[Target] = []
        self.noticed = threading.Event()

    def notice(self, hint: Hint) -> None:
        """Keeps one of the driver's hints for the next look, whoever takes it."""
        self._queue.put(hint)
        self.noticed.set()

    def pointed_at(self, hints: Iterable[Hint]) -> set[str]:
        """The tables, of those that matter to any view, that the driver's hints point at."""
        return {table for hint in hints for table, _ in self._targets(hint)}

    def follow(self, look: Callable[[Target], object], before: Version) -> None:
        """Looks where the hints point that wait; ``before`` a run that is about to read. One look at a time."""
        self._unrecorded += self._waiting()
        while self._unrecorded:
            target = self._unrecorded.pop(0)
            target.before = before
            try:
                look(target)
            except Exception as error:
                # It is recorded when the store is back. What else fails twice is left to the next check.
                if isinstance(error, StoreError) or not target.failed:
                    target.failed = True
                    self._unrecorded.insert(0, target)
                if self._unrecorded:
                    self.noticed.set()
                raise

    # --- inside

    def _waiting(self) -> list[Target]:
        """Where the hints point that wait: one target for each command, without tables that no view cares about."""
        self.noticed.clear()
        by_command: dict[Command, Target] = {}
        while not self._queue.empty():
            hint = self._queue.get()
            target = by_command.setdefault(hint.by, Target(command=hint.by))
            for table, partitions in self._targets(hint):
                target.add(table, partitions)
                if hint.watermark is not None:
                    target.watermarks[table] = hint.watermark
        return [target for target in by_command.values() if target.tables]

    def _targets(self, hint: Hint) -> list[tuple[str, Sequence[Slice] | None]]:
        watched = self._watched()
        by_name: dict[str, list[str]] = {}
        for table in watched:  # a catalog that tells cases apart may have several
            by_name.setdefault(loosely(table), []).append(table)
        some = tuple(map(Slice.of, hint.partitions)) or None
        names = [loosely(name) for name in (hint.table, hint.renamed) if name]
        targets: list[tuple[str, Sequence[Slice] | None]] = [
            (table, some) for each in names for table in by_name.get(each, ())
        ]
        if hint.database:
            targets += [(table, None) for table in watched if _database(table) == loosely(spelled((hint.database,)))]
        if hint.path:
            targets += [(table, None) for table in watched if self._formats.touches(table, hint.path)]
        return targets


def _database(table: str) -> str | None:
    """The database of a table or function, in lower case."""
    match named(table):
        case TableName(namespace=namespace):
            return loosely(spelled(namespace))
        case FunctionName(database=database):
            return loosely(spelled((database,)))
        case PathName():
            return None
