"""The anomalies of [Garcia98] §4.1 and §4.2: a source changes while a refresh follows an earlier change.

The refresh reads every table at the snapshots that it began with. So the later change is in its own refresh only.
"""

from __future__ import annotations

import threading
import time

import pytest
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database

from headwater.model.event import Changed, Event, Published, Started
from headwater.model.work import Mode

SLOW = "(SELECT sum(pmod(xxhash64(id), 7)) FROM range(0, 150000000, 1, 1)) >= 0"
"""A condition that holds, and takes seconds. It is one task, so that a statement beside it finds a place."""
TABLES = {
    "accounts": "client INT, stock STRING, shares INT, paid DECIMAL(6, 1)",
    "inquiries": "client INT, day DATE, topic STRING",
    "daily": "day DATE, stock STRING, closing INT",
    "pe": "stock STRING, pe INT",
}
IBM = "INSERT INTO accounts VALUES (101, 'IBM', 2000, 18.5)"


class Interleaved:
    """A view, of which a refresh follows one statement while another one is done."""

    def __init__(self, spark: SparkSession, journal: Journal, query: str) -> None:
        self._spark, self._journal, self._query = spark, journal, f"{query} WHERE {SLOW}"
        self._view = f"{database(spark)}.v"
        asked = "TBLPROPERTIES ('headwater.method' = 'incremental, keys, full')"
        spark.sql(f"CREATE MATERIALIZED VIEW v USING delta {asked} AS {self._query}")
        journal.mark()

    def play(self, first: str, second: str) -> list[Event]:
        """What happened, with the statements one during the refresh of the other. The view then equals its query."""
        self._spark.sql(first)
        refreshing = threading.Thread(target=self._refresh)
        refreshing.start()
        events = self._until_started()
        self._spark.sql(second)
        refreshing.join()
        self._refresh()
        assert_equals_query(self._spark, self._view, self._query)
        return [*events, *self._journal.events()]

    # --- inside

    def _refresh(self) -> None:
        self._spark.newSession().sql("REFRESH MATERIALIZED VIEWS")

    def _until_started(self) -> list[Event]:
        events: list[Event] = []
        deadline = time.monotonic() + 60
        while not any(isinstance(each, Started) for each in events):
            assert time.monotonic() < deadline, f"no refresh started: {events}"
            time.sleep(0.02)
            events += self._journal.events()
        return events


def order(events: list[Event], view: str) -> list[str]:
    """The changes of sources, and the starts and publications of the view's refreshes, as they came."""
    told = []
    for each in events:
        match each:
            case Started(view=name, work=work) if name == view:
                told.append(f"starts {work.mode.value}")
            case Published(view=name) if name == view:
                told.append("published")
            case Changed(table=table) if table != view:
                told.append(table.partition(".")[2])
    return told


@pytest.fixture
def sources(spark: SparkSession) -> SparkSession:
    for name, columns in TABLES.items():
        spark.sql(f"CREATE TABLE {name} ({columns}) USING delta")
    spark.sql(IBM)
    return spark


@pytest.mark.long
def test_example_2_a_row_that_joins_with_one_that_is_followed_comes_once(
    sources: SparkSession, journal: Journal
) -> None:
    view = Interleaved(sources, journal, "SELECT * FROM accounts JOIN inquiries USING (client)")
    events = view.play(
        "INSERT INTO inquiries VALUES (101, DATE'1998-04-07', 'price of ITT')",
        "INSERT INTO accounts VALUES (101, 'APP', 3000, 12.2)",
    )
    assert sources.table("v").count() == 2
    follows = f"starts {Mode.CHANGES.value}"
    assert order(events, f"{database(sources)}.v") == [
        "inquiries", follows, "accounts", "published", follows, "published"
    ]  # fmt: skip


@pytest.mark.thorough
def test_example_3_a_row_goes_while_another_source_is_followed(sources: SparkSession, journal: Journal) -> None:
    sources.sql("INSERT INTO pe VALUES ('IBM', 5)")
    view = Interleaved(sources, journal, "SELECT * FROM accounts JOIN daily USING (stock) JOIN pe USING (stock)")
    events = view.play(
        "INSERT INTO daily VALUES (DATE'1998-06-07', 'IBM', 15)", "DELETE FROM accounts WHERE client = 101"
    )
    assert sources.table("v").count() == 0
    told = order(events, f"{database(sources)}.v")
    assert told[:4] == ["daily", f"starts {Mode.CHANGES.value}", "accounts", "published"] and told[-1] == "published"
