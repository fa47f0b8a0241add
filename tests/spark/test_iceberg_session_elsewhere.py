"""Iceberg's ``SparkSessionCatalog`` keeps its tables in a directory: the metastore knows none of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from processes import Home
from test_iceberg_session_catalog import SETTINGS

from headwater.demo.session import SparkSqlError

pytestmark = pytest.mark.long


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def settings(home: Home) -> dict[str, str]:
    return {
        **SETTINGS,
        "spark.sql.catalog.spark_catalog.type": "hadoop",
        "spark.sql.catalog.spark_catalog.warehouse": str(home.folder / "iceberg"),
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(home.folder / "lake"),
    }


def test_another_store_adopts_the_views(home: Home) -> None:
    (home.folder / "iceberg").mkdir()
    with home.session(settings(home)) as session:
        for statement in (
            "CREATE DATABASE shop",
            "USE shop",
            "CREATE TABLE sales USING iceberg AS SELECT 1 AS x",
            "CREATE MATERIALIZED VIEW total USING iceberg AS SELECT sum(x) AS s FROM sales",
            "CREATE MATERIALIZED VIEW files AS SELECT s FROM total",
        ):
            session.run(statement)
    before = home.state()
    assert before.views.keys() == {"shop.total", "shop.files"}
    for each in home.store_path.parent.glob("store.db*"):
        each.unlink()
    with home.session(settings(home)) as session:
        session.run("INSERT INTO shop.sales VALUES (10)")
        session.run("REFRESH MATERIALIZED VIEWS")
        assert session.one("SELECT s FROM shop.total") == session.one("SELECT s FROM shop.files") == "11"
        for call in ("migrate('shop.files')", "migrate('SPARK_CATALOG.shop.files')"):
            with pytest.raises(SparkSqlError, match="is a materialized view, which only Headwater writes"):
                session.run(f"CALL lake.system.{call}")
    state = home.state()
    assert state.views.keys() == before.views.keys()
    assert all(state.tables[view].highest > before.tables[view].highest for view in state.views)
