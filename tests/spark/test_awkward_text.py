"""Texts in data that mean something to a parser, and bytes that are no UTF-8: no row is lost, nothing is evaluated."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from support import Journal, database

from headwater.spark.jvm.query_totals import NearTotals
from headwater.spark.jvm.shim import Shim
from headwater.spark.refreshing.methods.buckets import found, write, write_near

AWKWARD = ["${name}", "${env:HOME}", "it's", 'a"b', "a\\b", "a\nb", "a\0b", "a`b", "-- x", "/*", "é😀", "a%b"]
"""Keys; beside them two of bytes that are no UTF-8, one of which has half of a character."""

BYTES = [each.encode() for each in AWKWARD] + [b"\x4d\xfc", b"\x4d\xfd", b"\x4d\xed\xa0\x80"]
VALUES = ", ".join(f"(X'{each.hex()}')" for each in BYTES)
KEYS = f"SELECT CAST(b AS STRING) AS k FROM VALUES {VALUES} AS v(b)"
CATALOGS = {"parquet": "spark_catalog", "delta": "spark_catalog", "iceberg": "lake"}


@pytest.fixture
def places(spark: SparkSession) -> dict[str, str]:
    """The databases of the tables of each format."""
    spark.sql(f"CREATE NAMESPACE lake.{database(spark)}")
    return {format: f"{catalog}.{database(spark)}" for format, catalog in CATALOGS.items()}


def nameable(spark: SparkSession) -> str:
    """Of the keys that can name directories. Java makes none with letters that the locale lacks."""
    encoding = spark._jvm.java.lang.System.getProperty("sun.jnu.encoding")
    some = "instr(hex(k), '00') = 0"
    return some if encoding == "UTF-8" else f"{some} AND NOT hex(k) RLIKE '^(..)*[89A-F]'"


@pytest.mark.long
def test_no_row_is_lost(spark: SparkSession, places: dict[str, str], journal: Journal) -> None:
    """By keys, by changes, by partition, and by computed partitions, in each format."""
    views: dict[str, str] = {}
    for format, place in places.items():
        source = f"{place}.t_{format}"
        lake = "delta" if format == "parquet" else format
        spark.sql(f"CREATE TABLE {source} USING {lake} AS SELECT k, 1 AS x FROM ({KEYS})")
        for method in ("keys", "incremental"):
            asked = f"TBLPROPERTIES ('headwater.method' = '{method}, full')"
            view, query = f"{place}.{method}_{format}", f"SELECT k, sum(x) AS s FROM {source} GROUP BY k"
            spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {format} {asked} AS {query}")
            views[view] = query
        parted = f"{place}.p_{format}"
        spark.sql(f"CREATE TABLE {parted} (x INT, k STRING, h STRING) USING {format} PARTITIONED BY (k, h)")
        spark.sql(f"INSERT INTO {parted} SELECT 1, make_valid_utf8(k), hex(k) FROM ({KEYS}) WHERE {nameable(spark)}")
        own = f"SELECT sum(x) AS s, k FROM {parted} GROUP BY k"
        made = f"SELECT sum(x) AS s, CAST(unhex(h) AS STRING) AS c FROM {parted} GROUP BY 2"
        only = "TBLPROPERTIES ('headwater.method' = 'full')"
        spark.sql(f"CREATE MATERIALIZED VIEW {place}.own_{format} USING {format} PARTITIONED BY (k) {only} AS {own}")
        spark.sql(f"CREATE MATERIALIZED VIEW {place}.made_{format} USING {format} PARTITIONED BY (c) {only} AS {made}")
        views[f"{place}.own_{format}"] = own
        views[f"{place}.made_{format}"] = f"SELECT s, make_valid_utf8(c) AS c FROM ({made})"
    for format, place in places.items():
        spark.sql(f"INSERT INTO {place}.t_{format} SELECT k, 2 FROM ({KEYS})")
        spark.sql(
            f"INSERT INTO {place}.p_{format} SELECT 2, make_valid_utf8(k), hex(k) FROM ({KEYS}) WHERE {nameable(spark)}"
        )
    said = "\n".join(row[0] for view in views for row in spark.sql(f"EXPLAIN REFRESH {view}").collect())
    assert "Error" not in said
    spark.sql("REFRESH MATERIALIZED VIEWS")
    for view, query in views.items():
        there = spark.newSession()
        there.conf.set("spark.sql.variable.substitute", "false")
        left = there.sql(f"SELECT * FROM (({query}) EXCEPT ALL (SELECT * FROM {view}))").collect()
        more = there.sql(f"SELECT * FROM ((SELECT * FROM {view}) EXCEPT ALL ({query}))").collect()
        assert not left and not more, (view, left, more)
        assert spark.sql(f"VERIFY MATERIALIZED VIEW {view}").first().result == "equal", view


@pytest.mark.thorough
def test_no_text_of_a_row_is_evaluated_where_it_is_shown(spark: SparkSession, journal: Journal) -> None:
    """In ``EXPLAIN REFRESH``, in the results and the history of refreshes, in ``VERIFY`` and in errors."""
    spark.sql("SET name = secret")
    texts = ["${env:HOME}", "${system:user.dir}", "${spark:spark.app.name}", "${name}"]
    values = ", ".join(f"(1, CAST(X'{each.encode().hex()}' AS STRING))" for each in texts)
    spark.sql("CREATE TABLE rows (x INT, k STRING) USING parquet PARTITIONED BY (k)")
    for view, by, query in (
        ("same", "k", "SELECT x, k FROM rows"),
        ("made", "c", "SELECT x, concat(k, '!') AS c FROM rows"),
        ("numbers", "k", "SELECT x, CAST(k AS INT) AS n, k FROM rows"),
    ):
        later = "TBLPROPERTIES ('headwater.freshness' = '1 day')"  # nothing runs before the statements below ask for it
        spark.sql(f"CREATE MATERIALIZED VIEW {view} PARTITIONED BY ({by}) {later} AS {query}")
    spark.sql(f"INSERT INTO rows SELECT * FROM VALUES {values} AS v(x, k)")

    def said(*statements: str) -> str:
        return "\n".join(str(row) for each in statements for row in spark.sql(each).collect())

    told = [said("EXPLAIN REFRESH same")]
    told += [said("REFRESH MATERIALIZED VIEW same"), said("REFRESH MATERIALIZED VIEW made")]
    told += [said("SHOW REFRESHES FOR same"), said("SHOW REFRESHES FOR made")]
    for text in told:
        assert all(each in text for each in texts), text
    with pytest.raises(Exception, match="CAST_INVALID_INPUT") as raised:
        spark.sql("REFRESH MATERIALIZED VIEW numbers").collect()
    failed = [
        str(raised.value),
        said("EXPLAIN REFRESH numbers"),
        said("SHOW REFRESHES FOR numbers"),
        said("SHOW MATERIALIZED VIEWS LIKE 'numbers'"),
    ]
    for text in failed:
        assert "'${" in text, text
    spark.sql("DROP MATERIALIZED VIEW numbers")
    secrets = [os.environ["HOME"], os.getcwd(), "headwater tests", "secret"]
    assert not [
        (each, text) for each in secrets for text in (*told, *failed) if f"'{each}" in text or f"={each}" in text
    ]


def test_variables_have_the_values_of_the_declaration(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE names (name STRING) USING parquet")
    spark.sql("INSERT INTO names SELECT CAST(X'247B6E616D657D' AS STRING)")
    spark.sql("INSERT INTO names VALUES ('oslo')")
    spark.sql("SET name = oslo")
    query = "SELECT name FROM names WHERE name = '${name}'"
    spark.sql(f"CREATE MATERIALIZED VIEW town AS {query}")
    spark.sql("SET name = rome")
    spark.conf.set("spark.sql.variable.substitute", "false")
    spark.sql(f"CREATE MATERIALIZED VIEW itself AS {query}")
    for _ in range(2):
        assert [row.name for row in spark.table("town").collect()] == ["oslo"]
        assert [row.name for row in spark.table("itself").collect()] == ["$" + "{name}"]
        spark.sql("REFRESH MATERIALIZED VIEW town FULL")
        spark.sql("REFRESH MATERIALIZED VIEW itself FULL")


@pytest.mark.long
def test_a_view_keeps_its_ansi(spark: SparkSession, places: dict[str, str], journal: Journal) -> None:
    """Sums overflow and come back where ANSI is off, in an application with ANSI on."""
    asked = "TBLPROPERTIES ('headwater.method' = 'incremental, full')"
    spark.conf.set("spark.sql.ansi.enabled", "false")
    big, queries = 9223372036854775807, dict[str, str]()
    for format, place in places.items():
        source, view = f"{place}.a_{format}", f"{place}.sums_{format}"
        spark.sql(
            f"CREATE TABLE {source} USING {'delta' if format == 'parquet' else format} AS SELECT 1 AS k, {big} AS x"
        )
        queries[view] = f"SELECT k, sum(x) AS s, sum(-x) AS m, avg(x) AS a FROM {source} GROUP BY k"
        spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {format} {asked} AS {queries[view]}")
    for x in (big, -big):
        for format, place in places.items():
            spark.sql(f"INSERT INTO {place}.a_{format} VALUES (1, {x})")
        spark.sql("REFRESH MATERIALIZED VIEWS")
        there = spark.newSession()
        there.conf.set("spark.sql.ansi.enabled", "false")
        for view, query in queries.items():
            assert there.table(view).collect() == there.sql(query).collect(), view


def near_totals(session: SparkSession, rows: DataFrame) -> NearTotals:
    """Rows with the column ``key0``, in the driver."""
    near = Shim(session).totals(session.sql("SELECT id, count(*) AS n FROM range(3) GROUP BY id")).near(rows, 1)
    assert near is not None
    return near


def test_totals_obey_no_settings_of_the_application(plain_spark: SparkSession, tmp_path: Path) -> None:
    session = plain_spark.newSession()
    settings = {
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS",
        "spark.sql.parquet.datetimeRebaseModeInWrite": "EXCEPTION",
        "spark.sql.parquet.datetimeRebaseModeInRead": "EXCEPTION",
        "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
        "spark.sql.parquet.writeLegacyFormat": "true",
        "spark.sql.parquet.binaryAsString": "true",
        "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
        "spark.sql.files.ignoreMissingFiles": "true",
    }
    for name, value in settings.items():
        session.conf.set(name, value)
    rows = session.sql(
        "SELECT *, TIMESTAMP_NTZ '1582-10-05 00:00:00.000001' AS z, DATE '0001-01-01' AS d, X'4DFC' AS b, "
        "CAST(1 AS DECIMAL(38, 3)) AS n, struct(ts) AS s FROM VALUES (TIMESTAMP '1500-01-01 00:00:00.123456') AS v(ts)"
    )
    write(session, rows, str(tmp_path / "totals"))
    near = near_totals(session, rows.selectExpr("1 AS key0", "*"))
    assert write_near(session, near, str(tmp_path / "near")).keys() == {"bucket=0"}
    for place in ("totals", "near/bucket=0"):
        back = found(session, [str(tmp_path / place)], rows.schema)
        same = rows.join(back, [rows[each].eqNullSafe(back[each]) for each in rows.columns])
        assert same.count() == 1 and back.dtypes == rows.dtypes, place
    assert {name: session.conf.get(name) for name in settings} == settings
