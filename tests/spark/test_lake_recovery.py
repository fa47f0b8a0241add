"""Views in Delta and Iceberg after an engine was killed while it published, and after the store was lost."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import fetched
import pytest
from processes import Home, Session, until
from support import EXTENSIONS

pytestmark = pytest.mark.long

ROWS = 200_000
"""Of a day: its refresh takes a second or two, in which the engine can be killed."""

LATER = 0.4
"""Seconds that the engine has more each time."""

VIEWS = {"in_delta": "delta", "lake.db.in_iceberg": "iceberg"}


def settings(folder: Path) -> dict[str, str]:
    return {
        "spark.driver.extraClassPath": os.pathsep.join(map(str, (*fetched.delta(), *fetched.iceberg()))),
        "spark.sql.extensions": ",".join(EXTENSIONS),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(folder / "lake"),
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.headwater.check.interval": "5",
    }


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Home:
    """``sales``, and a view of it in each format."""
    home = Home(tmp_path_factory.mktemp("recovery"))
    code, said = home.script(
        "CREATE NAMESPACE lake.db",
        "CREATE TABLE sales (amount BIGINT, day STRING) USING delta PARTITIONED BY (day)",
        f"INSERT INTO sales SELECT id, concat('d', id % 3) FROM range({ROWS})",
        *(
            f"CREATE MATERIALIZED VIEW {view} USING {format} PARTITIONED BY (day) AS "
            "SELECT day, count(*) AS n, sum(amount) AS total FROM sales GROUP BY day"
            for view, format in VIEWS.items()
        ),
        settings=settings(home.folder),
    )
    assert code == 0, said
    return home


def assert_fresh(session: Session) -> None:
    session.run("REFRESH MATERIALIZED VIEWS")
    asked = session.run("SELECT day, count(*), sum(amount) FROM sales GROUP BY day ORDER BY day")
    for view in VIEWS:
        assert session.run(f"SELECT day, n, total FROM {view} ORDER BY day") == asked


def test_an_engine_is_killed_while_it_refreshes(home: Home) -> None:
    """Each time a bit later: before, during and after the commits."""
    with home.session(settings(home.folder)) as session:
        for turn in range(6):
            session.run(f"INSERT INTO sales SELECT id, 'd1' FROM range({ROWS})")
            engine = session.await_engine()
            asked = session.begin("REFRESH MATERIALIZED VIEWS")
            until(lambda: home.state().running, "a run")
            time.sleep(turn * LATER)
            os.kill(engine, signal.SIGKILL)
            asked()
        assert_fresh(session)
        assert not [row for row in session.run("SHOW MATERIALIZED VIEWS") if "fresh" not in row]


def test_another_store_adopts_the_views_and_their_versions(home: Home) -> None:
    before = {view: state.highest for view, state in home.state().tables.items()}
    for each in home.store_path.parent.glob("store.db*"):
        each.unlink()
    with home.session(settings(home.folder)) as session:
        session.run("INSERT INTO sales VALUES (5, 'd2')")
        assert_fresh(session)
    after = {view: state.highest for view, state in home.state().tables.items()}
    assert after.keys() == before.keys()
    assert all(after[view] > before[view] for view in after if view not in ("default.sales",))
