"""Changed rows in the memory of the driver, for all runs that go on from the same snapshots.

Example: ``per_day`` and ``per_shop`` join ``sales`` with other tables, and both reflect version 5. The run of
``per_day`` reads the rows of ``sales`` from version 5 to 9. That of ``per_shop`` finds them here ([Adler20] chapter 5).
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator

from attrs import frozen
from pyspark.sql import SparkSession

from headwater.model.seen import ChangedRows
from headwater.model.view import Pairs
from headwater.spark.jvm.shim import Shim

MOST = 32
"""So many sets of rows are kept, those that were used last. Each has two megabytes at most (``FewRows.scala``)."""


@frozen
class WhichRows:
    """Changed rows by what determines them.

    Attributes:
        settings: of the session that read them; some of them tell what a file's values mean.
    """

    table: str
    since: str
    until: str
    settings: Pairs


class NearRows:
    """The sets of rows. Runs of several threads use it."""

    def __init__(self, shim: Shim) -> None:
        self._shim, self._lock = shim, threading.Lock()
        self._known: OrderedDict[WhichRows, ChangedRows] = OrderedDict()
        self._tables: dict[str, threading.Lock] = {}

    def find(self, session: SparkSession, asked: WhichRows) -> ChangedRows | None:
        """The rows, as frames of a session; ``None`` if they are not here."""
        with self._lock:
            found = self._known.get(asked)
            if found is not None:
                self._known.move_to_end(asked)
        return None if found is None else self._shim.rows_in(session, found)

    def keep(self, asked: WhichRows, rows: ChangedRows) -> None:
        """Keeps rows that are in memory."""
        with self._lock:
            self._known[asked] = rows
            while len(self._known) > MOST:
                self._known.popitem(last=False)

    @contextlib.contextmanager
    def reading(self, tables: Iterable[str]) -> Iterator[None]:
        """Waits while other runs read changed rows of these tables, and lets others wait for this one."""
        with self._lock:
            locks = [self._tables.setdefault(each, threading.Lock()) for each in sorted(set(tables))]
        with contextlib.ExitStack() as held:
            for lock in locks:
                held.enter_context(lock)
            yield
