"""A view changes its format by ``CREATE OR REPLACE MATERIALIZED VIEW … USING``. Readers see whole states meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from support import assert_equals_query, database, drain

DAYS, ROWS = 4, 2_000

QUERY = "SELECT day, sum(x) AS s, count(*) AS n FROM t GROUP BY day"

PARTITIONED = pytest.param(True, id="partitioned")
WHOLE = pytest.param(False, id="whole")
PARTITIONED_LONG = pytest.param(True, id="partitioned", marks=pytest.mark.long)
WHOLE_LONG = pytest.param(False, id="whole", marks=pytest.mark.long)


@pytest.fixture(autouse=True)
def source(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE t (x BIGINT, day STRING) USING parquet PARTITIONED BY (day)")
    spark.sql(f"INSERT INTO t SELECT id, concat('d', id % {DAYS}) FROM range({ROWS})")


class Readers:
    """Threads that read a view all the time, each in a session of its own."""

    def __init__(self, spark: SparkSession, queries: list[str]) -> None:
        self.seen: list[tuple] = []
        self.errors: list[str] = []
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._read, args=(spark, each)) for each in queries]

    def _read(self, spark: SparkSession, query: str) -> None:
        session = spark.newSession()
        while not self._over.is_set():
            try:
                self.seen.append(tuple(sorted(tuple(each) for each in session.sql(query).collect())))
            except Exception as error:
                self.errors.append(str(error).splitlines()[0])

    def start(self) -> None:
        for each in self._threads:
            each.start()

    def stop(self) -> None:
        self._over.set()
        for each in self._threads:
            each.join()


@contextmanager
def reading(spark: SparkSession, view: str) -> Iterator[Readers]:
    """Reads a view all the time; at the end nobody has missed it or seen other rows than its query's."""
    name = f"{database(spark)}.{view}"
    readers = Readers(spark, [f"SELECT day, s, n FROM {name}", f"SELECT sum(s), sum(n), count(*) FROM {name}"])
    whole = {tuple(sorted(tuple(each) for each in spark.sql(QUERY).collect())), ((ROWS * (ROWS - 1) // 2, ROWS, DAYS),)}
    readers.start()
    try:
        yield readers
    finally:
        readers.stop()
    assert readers.errors == [], len(readers.seen)
    assert set(readers.seen) == whole


def declare(spark: SparkSession, format: str, partitioned: bool, view: str = "v") -> None:
    by = "PARTITIONED BY (day)" if partitioned else ""
    spark.sql(f"CREATE OR REPLACE MATERIALIZED VIEW {view} USING {format} {by} AS {QUERY}")


def format_of(spark: SparkSession, view: str) -> str:
    told = {row[0]: row[1] for row in spark.sql(f"DESCRIBE TABLE EXTENDED {view}").collect()}
    return told["Provider"].lower()


@pytest.mark.thorough
@pytest.mark.parametrize("partitioned", [PARTITIONED, WHOLE_LONG])
def test_files_become_a_delta_table(spark: SparkSession, partitioned: bool) -> None:
    declare(spark, "parquet", partitioned)
    spark.sql("CREATE MATERIALIZED VIEW total AS SELECT sum(s) AS s, sum(n) AS n FROM v")
    spark.sql("SELECT * FROM v").collect()
    with reading(spark, "v") as readers:
        declare(spark, "delta", partitioned)
        while len(readers.seen) < 20:
            pass
    assert format_of(spark, "v") == "delta"
    assert_equals_query(spark, "v", QUERY)
    spark.sql("INSERT INTO t VALUES (5, 'd1'), (6, 'd9')")
    drain(spark)
    assert_equals_query(spark, "v", QUERY)
    assert_equals_query(spark, "total", "SELECT sum(x) AS s, count(*) AS n FROM t")
    assert not spark.catalog.tableExists("v__headwater")


@pytest.mark.thorough
@pytest.mark.parametrize("partitioned", [PARTITIONED_LONG, WHOLE])
def test_a_delta_table_becomes_files(spark: SparkSession, partitioned: bool) -> None:
    declare(spark, "delta", partitioned)
    spark.sql("CREATE MATERIALIZED VIEW total AS SELECT sum(s) AS s, sum(n) AS n FROM v")
    spark.sql("SELECT * FROM v").collect()
    # The metastore gives no partition columns to a table that has none: for a moment there is no such table.
    if partitioned:
        declare(spark, "parquet", partitioned)
    else:
        with reading(spark, "v") as readers:
            declare(spark, "parquet", partitioned)
            while len(readers.seen) < 20:
                pass
    assert format_of(spark, "v") == "parquet"
    assert_equals_query(spark, "v", QUERY)
    spark.sql("INSERT INTO t VALUES (5, 'd1'), (6, 'd9')")
    drain(spark)
    assert_equals_query(spark, "v", QUERY)
    assert_equals_query(spark, "total", "SELECT sum(x) AS s, count(*) AS n FROM t")


@pytest.mark.long
@pytest.mark.parametrize("partitioned", [PARTITIONED, WHOLE])
def test_there_and_back_again(spark: SparkSession, partitioned: bool) -> None:
    declare(spark, "parquet", partitioned)
    before = "parquet"
    for format in ("delta", "parquet", "orc", "delta", "orc"):
        misses = "delta" not in (before, format)  # tables of files are not exchanged
        before = format
        with nullcontext() if misses else reading(spark, "v"):
            declare(spark, format, partitioned)
        assert format_of(spark, "v") == format
        assert_equals_query(spark, "v", QUERY)
    spark.sql("INSERT INTO t VALUES (5, 'd1'), (6, 'd9')")
    drain(spark)
    assert_equals_query(spark, "v", QUERY)


@pytest.mark.long
def test_a_view_of_the_new_format_gets_other_columns(spark: SparkSession) -> None:
    declare(spark, "parquet", True)
    declare(spark, "delta", True)
    query = "SELECT day, max(x) AS most, CAST(count(*) AS DOUBLE) AS n, min(x) AS least FROM t GROUP BY day"
    spark.sql(f"CREATE OR REPLACE MATERIALIZED VIEW v USING delta PARTITIONED BY (day) AS {query}")
    assert_equals_query(spark, "v", query)
    spark.sql(f"CREATE OR REPLACE MATERIALIZED VIEW v USING delta AS {query}")
    assert_equals_query(spark, "v", query)
    spark.sql("INSERT INTO t VALUES (-5, 'd1')")
    drain(spark)
    assert_equals_query(spark, "v", query)


@pytest.mark.long
def test_the_columns_may_change_with_the_format(spark: SparkSession) -> None:
    declare(spark, "parquet", True)
    query = "SELECT max(x) AS most, day, CAST(count(*) AS STRING) AS n FROM t GROUP BY day"
    for format in ("delta", "json", "delta", "csv"):
        spark.sql(f"CREATE OR REPLACE MATERIALIZED VIEW v USING {format} PARTITIONED BY (day) AS {query}")
        assert format_of(spark, "v") == format
        assert_equals_query(spark, "v", query)


@pytest.mark.long
def test_a_change_that_fails_leaves_the_view_as_it_was(spark: SparkSession) -> None:
    declare(spark, "parquet", True)
    bad = "SELECT day, sum(x) AS s, count(raise_error('no')) AS n FROM t GROUP BY day"
    with pytest.raises(AnalysisException, match="could not be refreshed"):
        spark.sql(f"CREATE OR REPLACE MATERIALIZED VIEW v USING delta PARTITIONED BY (day) AS {bad}")
    assert_equals_query(spark, "v", QUERY)
    declare(spark, "parquet", True)
    assert_equals_query(spark, "v", QUERY)
    assert format_of(spark, "v") == "parquet" and not spark.catalog.tableExists("v__headwater")
    declare(spark, "delta", True)
    assert_equals_query(spark, "v", QUERY)


def test_a_name_is_kept_for_replacements(spark: SparkSession) -> None:
    with pytest.raises(AnalysisException, match="is kept for a table that is to replace"):
        declare(spark, "parquet", True, view="v__headwater")
