"""A store with many partitions and many pending requests: memory, start, and `headwater status`."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from benchmarks.parts.harness import scratch
from headwater.engine.decide.readiness import ready
from headwater.engine.record.transition import transition
from headwater.engine.requests.limits import TRACKS
from headwater.model.dependency import Dependency, Occurrence, Same
from headwater.model.event import Changed, Declared, Event, Observed
from headwater.model.partition import Slice
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.runtime.recorder import SystemClock
from headwater.runtime.summaries import Summaries
from headwater.store.recovery import replay
from headwater.store.sql_store import SqlStore

TABLES = 100
"""Tables that the partitions are of, each read by one view."""


def large_store(partitions: int, requests: int, runs: int) -> dict[str, Any]:
    """Start, status and memory with so many partitions, and with so many pending requests besides. Starts and commands
    run ``runs`` times."""
    with scratch() as place:
        store = SqlStore(place / "store.db")
        for table in range(TABLES):
            each = partitions // TABLES
            seen = tuple(Observed(Slice((("p", f"{part:07d}"),)), f"{part:032x}") for part in range(each))
            event = Changed(0, table + 1, f"base.t{table}", seen, "", 0, "was first seen", baseline=True)
            store.append(lambda _, event=event: event, table)
        del seen, event
        figures: dict[str, Any] = {"partitions": partitions, "requests": requests}
        began = time.perf_counter()
        state, _ = replay(store, State())
        figures["start_partitions"] = time.perf_counter() - began
        del state
        figures |= _resident(store, partitions, requests)
        starts = []
        for _ in range(runs):
            state = None  # the state of the start before
            gc.collect()
            began = time.perf_counter()
            state, seq = replay(store, State())
            starts.append(time.perf_counter() - began)
        figures["start"] = starts
        assert sum(len(view.pending) for view in state.views.values()) == requests
        figures |= _status(store, state, seq, runs)
        store.close()
    return figures


def _resident(store: SqlStore, partitions: int, requests: int) -> dict[str, Any]:
    """Bytes for a partition, and for a request; the requests are in the store afterwards."""
    gc.collect()
    tracemalloc.start()
    state, seq = replay(store, State())
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    part = (Occurrence((("p", Same("p")),)),)
    for table in range(TABLES):
        read = Dependency(f"base.t{table}", part)
        definition = Definition(f"v{table}", "", (), ("p",), dependencies=(read,))
        state, seq = _recorded(store, state, seq, lambda v, d=definition: Declared(0, v, d, "was created", fill=False))
    before = tracemalloc.get_traced_memory()[0]
    for table in range(TABLES):
        builds = [
            lambda v, table=table, slice_=slice_: Changed(
                0, v, f"base.t{table}", (Observed(slice_, "g"),), "", 0, "changed"
            )
            for slice_ in list(state.tables[f"base.t{table}"].partitions)[: requests // TABLES]
        ]
        state, seq = _recorded(store, state, seq, *builds)
    del builds
    gc.collect()
    pending = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return {
        "bytes_per_partition": held / partitions,
        "bytes_per_request": pending / requests,
        "resident_python": sys.version.split()[0],
    }


def _recorded(store: SqlStore, state: State, seq: int, *builds: Callable[[int], Event]) -> tuple[State, int]:
    for entry in store.append_all(builds, seq):
        state = transition(state, entry.event)
        seq = entry.seq
    return state, seq


def _status(store: SqlStore, state: State, seq: int, runs: int) -> dict[str, Any]:
    """Seconds of ``headwater status`` as a user starts it, from the summary that an engine keeps; what keeping
    it takes from the engine; and the same with ``--json``, once from the journal and then from what that left.
    A small store has the detail of ``--json`` before."""
    ready(state, SystemClock().now())  # as each step of an engine begins, which keeps what it finds
    began = time.perf_counter()
    Summaries(store, SystemClock(), TRACKS).keep(state, seq)
    kept = time.perf_counter() - began
    wall, processor = zip(*(_command("status", store) for _ in range(runs)), strict=True)
    return {
        "summary": kept,
        "status": list(wall),
        "status_processor": list(processor),
        "status_json_replayed": _command("status", store, "--json")[0],
        "status_json": [_command("status", store, "--json")[0] for _ in range(runs)],
    }


def _command(name: str, store: SqlStore, *options: str) -> tuple[float, float]:
    """Seconds of a command in a process of its own, and those that it used a processor, which tell more on a busy
    machine."""
    code = "from headwater.cli.main import main; main()"
    command = [sys.executable, "-c", code, name, "--store", store.name, *options]
    began, used = time.perf_counter(), _processor()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    taken = time.perf_counter() - began, _processor() - used
    assert done.stdout.count(b"behind") >= TABLES
    return taken


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
