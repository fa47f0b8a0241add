"""Views are declared in any catalog whose format can hold them, under names that Spark itself resolves."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import database, drain


@pytest.fixture(scope="module")
def shop(application: SparkSession) -> Iterator[SparkSession]:
    """A session with a table, and a namespace ``lake.<database>.eu``."""
    session, name = application.newSession(), f"v{uuid.uuid4().hex[:8]}"
    for statement in (
        *(f"CREATE DATABASE {name}", f"USE {name}"),
        *(f"CREATE NAMESPACE lake.{name}", f"CREATE NAMESPACE lake.{name}.eu"),
        "CREATE TABLE sales (id INT, month STRING) USING parquet PARTITIONED BY (month)",
        "INSERT INTO sales VALUES (1, 'a'), (2, 'b')",
    ):
        session.sql(statement)
    yield session
    session.sql("USE spark_catalog.default")
    session.sql(f"DROP DATABASE {name} CASCADE")
    drain(session)
    session.sql(f"DROP NAMESPACE lake.{name}.eu")
    session.sql(f"DROP NAMESPACE lake.{name}")


REFUSED = {
    "files in an Iceberg catalog": (
        "lake.{db}.eu.bad USING parquet",
        "the catalog lake holds no such tables; leave USING out",
    ),
    "Delta in an Iceberg catalog": ("lake.{db}.eu.bad USING delta", "leave USING out, or write USING iceberg"),
    "no namespace": ("lake.bad", "is not in a database of its catalog; name it lake.database.view"),
    "Iceberg in the session catalog": ("bad USING iceberg", "name the view in an Iceberg catalog"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_view_that_its_catalog_cannot_hold(shop: SparkSession, name: str) -> None:
    head, words = REFUSED[name]
    with pytest.raises(PySparkException) as error:
        shop.sql(f"CREATE MATERIALIZED VIEW {head.format(db=database(shop))} AS SELECT id FROM sales")
    assert words in str(error.value)


def test_an_iceberg_catalog_has_iceberg_views_under_names_of_any_depth(shop: SparkSession) -> None:
    """With whole names, with the names of another current catalog, and found by every statement."""
    db = database(shop)
    query = f"SELECT month, count(*) AS n FROM spark_catalog.{db}.sales GROUP BY month"
    view = f"lake.{db}.eu.monthly"
    assert (
        f"{view} created" in shop.sql(f"CREATE MATERIALIZED VIEW {view} PARTITIONED BY (month) AS {query}").first()[0]
    )
    assert shop.sql(f"SHOW CREATE TABLE {view}").first()[0].count("USING iceberg") == 1
    other = shop.newSession()
    other.sql("USE lake")
    other.sql(f"CREATE OR REPLACE MATERIALIZED VIEW {db}.eu.monthly PARTITIONED BY (month) AS {query}")
    assert [tuple(row)[:2] for row in other.sql(f"SHOW MATERIALIZED VIEWS IN {db}.eu").collect()] == [
        (f"lake.{db}.eu", "monthly")
    ]
    assert [row["view"] for row in shop.sql(f"SHOW MATERIALIZED VIEWS IN lake.{db}.eu").collect()] == ["monthly"]
    other.sql(f"USE lake.{db}.eu")
    assert other.sql("REFRESH MATERIALIZED VIEW monthly FULL").first()["view"] == view
    assert other.sql("DESCRIBE MATERIALIZED VIEW monthly").count() > 0
    assert sorted(tuple(row) for row in other.table("monthly").collect()) == [("a", 1), ("b", 1)]
    with pytest.raises(PySparkException, match="no materialized view monthly"):
        shop.sql("REFRESH MATERIALIZED VIEW monthly")
    other.sql(f"DROP MATERIALIZED VIEW lake.{db}.eu.monthly")
    assert not other.newSession().catalog.tableExists(view)


@pytest.mark.parametrize("current", ["lake", "spark_catalog.default"])
def test_a_view_keeps_its_catalog_and_database_under_a_new_name(shop: SparkSession, current: str) -> None:
    """As a table does: Spark takes a new name for one in the catalog of the table, and a bare one for one beside it."""
    db, other = database(shop), shop.newSession()
    shop.sql("CREATE MATERIALIZED VIEW first AS SELECT count(*) AS n FROM sales").collect()
    other.sql(f"USE {current}")
    names = ("first", "bare", f"{db}.whole", f"spark_catalog.{db}.longest", f"SPARK_CATALOG.{db.upper()}.last")
    for old, new in itertools.pairwise(names):
        was = f"spark_catalog.{db}.{old.split('.')[-1]}"
        [[said]] = other.sql(f"ALTER MATERIALIZED VIEW {was} RENAME TO {new}").collect()
        assert said == f"{db}.{was.split('.')[-1]} is now {db}.{new.split('.')[-1]}"
    for new in ("default.first", f"lake.{db}.first"):
        with pytest.raises(PySparkException, match="a view stays in its database"):
            other.sql(f"ALTER MATERIALIZED VIEW spark_catalog.{db}.last RENAME TO {new}")
    shop.sql("DROP MATERIALIZED VIEW last")


def test_a_view_takes_no_other_table_with_it(shop: SparkSession) -> None:
    """A catalog of directories puts the tables of a namespace into the directory of a table of that name."""
    place = f"lake.{database(shop)}.eu"
    shop.sql(f"CREATE MATERIALIZED VIEW {place}.v AS SELECT count(*) AS n FROM sales").collect()
    for inner in ("t", "deep.t", "data"):
        shop.sql(f"CREATE TABLE {place}.v.{inner} USING iceberg AS SELECT 1 AS x")
        for drop in (f"DROP MATERIALIZED VIEW {place}.v", f"DROP TABLE {place}.v"):
            with pytest.raises(PySparkException, match=rf"deletes {place}\.v\.{inner} with {place}\.v; drop it first"):
                shop.sql(drop).collect()
        assert shop.table(f"{place}.v.{inner}").count() == 1
        shop.sql(f"DROP TABLE {place}.v.{inner}")
    assert shop.table(f"{place}.v").count() == 1
    with pytest.raises(PySparkException, match=rf"its catalog would delete {place}\.v with it; choose another name"):
        shop.sql(f"CREATE MATERIALIZED VIEW {place} AS SELECT count(*) AS n FROM sales")
    shop.sql(f"DROP MATERIALIZED VIEW {place}.v")


STATEMENTS = {
    "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 1 AS one": "CreateMaterializedViewAsSelect",
    "CREATE MATERIALIZED VIEW lake.a.b.v PARTITIONED BY (p) AS SELECT 1 AS n, 2 AS p": "CreateMaterializedViewAsSelect",
    "REFRESH MATERIALIZED VIEW lake.a.b.v FULL": "AskedStatement",
    "SHOW MATERIALIZED VIEWS": "AskedStatement",
    "SHOW REFRESHES LIMIT 2": "AskedStatement",
    "DESCRIBE MATERIALIZED VIEW EXTENDED v": "AskedStatement",
    "EXPLAIN REFRESH v": "AskedStatement",
    "ALTER MATERIALIZED VIEW v RENAME TO w": "AskedStatement",
    "DROP MATERIALIZED VIEW IF EXISTS v": "AskedStatement",
    "OPTIMIZE t": "OptimizeTableCommand",
    "ALTER TABLE lake.db.t ADD PARTITION FIELD days(at)": "AddPartitionField",
}


@pytest.mark.parametrize("order", list(itertools.permutations(("headwater", "delta", "iceberg"))), ids="-".join)
def test_the_extensions_parsers_may_be_nested_in_any_order(shop: SparkSession, order: tuple[str, ...]) -> None:
    jvm = shop._jvm
    makers = {
        "headwater": jvm.io.headwater.spark.StatementParser,
        "delta": jvm.io.delta.sql.parser.DeltaSqlParser,
        "iceberg": jvm.org.apache.spark.sql.catalyst.parser.extensions.IcebergSparkSqlExtensionsParser,
    }
    parser = jvm.org.apache.spark.sql.execution.SparkSqlParser()
    for each in order:
        parser = makers[each](parser)
    for statement, kind in STATEMENTS.items():
        assert parser.parsePlan(statement).getClass().getSimpleName() == kind, statement
    replacing, tag = parser.parsePlan(next(iter(STATEMENTS))), jvm.io.headwater.spark.StatementParser.OrReplace()
    assert replacing.getTagValue(tag).isDefined()
