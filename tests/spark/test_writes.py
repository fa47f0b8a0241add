"""Every kind of write reaches the views that read the table, and changes exactly the partitions it wrote."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import until
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database, drain, drain_in_vain

QUERY = "SELECT month, sum(amount) AS total, count(*) AS n FROM sales GROUP BY month"


@pytest.fixture
def sales(spark: SparkSession) -> SparkSession:
    """``sales`` with three months, and ``monthly`` over it, filled."""
    make_sales(spark, "parquet")
    return spark


def make_sales(spark: SparkSession, file_format: str) -> None:
    spark.sql(f"CREATE TABLE sales (id INT, amount INT, month STRING) USING {file_format} PARTITIONED BY (month)")
    spark.sql("INSERT INTO sales VALUES (1, 10, '2024-01'), (2, 20, '2024-02'), (3, 30, '2024-03')")
    spark.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")


def check(spark: SparkSession, journal: Journal, write: Callable[[], object], months: set[str]) -> None:
    """The write changes exactly these months of ``sales``, and exactly those of ``monthly`` follow."""
    journal.mark()
    write()
    drain(spark)
    changed, published = journal.changed_and_refreshed(f"{database(spark)}.sales")
    assert changed == {f"month={month}" for month in months}
    assert published == [("monthly", f"month={month}") for month in sorted(months)]
    assert_equals_query(spark, "monthly", QUERY)


STATEMENTS = {
    "insert static": ("INSERT INTO sales PARTITION (month = '2024-02') VALUES (4, 40)", {"2024-02"}),
    "insert dynamic": ("INSERT INTO sales VALUES (4, 40, '2024-01'), (5, 50, '2024-04')", {"2024-01", "2024-04"}),
    "insert mixed case column": ("INSERT INTO sales PARTITION (MONTH = '2024-02') VALUES (4, 40)", {"2024-02"}),
    "overwrite static": ("INSERT OVERWRITE sales PARTITION (month = '2024-02') VALUES (4, 40)", {"2024-02"}),
    "overwrite table": ("INSERT OVERWRITE sales VALUES (4, 40, '2024-02')", {"2024-01", "2024-02", "2024-03"}),
    "truncate partition": ("TRUNCATE TABLE sales PARTITION (month = '2024-01')", {"2024-01"}),
    "truncate": ("TRUNCATE TABLE sales", {"2024-01", "2024-02", "2024-03"}),
    "drop partition": ("ALTER TABLE sales DROP PARTITION (month = '2024-03')", {"2024-03"}),
    "rename partition": (
        "ALTER TABLE sales PARTITION (month = '2024-03') RENAME TO PARTITION (month = '2024-05')",
        {"2024-03", "2024-05"},
    ),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_statement(sales: SparkSession, journal: Journal, name: str) -> None:
    statement, months = STATEMENTS[name]
    check(sales, journal, lambda: sales.sql(statement), months)


def test_dynamic_overwrite(sales: SparkSession, journal: Journal) -> None:
    sales.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    check(sales, journal, lambda: sales.sql("INSERT OVERWRITE sales VALUES (4, 40, '2024-02')"), {"2024-02"})


def test_insert_into_api(sales: SparkSession, journal: Journal) -> None:
    rows = sales.sql("SELECT 7 AS id, 70 AS amount, '2024-03' AS month")
    check(sales, journal, lambda: rows.write.insertInto("sales"), {"2024-03"})


def test_save_as_table_append(sales: SparkSession, journal: Journal) -> None:
    rows = sales.sql("SELECT 7 AS id, 70 AS amount, '2024-03' AS month")
    check(
        sales,
        journal,
        lambda: rows.write.mode("append").partitionBy("month").format("parquet").saveAsTable("sales"),
        {"2024-03"},
    )


def test_save_to_the_path_of_a_table(sales: SparkSession, journal: Journal) -> None:
    """A write to the files under a partition is seen, though it names no table."""
    place = sales.sql("DESCRIBE TABLE EXTENDED sales").where("col_name = 'Location'").first()["data_type"]
    rows = sales.sql("SELECT 7 AS id, 70 AS amount")
    check(sales, journal, lambda: rows.write.mode("append").parquet(f"{place}/month=2024-03"), {"2024-03"})


@pytest.mark.thorough
def test_files_of_an_unknown_partition_do_not_count(sales: SparkSession, journal: Journal) -> None:
    """A directory that the catalog does not know is not read by a query, until it is repaired."""
    place = sales.sql("DESCRIBE TABLE EXTENDED sales").where("col_name = 'Location'").first()["data_type"]
    rows = sales.sql("SELECT 7 AS id, 70 AS amount")
    check(sales, journal, lambda: rows.write.parquet(f"{place}/month=2024-06"), set())
    check(sales, journal, lambda: sales.sql("MSCK REPAIR TABLE sales"), {"2024-06"})


@pytest.mark.thorough
def test_add_partition_with_location(sales: SparkSession, journal: Journal, tmp_path) -> None:
    sales.sql("SELECT 7 AS id, 70 AS amount").write.parquet(f"{tmp_path}/elsewhere")
    statement = f"ALTER TABLE sales ADD PARTITION (month = '2024-07') LOCATION '{tmp_path}/elsewhere'"
    check(sales, journal, lambda: sales.sql(statement), {"2024-07"})
    more = sales.sql("SELECT 8 AS id, 80 AS amount")
    check(sales, journal, lambda: more.write.mode("append").parquet(f"{tmp_path}/elsewhere"), {"2024-07"})


def test_set_location_of_a_partition(sales: SparkSession, journal: Journal, tmp_path) -> None:
    sales.sql("SELECT 7 AS id, 70 AS amount").write.parquet(f"{tmp_path}/elsewhere")
    statement = f"ALTER TABLE sales PARTITION (month = '2024-01') SET LOCATION '{tmp_path}/elsewhere'"
    check(sales, journal, lambda: sales.sql(statement), {"2024-01"})


def test_write_to_create(spark: SparkSession, journal: Journal) -> None:
    """A table that did not exist when its view broke returns by ``writeTo().create()``."""
    make_sales(spark, "parquet")
    spark.sql("DROP TABLE sales")
    assert "monthly is broken" in drain_in_vain(spark)
    [row] = spark.sql(f"SHOW MATERIALIZED VIEWS IN {database(spark)}").collect()
    assert row["state"] == "broken"
    assert "sales" in row["reason"]
    rows = spark.sql("SELECT 7 AS id, 70 AS amount, '2024-03' AS month")
    rows.writeTo("sales").using("parquet").partitionedBy("month").create()
    drain(spark)
    assert_equals_query(spark, "monthly", QUERY)
    [row] = spark.sql(f"SHOW MATERIALIZED VIEWS IN {database(spark)}").collect()
    assert row["state"] == "fresh"


def test_create_table_as_select(spark: SparkSession) -> None:
    make_sales(spark, "parquet")
    spark.sql("DROP TABLE sales")
    drain_in_vain(spark)
    spark.sql(
        "CREATE TABLE sales USING parquet PARTITIONED BY (month) AS SELECT 7 AS id, 70 AS amount, '2024-03' AS month"
    )
    drain(spark)
    assert_equals_query(spark, "monthly", QUERY)


@pytest.mark.thorough
def test_rename_of_the_table_breaks_and_recovers(sales: SparkSession) -> None:
    sales.sql("ALTER TABLE sales RENAME TO sold")
    assert "monthly is broken" in drain_in_vain(sales)
    assert state(sales, "monthly") == "broken"
    sales.sql("ALTER TABLE sold RENAME TO sales")
    drain(sales)
    assert state(sales, "monthly") == "fresh"
    assert_equals_query(sales, "monthly", QUERY)


def test_added_column_that_is_not_read(sales: SparkSession, journal: Journal) -> None:
    check(sales, journal, lambda: sales.sql("ALTER TABLE sales ADD COLUMNS (note STRING)"), set())


def test_added_column_reaches_a_star(sales: SparkSession) -> None:
    sales.sql("CREATE MATERIALIZED VIEW copy PARTITIONED BY (month) AS SELECT * FROM sales")
    sales.sql("ALTER TABLE sales ADD COLUMNS (note STRING)")
    sales.sql("INSERT INTO sales PARTITION (month = '2024-02') VALUES (4, 40, 'late')")
    drain(sales)
    assert_equals_query(sales, "copy", "SELECT * FROM sales")


def test_ordinary_view_in_between(sales: SparkSession) -> None:
    sales.sql("CREATE VIEW big AS SELECT * FROM sales WHERE amount > 15")
    query = "SELECT month, count(*) AS n FROM big GROUP BY month"
    sales.sql(f"CREATE MATERIALIZED VIEW counts PARTITIONED BY (month) AS {query}")
    sales.sql("CREATE OR REPLACE VIEW big AS SELECT * FROM sales WHERE amount > 25")
    drain(sales)
    assert_equals_query(sales, "counts", query)
    sales.sql("INSERT INTO sales VALUES (9, 90, '2024-01')")
    drain(sales)
    assert_equals_query(sales, "counts", query)


@pytest.mark.thorough
def test_unpartitioned_table_set_location(spark: SparkSession, tmp_path) -> None:
    spark.sql("CREATE TABLE names (id INT, name STRING) USING parquet")
    spark.sql("INSERT INTO names VALUES (1, 'a')")
    spark.sql("CREATE MATERIALIZED VIEW upper_names AS SELECT id, upper(name) AS name FROM names")
    spark.sql("SELECT 2 AS id, 'b' AS name").write.parquet(f"{tmp_path}/other")
    spark.sql(f"ALTER TABLE names SET LOCATION '{tmp_path}/other'")
    drain(spark)
    assert [tuple(row) for row in spark.table("upper_names").collect()] == [(2, "B")]


@pytest.mark.thorough
@pytest.mark.parametrize("file_format", ["orc", "json", "csv"])
def test_other_formats(spark: SparkSession, journal: Journal, file_format: str) -> None:
    make_sales(spark, file_format)
    check(spark, journal, lambda: spark.sql("INSERT INTO sales VALUES (4, 40, '2024-02')"), {"2024-02"})
    check(
        spark,
        journal,
        lambda: spark.sql("INSERT OVERWRITE sales PARTITION (month = '2024-01') VALUES (4, 40)"),
        {"2024-01"},
    )


@pytest.mark.thorough
@pytest.mark.parametrize("file_format", ["orc", "json", "csv"])
def test_views_in_other_formats(spark: SparkSession, file_format: str) -> None:
    make_sales(spark, "parquet")
    spark.sql(f"CREATE MATERIALIZED VIEW stored USING {file_format} PARTITIONED BY (month) AS {QUERY}")
    spark.sql("INSERT INTO sales VALUES (4, 40, '2024-02')")
    drain(spark)
    assert_equals_query(spark, "stored", QUERY)


ODD = """SELECT id, s, ts, n, d, IF(id % 2 = 0, NULL, s) AS t, p FROM VALUES
    (1, ' a ', TIMESTAMP '2024-01-01 00:00:00.123456', TIMESTAMP_NTZ '1850-01-01 12:00:00.000001', 'NaN'),
    (2, 'x\\ny', TIMESTAMP '1850-06-01 00:00:00', NULL, '-0.0'), (3, '', NULL, NULL, 'Infinity'),
    (4, 'say "no", \\\\', TIMESTAMP '0001-01-01 00:00:00', TIMESTAMP_NTZ '2024-10-27 02:30:00', '1e-300'),
    (5, '\\\\"', TIMESTAMP '9999-12-31 23:59:59.999999', NULL, '-Infinity'), (6, 'a\\r\\nb', NULL, NULL, NULL),
    (7, NULL, NULL, NULL, NULL), (8, '#x', NULL, NULL, '0.1'), (9, "it's", NULL, NULL, '1e300'),
    (10, '\\t', NULL, NULL, '0')
    AS v(id, s, ts, n, f) LATERAL VIEW OUTER explode(array(CAST(f AS DOUBLE))) AS d
    LATERAL VIEW explode(array(id % 2)) AS p"""
"""Values that text files do not hold as they are, unless they are told to."""


@pytest.mark.thorough
@pytest.mark.parametrize("file_format", ["parquet", "orc", "json", "csv", "delta"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_first_line_of_a_file_may_end_within_a_text(spark: SparkSession, file_format: str, end: str) -> None:
    """Some parsers take the first end of a line that they meet for that of the file. The parser of old dates knows
    fewer patterns than the new one."""
    spark.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    rows = [(1, f"a{end}b"), (2, "c\rd"), (3, "e\r\nf"), (4, "g\nh")]
    columns = "id INT, s STRING"
    spark.createDataFrame(rows, columns).write.format("delta").saveAsTable("texts")
    query = "SELECT id, s, TIMESTAMP '2024-01-01 00:00:00.123456' AS ts FROM texts"
    spark.sql(f"CREATE MATERIALIZED VIEW v USING {file_format} AS {query}").collect()
    for policy in ("LEGACY", "CORRECTED"):
        session = spark.newSession()
        session.sql(f"USE {database(spark)}")
        session.conf.set("spark.sql.legacy.timeParserPolicy", policy)
        assert sorted((row.id, row.s) for row in session.table("v").collect()) == rows
        assert {row.ts.microsecond for row in session.table("v").collect()} == {123456}


@pytest.mark.thorough
@pytest.mark.parametrize("file_format", ["parquet", "orc", "json", "csv", "delta"])
def test_a_view_holds_its_values_as_they_are(spark: SparkSession, file_format: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Amsterdam")  # its offset had seconds once
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS")
    spark.sql(f"CREATE TABLE odd USING orc AS {ODD}")
    query = "SELECT id, s, ts, n, d, t, p FROM odd"
    spark.sql(f"CREATE MATERIALIZED VIEW v USING {file_format} PARTITIONED BY (p) AS {query}").collect()
    columns = "id, encode(s, 'utf-8') AS s, unix_micros(ts) AS ts, n, string(d) AS d, encode(t, 'utf-8') AS t, p"
    held, asked = (sorted(map(repr, spark.sql(f"SELECT {columns} FROM {each}").collect())) for each in ("v", "odd"))
    assert held == asked and len(held) == 10
    [row] = spark.sql("VERIFY MATERIALIZED VIEW v").collect()
    assert row["result"] == "equal"


def test_a_row_that_would_be_an_empty_line_is_refused(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE t USING parquet AS SELECT 1 AS id, 'a' AS p")
    for query in ("SELECT id FROM t", "SELECT id, p FROM t"):
        partitioned = "PARTITIONED BY (p)" if "p FROM" in query else ""
        with pytest.raises(PySparkException, match="is an empty line, and lost; add a column"):
            spark.sql(f"CREATE MATERIALIZED VIEW v USING csv {partitioned} AS {query}")


@pytest.mark.thorough
def test_null_and_odd_partition_values(sales: SparkSession, journal: Journal) -> None:
    check(sales, journal, lambda: sales.sql("INSERT INTO sales VALUES (4, 40, NULL)"), {"NULL"})
    check(sales, journal, lambda: sales.sql("INSERT INTO sales VALUES (4, 40, 'a b/c%=d''e')"), {"a b/c%=d'e"})


def state(spark: SparkSession, view: str) -> str:
    [row] = spark.sql(f"SHOW MATERIALIZED VIEWS IN {database(spark)} LIKE '{view}'").collect()
    return row["state"]


def test_a_statement_that_names_some_columns_changes_what_it_wrote(spark: SparkSession, journal: Journal) -> None:
    spark.sql("CREATE TABLE sales (amount INT, month STRING, shop STRING) USING parquet PARTITIONED BY (month, shop)")
    spark.sql("INSERT INTO sales VALUES (1, '2024-01', 'Lyon'), (2, '2024-01', 'Oslo'), (3, '2024-02', 'Oslo')")
    query = "SELECT month, shop, sum(amount) AS total FROM sales GROUP BY month, shop"
    spark.sql(f"CREATE MATERIALIZED VIEW totals PARTITIONED BY (month, shop) AS {query}")
    drain(spark)
    journal.mark()
    spark.sql("INSERT INTO sales PARTITION (month = '2024-01', shop) VALUES (3, 'Oslo')")
    drain(spark)
    changed, published = journal.changed_and_refreshed(f"{database(spark)}.sales")
    assert changed == {"month=2024-01, shop=Oslo"} and published == [("totals", "month=2024-01, shop=Oslo")]
    spark.sql("ALTER TABLE sales DROP PARTITION (month = '2024-01')")
    drain(spark)
    changed, published = journal.changed_and_refreshed(f"{database(spark)}.sales")
    assert changed == {"month=2024-01, shop=Lyon", "month=2024-01, shop=Oslo"}
    assert published == [("totals", each) for each in sorted(changed)]
    assert_equals_query(spark, "totals", query)


@pytest.mark.thorough
def test_a_file_that_comes_and_goes_between_two_checks_is_not_kept(spark: SparkSession, warehouse: Path) -> None:
    """A refresh reads what another program left for a while in a table that has no snapshots.

    Then the table is as it was on record."""
    spark.sql("CREATE TABLE amounts USING parquet PARTITIONED BY (day) AS SELECT 1 AS amount, '2024-01-01' AS day")
    spark.sql("CREATE TABLE rates USING parquet AS SELECT 1 AS rate")
    spark.sql("CREATE MATERIALIZED VIEW total AS SELECT sum(amount * rate) AS total FROM amounts, rates")
    drain(spark)
    directory = warehouse / f"{database(spark)}.db" / "amounts" / "day=2024-01-01"
    brief = directory / "brief.parquet"
    shutil.copy(next(directory.glob("*.parquet")), brief)
    spark.sql("INSERT INTO rates VALUES (10)")
    until(lambda: spark.sql("SELECT total FROM total").first()["total"] == 22, "refresh for the new rate", 30)
    brief.unlink()
    drain(spark)
    assert_equals_query(spark, "total", "SELECT sum(amount * rate) AS total FROM amounts, rates")
