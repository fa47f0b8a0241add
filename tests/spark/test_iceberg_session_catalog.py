"""Iceberg's ``SparkSessionCatalog`` takes the session catalog's place: its tables lie beside those of files."""

from __future__ import annotations

import os
from collections.abc import Iterator

import fetched
import pytest
from processes import Home, Session, until
from support import EXTENSIONS

from headwater.demo.session import SparkSqlError
from headwater.model.event import Published

pytestmark = pytest.mark.long

CATALOG = "org.apache.iceberg.spark.SparkSessionCatalog"
SETTINGS = {
    "spark.driver.extraClassPath": os.pathsep.join(map(str, fetched.iceberg())),
    "spark.sql.extensions": ",".join(EXTENSIONS[1:]),
    "spark.sql.catalog.spark_catalog": CATALOG,
    "spark.sql.catalog.spark_catalog.type": "hive",
    "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
    "spark.headwater.check.interval": "3",
}

TABLES = (
    "CREATE DATABASE shop",
    "USE shop",
    "CREATE TABLE sales (x INT, day DATE) USING iceberg PARTITIONED BY (day)",
    "CREATE TABLE files (x INT, day DATE) USING parquet PARTITIONED BY (day)",
    *(f"INSERT INTO {table} VALUES (1, DATE'2024-01-01'), (2, DATE'2024-01-02')" for table in ("sales", "files")),
    "CREATE TABLE added USING parquet AS SELECT 9 AS x, DATE'2024-01-02' AS day",
)

VIEWS = {
    "in_iceberg": ("iceberg", "sales"),
    "in_files": ("parquet", "spark_catalog.shop.sales"),
    "of_files": ("iceberg", "shop.files"),
}
"""Each view, its format, and the name under which it reads a table."""

WRITES = (
    ("sales", "INSERT INTO sales VALUES (5, DATE'2024-01-02')", ["2024-01-02"]),
    ("sales", "DELETE FROM shop.sales WHERE x = 1", ["2024-01-01"]),
    ("sales", "UPDATE spark_catalog.shop.sales SET x = 7 WHERE x = 5", ["2024-01-02"]),
    ("sales", "MERGE INTO sales t USING added s ON t.day = s.day WHEN MATCHED THEN UPDATE SET x = s.x", ["2024-01-02"]),
    ("sales", "INSERT OVERWRITE sales VALUES (3, DATE'2024-01-03')", ["2024-01-02", "2024-01-03"]),
    ("files", "INSERT INTO files VALUES (5, DATE'2024-01-02')", ["2024-01-02"]),
    ("files", "ALTER TABLE files DROP PARTITION (day = '2024-01-01')", ["2024-01-01"]),
)
"""A table, a statement that writes it, and the days that its views refresh."""


def query(table: str) -> str:
    return f"SELECT day, sum(x) AS s, count(*) AS n FROM {table} GROUP BY day"


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Home:
    """With a view of each kind, and an Iceberg view of one of them."""
    home = Home(tmp_path_factory.mktemp("session_catalog"))
    views = (
        f"CREATE MATERIALIZED VIEW {view} USING {format} PARTITIONED BY (day) AS {query(table)}"
        for view, (format, table) in VIEWS.items()
    )
    total = "CREATE MATERIALIZED VIEW shop.total USING iceberg AS SELECT sum(s) AS s FROM in_iceberg"
    code, said = home.script(*TABLES, *views, total, settings=SETTINGS)
    assert code == 0, said
    return home


@pytest.fixture
def session(home: Home) -> Iterator[Session]:
    with home.session(SETTINGS) as session:
        session.run("USE shop")
        yield session


def assert_fresh(session: Session) -> None:
    assert {row[2] for row in session.run("SHOW MATERIALIZED VIEWS IN shop")} == {"fresh"}
    for view, (_, table) in VIEWS.items():
        assert session.run(f"SELECT day, s, n FROM {view} ORDER BY day") == session.run(f"{query(table)} ORDER BY day")
    assert session.one("SELECT s FROM total") == session.one("SELECT sum(x) FROM sales")


def test_writes_refresh_exactly_and_direct_ones_are_refused(home: Home, session: Session) -> None:
    session.run("REFRESH MATERIALIZED VIEWS")
    for table, statement, days in WRITES:
        seen = len(home.events())
        session.run(statement)
        session.run("REFRESH MATERIALIZED VIEWS")
        assert_fresh(session)
        published = [each for each in home.events()[seen:] if isinstance(each, Published)]
        refreshed = {view: days for view, (_, of) in VIEWS.items() if of.endswith(table)}
        found = {
            each.view.removeprefix("shop."): sorted(
                str(one).removeprefix("day=") for one in (*(made.slice for made in each.made), *each.removed)
            )
            for each in published
            if each.view != "shop.total"
        }
        assert found == refreshed, statement
    for name in ("in_iceberg", "shop.in_files", "spark_catalog.shop.of_files"):
        for statement in (f"INSERT INTO {name} SELECT * FROM {name}", f"TRUNCATE TABLE {name}"):
            with pytest.raises(SparkSqlError, match="is a materialized view, which only Headwater writes"):
                session.run(statement)
    for statement in (
        "DELETE FROM in_iceberg WHERE s = 1",
        "ALTER TABLE in_iceberg ADD COLUMN more INT",
        "ALTER TABLE shop.in_iceberg ADD PARTITION FIELD bucket(2, n)",
        "CALL spark_catalog.system.rollback_to_timestamp('shop.in_iceberg', TIMESTAMP'2024-01-01')",
    ):
        with pytest.raises(SparkSqlError, match="is a materialized view, which only Headwater writes"):
            session.run(statement)
    assert_fresh(session)


def test_views_are_dropped_made_anew_and_renamed(home: Home, session: Session) -> None:
    place = home.warehouse / "shop.db/of_files"
    assert list(place.rglob("*.parquet"))
    session.run("DROP MATERIALIZED VIEW spark_catalog.shop.of_files")
    assert not list(place.rglob("*.parquet"))
    assert not [row for row in session.run("SHOW TABLES IN shop") if "of_files" in row]
    session.run(f"CREATE MATERIALIZED VIEW of_files USING iceberg PARTITIONED BY (day) AS {query('files')}")
    session.run("ALTER MATERIALIZED VIEW of_files RENAME TO shop.moved")
    session.run("INSERT INTO files VALUES (6, DATE'2024-01-06')")
    session.run("REFRESH MATERIALIZED VIEWS")
    assert session.one("SELECT s FROM moved WHERE day = DATE'2024-01-06'") == "6"
    session.run("ALTER MATERIALIZED VIEW moved RENAME TO of_files")
    assert_fresh(session)
    session.run("DROP TABLE files")
    session.run("CREATE TABLE files USING iceberg PARTITIONED BY (day) AS SELECT 4 AS x, DATE'2024-01-04' AS day")
    session.run("REFRESH MATERIALIZED VIEWS")
    assert_fresh(session)


def test_the_totals_of_a_dropped_view_go_with_it(home: Home, session: Session) -> None:
    """Hive's catalog of Iceberg leaves the directory of a table that it drops."""
    asked = "TBLPROPERTIES ('headwater.method' = 'incremental, full')"
    totals = home.warehouse / "shop.db/counted/.totals"
    for _ in range(2):
        session.run(f"CREATE MATERIALIZED VIEW counted USING iceberg {asked} AS {query('sales')}")
        assert list(totals.rglob("*.parquet"))
        session.run("DROP TABLE counted")
        session.run("REFRESH MATERIALIZED VIEWS")
        until(lambda: not totals.exists(), "removal of the totals")


@pytest.mark.parametrize("sensitive", ["false", "true"])
@pytest.mark.parametrize("format", ["iceberg", "parquet"])
def test_names_in_another_case_are_of_the_same_tables(session: Session, format: str, sensitive: str) -> None:
    """Hive's metastore tells no cases apart, whatever the session does."""
    database = f"{format}_{sensitive}"
    for statement in (
        f"SET spark.sql.caseSensitive = {sensitive}",
        f"CREATE DATABASE {database}",
        f"USE {database}",
        f"CREATE TABLE tw USING {format} AS SELECT 1 AS x",
        f"CREATE MATERIALIZED VIEW a1 USING {format} AS SELECT sum(x) AS s FROM Tw",
        f"CREATE MATERIALIZED VIEW Reader USING {format} AS SELECT s + 1 AS s FROM A1",
        f"CREATE MATERIALIZED VIEW both USING {format} AS "
        f"SELECT a.x + b.x AS s FROM Tw a CROSS JOIN {database.upper()}.tw b",
        "INSERT INTO TW VALUES (10)",
        "REFRESH MATERIALIZED VIEWS",
    ):
        session.run(statement)
    assert session.run("SELECT s FROM READER") == [["12"]]
    assert sorted(session.run("SELECT s FROM both")) == [["11"], ["11"], ["2"], ["20"]]
    assert sorted(row[1] for row in session.run(f"SHOW MATERIALIZED VIEWS IN {database}")) == ["a1", "both", "reader"]
    for drop in ("DROP MATERIALIZED VIEW a1", "DROP MATERIALIZED VIEW A1", "DROP TABLE A1"):
        with pytest.raises(SparkSqlError, match=rf"{database}\.reader"):
            session.run(drop)
    with pytest.raises(SparkSqlError, match="cycle|itself"):
        session.run(f"CREATE OR REPLACE MATERIALIZED VIEW a1 USING {format} AS SELECT sum(s) AS s FROM A1")
    with pytest.raises(SparkSqlError, match="cycle|itself"):
        session.run(f"CREATE OR REPLACE MATERIALIZED VIEW A1 USING {format} AS SELECT sum(s) AS s FROM READER")
    for statement in ("INSERT INTO A1 VALUES (1)", "TRUNCATE TABLE READER"):
        with pytest.raises(SparkSqlError, match="is a materialized view, which only Headwater writes"):
            session.run(statement)
    for view in ("BOTH", "READER", "A1"):
        session.run(f"DROP MATERIALIZED VIEW {view}")
    session.run(f"DROP DATABASE {database} CASCADE")


def test_another_store_adopts_the_views(home: Home) -> None:
    before = {view: state.highest for view, state in home.state().tables.items() if view in home.state().views}
    for each in home.store_path.parent.glob("store.db*"):
        each.unlink()
    with home.session(SETTINGS) as session:
        session.run("USE shop")
        session.run("INSERT INTO sales VALUES (8, DATE'2024-01-08')")
        session.run("REFRESH MATERIALIZED VIEWS")
        assert_fresh(session)
        assert session.one("SELECT s FROM in_files WHERE day = DATE'2024-01-08'") == "8"
    state = home.state()
    assert state.views.keys() == before.keys()
    assert all(state.tables[view].highest > highest for view, highest in before.items())
