"""A database of the session catalog has the name of another catalog, and a view in it that of a table there. No
statement about the view reaches that table."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession
from support import database, drain

from headwater.model.view import Definition
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.catalog import forget
from headwater.spark.tables.delta.retention import PROPERTY, Retention

TWIN = "lake.v"
"""As Spark reads it, a table of Iceberg in no namespace of the catalog ``lake``."""
VIEW = "spark_catalog.lake.v"


@pytest.fixture
def shop(spark: SparkSession) -> Iterator[SparkSession]:
    spark.sql("CREATE DATABASE spark_catalog.lake")
    spark.sql("CREATE TABLE sales (x INT, p INT) USING delta PARTITIONED BY (p)")
    spark.sql("INSERT INTO sales VALUES (1, 1), (2, 2)")
    for name in (TWIN, f"{TWIN}__headwater"):
        spark.sql(f"CREATE TABLE {name} USING iceberg AS SELECT 7 AS s, 'mine' AS p")
    yield spark
    spark.sql("USE spark_catalog.default")
    spark.sql("DROP DATABASE spark_catalog.lake CASCADE")
    drain(spark)
    for name in (TWIN, f"{TWIN}__headwater"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")


def twin(session: SparkSession) -> tuple[list, dict[str, str]]:
    """The rows of the other table, and what of its properties could be the view's."""
    properties = {row["key"]: row["value"] for row in session.sql(f"SHOW TBLPROPERTIES {TWIN}").collect()}
    own = {key: value for key, value in properties.items() if key.startswith(("headwater", "delta", "team"))}
    return [tuple(row) for row in session.newSession().table(TWIN).collect()], own


@pytest.mark.parametrize("format", ["parquet", "delta"])
def test_statements_about_a_view_leave_the_table_of_the_other_catalog_alone(shop: SparkSession, format: str) -> None:
    place, alone = database(shop), twin(shop)
    query = f"SELECT sum(x) AS s, p FROM {place}.sales GROUP BY p"

    def say(statement: str) -> str:
        said = shop.sql(statement).collect()
        assert twin(shop) == alone, statement
        return str(said[0][0]) if said else ""

    say(f"CREATE MATERIALIZED VIEW {VIEW} USING {format} PARTITIONED BY (p) AS {query}")
    say(f"ALTER MATERIALIZED VIEW {VIEW} SET TBLPROPERTIES ('team' = 'sales')")
    say(f"CREATE OR REPLACE MATERIALIZED VIEW {VIEW} USING {format} PARTITIONED BY (p) COMMENT 'sums' AS {query}")
    other = "delta" if format == "parquet" else "parquet"
    say(f"CREATE OR REPLACE MATERIALIZED VIEW {VIEW} USING {other} PARTITIONED BY (p) AS {query}")
    shop.sql("INSERT INTO sales VALUES (10, 1)")
    drain(shop)
    assert sorted(tuple(row) for row in shop.table(VIEW).collect()) == [(2, 2), (11, 1)]
    say(f"ALTER MATERIALIZED VIEW {VIEW} RENAME TO w")
    say(f"ALTER MATERIALIZED VIEW {VIEW.removesuffix('v')}w RENAME TO v")
    assert say(f"DROP MATERIALIZED VIEW {VIEW}") == "lake.v dropped"
    assert not shop.newSession().catalog.tableExists(VIEW)


def test_what_a_change_of_format_left_is_dropped_in_the_catalog_of_the_view(shop: SparkSession) -> None:
    shop.sql(f"CREATE TABLE {VIEW}__headwater (x INT) USING parquet")
    forget(shop, "lake.v__headwater")
    assert Shim(shop).owner("lake.v__headwater") is None
    assert Shim(shop).owner("lake.``.v__headwater") == ""


def test_delta_cleans_up_the_view(shop: SparkSession) -> None:
    """In the other catalog, its statements would change a table of Iceberg, or find none."""
    alone, query = twin(shop), f"SELECT sum(x) AS s, p FROM {database(shop)}.sales GROUP BY p"
    shop.sql(f"CREATE MATERIALIZED VIEW {VIEW} USING delta PARTITIONED BY (p) AS {query}")
    log = SimpleNamespace(layout=SimpleNamespace(properties={}), created=0)
    publications, stage = SimpleNamespace(opened=lambda _: log), SimpleNamespace(holds=lambda _: False)
    assert Retention(Shim(shop), Sessions(shop), publications, stage).expire(Definition("lake.v", query, ()))
    kept = {row["key"]: row["value"] for row in shop.sql(f"SHOW TBLPROPERTIES {VIEW}").collect()}
    assert kept[PROPERTY].startswith("interval")
    assert twin(shop) == alone
