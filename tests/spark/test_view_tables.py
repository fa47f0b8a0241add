"""A view's table in its catalog, whatever its format: made, found again, redescribed, replaced, renamed and dropped."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from pyspark.sql import SparkSession
from support import database

from headwater.model.error import StatementError
from headwater.model.format import Format
from headwater.model.view import Column, Definition
from headwater.spark.jvm.sessions import FIXED, PARSER
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables import catalog

pytestmark = pytest.mark.thorough

ICEBERG = {
    "spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
    "spark.sql.catalog.spark_catalog.type": "hive",
    # The embedded metastore has no tables for locks.
    "spark.sql.catalog.spark_catalog.hadoop.iceberg.engine.hive.lock-enabled": "false",
}
"""A session whose session catalog holds Iceberg tables, too."""


def own(session: SparkSession, settings: dict[str, str]) -> SparkSession:
    """Another session like those of the engine, in the same database."""
    made = session.newSession()
    for name, value in {**settings, **FIXED, **PARSER}.items():
        made.conf.set(name, value)
    made.sql(f"USE {database(session)}")
    return made


@pytest.fixture
def delta(spark: SparkSession) -> SparkSession:
    return own(spark, {})


@pytest.fixture
def iceberg(spark: SparkSession) -> SparkSession:
    return own(spark, ICEBERG)


def definition(session: SparkSession, format: str, place: Path, **facts) -> Definition:
    """A view of one number by day; its directory is below ``place`` if it has files."""
    return Definition(
        view=f"{database(session)}.v",
        made_by="SELECT 1 AS n, 'a' AS day",
        columns=(Column("n", "int", "how many"), Column("day", "string")),
        partitioned_by=("day",),
        format=format,
        comment="it's mine",
        properties={"team": "sales"},
        root="" if Format.of(format).commits else f"file:{place}/v",
        owner="me",
        **facts,
    )


def written(session: SparkSession, definition: Definition, table: str, number: int, day: str) -> None:
    """Adds a row; that of a view of files lies in a directory of its own version, as a publication puts it."""
    if definition.storage.commits:
        session.sql(f"INSERT INTO {table} VALUES ({number}, '{day}')")
    else:
        place = f"{definition.root}/.v{number}/day={day}"
        session.sql(f"SELECT {number} AS n").write.format(definition.format).save(place)
        session.sql(f"ALTER TABLE {table} ADD PARTITION (day = '{day}') LOCATION '{place}'")


def rows(session: SparkSession, table: str) -> list[tuple]:
    """The rows as a session reads them that has not read the table yet."""
    reader = session.newSession()
    for key in ICEBERG:
        if session.conf.get(key, None):
            reader.conf.set(key, session.conf.get(key))
    return sorted(tuple(row) for row in reader.table(f"spark_catalog.{table}").collect())


FORMATS = [("delta", "parquet"), ("delta", "delta"), ("iceberg", "iceberg")]


@pytest.mark.parametrize(("catalog_of", "format"), FORMATS)
def test_a_view_is_found_in_its_catalog_with_its_definition(request, catalog_of, format, tmp_path) -> None:
    session = request.getfixturevalue(catalog_of)
    shim, made = Shim(session), definition(session, format, tmp_path)
    catalog.create(session, shim, made)
    assert shim.owner(made.view) == "me"
    [found] = [each for each in shim.views() if each.table == made.view]
    assert catalog.read(made.view, found.properties) == made

    changed = evolve(made, comment="ours", columns=(Column("n", "int", "how much"), made.columns[1]), properties={})
    catalog.store(session, changed, made)
    catalog.describe(session, changed, made)
    [found] = [each for each in shim.views() if each.table == made.view]
    assert catalog.read(made.view, found.properties) == changed
    told = {row[0]: tuple(row) for row in session.sql(f"DESCRIBE EXTENDED {made.view}").collect()}
    assert told["n"][2] == "how much" and told["Comment"][1] == "ours" and "team" not in told["Table Properties"][1]

    written(session, made, made.view, 1, "a")
    renamed = catalog.renamed(session, shim, changed, f"{database(session)}.w")
    assert rows(session, renamed.view) == [(1, "a")] and shim.owner(made.view) is None
    [found] = [each for each in shim.views() if each.table == renamed.view]
    assert catalog.read(renamed.view, found.properties) == renamed
    catalog.drop(session, shim, renamed.view)
    assert shim.owner(renamed.view) is None
    assert not [each for each in shim.views() if each.table in (made.view, renamed.view)]


PAIRS = [("delta", "parquet", "delta"), ("delta", "delta", "parquet")]
PAIRS += [("iceberg", "parquet", "iceberg"), ("iceberg", "iceberg", "parquet"), ("delta", "parquet", "orc")]


@pytest.mark.parametrize(("catalog_of", "old", "new"), PAIRS)
def test_a_table_of_another_format_takes_the_place_of_a_view(request, catalog_of, old, new, tmp_path) -> None:
    """And does so twice: a table that lay in the same directory before leaves nothing in the next one."""
    session = request.getfixturevalue(catalog_of)
    shim, before = Shim(session), definition(session, old, tmp_path)
    catalog.create(session, shim, before)
    written(session, before, before.view, 1, "a")
    after = evolve(before, format=new, root=before.root or f"file:{tmp_path}/v")
    for number, to in ((2, after), (3, evolve(after, format=old)), (4, after)):
        catalog.store(session, to, before)
        name = catalog.replace(session, shim, to)
        assert shim.owner(before.view) == shim.owner(name) == "me"
        written(session, to, name, number, "b")
        catalog.mark(session, to)
        assert catalog.swap(session, shim, to) == []
        assert rows(session, to.view) == [(number, "b")]
        assert shim.format(to.view) == (to.format if to.storage.commits else "files") and shim.owner(name) is None
        [found] = [each for each in shim.views() if each.table == to.view]
        assert catalog.read(to.view, found.properties) == to


def test_a_catalog_that_does_not_answer_hides_no_view_of_another(delta, tmp_path) -> None:
    made, shim = definition(delta, "delta", tmp_path), Shim(delta)
    catalog.create(delta, shim, made)
    lost = "spark.sql.catalog.lost"
    delta.conf.set(lost, "org.apache.iceberg.spark.SparkCatalog")
    for name, value in (("type", "jdbc"), ("uri", "jdbc:derby:/nowhere/at/all"), ("warehouse", str(tmp_path))):
        delta.conf.set(f"{lost}.{name}", value)
    assert made.view in [each.table for each in shim.views()]


def test_a_catalog_that_renames_no_tables_says_so(delta) -> None:
    place = f"lake.{database(delta)}"
    delta.sql(f"CREATE NAMESPACE {place}")
    made = evolve(definition(delta, "iceberg", Path()), view=f"{place}.v")
    catalog.create(delta, Shim(delta), made)
    with pytest.raises(StatementError, match="cannot be renamed: .*Hadoop"):
        catalog.renamed(delta, Shim(delta), made, f"{place}.w")
    catalog.drop(delta, Shim(delta), made.view)
    delta.sql(f"DROP NAMESPACE {place}")
