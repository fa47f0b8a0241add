"""Keeps snapshots of an engine's state, and lets the journal forget what they cover."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from headwater.logger import log
from headwater.model.error import HeadwaterError
from headwater.model.state import State
from headwater.store.pieces import copied
from headwater.store.sql_store import SqlStore

DAY = 86_400_000
HISTORY = 30 * DAY
"""So long (ms) the journal keeps what happened, unless ``spark.headwater.history`` says otherwise."""

ENTRIES = 10_000
"""Entries after which a snapshot is kept; one is also kept after a day."""

SHARE = 20
"""One that takes t is followed by another after ``SHARE`` t at the earliest."""

APART = 4
"""About the number of snapshots that are kept over the whole history."""


class Keeper:
    """One engine's. The lock is held for a copy of dictionaries only; a thread of its own does the rest."""

    def __init__(self, store: SqlStore, history: int = HISTORY) -> None:
        self._store, self._history = store, history
        self._thread = ThreadPoolExecutor(1, "headwater-snapshot")
        self._closed = self._busy = False
        self._next = 0.0  # of time.monotonic(), in seconds
        mark = store.newest()
        self._seq = 0 if mark is None else mark.seq
        age = 0 if mark is None else store.now() - mark.at
        self._due = time.monotonic() + (DAY - age) / 1000

    def keep(self, state: State, seq: int) -> None:
        """Keeps the state as of journal entry ``seq``, if it is time for that. Nothing may change it meanwhile."""
        now = time.monotonic()
        if self._closed or self._busy or now < self._next or seq <= self._seq:
            return
        if seq - self._seq >= ENTRIES or now >= self._due:
            self._busy = True
            self._thread.submit(self._keep, copied(state), seq)

    def close(self) -> None:
        """Ends what is under way; what it wrote is removed by another engine."""
        self._closed = True
        self._thread.shutdown()

    def _keep(self, state: State, seq: int) -> None:
        began = time.monotonic()
        try:
            if self._store.keep_snapshot(seq, state, lambda: not self._closed):
                self._seq, self._due = seq, time.monotonic() + DAY / 1000
                self._store.compact(self._store.now() - self._history, self._history // APART)
        except HeadwaterError as error:
            log.warning("the journal is not compacted now: %s", error)
        except Exception:
            log.exception("the journal is not compacted now")
        finally:
            ended = time.monotonic()
            self._next, self._busy = ended + max(1.0, SHARE * (ended - began)), False
