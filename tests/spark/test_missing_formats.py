"""An application is started again without the jar of a format that its views need: these wait, all others go on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import fetched
import pytest
from processes import Home, Session
from support import EXTENSIONS

from headwater.demo.session import SparkSqlError
from headwater.model.event import Changed, Dropped, Event, Published, Renamed

pytestmark = pytest.mark.long

DELTA, ICEBERG, HEADWATER = EXTENSIONS
DELTAS = "org.apache.spark.sql.delta.catalog.DeltaCatalog"

TABLES = (
    "CREATE NAMESPACE lake.db",
    "CREATE TABLE sales (x INT) USING parquet",
    "CREATE TABLE d (x INT) USING delta",
    "CREATE TABLE lake.db.i (x INT) USING iceberg",
    "CREATE MATERIALIZED VIEW plain AS SELECT sum(x) AS s FROM sales",
    "CREATE MATERIALIZED VIEW in_delta USING delta AS SELECT sum(x) AS s FROM sales",
    "CREATE MATERIALIZED VIEW of_delta AS SELECT sum(x) AS s FROM d",
    "CREATE MATERIALIZED VIEW lake.db.in_iceberg AS SELECT sum(x) AS s FROM sales",
    "CREATE MATERIALIZED VIEW of_iceberg AS SELECT sum(x) AS s FROM lake.db.i",
    "CREATE MATERIALIZED VIEW of_all AS SELECT p.s + d.s + i.s AS s FROM plain p, in_delta d, lake.db.in_iceberg i",
)
VIEWS = {
    "plain": "sales",
    "in_delta": "sales",
    "of_delta": "d",
    "lake.db.in_iceberg": "sales",
    "of_iceberg": "lake.db.i",
}
"""Each view, and the table that it reads."""


def settings(folder: Path, lacking: str = "") -> dict[str, str]:
    """Those of an application; ``lacking``: the part of a setup that it does without."""
    jars = [*fetched.delta() * (lacking != "delta"), *fetched.iceberg() * (lacking != "iceberg")]
    of_delta = {"spark.sql.catalog.spark_catalog": DELTAS, "spark.databricks.delta.snapshotPartitions": "1"}
    of_iceberg = {
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(folder / "lake"),
    }
    extensions = [DELTA] * (lacking != "delta") + [ICEBERG] * (lacking != "iceberg") + [HEADWATER]
    return {
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
        "spark.sql.extensions": ",".join(extensions),
        **({} if lacking in ("delta", "DeltaCatalog") else of_delta),
        **({} if lacking == "lake" else of_iceberg),
        "spark.headwater.check.interval": "3",
    }


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("formats"))
    code, said = home.script(*TABLES, settings=settings(home.folder))
    assert code == 0, said
    return home


def states(session: Session) -> dict[str, tuple[str, str]]:
    """The state and the reason of each view, by its name without its database."""
    told = session.run("SHOW MATERIALIZED VIEWS")
    return {row[1]: (row[2], " ".join(row[3:])) for row in told}


def lost(events: list[Event]) -> list[Event]:
    """What was taken for dropped."""
    gone = [each for each in events if isinstance(each, Changed) and "is gone" in each.verb]
    return [*gone, *(each for each in events if isinstance(each, Dropped | Renamed))]


LACKING = {
    "delta": ({"in_delta", "of_delta"}, "lacks; add io.delta:delta-spark"),
    "DeltaCatalog": ({"in_delta", "of_delta"}, "set spark.sql.catalog.spark_catalog to org.apache.spark.sql.delta"),
    "iceberg": ({"in_iceberg", "of_iceberg"}, "lacks; add org.apache.iceberg:iceberg-spark-runtime"),
    "lake": ({"in_iceberg", "of_iceberg"}, "spark.sql.catalog.lake"),
}
"""Parts of a setup; the views that need them, and the remedy that these tell."""


@pytest.mark.parametrize("lacking", LACKING)
def test_views_of_a_format_that_an_application_lacks_wait(home: Home, lacking: str) -> None:
    (affected, remedy), before = LACKING[lacking], len(home.events())
    with home.session(settings(home.folder, lacking)) as session:
        session.run("INSERT INTO sales VALUES (1)")
        with pytest.raises(
            SparkSqlError, match="cannot be refreshed now: .*Every other view that can run is refreshed"
        ):
            session.run("REFRESH MATERIALIZED VIEWS")
        found = states(session)
        assert {view for view, (state, _) in found.items() if state == "unreadable"} == affected | {"of_all"}, found
        assert {state for view, (state, _) in found.items() if view not in affected | {"of_all"}} == {"fresh"}
        for view in affected:
            assert "cannot be read" in found[view][1] and remedy in found[view][1], found[view]
        view = "in_delta" if "in_delta" in affected else "of_iceberg"
        with pytest.raises(SparkSqlError, match=f"{view} cannot be refreshed now: .*{remedy}"):
            session.run(f"REFRESH MATERIALIZED VIEW {view} FULL")
        assert session.one("SELECT s FROM plain") == session.one("SELECT sum(x) FROM sales")
        assert "background work failed" not in session.said and "Traceback" not in session.said
    events = home.events()[before:]
    assert not lost(events)
    assert not {each.view.split(".")[-1] for each in events if isinstance(each, Published)} & affected


def test_views_follow_when_their_format_is_there_again(home: Home) -> None:
    with home.session(settings(home.folder, "delta")) as session:
        session.run("INSERT INTO sales VALUES (10)")
        with pytest.raises(SparkSqlError, match="cannot be refreshed now"):
            session.run("REFRESH MATERIALIZED VIEWS")
        waiting = {view for view, (state, _) in states(session).items() if state != "fresh"}
        assert waiting == {*LACKING["delta"][0], "of_all"}
    with home.session(settings(home.folder)) as session:
        for table in ("sales", "d", "lake.db.i"):
            session.run(f"INSERT INTO {table} VALUES (10)")
        session.run("REFRESH MATERIALIZED VIEWS")
        assert {state for state, _ in states(session).values()} == {"fresh"}
        for view, table in VIEWS.items():
            assert session.one(f"SELECT s FROM {view}") == session.one(f"SELECT sum(x) FROM {table}")
    assert not lost(home.events())
