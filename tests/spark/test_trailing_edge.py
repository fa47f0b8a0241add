"""Views that read their sources up to the time that all of them have reached."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone

import pytest
from attrs import frozen
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import Journal, database, drain

from headwater.model.event import Published

START = datetime(2024, 3, 31, 0, 30, tzinfo=timezone.utc)
"""An hour before the clocks in Berlin go forward."""
SECONDS = 10_000
LATENESS = 300
QUERY = (
    "SELECT coalesce(o.k, c.k) AS k, o.n AS orders, c.n AS clicks "
    "FROM (SELECT k, count(*) AS n FROM {orders} GROUP BY k) o "
    "FULL JOIN (SELECT k, count(*) AS n FROM {clicks} GROUP BY k) c ON o.k <=> c.k"
)
EDGE = "'headwater.event_time' = 'ts', 'headwater.trailing_edge' = 'on'"


@frozen
class Row:
    """An event, and when it comes (s)."""

    k: int
    at: int
    comes: int

    @property
    def sql(self) -> str:
        return f"({self.k}, TIMESTAMP'{moment(self.at)}Z')"


def moment(second: float) -> str:
    return (START + timedelta(seconds=second)).strftime("%Y-%m-%d %H:%M:%S.%f")


def events(seed: int, disorder: int) -> list[Row]:
    """Events in the order in which they come, each at most so many seconds after its time."""
    draw = random.Random(seed)
    times = sorted(draw.randrange(SECONDS) for _ in range(60))
    return sorted(
        (Row(draw.randrange(4), at, at + draw.randint(0, disorder)) for at in times), key=lambda row: row.comes
    )


def batches(rows: Sequence[Row], count: int) -> Iterator[list[Row]]:
    for n in range(count):
        yield [*rows[n * len(rows) // count : (n + 1) * len(rows) // count]]


def made(spark: SparkSession, using: str, type: str = "TIMESTAMP") -> None:
    spark.sql(f"CREATE TABLE orders (k INT, ts {type}) {using}")
    spark.sql(f"CREATE TABLE clicks (k INT, ts {type}) {using}")


def view(spark: SparkSession, more: str = "", using: str = "") -> str:
    query = QUERY.format(orders="orders", clicks="clicks")
    spark.sql(f"CREATE MATERIALIZED VIEW paired {using} TBLPROPERTIES ({EDGE}{more}) AS {query}")
    return query


def up_to(edge: int | None) -> dict[str, str]:
    """The sources with the rows up to an edge."""
    condition = "ts IS NULL" if edge is None else f"ts IS NULL OR unix_micros(CAST(ts AS TIMESTAMP)) <= {edge}"
    return {table: f"(SELECT * FROM {table} WHERE {condition})" for table in ("orders", "clicks")}


def rows(spark: SparkSession, query: str) -> list[tuple]:
    return sorted(map(tuple, spark.sql(query).collect()), key=str)


def edges(journal: Journal) -> list[Published]:
    return [each for each in journal.events() if isinstance(each, Published) and each.view.endswith(".paired")]


def shown(spark: SparkSession) -> dict:
    return spark.sql(f"SHOW MATERIALIZED VIEWS IN {database(spark)}").first().asDict()


USINGS = {
    "delta": ("USING delta", "USING delta"),
    "files": ("USING parquet", ""),
    "partitioned files": ("USING parquet PARTITIONED BY (k)", ""),
}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("delta", marks=pytest.mark.thorough),
        *(pytest.param(each, marks=pytest.mark.long) for each in ("files", "partitioned files")),
    ],
)
def test_each_published_view_is_its_query_over_all_that_happened_until_its_edge(
    spark: SparkSession, journal: Journal, kind: str
) -> None:
    """Rows come out of order within the bound. What was published is compared once all rows are there: nothing that
    happened until the edge came after it."""
    source, own = USINGS[kind]
    made(spark, source)
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    view(spark, f", 'headwater.lateness' = '{LATENESS} seconds'", own)
    published: list[tuple[int | None, list[tuple]]] = []
    streams = {"orders": batches(events(1, LATENESS), 6), "clicks": batches(events(2, LATENESS), 4)}
    for turn in range(8):
        for table in ("orders", "clicks") if turn % 3 else ("orders",):
            if come := next(streams[table], None):
                values = ", ".join(f"(TIMESTAMP'{moment(each.at)}Z', {each.k})" for each in come)
                spark.sql(f"INSERT INTO {table} (ts, k) VALUES {values}")
        drain(spark)
        found = edges(journal)
        assert all(each.measured.edge.late == 0 for each in found)
        if found:
            published.append((found[-1].measured.edge.at, rows(spark, "SELECT * FROM paired")))
        [said] = spark.sql("VERIFY MATERIALIZED VIEW paired").collect()
        assert said.result == "equal"
    reached = [edge for edge, _ in published if edge is not None]
    assert len({*reached}) >= 4 and reached == sorted(reached)
    assert shown(spark)["fresh_to"].timestamp() == pytest.approx(reached[-1] / 1e6, abs=0.01)
    for edge, held in published:
        assert held == rows(spark, QUERY.format(**up_to(edge))), edge


@pytest.mark.thorough
def test_what_comes_too_late_is_counted_told_and_added(spark: SparkSession, journal: Journal) -> None:
    made(spark, "USING delta")
    view(spark)
    for table in ("orders", "clicks"):
        spark.sql(f"INSERT INTO {table} VALUES {Row(1, 100, 0).sql}, {Row(1, 200, 0).sql}")
    drain(spark)
    assert rows(spark, "SELECT * FROM paired") == [(1, 2, 2)]
    spark.sql(f"INSERT INTO orders VALUES {Row(1, 150, 0).sql}, {Row(2, 50, 0).sql}, {Row(3, 900, 0).sql}")
    drain(spark)
    assert [each.measured.edge.late for each in edges(journal)][-1] == 2
    assert rows(spark, "SELECT * FROM paired") == [(1, 3, 2), (2, 1, None)], "the order of 900 s waits for the clicks"
    assert shown(spark)["reason"].startswith(
        "2 rows came later than headwater.lateness or a watermark allows; the last"
    )
    spark.sql(f"INSERT INTO clicks VALUES {Row(3, 950, 0).sql}")
    drain(spark)
    assert rows(spark, "SELECT * FROM paired") == [(1, 3, 2), (2, 1, None), (3, 1, None)]
    assert shown(spark)["reason"] == ""


@pytest.mark.long
def test_rows_without_a_time_and_with_one_in_the_future(spark: SparkSession, journal: Journal) -> None:
    made(spark, "USING delta")
    view(spark)
    soon = int((datetime.now(timezone.utc) - START).total_seconds()) + 50  # two refreshes must end before that
    spark.sql(
        f"INSERT INTO orders VALUES (7, NULL), {Row(1, 100, 0).sql}, {Row(9, soon, 0).sql}, (8, TIMESTAMP'2999-01-01')"
    )
    drain(spark)
    assert rows(spark, "SELECT * FROM paired") == [(7, 1, None)], "there are no clicks, so there is no edge"
    assert edges(journal)[-1].measured.edge.at is None and shown(spark)["fresh_to"] is None
    spark.sql(f"INSERT INTO clicks VALUES {Row(1, 300, 0).sql}")
    drain(spark)
    assert rows(spark, "SELECT * FROM paired") == [(1, 1, None), (7, 1, None)], "the edge is at 100 s"
    time.sleep(max(0, (START + timedelta(seconds=soon + 2)).timestamp() - time.time()))
    spark.sql(f"INSERT INTO clicks VALUES {Row(1, soon + 1, 0).sql}")
    drain(spark)
    assert rows(spark, "SELECT * FROM paired") == [(1, 1, 1), (7, 1, None), (9, 1, None)], "2999 has not come yet"


@pytest.mark.thorough
def test_a_view_that_names_the_times_only_tells_how_far_it_has_come(spark: SparkSession) -> None:
    made(spark, "USING delta", "DATE")
    spark.sql("INSERT INTO orders VALUES (1, DATE'2024-05-02'), (2, DATE'2024-05-07')")
    spark.sql("INSERT INTO clicks VALUES (1, DATE'2024-05-03')")
    query = QUERY.format(orders="orders", clicks="clicks")
    spark.sql(f"CREATE MATERIALIZED VIEW paired TBLPROPERTIES ('headwater.event_time' = 'ts') AS {query}")
    assert rows(spark, "SELECT * FROM paired") == [(1, 1, 1), (2, 1, None)], "all rows are read"
    row = shown(spark)
    assert str(row["fresh_to"]) == "2024-05-03 00:00:00"
    assert row["staleness"] == pytest.approx(time.time() - row["fresh_to"].timestamp(), abs=5)


@pytest.mark.thorough
def test_a_property_that_comes_or_goes_takes_effect_at_once(spark: SparkSession) -> None:
    made(spark, "USING delta")
    spark.sql(f"INSERT INTO orders VALUES {Row(1, 100, 0).sql}, {Row(1, 500, 0).sql}")
    spark.sql(f"INSERT INTO clicks VALUES {Row(1, 200, 0).sql}")
    query = QUERY.format(orders="orders", clicks="clicks")
    spark.sql(f"CREATE MATERIALIZED VIEW paired AS {query}")
    held = {}
    for word in ("on", "off"):
        spark.sql(f"ALTER MATERIALIZED VIEW paired SET TBLPROPERTIES ({EDGE.replace('on', word)})")
        drain(spark)
        held[word] = rows(spark, "SELECT * FROM paired")
    assert held == {"on": [(1, 1, 1)], "off": [(1, 2, 1)]}


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ("'headwater.event_time' = 'happened'", "none of .* has a column happened"),
        ("'headwater.event_time' = 'k'", "is a INT; name a column of the type TIMESTAMP or DATE"),
        ("'headwater.event_time' = 'orders.at'", "has no column at; it has k, ts"),
        ("'headwater.event_time' = 'visits.ts'", "it does not read visits; it reads"),
        ("'headwater.event_time' = 'orders.'", "names no column; write one, such as ts"),
        ("'headwater.trailing_edge' = 'on'", "without 'headwater.event_time' there is no column"),
        ("'headwater.lateness' = '1 hour'", "without 'headwater.event_time' there is no column"),
        ("'headwater.event_time' = 'ts', 'headwater.lateness' = '-1 hour'", "is not a duration"),
        (f"{EDGE}, 'headwater.method' = 'incremental'", "headwater.trailing_edge brings rows of other sources"),
    ],
)
def test_what_makes_no_sense_is_refused(spark: SparkSession, properties: str, said: str) -> None:
    made(spark, "USING delta")
    query = QUERY.format(orders="orders", clicks="clicks")
    with pytest.raises(PySparkException, match=said):
        spark.sql(f"CREATE MATERIALIZED VIEW paired TBLPROPERTIES ({properties}) AS {query}")
