"""The schedulers beside Headwater, which decide when a view is refreshed after an append of a source.

- ``FirstCome``: an append asks for the views that read the source, and a refresh for those that read the view. A view
  that is asked for twice is refreshed once. Four refreshes run at a time.
- ``Cycles``: like a scheduler that runs a graph again and again. A cycle takes the sources that changed since the
  last one, and refreshes all views downstream in topological order, some at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from benchmarks.parts.overload.warehouse import View

Refresh = Callable[[View], None]
PAUSE = 0.02


class FirstCome:
    """First come, first served."""

    def __init__(self, views: Sequence[View], refresh: Refresh, tracks: int) -> None:
        self._views, self._refresh, self._pool = views, refresh, ThreadPoolExecutor(tracks)
        self._lock, self._asked, self._running = threading.Lock(), set[str](), set[str]()
        self.failures: list[str] = []

    def appended(self, table: str) -> None:
        """Asks for the views that read a table."""
        for each in self._views:
            if table in each.reads:
                self._ask(each)

    def drain(self) -> None:
        """Waits until nothing is asked for."""
        while self._asked or self._running:
            time.sleep(PAUSE)
        self._pool.shutdown()

    def _ask(self, view: View) -> None:
        with self._lock:
            if view.name not in self._asked:
                self._asked.add(view.name)
                self._pool.submit(self._run, view)

    def _run(self, view: View) -> None:
        with self._lock:
            if view.name in self._running:  # it comes again behind all that was asked for meanwhile
                self._pool.submit(self._run, view)
                time.sleep(PAUSE)
                return
            self._asked.discard(view.name)
            self._running.add(view.name)
        try:
            self._refresh(view)
        except Exception as error:
            self.failures.append(f"{view.name}: {error}")
        self.appended(view.name)
        with self._lock:
            self._running.discard(view.name)


class Cycles:
    """One cycle after the other."""

    def __init__(self, views: Sequence[View], refresh: Refresh, tracks: int) -> None:
        self._views, self._refresh, self._pool = views, refresh, ThreadPoolExecutor(tracks)
        self._changed, self._ends, self._lock = set[str](), False, threading.Lock()
        self.failures: list[str] = []
        self._thread = threading.Thread(target=self._cycle)
        self._thread.start()

    def appended(self, table: str) -> None:
        """The next cycle takes a table."""
        with self._lock:
            self._changed.add(table)

    def drain(self) -> None:
        """Waits for the last cycle."""
        self._ends = True
        self._thread.join()
        self._pool.shutdown()

    def _cycle(self) -> None:
        while True:
            ends = self._ends
            with self._lock:
                changed, self._changed = self._changed, set()
            if changed:
                self._one(changed)
            elif ends:
                return
            else:
                time.sleep(PAUSE)

    def _one(self, changed: set[str]) -> None:
        done: dict[str, threading.Event] = {}
        futures = []
        for each in self._views:
            if changed & {*each.reads} or done.keys() & {*each.reads}:
                above = [done[one] for one in each.reads if one in done]
                done[each.name] = threading.Event()
                futures.append(self._pool.submit(self._run, each, above, done[each.name]))
        for future in futures:
            future.result()

    def _run(self, view: View, above: Sequence[threading.Event], done: threading.Event) -> None:
        for each in above:  # these were submitted before, so a thread works on them
            each.wait()
        try:
            self._refresh(view)
        except Exception as error:
            self.failures.append(f"{view.name}: {error}")
        done.set()
