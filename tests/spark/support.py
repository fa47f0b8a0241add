"""What tests of the running system share: reading the journal and comparing views with their queries."""

from __future__ import annotations

import math
import re
import uuid
from collections import Counter
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.demo.session import SETTINGS
from headwater.model.event import Changed, Declared, Event, Published
from headwater.spark.jvm.jar import EXTENSION
from headwater.store.dialect import default_store
from headwater.store.sql_store import SqlStore

SHORT = SETTINGS["spark.driver.extraJavaOptions"]
"""Of a JVM for short statements: suites take a third less of processors so, which those beside them share."""

EXTENSIONS = (
    "io.delta.sql.DeltaSparkSessionExtension",
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    EXTENSION,  # the last one reads a statement first
)


OF_A_TEST = re.compile(r"\bd[0-9a-f]{8}\b")
"""The database of a test, as ``new_database`` names it."""


def new_database() -> str:
    return f"d{uuid.uuid4().hex[:8]}"


class Journal:
    """The journal of the engine under test, from the moment this was made or last marked. What tables of other tests
    leave there is not in it.

    Args:
        own: the database of the test.
    """

    def __init__(self, warehouse: Path, own: str) -> None:
        self._path, self._own = default_store(warehouse), own
        self._seq = 0
        self.mark()

    def mark(self) -> None:
        """Forgets everything so far."""
        self.events()

    def events(self) -> list[Event]:
        """What was recorded since the last call."""
        if not self._path.exists():
            return []
        store = SqlStore(self._path)
        try:
            entries = list(store.read(self._seq))
        finally:
            store.close()
        if entries:
            self._seq = entries[-1].seq
        return [entry.event for entry in entries if not self._is_of_others(entry.event)]

    def _is_of_others(self, event: Event) -> bool:
        about = event.definition if isinstance(event, Declared) else event
        found = OF_A_TEST.search(getattr(about, "view", None) or getattr(about, "table", None) or "")
        return found is not None and found[0] != self._own

    def changed_and_refreshed(self, table: str) -> tuple[set[str], list[tuple[str, str]]]:
        """The partitions of ``table`` recorded as changed, and the (view, partition)s published."""
        events = self.events()
        changed = {
            str(each.slice)
            for event in events
            if isinstance(event, Changed) and event.table == table and not event.baseline
            for each in event.partitions
        }
        published = [
            (event.view.split(".")[1], str(each))
            for event in events
            if isinstance(event, Published)
            for each in (*(made.slice for made in event.made), *event.removed)
        ]
        return changed, sorted(published)


def database(session: SparkSession) -> str:
    return session.catalog.currentDatabase()


def drain(session: SparkSession) -> list:
    """Refreshes everything and returns the refreshed partitions."""
    return session.sql("REFRESH MATERIALIZED VIEWS").collect()


def drain_in_vain(session: SparkSession) -> str:
    """Refreshes everything that can be refreshed; the error, which names the views that cannot."""
    with pytest.raises(PySparkException) as raised:
        drain(session)
    return str(raised.value)


def bag(session: SparkSession, query: str, columns: list[str]) -> Counter:
    quoted = ["`" + each.replace("`", "``") + "`" for each in columns]
    return Counter(tuple(map(_comparable, row)) for row in session.sql(query).select(*quoted).collect())


def _comparable(value: object) -> object:
    """A value that Python compares as Spark does: there, NaN equals itself."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def assert_equals_query(session: SparkSession, view: str, query: str) -> None:
    """The view holds exactly the rows of its query, each as often.

    A new session asks, which has cached no listing of files.
    """
    current = database(session)
    session = session.newSession()
    session.sql(f"USE {current}")
    columns = session.sql(query).columns
    held = bag(session, f"SELECT * FROM {view}", columns)
    assert held == bag(session, query, columns)
