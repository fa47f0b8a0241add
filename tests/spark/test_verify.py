"""``VERIFY MATERIALIZED VIEW`` finds rows of a view that are not those of its query, whatever made them so."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database

from headwater.model.event import Started
from headwater.model.work import Mode
from headwater.spark.jvm.shim import Shim
from headwater.spark.refreshing.verify import sampled

QUERY = "SELECT /*+ COALESCE(1) */ id, x, day FROM numbers"


def forge(warehouse: Path, spark: SparkSession, format: str, query: str) -> None:
    """Puts rows of another query into the one file of the view ``v``, as a broken disk would: it looks as before."""
    spark.sql(f"CREATE MATERIALIZED VIEW forged USING {format} AS {query}")
    place = warehouse / f"{database(spark)}.db"
    [forged], [own] = ([*(place / view).rglob("part-*")] for view in ("forged", "v"))
    before = own.stat()
    assert forged.stat().st_size == before.st_size
    for name in (forged.name, f".{forged.name}.crc"):
        shutil.copyfile(forged.with_name(name), own.with_name(name.replace(forged.name, own.name)))
    os.utime(own, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.fixture
def numbers(spark: SparkSession) -> SparkSession:
    spark.sql("CREATE TABLE numbers (id INT, x DOUBLE, day STRING)")
    spark.sql("INSERT INTO numbers VALUES (1, 0.5D, 'a'), (2, -0.0D, 'b')")
    return spark


@pytest.mark.parametrize("format", ["parquet", pytest.param("delta", marks=pytest.mark.thorough)])
def test_forged_rows_are_found_and_repaired(warehouse: Path, numbers: SparkSession, format: str) -> None:
    spark = numbers
    spark.sql(f"CREATE MATERIALIZED VIEW v USING {format} AS {QUERY}")
    view = f"{database(spark)}.v"
    assert [tuple(row) for row in spark.sql("VERIFY MATERIALIZED VIEW v").collect()] == [(view, "equal", 0, 0, None)]
    forge(warehouse, spark, format, QUERY.replace("day", "if(id = 1, 'c', day) AS day"))
    spark.sql("REFRESH MATERIALIZED VIEWS")  # nothing tells
    [row] = spark.newSession().sql(f"VERIFY MATERIALIZED VIEW {view}").collect()
    assert tuple(row)[:4] == (view, "differs", 1, 1)
    assert row.example == 'missing: {"id":1,"x":"5.00000000e-01","day":"a"}'
    [row] = spark.sql("VERIFY MATERIALIZED VIEW v REPAIR").collect()
    assert tuple(row)[1:4] == ("repaired", 1, 1)
    assert spark.sql("VERIFY MATERIALIZED VIEW v").first().result == "equal"
    assert_equals_query(spark, "v", QUERY)


def forge_totals(view: Path, spark: SparkSession) -> None:
    """Lets the newest totals of a view have other sums, in files of the same names and lengths."""
    newest = max((view / ".totals").iterdir(), key=lambda each: int(each.name[1:]))
    for n, file in enumerate(sorted(newest.rglob("part-*.parquet"))):
        rows = spark.read.option("basePath", str(file.parent)).parquet(str(file))
        forged = rows.withColumn("sum0", rows["sum0"] + 1)
        place = view.with_name(f"forged_{newest.name}_{n}")
        forged.coalesce(1).write.option("parquet.enable.dictionary", "false").parquet(str(place))
        [own] = place.glob("part-*.parquet")
        content, footer = own.read_bytes(), 8 + int.from_bytes(own.read_bytes()[-8:-4], "little")
        room = file.stat().st_size - len(content)
        assert room >= 0
        file.write_bytes(content[:-footer] + bytes(room) + content[-footer:])
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


@pytest.mark.long
def test_totals_are_right_after_a_repair(warehouse: Path, spark: SparkSession, journal: Journal) -> None:
    """The totals were written wrong once, and the view from them: both are repaired, of a partition and as a whole."""
    spark.sql("CREATE TABLE sales USING delta AS SELECT * FROM VALUES (1, 'a', 1), (2, 'b', 2) AS v(k, day, x)")
    query = "SELECT k, sum(x) AS s, day FROM sales GROUP BY k, day"
    asked = "TBLPROPERTIES ('headwater.method' = 'incremental, full')"
    spark.sql(f"CREATE MATERIALIZED VIEW v USING delta PARTITIONED BY (day) {asked} AS {query}")
    place = warehouse / f"{database(spark)}.db" / "v"

    def followed() -> None:
        journal.mark()
        spark.sql("INSERT INTO sales VALUES (1, 'a', 4), (3, 'b', 8)")
        spark.sql("REFRESH MATERIALIZED VIEWS")
        assert [each.work.mode for each in journal.events() if isinstance(each, Started)] == [Mode.CHANGES]

    for part, wrong in ((" PARTITION (day = 'a')", {"a"}), ("", {"a", "b"})):
        followed()
        forge_totals(place, spark)
        followed()
        rows = spark.sql(f"SELECT day FROM ((TABLE v) EXCEPT ({query}))").collect()
        assert {row.day for row in rows} == {"a", "b"}, "the totals are wrong, and so is the view"
        assert spark.sql(f"VERIFY MATERIALIZED VIEW v{part} REPAIR").first().result == "repaired"
        rows = spark.sql(f"SELECT day FROM ((TABLE v) EXCEPT ({query}))").collect()
        assert {row.day for row in rows} == {"a", "b"} - wrong
        followed()
        assert_equals_query(spark, "v", query)


def test_a_view_that_is_behind_is_refreshed_first(numbers: SparkSession) -> None:
    numbers.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (day) AS {QUERY}")
    numbers.sql("INSERT INTO numbers VALUES (3, CAST('NaN' AS DOUBLE), ''), (4, NULL, NULL)")
    assert numbers.sql("VERIFY MATERIALIZED VIEW v").first().result == "equal"
    assert numbers.sql("VERIFY MATERIALIZED VIEW v PARTITION (day = 'a')").first().result == "equal"
    assert numbers.sql("SELECT count(*) FROM v").first()[0] == 4


@pytest.mark.parametrize(
    "shape",
    ["named_struct('a', {x}, 'b', array({x}))", "map('a', {x})", "array(map('a', named_struct('x', {x}, 'id', id)))"],
)
def test_numbers_within_a_value_are_equal_if_their_first_digits_are(
    warehouse: Path, numbers: SparkSession, shape: str
) -> None:
    # Such numbers are as long in JSON as those that follow from them.
    numbers.sql("INSERT OVERWRITE numbers VALUES (1, 0.7310585786300049D, 'a'), (2, -0.2689414213699951D, 'b')")
    query = f"SELECT /*+ COALESCE(1) */ id, {shape} AS v FROM numbers"
    numbers.sql(f"CREATE MATERIALIZED VIEW v USING json AS {query.format(x='x')}")
    forge(warehouse, numbers, "json", query.format(x="x + 1e-15D"))
    assert numbers.sql("VERIFY MATERIALIZED VIEW v").first().result == "equal"
    numbers.sql("DROP MATERIALIZED VIEW forged")
    forge(warehouse, numbers, "json", query.format(x="x + 0.1D"))
    assert tuple(numbers.sql("VERIFY MATERIALIZED VIEW v").first())[1:4] == ("differs", 2, 2)


def test_a_column_that_cannot_be_compared_is_refused(numbers: SparkSession) -> None:
    numbers.sql("CREATE MATERIALIZED VIEW v AS SELECT id, parse_json('1') AS j FROM numbers")
    with pytest.raises(PySparkException, match="the column j is a VARIANT, of which Spark does not compare values"):
        numbers.sql("VERIFY MATERIALIZED VIEW v")


def test_a_sample_has_all_rows_of_some_keys(plain_spark: SparkSession) -> None:
    rows = plain_spark.sql("SELECT CAST(nullif(id % 2000, 7) AS INT) AS k, id FROM range(6000)")
    reach = sampled(Shim(plain_spark), rows, ("k",), 500)
    found = reach.among(reach.near(rows)).groupBy("k").count().collect()
    assert (reach.count, len(found), {row[1] for row in found}) == (500, 500, {3})


@pytest.mark.long
def test_a_view_in_iceberg_is_compared_at_its_snapshot(spark: SparkSession) -> None:
    place = f"lake.{database(spark)}"
    spark.sql(f"CREATE NAMESPACE {place}")
    spark.sql(f"CREATE TABLE {place}.t (id INT, day STRING) USING iceberg")
    spark.sql(f"INSERT INTO {place}.t VALUES (1, ''), (2, NULL)")
    query = f"SELECT day, count(*) AS n FROM {place}.t GROUP BY day"
    spark.sql(f"CREATE MATERIALIZED VIEW {place}.v USING iceberg PARTITIONED BY (day) AS {query}")
    assert spark.sql(f"VERIFY MATERIALIZED VIEW {place}.v").first().result == "equal"
    spark.sql(f"INSERT INTO {place}.t VALUES (3, '')")
    assert spark.sql(f"VERIFY MATERIALIZED VIEW {place}.v").first().result == "equal"
    spark.sql(f"DROP MATERIALIZED VIEW {place}.v")
