"""Small files of views are put together: no row changes, nothing is refreshed, and refreshes go on as before."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import Home, until
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query
from test_by_keys import runs
from test_key_files import files, shop
from test_lake_recovery import settings

from headwater.model.event import Declared, Started
from headwater.model.view import Definition
from headwater.model.work import Mode
from headwater.spark.jvm import paths
from headwater.spark.jvm.sessions import Sessions, having
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables import registry
from headwater.spark.tables.compaction import FEW, Compaction, PutTogether, due
from headwater.spark.tables.delta.calls import active
from headwater.spark.tables.delta.log import Logs

UNCHECKED = "spark.databricks.delta.retentionDurationCheck.enabled"
ASKED = "TBLPROPERTIES ('headwater.method' = 'incremental, full', 'headwater.compaction' = 'off')"
SALES = "SELECT id, CAST(id AS DECIMAL(9, 2)) AS price FROM range(1000)"
QUERY = "SELECT /*+ REPARTITION(40) */ id, price * 2 AS double FROM {t} WHERE price < 900"


OVERTAKEN = {
    "io.delta.exceptions.ConcurrentDeleteReadException",
    "io.delta.exceptions.ConcurrentDeleteDeleteException",
    "org.apache.iceberg.exceptions.ValidationException",
    "org.apache.iceberg.exceptions.CommitFailedException",
}
"""What Delta and Iceberg raise when another commit took a file away."""
LOST: list[set[str]] = []
"""The causes of each attempt that failed, by the names of their classes."""


@pytest.fixture(autouse=True)
def only_overtaken() -> Iterator[None]:
    """An attempt fails only where another commit was first."""
    LOST.clear()
    yield
    assert all(each & OVERTAKEN for each in LOST), LOST


@pytest.mark.long
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_small_files_become_one_and_nothing_else_changes(spark: SparkSession, journal: Journal, format: str) -> None:
    table, view = shop(spark, format, SALES, "cheap")
    place, query = table.rpartition(".")[0], QUERY.format(t=table)
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {format} {ASKED} AS {query}")
    spark.sql(f"CREATE MATERIALIZED VIEW {place}.above USING {format} AS SELECT count(*) AS n FROM {view}")
    definition = declared(journal, "cheap")
    formats = registry.opened(Shim(spark), Sessions(spark)).of_view(definition)
    found = due(formats.sizes(definition))
    assert found is not None and found.files >= FEW
    journal.mark()
    assert formats.compact(definition, found) == PutTogether(found.files, 1)
    assert len(formats.sizes(definition)) == 1
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert not [each for each in journal.events() if isinstance(each, Started)]
    assert_equals_query(spark, view, query)

    [large], [size] = files(spark, view, format), formats.sizes(definition)
    for n in range(2):
        spark.sql(f"INSERT INTO {table} VALUES ({n}, {n})")
        spark.sql("REFRESH MATERIALIZED VIEWS")
    formats.compact(definition, Compaction(size, 1 << 20, 2))
    names = files(spark, view, format)
    assert large in names and len(names) == 2, "a file of that size stays"

    journal.mark()
    for n in range(3):
        spark.sql(f"INSERT INTO {table} SELECT id, {n} FROM range({n}, 50)")
        at_once = threading.Thread(target=attempt, args=(formats, definition, found))
        at_once.start()
        spark.sql("REFRESH MATERIALIZED VIEWS")
        at_once.join()
        assert_equals_query(spark, view, query)
        attempt(formats, definition, found)
        assert_equals_query(spark, view, query)
    assert {mode for mode, _ in runs(journal.events(), definition.view)} == {Mode.CHANGES}
    spark.sql(f"DELETE FROM {table} WHERE id < 10")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    attempt(formats, definition, found)
    assert_equals_query(spark, view, query)
    assert spark.table(f"{place}.above").first() == (spark.table(view).count(),)


@pytest.mark.thorough
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_of_two_engines_that_put_the_same_files_together_one_wins(
    spark: SparkSession, journal: Journal, format: str
) -> None:
    table, view = shop(spark, format, SALES, "cheap")
    query = QUERY.format(t=table)
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {format} {ASKED} AS {query}")
    definition = declared(journal, "cheap")
    formats = registry.opened(Shim(spark), Sessions(spark)).of_view(definition)
    found = due(formats.sizes(definition))
    assert found is not None
    others = [threading.Thread(target=attempt, args=(formats, definition, found)) for _ in range(2)]
    for each in others:
        each.start()
    for each in others:
        each.join()
    assert len(formats.sizes(definition)) == 1
    assert_equals_query(spark, view, query)


def test_a_compaction_that_was_killed_leaves_files_that_a_clean_up_deletes(
    spark: SparkSession, journal: Journal
) -> None:
    table, view = shop(spark, "delta", SALES, "cheap")
    query = QUERY.format(t=table)
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING delta {ASKED} AS {query}")
    definition = declared(journal, "cheap")
    shim, sessions = Shim(spark), Sessions(spark)
    calls, formats = shim.calls("delta"), registry.opened(shim, sessions).of_view(definition)
    location, before = formats.location(definition), formats.sizes(definition)
    log = Logs(shim, spark, calls).open(definition.view)
    assert log is not None
    with active(calls, spark):
        together = log.opened.together(1 << 20, 1 << 20)
    assert (together.before(), together.after()) == (len(before), 1)

    def left() -> int:
        return len([*Path(paths.plain(location)).glob("*.parquet")])

    assert left() == len(before) + 1, "no commit names the last one"
    with having(spark, {"spark.headwater.internal": "true", UNCHECKED: "false"}):
        spark.sql(f"VACUUM {view} RETAIN 0 HOURS")
    assert left() == len(before)
    assert not log.opened.areThere(together.staged(), 1 << 40), "so the engine would not commit it"
    assert formats.sizes(definition) == before
    assert_equals_query(spark, view, query)


@pytest.mark.long
def test_an_idle_engine_puts_small_files_together(tmp_path: Path) -> None:
    home, counted = (
        Home(tmp_path),
        {
            "in_delta": "SELECT count(DISTINCT _metadata.file_path) FROM in_delta",
            "lake.db.in_iceberg": "SELECT count(DISTINCT _file) FROM lake.db.in_iceberg",
        },
    )
    with home.session({**settings(tmp_path), "spark.headwater.check.interval": "2"}) as session:
        session.run("CREATE NAMESPACE lake.db")
        session.run(f"CREATE TABLE sales USING delta AS {SALES}")
        for view in counted:
            using = view.rpartition("in_")[2]
            asked = "TBLPROPERTIES ('headwater.method' = 'incremental', 'headwater.compaction' = 'on')"
            session.run(f"CREATE MATERIALIZED VIEW {view} USING {using} {asked} AS {QUERY.format(t='sales')}")
        for count in counted.values():
            until(lambda count=count: session.one(count) == "1", "a compaction", 60)
        session.run("INSERT INTO sales VALUES (1, 5)")
        session.run("REFRESH MATERIALIZED VIEWS")
        for view, count in counted.items():
            assert session.one(count) == "2", "the new row is added, and no file of few is put together"
            assert session.one(f"SELECT sum(double) FROM {view}") == session.one(
                "SELECT sum(price * 2) FROM sales WHERE price < 900"
            )


def attempt(formats, definition: Definition, found) -> None:
    """Puts files together, unless another commit takes them away meanwhile."""
    try:
        formats.compact(definition, found)
    except Py4JJavaError as error:
        causes, cause = set(), error.java_exception
        while cause is not None:
            causes.add(cause.getClass().getName())
            cause = cause.getCause()
        LOST.append(causes)


def declared(journal: Journal, view: str) -> Definition:
    return next(
        each.definition
        for each in journal.events()
        if isinstance(each, Declared) and each.definition.view.endswith(f".{view}")
    )
