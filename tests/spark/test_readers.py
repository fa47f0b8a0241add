"""What readers see: the statement after a publication sees it, one that began before it goes on undisturbed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import SALES, Home, until
from pyspark.sql import SparkSession
from support import database, drain


@pytest.fixture
def sales(spark: SparkSession) -> SparkSession:
    for statement in SALES:
        spark.sql(statement)
    return spark


@pytest.fixture
def other(application: SparkSession, sales: SparkSession) -> SparkSession:
    """Another session of the application, which has read the views, and so has cached where they were."""
    session = application.newSession()
    session.sql(f"USE {database(sales)}")
    assert total(session) == 30
    assert session.sql("SELECT sum(total) FROM monthly").first()[0] == 30
    return session


def total(session: SparkSession) -> int:
    [row] = session.sql("SELECT total FROM everything").collect()
    return row[0]


@pytest.mark.thorough
def test_every_session_sees_what_was_published(sales: SparkSession, other: SparkSession) -> None:
    """Partitioned and not, and through a view of a view."""
    for amount, expected in ((100, 130), (1000, 1130)):
        sales.sql(f"INSERT INTO sales VALUES ({amount}, {amount}, 1, '2024-0{len(str(amount))}')")
        drain(sales)
        for session in (sales, other):
            assert total(session) == expected
            assert session.sql("SELECT sum(total) FROM monthly").first()[0] == expected
            assert session.table("everything").first()[0] == expected
            joined = session.sql("SELECT count(*) FROM monthly m JOIN everything e ON m.total < e.total")
            assert joined.first()[0] == session.sql("SELECT count(*) FROM monthly").first()[0]


@pytest.mark.thorough
def test_every_session_sees_new_columns(sales: SparkSession, other: SparkSession) -> None:
    sales.sql(
        "CREATE OR REPLACE MATERIALIZED VIEW everything AS SELECT count(*) AS n, sum(total) AS total FROM monthly"
    )
    for session in (sales, other):
        assert session.sql("SELECT * FROM everything").columns == ["n", "total"]
        assert [tuple(row) for row in session.sql("SELECT * FROM everything").collect()] == [(2, 30)]
    sales.sql(
        "CREATE OR REPLACE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS "
        "SELECT month, max(amount) AS largest, sum(amount) AS total FROM sales GROUP BY month"
    )
    for session in (sales, other):
        assert session.sql("SELECT largest FROM monthly ORDER BY 1").collect()[0][0] == 10
        assert session.sql("SELECT * FROM monthly").columns == ["largest", "total", "month"]
    drain(sales)
    assert total(other) == 30


def test_a_cached_view_follows(sales: SparkSession, other: SparkSession) -> None:
    """``CACHE TABLE`` is no trap: the cache is filled anew from what was published."""
    other.sql("CACHE TABLE everything")
    assert total(other) == 30
    sales.sql("INSERT INTO sales VALUES (3, 70, 1, '2024-01')")
    drain(sales)
    assert total(other) == 100
    other.sql("UNCACHE TABLE everything")


@pytest.fixture
def large(spark: SparkSession) -> Iterator[SparkSession]:
    """``copied``, partitioned, and ``flat``, not: views whose old versions may be removed after a second."""
    spark.sql("CREATE TABLE numbers USING parquet PARTITIONED BY (part) AS SELECT id, id % 2 AS part FROM range(20000)")
    for name, partitioned in (("copied", "PARTITIONED BY (part)"), ("flat", "")):
        spark.sql(
            f"CREATE MATERIALIZED VIEW {name} {partitioned} TBLPROPERTIES ('headwater.retain' = '1 hour') "
            "AS SELECT id, part FROM numbers"
        )
    # Several files each, so that a reader has some left to open.
    spark.conf.set("spark.sql.files.maxPartitionBytes", "2000")
    yield spark


@pytest.mark.thorough
@pytest.mark.parametrize("view", ["copied", "flat"])
def test_a_query_that_began_before_goes_on(large: SparkSession, view: str) -> None:
    rows = large.table(view).toLocalIterator()
    seen = [next(rows)]
    large.sql("INSERT INTO numbers SELECT id, id % 2 FROM range(20000, 20010)")
    drain(large)
    assert large.table(view).count() == 20010
    seen += rows
    assert len(seen) == 20000
    assert {row["id"] for row in seen} == set(range(20000))


def test_a_view_of_an_empty_table_is_filled(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE nothing (id INT, month STRING) USING parquet PARTITIONED BY (month)")
    [row] = spark.sql("CREATE MATERIALIZED VIEW v PARTITIONED BY (month) AS SELECT * FROM nothing").collect()
    assert row["result"] == f"{database(spark)}.v created: 0 partitions, 0 rows"
    assert spark.table("v").count() == 0
    spark.sql("INSERT INTO nothing VALUES (1, '2024-01')")
    drain(spark)
    assert spark.table("v").count() == 1


def test_a_write_that_waits_returns_when_views_are_fresh(sales: SparkSession) -> None:
    """For the DataFrame API as for SQL."""
    sales.conf.set("spark.headwater.wait", "true")
    rows = sales.sql("SELECT 3 AS id, 70 AS amount, 1 AS spin, '2024-03' AS month")
    rows.write.insertInto("sales")
    assert total(sales) == 100
    rows.write.mode("append").format("parquet").partitionBy("month").saveAsTable("sales")
    assert total(sales) == 170
    sales.sql("ALTER TABLE sales DROP PARTITION (month = '2024-03')")
    assert total(sales) == 30


# --- old versions and uninstalling, in a program of their own


def versions(home: Home, view: str) -> set[str]:
    """The version directories of a view that hold files."""
    return {path.name for path in (home.warehouse / view).glob(".v*") if any(path.rglob("*.parquet"))}


def published_at(home: Home, view: str) -> set[str]:
    return {
        f".v{known.version}"
        for known in home.state().tables[f"default.{view}"].partitions.values()
        if known.fingerprint is not None
    }


@pytest.mark.long
def test_old_versions_are_removed_after_their_time_and_plain_spark_reads_the_rest(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.session({"spark.headwater.check.interval": "2"}) as session:
        for statement in SALES:
            session.run(statement)
        for view in ("monthly", "everything"):
            session.run(f"ALTER MATERIALIZED VIEW {view} SET TBLPROPERTIES ('headwater.retain' = '1 second')")
        orphan = home.warehouse / "everything" / ".v17" / "data"
        orphan.mkdir(parents=True)
        (orphan / "part.parquet").write_bytes(b"left by a crash")
        session.run("INSERT INTO sales VALUES (3, 70, 1, '2024-01')")
        session.run("REFRESH MATERIALIZED VIEWS")
        until(lambda: versions(home, "everything") == published_at(home, "everything"), "removal of old versions", 30)
        until(lambda: versions(home, "monthly") == published_at(home, "monthly"), "removal of old versions", 30)
        assert not orphan.exists()
        # Retention is an hour unless a property says otherwise.
        session.run("CREATE MATERIALIZED VIEW kept AS SELECT sum(amount) AS total FROM sales")
        session.run("INSERT INTO sales VALUES (4, 100, 1, '2024-03')")
        session.run("REFRESH MATERIALIZED VIEWS")
        time.sleep(6)
        assert len(versions(home, "kept")) == 2
        assert session.one("SELECT total FROM everything") == "200"
    with home.session(plain=True) as session:
        assert session.one("SELECT total FROM everything") == "200"
        assert session.run("SELECT month, total FROM monthly ORDER BY month") == [
            ["2024-01", "80"],
            ["2024-02", "20"],
            ["2024-03", "100"],
        ]
        assert session.run("SELECT total FROM monthly WHERE month = '2024-03'") == [["100"]]
        assert session.one("SELECT total FROM kept") == "200"
