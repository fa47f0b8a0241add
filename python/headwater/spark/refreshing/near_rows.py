"""Changed rows that are read once, for all runs that go on from the same snapshots.

Example: ``per_day`` and ``per_shop`` join ``sales`` with other tables, and both reflect version 5. The run of
``per_day`` reads the rows of ``sales`` from version 5 to 9. That of ``per_shop`` finds them here ([Adler20] chapter 5).

Few rows are in the memory of the driver. More stay on the executors that compared them (``Netted.scala``).
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator

from attrs import frozen
from pyspark.sql import SparkSession

from headwater.model.error import ChangesUnknown
from headwater.model.reason import Code
from headwater.model.seen import ChangedRows
from headwater.model.view import Pairs
from headwater.spark.jvm.shim import SPARK_ERRORS, Shim

MOST = {True: 32, False: 4}
"""So many sets of rows are kept, those that were used last, by whether they are few. A set of few has two megabytes at
most, another one is left of files of 64 MB on each side (``FewRows.scala``)."""

KEPT = 300.0
"""Seconds that rows on executors are kept. Views that follow the same change are refreshed soon after each other. An
executor that keeps rows is not given back."""

Later = Callable[[float, Callable[[], None]], None]


def _by_timer(seconds: float, act: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()


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
    """The sets of rows. Runs of several threads use it.

    Args:
        later: does something after so many seconds.
    """

    def __init__(self, shim: Shim, later: Later = _by_timer) -> None:
        self._shim, self._later, self._lock = shim, later, threading.Lock()
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
        """Keeps rows that are read and compared."""
        few = bool(rows.few)
        with self._lock:
            self._let_go([asked] if asked in self._known else [])
            self._known[asked] = rows
            self._let_go([each for each, known in self._known.items() if bool(known.few) == few][: -MOST[few]])
        if not few:
            self._later(KEPT, lambda: self._end(asked, rows))

    @contextlib.contextmanager
    def trusted(self) -> Iterator[None]:
        """Lets go of rows on executors if Spark fails. It may have lost some, and cannot always make them anew."""
        try:
            yield
        except (*SPARK_ERRORS, ChangesUnknown) as error:
            if not isinstance(error, ChangesUnknown) or error.reason.code is Code.METHOD_SPARK_FAILED:
                with self._lock:
                    self._let_go([each for each, known in self._known.items() if not known.few])
            raise

    def _end(self, asked: WhichRows, rows: ChangedRows) -> None:
        with self._lock:
            if self._known.get(asked) is rows:
                self._let_go([asked])

    def _let_go(self, some: Iterable[WhichRows]) -> None:
        for each in some:
            with contextlib.suppress(*SPARK_ERRORS, ConnectionError):  # the application may have ended
                self._known.pop(each).close()

    @contextlib.contextmanager
    def reading(self, tables: Iterable[str]) -> Iterator[None]:
        """Waits while other runs read changed rows of these tables, and lets others wait for this one."""
        with self._lock:
            locks = [self._tables.setdefault(each, threading.Lock()) for each in sorted(set(tables))]
        with contextlib.ExitStack() as held:
            for lock in locks:
                held.enter_context(lock)
            yield
