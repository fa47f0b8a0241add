"""A store with many past events, and the start of an engine on it."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

from headwater.engine.record.transition import transition
from headwater.model.dependency import Dependency, Occurrence, Same
from headwater.model.event import Changed, Declared, Event, Made, Observed, Published, Started
from headwater.model.partition import Slice
from headwater.model.reason import Code, Reason
from headwater.model.state import State, copied
from headwater.model.view import Definition
from headwater.model.work import WholePartitions, WholeView
from headwater.runtime.loop import Loop
from headwater.runtime.recorder import Recorder, SystemClock
from headwater.store.journal import Entry, _row
from headwater.store.schema import journal, meta
from headwater.store.snapshots import ENTRIES
from headwater.store.sql_store import SqlStore

TABLES = 50
"""Base tables, each read by one view: half of all partitions are of views."""

KEPT = 1_000_000
"""Entries of the last 30 days: half a minute lies between two refreshes of a view. Those before are compacted."""

DAY = 86_400_000
BATCH = 20_000


def old_store(path: Path, partitions: int, events: int, kept: int) -> int:
    """Makes a store whose last events are in the journal, and the ones before covered by snapshots. Returns how many
    come after the newest one."""
    store = SqlStore(path)
    state, before = _opening(partitions // TABLES // 2), events - kept
    tail = min(ENTRIES - 1, kept // 2)
    end = store.now()
    past = _past(partitions // TABLES // 2, before, kept)
    store._clock = lambda: end - 31 * DAY
    with store._begin() as connection:
        connection.execute(sa.update(meta).values(last=before, compacted=before, compacted_at=end - 31 * DAY))
    store.keep_snapshot(before, copied(state))
    batch: list[Entry] = []
    for entry in past:
        state = transition(state, entry.event)
        batch.append(entry)
        if len(batch) == BATCH or entry.seq in (events - tail, events):
            _insert(store, batch, end)
            batch.clear()
        if entry.seq == events - tail:
            store._clock = lambda: end
            store.keep_snapshot(entry.seq, copied(state))
    store.close()
    return tail


def _opening(each: int) -> State:
    """The state when the journal that is left begins: all partitions were seen, all views are fresh."""
    state = State()
    part = (Occurrence((("day", Same("day")),)),)
    for table in range(TABLES):
        base, view = f"base.t{table}", f"mart.v{table}"
        days = [Slice((("day", f"{day:07d}"),)) for day in range(each)]
        seen = tuple(Observed(day, f"{place:032x}") for place, day in enumerate(days))
        definition = Definition(view, "SELECT 1", (), ("day",), dependencies=(Dependency(base, part),))
        for event in (
            Changed(0, 4 * table + 1, base, seen, "day STRING", 1, "was first seen", baseline=True),
            Declared(0, 4 * table + 2, definition, "was created", fill=False),
            Started(
                0,
                4 * table + 3,
                view,
                ((Slice(), ()),),
                ((base, 4 * table + 1),),
                WholeView(),
                Reason(Code.SOURCE_CHANGED, "was created"),
            ),
            Published(0, 4 * table + 3, view, tuple(Made(day, 1, f"{n:032x}") for n, day in enumerate(days)), (), 1.0),
        ):
            state = transition(state, event)
    return state


def _past(each: int, before: int, count: int) -> Iterator[Entry]:
    """One day of one table after another changes, and is refreshed: three events each."""
    for n in range(count):
        turn, kind = divmod(n, 3)
        table, version = turn % TABLES, 4 * TABLES + before + n + 1
        base, view, day = f"base.t{table}", f"mart.v{table}", Slice((("day", f"{turn // TABLES % each:07d}"),))
        event: Event
        if kind == 0:
            seen = (Observed(day, f"{n:032x}"),)
            event = Changed(n, version, base, seen, "day STRING", 1, "was overwritten")
        elif kind == 1:
            why = Reason(Code.SOURCE_CHANGED, "changed")
            event = Started(n, version, view, ((day, (version - 1,)),), ((base, version - 1),), WholePartitions(), why)
        else:
            event = Published(n, version - 1, view, (Made(day, 1, f"{n:032x}"),), (), 1.0)
        yield Entry(before + n + 1, event)


def _insert(store: SqlStore, entries: list[Entry], now: int) -> None:
    with store._begin() as connection:
        connection.execute(sa.insert(journal), [_row(entry, now) for entry in entries])
        last = entries[-1].seq
        connection.execute(sa.update(meta).values(last=last, highest=4 * TABLES + last))


def started(path: Path) -> dict[str, float]:
    """What a start takes in a process of its own: everything up to the first step, but for Spark's part."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.parts.old_store", path]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2], check=True)
    return {"seconds": time.perf_counter() - began, **json.loads(done.stdout)}


def start(path: str) -> None:
    """Starts an engine and prints the figures of that."""
    began = time.perf_counter()
    loop = Loop(Recorder(SqlStore(path), None, SystemClock()), None, None, "benchmark")
    restored = time.perf_counter() - began
    loop.step()
    used = resource.getrusage(resource.RUSAGE_SELF)
    told = {"restored": restored, "processor": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1024}
    print(json.dumps(told))


if __name__ == "__main__":
    start(sys.argv[1])
