"""Delta and Iceberg tables are more than their files, so they are refused by name. Tables beside them are followed."""

from __future__ import annotations

import os
from collections.abc import Iterator

import fetched
import pytest
from processes import Home, Session

from headwater.demo.session import SparkSqlError
from headwater.spark.jar import EXTENSION

DECLARED = (
    "CREATE TABLE plain (id INT, day INT) USING parquet PARTITIONED BY (day)",
    "INSERT INTO plain VALUES (1, 1), (2, 2)",
    "CREATE TABLE d (id INT, day INT) USING delta PARTITIONED BY (day)",
    "INSERT INTO d VALUES (1, 1)",
    "CREATE VIEW ordinary AS SELECT * FROM d",
    "CREATE TABLE lake.db.i (id INT) USING iceberg",
    "INSERT INTO lake.db.i VALUES (1)",
)


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Home:
    return Home(tmp_path_factory.mktemp("formats"))


@pytest.fixture(scope="module")
def session(home: Home) -> Iterator[Session]:
    """A program with Delta as its session catalog, and Iceberg as another."""
    settings = {
        "spark.sql.extensions": f"{EXTENSION},io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(home.folder / "lake"),
        "spark.driver.extraClassPath": os.pathsep.join(map(str, [*fetched.delta(), *fetched.iceberg()])),
    }
    with home.session(settings) as session:
        for statement in DECLARED:
            session.run(statement)
        directory = home.warehouse / "d"
        session.run(f"CREATE TABLE files (id INT, day INT) USING parquet PARTITIONED BY (day) LOCATION '{directory}'")
        yield session


QUERIES = {
    "by name": ("SELECT id FROM d", "`d` is a Delta table"),
    "by path": ("SELECT id FROM delta.`{folder}/warehouse/d`", "/warehouse/d` is a Delta table"),
    "in an ordinary view": ("SELECT id FROM ordinary", "`d` is a Delta table"),
    "in a subquery": ("SELECT id FROM plain WHERE id IN (SELECT id FROM d)", "`d` is a Delta table"),
    "its files": ("SELECT id FROM parquet.`{folder}/warehouse/d`", "/warehouse/d` is a Delta table"),
    "some of its files": ("SELECT id FROM parquet.`{folder}/warehouse/d/day=1`", "/day=1` is a Delta table"),
    "a table of its files": ("SELECT id FROM files", "`files` is a Delta table"),
    "Iceberg": ("SELECT id FROM lake.db.i", "`i` is an Iceberg table"),
    "files of Iceberg": ("SELECT id FROM parquet.`{folder}/lake/db/i/data`", "/data` is an Iceberg table"),
}


def refused(session: Session, statement: str) -> str:
    with pytest.raises(SparkSqlError) as error:
        session.run(statement)
    return str(error.value)


@pytest.mark.parametrize("name", QUERIES)
def test_source_that_is_not_followed(home: Home, session: Session, name: str) -> None:
    query, words = QUERIES[name]
    message = refused(session, f"CREATE MATERIALIZED VIEW bad AS {query.format(folder=home.folder)}")
    assert words in message
    assert "Headwater does not follow yet; copy the rows that the view needs to a Parquet table" in message


def test_view_in_such_a_format(session: Session) -> None:
    message = refused(session, "CREATE MATERIALIZED VIEW bad USING delta AS SELECT id FROM plain")
    assert "cannot be stored USING delta; use one of parquet" in message


def test_a_table_of_files_beside_them_is_followed(session: Session) -> None:
    session.run("CREATE TABLE made USING parquet AS SELECT 5 AS id")
    session.run(
        "CREATE MATERIALIZED VIEW total PARTITIONED BY (day) AS SELECT day, sum(id) AS ids FROM plain GROUP BY day"
    )
    session.run("CREATE MATERIALIZED VIEW ids AS SELECT id FROM made")
    session.run("INSERT INTO plain VALUES (5, 2)")
    assert [row[1:3] for row in session.run("REFRESH MATERIALIZED VIEWS")] == [["default.total", "day=2"]]
    assert sorted(session.run("SELECT day, ids FROM total")) == [["1", "1"], ["2", "7"]]
    session.run("DROP MATERIALIZED VIEW total")
    session.run("DROP TABLE made")
    session.run("CREATE TABLE made USING parquet AS SELECT 6 AS id")
    session.run("REFRESH MATERIALIZED VIEWS")
    assert session.run("SELECT id FROM ids") == [["6"]]
    session.run("DROP MATERIALIZED VIEW ids")


def state(session: Session, view: str) -> tuple[str, str]:
    """The state of a view, and the reason for it."""
    session.run("REFRESH MATERIALIZED VIEWS")
    [row] = session.run(f"SHOW MATERIALIZED VIEWS LIKE '{view}'")
    return row[2], row[6]


def test_a_source_that_becomes_such_a_table_breaks_the_view_until_it_is_files_again(session: Session) -> None:
    def make(file_format: str) -> None:
        session.run(f"CREATE TABLE turns (id INT) USING {file_format}")
        session.run("INSERT INTO turns VALUES (1)")

    make("parquet")
    session.run("CREATE MATERIALIZED VIEW follows AS SELECT id FROM turns")
    session.run("CONVERT TO DELTA turns")
    assert_broken(session)
    session.run("DROP TABLE turns")
    make("parquet")
    assert state(session, "follows")[0] == "fresh"
    session.run("DROP TABLE turns")
    make("delta")
    assert_broken(session)


def assert_broken(session: Session) -> None:
    found, reason = state(session, "follows")
    assert found == "broken"
    assert "`turns` is a Delta table" in reason
