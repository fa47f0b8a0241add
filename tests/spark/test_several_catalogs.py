"""Catalogs with equal table names, and one that cannot be reached for a while: nobody takes a table for another one,
or for one that was dropped."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from processes import Home, Session, is_alive, until
from test_missing_formats import lost, settings

from headwater.demo.session import SparkSqlError
from headwater.model.event import Changed, Published

pytestmark = pytest.mark.long

TABLES = {"lake.db.t": "iceberg", "other.db.t": "iceberg", "spark_catalog.db.t": "delta"}
VIEWS = {"lake.db.v": "lake.db.t", "other.db.v": "other.db.t", "spark_catalog.db.v": "spark_catalog.db.t"}
"""Each view, and the table that it reads."""


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Home:
    return Home(tmp_path_factory.mktemp("catalogs"))


@pytest.fixture(scope="module")
def session(home: Home) -> Iterator[Session]:
    """One with a table ``db.t`` in each catalog, a view ``db.v`` of it beside it, and a view of all of these. The
    catalog ``away`` never answers."""
    more = {
        "spark.sql.catalog.other": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.other.type": "hadoop",
        "spark.sql.catalog.other.warehouse": str(home.folder / "other"),
        "spark.sql.catalog.away": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.away.type": "rest",
        "spark.sql.catalog.away.uri": "http://127.0.0.1:9",  # nobody listens at this port
        "spark.headwater.check.interval": "2",
    }
    with home.session({**settings(home.folder), **more}) as session:
        for number, (table, format) in enumerate(TABLES.items()):
            session.run(f"CREATE NAMESPACE IF NOT EXISTS {table.removesuffix('.t')}")
            session.run(f"CREATE TABLE {table} (x INT) USING {format}")
            session.run(f"INSERT INTO {table} VALUES ({10**number})")
        for view, table in VIEWS.items():
            using = f"USING {TABLES[table]}"
            session.run(f"CREATE MATERIALIZED VIEW {view} {using} AS SELECT sum(x) AS s FROM {table}")
        read = " CROSS JOIN ".join(f"{view} AS v{n}" for n, view in enumerate(VIEWS))
        session.run(f"CREATE MATERIALIZED VIEW db.every AS SELECT v0.s + v1.s + v2.s AS s FROM {read}")
        yield session


def rows(session: Session) -> dict[str, int]:
    return {view: int(session.one(f"SELECT s FROM {view}")) for view in VIEWS}


def sums(session: Session) -> dict[str, int]:
    """The rows that views are to have."""
    return {view: int(session.one(f"SELECT sum(x) FROM {table}")) for view, table in VIEWS.items()}


def states(session: Session) -> dict[str, str]:
    found = session.run("SHOW MATERIALIZED VIEWS")
    assert all(len(row) > 2 for row in found), found
    return {f"{row[0]}.{row[1]}": row[2] for row in found}


@pytest.mark.parametrize("written", TABLES)
@pytest.mark.parametrize("way", ["whole name", "USE"])
def test_a_write_refreshes_the_readers_of_its_own_table_alone(
    home: Home, session: Session, written: str, way: str
) -> None:
    seen = len(home.events())
    if way == "USE":
        session.run(f"USE {written.removesuffix('.t')}")
    session.run(f"INSERT INTO {'t' if way == 'USE' else written} VALUES (1000)")
    session.run("USE spark_catalog.default")
    session.run("REFRESH MATERIALIZED VIEWS")
    events, [view] = home.events()[seen:], [view for view, table in VIEWS.items() if table == written]
    assert [each.table for each in events if isinstance(each, Changed)] == [written.removeprefix("spark_catalog.")]
    published = [each.view for each in events if isinstance(each, Published)]
    assert published == [view.removeprefix("spark_catalog."), "db.every"]
    assert rows(session) == sums(session)
    assert session.one("SELECT s FROM db.every") == str(sum(sums(session).values()))


def test_a_catalog_that_cannot_be_reached_for_a_while(home: Home, session: Session) -> None:
    """Its tables are not dropped. An engine that starts meanwhile finds the same."""
    seen, lake = len(home.events()), home.folder / "lake"
    lake.rename(home.folder / "moved")
    for table in ("other.db.t", "db.t"):
        session.run(f"INSERT INTO {table} VALUES (7)")
    until(lambda: states(session)["lake.db.v"] == "unreadable", "look at the catalog", 20)
    drain_in_vain(session)
    assert states(session) == {
        "lake.db.v": "unreadable",
        "other.db.v": "fresh",
        "db.v": "fresh",
        "db.every": "unreadable",
    }
    with pytest.raises(SparkSqlError, match="the catalog lake cannot list its directory"):
        session.run("REFRESH MATERIALIZED VIEW lake.db.v FULL")
    engine = session.await_engine()
    os.kill(engine, signal.SIGKILL)
    until(lambda: not is_alive(engine), "end of the engine")
    session.run("INSERT INTO other.db.t VALUES (7)")
    drain_in_vain(session)
    assert states(session)["lake.db.v"] == "unreadable" and not lake.exists()
    (home.folder / "moved").rename(lake)
    session.run("INSERT INTO lake.db.t VALUES (7)")
    until(lambda: set(states(session).values()) == {"fresh"}, "refresh of all views", 30)
    assert not lost(home.events()[seen:])
    assert rows(session) == sums(session)
    assert session.one("SELECT s FROM db.every") == str(sum(sums(session).values()))


def drain_in_vain(session: Session) -> None:
    with pytest.raises(SparkSqlError, match=r"lake\.db\.v cannot be refreshed now: .*cannot list its directory"):
        session.run("REFRESH MATERIALIZED VIEWS")
