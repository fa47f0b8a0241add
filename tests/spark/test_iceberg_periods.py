"""A view over an Iceberg table that is partitioned by periods: no row is outside what its partition is said to reach.

Spark itself says which partition a row is in, and which partition of the view it makes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from datetime import date

import pytest
from found import look
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, bag, database, drain

from headwater.algebra.dependency import Images, forward, missing
from headwater.algebra.derive import derive
from headwater.model.calendar import Unit
from headwater.model.dependency import Dependency
from headwater.model.event import Started
from headwater.model.partition import WHOLE, Slice, Value
from headwater.spark.jvm import sql
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.iceberg import IcebergTables, values

ZONES = [
    *("UTC", "Europe/Berlin", "America/Sao_Paulo", "America/Toronto", "Asia/Kolkata", "Pacific/Apia", "+05:30"),
    *("America/Moncton", "Europe/London"),
]
"""With days that begin at one o'clock, hours that are skipped before midnight, half hours, a day that never was, a
clock that was set back over midnight, and one that was behind UTC in its first years."""

UNITS = {"year": "years", "month": "months", "day": "days", "hour": "hours"}
TYPES = {"ts": "TIMESTAMP", "z": "TIMESTAMP_NTZ", "d": "DATE"}

EXPRESSIONS = [
    "to_date({})", "CAST({} AS DATE)", "trunc({}, 'MM')", "trunc({}, 'YEAR')", "trunc({}, 'WEEK')", "year({})",
    "month({})", "dayofmonth({})", "last_day({})", "date_format({}, 'yyyy-MM')", "date_format({}, 'yyyy-MM-dd HH')",
    *(f"date_trunc('{unit}', {{}})" for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR")),
    "CAST(date_trunc('MONTH', {}) AS DATE)", "CAST(date_trunc('HOUR', {}) AS DATE)",
    "month(date_trunc('WEEK', {}))", "date_trunc('MONTH', date_trunc('WEEK', {}))", "make_date(year({}), month({}), 1)",
    "CAST({} AS TIMESTAMP_NTZ)", "CAST(CAST({} AS TIMESTAMP_NTZ) AS DATE)", "date_add(trunc({}, 'MM'), 40)",
    "hour({})", "concat(year({}), '-', quarter({}))", "{}",
]  # fmt: skip

MOMENTS = [
    *(
        "2018-11-03 23:59:59",
        "2018-11-04 00:00:00",
        "2018-11-04 03:30:00",
        "2018-10-27 22:30:00",
        "2024-10-27 00:30:00",
    ),
    *(
        "1919-03-30 23:45:00",
        "1919-03-31 04:15:00",
        "2011-12-30 09:59:00",
        "2011-12-30 12:00:00",
        "2011-12-31 10:00:00",
    ),
    *(
        "2024-12-30 00:00:00",
        "2024-02-29 23:59:59.999999",
        "1969-12-31 23:59:59",
        "1970-01-01 00:00:00",
        "1900-01-01 00:10:00",
        "9999-12-31 23:30:00",
        "2006-10-29 03:30:00",
        "0001-01-01 00:00:30",
    ),
]


def moments() -> Iterator[str]:
    yield from MOMENTS
    chance = random.Random(7)
    for _ in range(60):
        year, of_month = chance.choice((1931, 1999, 2011, 2024)), chance.choice((1, 2, 15, 27, 28))
        day = f"{year}-{chance.randint(1, 12):02d}-{of_month:02d}"
        yield f"{day} {chance.choice((0, 3, 11, 12, 18, 23)):02d}:{chance.choice((0, 29, 59)):02d}:00"


@pytest.fixture
def place(spark: SparkSession) -> str:
    """A namespace of Iceberg tables."""
    place = f"lake.{database(spark)}"
    spark.sql(f"CREATE NAMESPACE {place}")
    return place


@pytest.fixture
def tables(spark: SparkSession, place: str) -> str:
    """The same, with a table for each type and unit: ``ts_day`` and so on."""
    for column in TYPES:
        for unit in UNITS:
            if (column, unit) != ("d", "hour"):
                told = ", ".join(f"{name} {type}" for name, type in TYPES.items())
                by = f"{UNITS[unit]}({column})"
                spark.sql(f"CREATE TABLE {place}.{column}_{unit} ({told}) USING iceberg PARTITIONED BY ({by})")
    return place


def rows(spark: SparkSession) -> list[Mapping[str, Value]]:
    """Of each row, its partition in each table by that table's name, and each expression's text by the expression."""
    found = ", ".join(f"('{each}')" for each in moments())
    source = (
        "SELECT CAST(concat(text, ' UTC') AS TIMESTAMP) AS ts, CAST(text AS TIMESTAMP_NTZ) AS z, "
        "CAST(text AS DATE) AS d "
        f"FROM VALUES {found} AS t(text) UNION ALL SELECT NULL, NULL, NULL"
    )
    named = {f"{c}_{u}": f"lake.system.{UNITS[u]}({c})" for c in TYPES for u in UNITS if (c, u) != ("d", "hour")}
    told = {each.format(*[c] * 2): f"CAST({each.format(*[c] * 2)} AS STRING)" for c in TYPES for each in EXPRESSIONS}
    chosen = ", ".join(f"{sql} AS `{name}`" for name, sql in {**named, **told}.items() if not _is_odd(name))
    return [row.asDict() for row in spark.sql(f"SELECT {chosen} FROM ({source})").collect()]


def _is_odd(expression: str) -> bool:
    """Whether Spark has no such function of a date."""
    return expression in ("hour(d)",)


@pytest.mark.long
@pytest.mark.parametrize("zone", ZONES)
def test_each_row_is_in_what_its_partition_reaches(spark: SparkSession, tables: str, zone: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    seen = rows(spark)
    bound = 0
    for table in spark.sql(f"SHOW TABLES IN {tables}").collect():
        column, _, unit = table.tableName.partition("_")
        expressions = [each.format(*[column] * 2) for each in EXPRESSIONS]
        expressions = [each for each in expressions if not _is_odd(each)]
        partitions = [partition(f"{column}_{unit}", values.UNITS[unit], row[table.tableName]) for row in seen]
        maps = derived(spark, f"{tables}.{table.tableName}", expressions)
        images = evaluated(spark, maps, partitions)
        for expression, dependency in zip(expressions, maps, strict=True):
            for row, changed in zip(seen, partitions, strict=True):
                told, wanted = reached(dependency, changed, images), row[expression]
                assert told is None or wanted in told, (zone, table.tableName, expression, str(changed), wanted, told)
                bound += told is not None
    assert bound > 10_000


def partition(column: str, unit: Unit, number: date | int | None) -> Slice:
    """The slice that a row is in, by what Iceberg's own function makes of it."""
    if number is None:
        return Slice.of({column: None})
    told = number.isoformat() if isinstance(number, date) else number
    return Slice.of({column: values.spelled_period(values.period(told, unit), unit)})


def derived(spark: SparkSession, table: str, expressions: list[str]) -> list[Dependency]:
    """The map of each expression, as the only partition column of a view."""
    query = ", ".join(f"{each} AS c{n}" for n, each in enumerate(expressions))
    plan = Shim(spark).describe(spark, f"SELECT {query} FROM {table}").plan
    columns = [(each["name"], each["type"]) for each in plan["columns"]]
    return [each for name, _ in columns for each in derive(plan, [name], columns).dependencies]


def evaluated(spark: SparkSession, maps: list[Dependency], partitions: list[Slice]) -> Images:
    """The values that Spark computes of partitions, in one query."""
    wanted = list(dict.fromkeys(each for one in maps for changed in partitions for each in missing(one, changed, {})))
    if not wanted:
        return {}
    [column] = partitions[0].names
    expressions = list(dict.fromkeys(key for key, _ in wanted))
    inputs = list(dict.fromkeys(each for _, each in wanted))
    found = ", ".join(f"({n}, {sql.string(value)})" for n, (value,) in enumerate(inputs))
    chosen = ", ".join(f"{each} AS e{n}" for n, each in enumerate(expressions))
    told = spark.sql(f"SELECT n, {chosen} FROM VALUES {found} AS t(n, {column})").collect()
    return {(each, inputs[row[0]]): row[at] for row in told for at, each in enumerate(expressions, 1)}


def reached(dependency: Dependency, changed: Slice, images: Images) -> set[Value] | None:
    """The values of the view's column; ``None``: any."""
    slices = forward(dependency, changed, images)
    return None if WHOLE in slices else {value for each in slices for _, value in each.bound}


# --- views

CASES = [
    ("days(ts)", "date_trunc('MONTH', ts)", "2024-02-29 23:59:59", ["2024-02-01 00:00:00"]),
    ("days(ts)", "date(ts)", "2024-02-29 23:59:59", ["2024-02-29"]),
    ("hours(ts)", "trunc(ts, 'MM')", "2024-02-29 23:59:59", ["2024-02-01"]),
    ("months(ts)", "year(ts)", "2024-02-29 23:59:59", ["2024"]),
    ("years(d)", "date_format(d, 'yyyy')", "2024-02-29 00:00:00", ["2024"]),
    ("bucket(4, ts), days(ts)", "date(ts)", "2024-02-29 23:59:59", ["2024-02-29"]),
    ("days(ts)", "date(ts)", None, [None]),
]
"""Of each, how a table is partitioned, a view's partition column, a row that is inserted, and what is refreshed."""


@pytest.mark.parametrize(
    ("by", "column", "moment", "wanted"),
    [CASES[0], *(pytest.param(*each, marks=pytest.mark.thorough) for each in CASES[1:])],
)
def test_a_view_refreshes_the_periods_that_changed(
    spark: SparkSession, journal: Journal, place: str, by: str, column: str, moment: str | None, wanted: list[Value]
) -> None:
    view, query = make(spark, place, by, column)
    insert(spark, place, moment)
    drain(spark)
    assert latest(journal, view).slices == tuple(Slice.of(c=each) for each in wanted)
    assert_equals_query(spark, view, query)


def test_a_day_is_refreshed_in_both_days_of_the_session(spark: SparkSession, journal: Journal, place: str) -> None:
    """The table counts days in UTC. At half past eleven there, it is the next day in Berlin."""
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    view, query = make(spark, place, "days(ts)", "date(ts)")
    insert(spark, place, "2024-02-29 23:30:00 UTC")
    drain(spark)
    assert set(latest(journal, view).slices) == {Slice.of(c="2024-02-29"), Slice.of(c="2024-03-01")}
    assert bag(spark, f"SELECT * FROM {view}", ["n", "c"]) == bag(spark, query, ["n", "c"])
    assert spark.table(view).where("c = DATE'2024-03-01'").count() == 1


@pytest.mark.thorough
@pytest.mark.parametrize("by", ["bucket(4, ts)", "truncate(2, p)"])
def test_a_view_over_buckets_is_refreshed_as_a_whole_and_says_why(
    spark: SparkSession, journal: Journal, place: str, by: str
) -> None:
    view, query = make(spark, place, by, "date(ts)")
    insert(spark, place, "2024-02-29 23:30:00")
    drain(spark)
    assert latest(journal, view).slices == (WHOLE,)
    assert_equals_query(spark, view, query)
    assert by in explained(spark, view)


def test_a_map_over_periods_is_explained(spark: SparkSession, place: str) -> None:
    view, _ = make(spark, place, "days(ts)", "date_trunc('MONTH', ts)")
    assert "c = MONTH.days() OF ts_day" in explained(spark, view)


def test_a_partitioning_that_evolved_is_followed_again(spark: SparkSession, journal: Journal, place: str) -> None:
    """Files of days tell their months. So a change of an old file is one of a month, too."""
    view, query = make(spark, place, "days(ts)", "date(ts)")
    journal.mark()
    spark.sql(f"ALTER TABLE {place}.t REPLACE PARTITION FIELD days(ts) WITH months(ts)")
    insert(spark, place, "2024-02-29 00:00:00")
    drain(spark)
    # A look may come between the two statements: the second one then has a run of its own, of a month.
    assert WHOLE in runs(journal, view)[0].slices
    spark.sql(f"DELETE FROM {place}.t WHERE ts = TIMESTAMP '2024-02-01'")
    drain(spark)
    assert {each.value("c") for each in latest(journal, view).slices} == {f"2024-02-{n:02d}" for n in range(1, 30)}
    assert_equals_query(spark, view, query)


def test_timestamps_of_a_view_are_spelled_in_the_zone_of_its_declaration(spark: SparkSession, place: str) -> None:
    """So the engine, whose own zone is UTC, finds the partitions that the view's runs recorded."""
    fresh = spark.newSession()
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    view, _ = make(spark, place, "days(ts)", "date_trunc('MONTH', ts)")
    months = ("2023-02-01 00:00:00", "2024-01-01 00:00:00", "2024-02-01 00:00:00", None)
    assert look(IcebergTables(Shim(fresh), Sessions(fresh)), view).partitions.keys() == {
        Slice.of(c=month) for month in months
    }


def make(spark: SparkSession, place: str, by: str, column: str) -> tuple[str, str]:
    """A table ``t`` with some rows, and a view over it with the partition column ``c``; the view and its query."""
    spark.sql(
        f"CREATE TABLE {place}.t (ts TIMESTAMP, d DATE, p STRING) USING iceberg PARTITIONED BY ({by}) "
        "TBLPROPERTIES ('write.delete.mode' = 'copy-on-write')"
    )
    for moment in ("2024-01-31 00:00:00", "2023-02-01 00:00:00", "2024-02-01 00:00:00", None):
        insert(spark, place, moment)
    query = f"SELECT count(*) AS n, {column} AS c FROM {place}.t GROUP BY 2"
    spark.sql(f"CREATE MATERIALIZED VIEW {place}.v USING iceberg PARTITIONED BY (c) AS {query}")
    return f"{place}.v", query


@pytest.mark.thorough
@pytest.mark.parametrize(
    "by", ["days(ts)", *(pytest.param(each, marks=pytest.mark.long) for each in ("hours(ts)", "years(ts)"))]
)
def test_moments_of_years_that_dates_seldom_have(spark: SparkSession, place: str, by: str) -> None:
    """Before the year 1 and after 9999. Columns of several kinds, so each way of a period to a partition is taken."""
    columns = {"a": "date(ts)", "b": "date_format(ts, 'yyyy')", "c": "year(ts)", "d": "date_trunc('MONTH', ts)"}
    spark.sql(f"CREATE TABLE {place}.t (ts TIMESTAMP) USING iceberg PARTITIONED BY ({by})")
    told = ("-0044-03-15 12:00:00", "0000-02-29 01:00:00", "2024-02-29 23:59:59", "+12000-05-01 01:02:03")
    moments = ", ".join(f"(TIMESTAMP '{each}')" for each in told)
    spark.sql(f"INSERT INTO {place}.t VALUES {moments}")
    for name, column in columns.items():
        query = f"SELECT count(*) AS n, {column} AS c FROM {place}.t GROUP BY 2"
        spark.sql(f"CREATE MATERIALIZED VIEW {place}.{name} USING iceberg PARTITIONED BY (c) AS {query}")
    spark.sql(f"INSERT INTO {place}.t VALUES {moments}")
    drain(spark)
    for name, column in columns.items():
        view = f"SELECT n, CAST(c AS STRING) AS c FROM {place}.{name}"
        query = f"SELECT count(*) AS n, CAST({column} AS STRING) AS c FROM {place}.t GROUP BY 2"
        assert sorted(spark.sql(view).collect()) == sorted(spark.sql(query).collect()), (by, name)


def insert(spark: SparkSession, place: str, moment: str | None) -> None:
    """A row of a moment; its date is the one that the text begins with."""
    told = "NULL, NULL" if moment is None else f"TIMESTAMP '{moment}', DATE '{moment[:10]}'"
    spark.sql(f"INSERT INTO {place}.t VALUES ({told}, 'abc')")


def runs(journal: Journal, view: str) -> list[Started]:
    return [each for each in journal.events() if isinstance(each, Started) and each.view == view]


def latest(journal: Journal, view: str) -> Started:
    return runs(journal, view)[-1]


def explained(spark: SparkSession, view: str) -> str:
    return "\n".join(row[0] for row in spark.sql(f"EXPLAIN REFRESH {view}").collect())
