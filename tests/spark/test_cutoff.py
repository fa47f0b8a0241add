"""Early cutoff: a refresh that leaves the rows as they were goes no further."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database, drain

from headwater.model.event import Published, Skipped

MONTHLY = "SELECT trunc(day, 'MM') AS month, sum(total) AS total FROM daily GROUP BY 1"


@pytest.fixture
def chain(spark: SparkSession) -> SparkSession:
    spark.sql("CREATE TABLE sales (id INT, amount INT, note STRING, day DATE) USING parquet PARTITIONED BY (day)")
    days = ", ".join(f"({day}, {day}, 'x', DATE '2024-0{1 + day % 2}-{day:02d}')" for day in range(1, 7))
    spark.sql(f"INSERT INTO sales VALUES {days}")
    spark.sql(
        "CREATE MATERIALIZED VIEW daily PARTITIONED BY (day) AS "
        "SELECT day, count(*) AS sales, sum(amount) AS total FROM sales GROUP BY day"
    )
    spark.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {MONTHLY}")
    spark.sql("CREATE MATERIALIZED VIEW overall AS SELECT sum(total) AS total FROM monthly")
    return spark


@pytest.fixture
def after(chain: SparkSession, journal: Journal):
    """What follows a statement: the partitions that were refreshed, and the views that were left out."""

    def run(statement: str) -> tuple[list[tuple[str, str]], list[str]]:
        drain(chain)
        journal.mark()
        chain.sql(statement)
        drain(chain)
        events = journal.events()
        refreshed = sorted(
            (event.view.split(".")[1], str(made.slice))
            for event in events
            if isinstance(event, Published)
            for made in event.made
        )
        return refreshed, [event.view.split(".")[1] for event in events if isinstance(event, Skipped)]

    return run


@pytest.mark.thorough
def test_rows_that_come_out_as_they_were_reach_no_reader(chain, after):
    corrected = "INSERT OVERWRITE sales PARTITION (day = DATE '2024-02-03') VALUES (3, 3, 'a note corrected')"
    assert after(corrected) == ([("daily", "day=2024-02-03")], ["monthly", "overall"])
    row = chain.sql("SHOW REFRESHES FOR overall LIMIT 1").first()
    assert (row["mode"], row["status"], row["rows"]) == ("skipped", "unchanged", None)
    assert row["reason"].endswith(f"what {database(chain)}.overall reads of it came out unchanged")


def test_a_change_in_one_column_that_a_reader_does_not_read_stops_there(chain, after):
    """``daily`` has one sale more, of nothing, so it changed; ``monthly`` did not, so ``overall`` is left out."""
    found = after("INSERT INTO sales VALUES (9, 0, 'a gift', DATE '2024-02-03')")
    assert found == ([("daily", "day=2024-02-03"), ("monthly", "month=2024-02-01")], ["overall"])
    assert_equals_query(chain, "monthly", MONTHLY)


@pytest.mark.thorough
def test_of_a_view_that_is_refreshed_as_a_whole_readers_follow_where_it_changed(chain, after):
    chain.sql("CREATE TABLE rates (day DATE, rate INT) USING parquet")
    chain.sql("INSERT INTO rates VALUES (DATE '2024-02-03', 2), (DATE '2024-01-02', 2)")
    chain.sql(
        "CREATE MATERIALIZED VIEW rated PARTITIONED BY (day) AS "
        "SELECT day, total * coalesce(rate, 1) AS total FROM daily LEFT JOIN rates USING (day)"
    )
    report = "SELECT day, sum(total) AS total FROM rated GROUP BY day"
    chain.sql(f"CREATE MATERIALIZED VIEW report PARTITIONED BY (day) AS {report}")
    refreshed, _ = after("INSERT OVERWRITE rates VALUES (DATE '2024-02-03', 2), (DATE '2024-01-02', 3)")
    assert [each for each in refreshed if each[0] == "report"] == [("report", "day=2024-01-02")]
    assert_equals_query(chain, "report", report)


@pytest.mark.thorough
def test_a_view_can_do_without(chain, after):
    chain.sql("ALTER MATERIALIZED VIEW daily SET TBLPROPERTIES ('headwater.cutoff' = 'off')")
    chain.sql("REFRESH MATERIALIZED VIEW daily FULL")
    refreshed, left_out = after("INSERT OVERWRITE sales PARTITION (day = DATE '2024-02-03') VALUES (3, 3, 'corrected')")
    assert refreshed == [("daily", "day=2024-02-03"), ("monthly", "month=2024-02-01")] and left_out == ["overall"]


@pytest.mark.thorough
@pytest.mark.parametrize("file_format", ["orc", "json"])
def test_rows_are_counted_whatever_the_format(chain, file_format):
    chain.sql(f"CREATE MATERIALIZED VIEW other USING {file_format} PARTITIONED BY (day) AS SELECT day, id FROM sales")
    chain.sql("INSERT INTO sales VALUES (10, 1, 'y', DATE '2024-02-03')")
    drain(chain)
    counted = {row["partition"]: row["rows"] for row in chain.sql("SHOW REFRESHES FOR other").collect()[::-1]}
    assert counted["day=2024-02-03"] == 2 and counted["day=2024-01-02"] == 1
