"""Writers go on during a hundred refreshes. Each published version is its query over the snapshots on its record."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event, Thread

import pytest
from pyspark.sql import SparkSession
from support import Journal, database, drain

from headwater.model.event import Failed, Published, Started
from headwater.model.partition import WHOLE

pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]

REFRESHES = 100
DAYS = 5
PAUSE = 3
"""Seconds between two writes, so that refreshes have most of the processors."""


@contextmanager
def writing(session: SparkSession, *writers: Sequence[str]) -> Iterator[None]:
    """Threads that write their statements by turns, with a number that grows."""
    done, failed = Event(), []

    def write(statements: Sequence[str]) -> None:
        writer, number = session.newSession(), 0
        try:
            while not done.wait(PAUSE):
                number += 1
                writer.sql(statements[number % len(statements)].format(n=number, day=f"'d{number % DAYS}'"))
        except Exception as error:
            failed.append(error)

    threads = [Thread(target=write, args=(each,)) for each in writers]
    for each in threads:
        each.start()
    try:
        yield
    finally:
        done.set()
        for each in threads:
            each.join()
    assert not failed, failed


def test_each_published_version_is_its_query_over_the_snapshots_on_its_record(
    spark: SparkSession, journal: Journal
) -> None:
    """One table twice, once through an ordinary view; tables of both formats; views of views, in both formats."""
    here = f"spark_catalog.{database(spark)}"
    t, u, daily, total = f"{here}.t", f"lake.{database(spark)}.u", f"{here}.daily", f"lake.{database(spark)}.total"
    spark.sql(f"CREATE TABLE {t} (x BIGINT, day STRING) USING delta PARTITIONED BY (day)")
    spark.sql(f"CREATE TABLE {u} (y BIGINT, day STRING) USING iceberg PARTITIONED BY (day)")
    for table in (t, u):
        spark.sql(f"INSERT INTO {table} SELECT id, concat('d', id) FROM range({DAYS})")
    spark.sql(f"CREATE VIEW counted AS SELECT day, count(*) AS n FROM {t} GROUP BY day")
    queries = {
        daily: "SELECT s, m, n, day FROM (SELECT day, sum(x) AS s FROM {t} GROUP BY day) JOIN {counted} USING (day) "
        "JOIN (SELECT day, max(y) AS m FROM {u} GROUP BY day) USING (day)",
        total: "SELECT (SELECT sum(s) FROM {daily}) AS s, (SELECT sum(x) FROM {t}) AS x, (SELECT sum(y) FROM {u}) AS y",
    }
    names = {"t": t, "u": u, "daily": daily, "counted": f"{here}.counted"}
    spark.sql(
        f"CREATE MATERIALIZED VIEW {daily} USING delta PARTITIONED BY (day) AS {queries[daily].format_map(names)}"
    )
    spark.sql(f"CREATE MATERIALIZED VIEW {total} USING iceberg AS {queries[total].format_map(names)}")
    events = journal.events()
    with writing(
        spark,
        [f"INSERT INTO {t} VALUES ({{n}}, {{day}})", f"UPDATE {t} SET x = x + 1 WHERE day = {{day}} AND x < 3"],
        [f"INSERT INTO {u} VALUES ({{n}}, {{day}})"],
    ):
        while sum(isinstance(each, Published) for each in events) < REFRESHES:
            drain(spark)
            events += journal.events()
    drain(spark)
    events += journal.events()
    assert not [each for each in events if isinstance(each, Failed)]
    started = {each.version: each for each in events if isinstance(each, Started)}
    published = [each for each in events if isinstance(each, Published)]
    known = {name.removeprefix("spark_catalog."): name for name in (t, u, daily, total)}
    for each in published:
        view, run = known[each.view], started[each.version]
        at = {known[name]: snapshot for name, snapshot in run.snapshots}
        asked = rows(spark, queries[view].format_map(read_at(names, at)))
        held = rows(spark, f"SELECT * FROM {view} VERSION AS OF {number(each.snapshot)}")
        if WHOLE not in run.slices:
            days = {part.value("day") for part in run.slices}
            asked, held = ([row for row in some if row[-1] in days] for some in (asked, held))
        assert held == asked, (view, each.version, at)
    assert len({run.snapshots for run in started.values()}) > REFRESHES / 2, "nobody wrote between"


def read_at(names: Mapping[str, str], at: Mapping[str, str]) -> dict[str, str]:
    """What a query reads in the place of each name: the table at its snapshot. ``counted`` is an ordinary view."""
    pinned = {name: f"{table} VERSION AS OF {number(at[table])}" for name, table in names.items() if table in at}
    then = f"(SELECT day, count(*) AS n FROM {pinned['t']} GROUP BY day)"
    return {**pinned, "counted": then}


def number(snapshot: str) -> str:
    """A snapshot on record as the format counts it; the record adds the table's identity, or its schema."""
    return re.match(r"\d+", snapshot)[0]


def rows(session: SparkSession, query: str) -> list[tuple]:
    return sorted(map(tuple, session.sql(query).collect()))
