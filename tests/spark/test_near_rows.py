"""Changed rows that one run read are there for the next one that goes on from the same snapshots."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from attrs import evolve
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from spark_jobs import jobs_of
from support import database

from headwater.model.error import ChangesUnknown, RefreshCancelled
from headwater.model.reason import Code
from headwater.model.seen import ChangedRows
from headwater.spark.jvm.shim import Shim
from headwater.spark.refreshing.near_rows import MOST, NearRows, WhichRows

JOINED = """SELECT town, sum(price * weight) AS price, count(*) AS n
FROM {place}.sales JOIN {place}.shops USING (shop) GROUP BY town"""


@pytest.mark.thorough
@pytest.mark.parametrize("format", ["delta", "iceberg"])
@pytest.mark.parametrize("change", ["INSERT INTO {t} VALUES (-{n}, 7, 5.00)", "DELETE FROM {t} WHERE id = {n}"])
def test_rows_that_several_views_read_are_read_once(spark: SparkSession, format: str, change: str) -> None:
    place = database(spark)
    if format == "iceberg":
        place = f"lake.{place}"
        spark.sql(f"CREATE NAMESPACE {place}")
    query = JOINED.format(place=place)
    spark.sql(
        f"CREATE TABLE {place}.sales USING {format} AS "
        "SELECT id, id % 9 AS shop, CAST(id % 50 AS DECIMAL(12, 2)) AS price FROM range(1000)"
    )
    spark.sql(
        f"CREATE TABLE {place}.shops USING {format} AS SELECT id AS shop, id % 3 AS town, id AS weight FROM range(9)"
    )
    views = ("first", "second", "third")
    for name in views:
        spark.sql(
            f"CREATE MATERIALIZED VIEW {name} USING delta TBLPROPERTIES "
            f"('headwater.method' = 'incremental, full', 'headwater.settle' = '1 hour') AS {query}"
        )
    counts: dict[str, int] = {}
    for n in range(1, 4):  # the first refresh by changes leaves totals
        spark.sql(change.format(t=f"{place}.sales", n=n))
        for name in views:
            view = f"{database(spark)}.{name}"
            since = max(jobs_of(spark, view)) + 1
            spark.sql(f"REFRESH MATERIALIZED VIEW {name}")
            counts[name] = len(jobs_of(spark, view, since))
            [row] = spark.sql(f"SHOW REFRESHES FOR {name} LIMIT 1").collect()
            assert row["mode"] == "incremental"
            assert not spark.sql(f"(TABLE {name}) EXCEPT ALL ({query})").take(1)
            assert not spark.sql(f"({query}) EXCEPT ALL (TABLE {name})").take(1)
    assert counts["first"] - 1 == counts["second"] == counts["third"], counts


@pytest.fixture
def near(plain_spark: SparkSession) -> NearRows:
    return NearRows(Shim(plain_spark))


@pytest.fixture
def rows(plain_spark: SparkSession) -> Callable[[int], ChangedRows]:
    def of(number: int) -> ChangedRows:
        [found] = Shim(plain_spark).few_rows([ChangedRows(plain_spark.sql(f"SELECT {number} AS n"), None)])
        return found

    return of


def which(**other: object) -> WhichRows:
    known = {"table": "t", "since": "1", "until": "2", "settings": (("spark.sql.ansi.enabled", "true"),)}
    return WhichRows(**(known | other))  # type: ignore[arg-type]


def test_rows_are_found_in_another_session(near, rows, plain_spark: SparkSession) -> None:
    near.keep(which(), rows(7))
    other = plain_spark.newSession()
    found = near.find(other, which())
    assert found is not None and found.few and found.removed is None
    assert found.added.sparkSession is other
    assert [each.n for each in found.added.collect()] == [7]


@pytest.mark.parametrize(
    "other", [{"table": "u"}, {"since": "0"}, {"until": "3"}, {"settings": (("spark.sql.ansi.enabled", "false"),)}]
)
def test_rows_of_other_snapshots_or_settings_are_others(near, rows, plain_spark, other) -> None:
    near.keep(which(), rows(7))
    assert near.find(plain_spark, which(**other)) is None


@pytest.mark.parametrize("few", [True, False])
def test_the_rows_that_were_used_last_stay(near, rows, plain_spark, few: bool) -> None:
    one = evolve(rows(7), few=few)
    for n in range(MOST[few]):
        near.keep(which(since=str(n)), one)
    near.find(plain_spark, which(since="0"))
    near.keep(which(since="more"), one)
    assert near.find(plain_spark, which(since="0")) is not None
    assert near.find(plain_spark, which(since="1")) is None


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (Py4JError("an executor is gone"), True),
        (ChangesUnknown(Code.METHOD_SPARK_FAILED, "an executor is gone"), True),
        (ChangesUnknown(Code.METHOD_TOO_MUCH_CHANGED, "too many rows"), False),
        (RefreshCancelled("stopped"), False),
    ],
)
def test_rows_on_executors_are_let_go_if_spark_fails(near, rows, plain_spark, error: Exception, lost: bool) -> None:
    near.keep(which(since="few"), rows(7))
    near.keep(which(since="many"), evolve(rows(7), few=False, netted=True))
    with pytest.raises(type(error)), near.trusted():
        raise error
    assert (near.find(plain_spark, which(since="many")) is None) == lost
    assert near.find(plain_spark, which(since="few")) is not None


def test_rows_on_executors_are_kept_for_a_time(rows, plain_spark) -> None:
    ends: list[Callable[[], None]] = []
    closed: list[str] = []
    near = NearRows(Shim(plain_spark), lambda seconds, act: ends.append(act))
    near.keep(which(since="few"), rows(7))
    for n in ("first", "second"):  # the second one takes the place of the first
        near.keep(which(), evolve(rows(7), few=False, close=lambda n=n: closed.append(n)))
    assert closed == ["first"]
    first, second = ends
    first()
    assert near.find(plain_spark, which()) is not None
    second()
    assert near.find(plain_spark, which()) is None and closed == ["first", "second"]
    assert near.find(plain_spark, which(since="few")) is not None


def test_a_run_waits_for_another_one_that_reads_rows_of_its_tables(near) -> None:
    order: list[str] = []

    def other() -> None:
        with near.reading(["b", "a"]):
            order.append("second")

    with near.reading(["a"]):
        thread = threading.Thread(target=other)
        thread.start()
        with near.reading(["c"]):
            order.append("first")
    thread.join()
    assert order == ["first", "second"]
