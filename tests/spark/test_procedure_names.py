"""Which table a procedure of Iceberg's means by a name: direct writes of views are refused under each name that Iceberg
takes, and writes of other tables under none."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import database

REFUSAL = "is a materialized view, which only Headwater writes"
REMEDY = r"REFRESH MATERIALIZED VIEW (spark_catalog|lake|near)\.\w+\.\w+ FULL"


@pytest.fixture(scope="module")
def shop(application: SparkSession) -> Iterator[SparkSession]:
    """A session with views ``v`` of files and ``lake.<database>.v``, and a table ``lake.<database>.t``. The catalog
    ``near`` has the same tables as ``lake``, and another default namespace."""
    session, name = application.newSession(), f"p{uuid.uuid4().hex[:8]}"
    for option, value in {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "hadoop",
        ".warehouse": application.conf.get("spark.sql.catalog.lake.warehouse"),
        ".default-namespace": name,
    }.items():
        session.conf.set(f"spark.sql.catalog.near{option}", value)
    for statement in (
        *(f"CREATE DATABASE {name}", f"USE {name}", f"CREATE NAMESPACE lake.{name}"),
        "CREATE TABLE files USING parquet AS SELECT 1 AS x",
        f"CREATE TABLE lake.{name}.t USING iceberg AS SELECT 1 AS x",
        "CREATE MATERIALIZED VIEW v AS SELECT x FROM files",
        f"CREATE MATERIALIZED VIEW lake.{name}.v AS SELECT x FROM spark_catalog.{name}.files",
        "CREATE MATERIALIZED VIEW default.of_procedures AS SELECT 1 AS x",
    ):
        session.sql(statement).collect()
    yield session
    session.sql("USE spark_catalog.default")
    for view in (f"lake.{name}.v", f"{name}.v", "default.of_procedures"):
        session.sql(f"DROP MATERIALIZED VIEW {view}").collect()
    session.sql(f"DROP TABLE lake.{name}.t")
    session.sql(f"DROP NAMESPACE lake.{name}")
    session.sql(f"DROP DATABASE {name} CASCADE")


def said(session: SparkSession, current: str, call: str) -> str:
    """The error of a procedure that is called where a catalog and database are the current ones."""
    name = database(session)
    session.sql(f"USE {current.format(db=name)}")
    try:
        session.sql(f"CALL {call.format(db=name)}").collect()
    except PySparkException as error:
        return str(error)
    except Exception as error:  # Iceberg's own errors are none of Spark's
        return str(error)
    finally:
        session.sql(f"USE spark_catalog.{name}")
    return ""


BACK = "TIMESTAMP'2024-01-01'"
REFUSED = {
    "one part in the current catalog": ("lake.{db}", f"lake.system.rollback_to_timestamp('v', {BACK})"),
    "one part in the default namespace": ("spark_catalog.{db}", f"near.system.rollback_to_timestamp('v', {BACK})"),
    "of the session catalog in capitals": ("lake.{db}", "lake.system.add_files('t', 'SPARK_CATALOG.{db}.v')"),
    "a source in the current database": ("spark_catalog.{db}", "lake.system.add_files('{db}.t', 'v')"),
    "a source in the default database": ("lake.{db}", "lake.system.add_files('t', 'of_procedures')"),
    "a source whose catalog does not count": ("lake.{db}", "lake.system.add_files('t', 'lake.{db}.v')"),
    "a source in a database": ("lake.{db}", "lake.system.add_files('t', '{db}.v')"),
    "the target": ("lake.{db}", "lake.system.add_files('v', '{db}.files')"),
    "migrate in the current catalog": ("spark_catalog.{db}", "lake.system.migrate('v')"),
    "migrate in a database": ("spark_catalog.{db}", "lake.system.migrate('{db}.v')"),
    "migrate in capitals": ("lake.{db}", "lake.system.migrate('SPARK_CATALOG.{db}.v')"),
    "snapshot in the current catalog": ("lake.{db}", "near.system.snapshot('spark_catalog.{db}.files', 'v')"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_procedure_that_writes_a_view_is_refused(shop: SparkSession, name: str) -> None:
    assert re.search(f"{REFUSAL}.*{REMEDY}", said(shop, *REFUSED[name]))


PASSED = {
    "migrate of a table that has the name of a view elsewhere": ("lake.{db}", "lake.system.migrate('t')"),
    "one part outside of the current catalog": (
        "lake.{db}",
        f"spark_catalog.system.rollback_to_timestamp('v', {BACK})",
    ),
    "one part in no namespace": ("spark_catalog.{db}", f"lake.system.rollback_to_timestamp('v', {BACK})"),
    "files of a table": ("spark_catalog.{db}", "lake.system.add_files('{db}.t', 'files')"),
}


@pytest.mark.parametrize("name", PASSED)
def test_a_procedure_that_means_another_table_is_not_refused(shop: SparkSession, name: str) -> None:
    assert REFUSAL not in said(shop, *PASSED[name])


@pytest.mark.parametrize(
    ("table", "to", "key"),
    [
        ("lake.{db}.t", "u", "lake.{db}.u"),
        ("lake.{db}.t", "other.u", "lake.other.u"),
        ("lake.{db}.t", "lake.other.u", "lake.other.u"),
        ("near.{db}.t", "u", "near.{db}.u"),
    ],
)
def test_a_hint_has_the_new_name_of_a_table(shop: SparkSession, table: str, to: str, key: str) -> None:
    name, own = database(shop), shop._jsparkSession
    state = own.sessionState()
    parsed = state.sqlParser().parsePlan(f"ALTER TABLE {table.format(db=name)} RENAME TO {to}")
    shop._jvm.org.apache.spark.sql.headwater.Access.activate(own)
    hints = shop._jvm.io.headwater.spark.Writes.hints(own, state.analyzer().execute(parsed))
    assert hints.head().renamed().get() == key.format(db=name)
