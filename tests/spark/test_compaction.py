"""Small files of views are put together: no row changes, nothing is refreshed, and refreshes go on as before."""

from __future__ import annotations

import threading

import pytest
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database
from test_by_keys import runs

from headwater.model.event import Declared, Started
from headwater.model.view import Definition
from headwater.model.work import Mode
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables import registry
from headwater.spark.tables.compaction import FEW, Compaction, PutTogether, due

ASKED = "TBLPROPERTIES ('headwater.method' = 'incremental, full')"
QUERY = "SELECT /*+ REPARTITION(40) */ id, price * 2 AS double FROM {t} WHERE price < 900"


@pytest.mark.long
@pytest.mark.parametrize("format", ["delta"])
def test_small_files_become_one_and_nothing_else_changes(spark: SparkSession, journal: Journal, format: str) -> None:
    place = f"spark_catalog.{database(spark)}"
    table, view, query = f"{place}.sales", f"{place}.cheap", QUERY.format(t=f"{place}.sales")
    spark.sql(f"CREATE TABLE {table} USING {format} AS SELECT id, CAST(id AS DECIMAL(9, 2)) AS price FROM range(1000)")
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {format} {ASKED} AS {query}")
    spark.sql(f"CREATE MATERIALIZED VIEW {place}.above USING {format} AS SELECT count(*) AS n FROM {view}")
    definition = declared(journal, "cheap")
    formats = registry.opened(Shim(spark), Sessions(spark)).of_view(definition)
    found = due(formats.sizes(definition))
    assert found is not None and found.files >= FEW
    journal.mark()
    assert formats.compact(definition, found) == PutTogether(found.files, 1)
    assert len(formats.sizes(definition)) == 1
    spark.sql("REFRESH MATERIALIZED VIEWS")
    assert not [each for each in journal.events() if isinstance(each, Started)]
    assert_equals_query(spark, view, query)

    [large], [size] = spark.table(view).inputFiles(), formats.sizes(definition)
    for n in range(2):
        spark.sql(f"INSERT INTO {table} VALUES ({n}, {n})")
        spark.sql("REFRESH MATERIALIZED VIEWS")
    formats.compact(definition, Compaction(size, 1 << 20, 2))
    names = spark.table(view).inputFiles()
    assert large in names and len(names) == 2, "a file of that size stays"

    journal.mark()
    for n in range(3):
        spark.sql(f"INSERT INTO {table} SELECT id, {n} FROM range({n}, 50)")
        at_once = threading.Thread(target=attempt, args=(formats, definition, found))
        at_once.start()
        spark.sql("REFRESH MATERIALIZED VIEWS")
        at_once.join()
        assert_equals_query(spark, view, query)
        attempt(formats, definition, found)
        assert_equals_query(spark, view, query)
    assert {mode for mode, _ in runs(journal.events(), definition.view)} == {Mode.CHANGES}
    spark.sql(f"DELETE FROM {table} WHERE id < 10")
    spark.sql("REFRESH MATERIALIZED VIEWS")
    attempt(formats, definition, found)
    assert_equals_query(spark, view, query)
    assert spark.table(f"{place}.above").first() == (spark.table(view).count(),)


def attempt(formats, definition: Definition, found) -> None:
    """Puts files together, unless another commit takes them away meanwhile."""
    try:
        formats.compact(definition, found)
    except Exception as error:
        assert "oncurrent" in str(error), error


def declared(journal: Journal, view: str) -> Definition:
    return next(
        each.definition
        for each in journal.events()
        if isinstance(each, Declared) and each.definition.view.endswith(f".{view}")
    )
