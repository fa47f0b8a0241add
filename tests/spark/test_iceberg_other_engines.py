"""What other engines write into Iceberg tables, and Spark does not: rows deleted by their values, and columns with a
value for rows of before. All methods are right, or say why they compute whole partitions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from iceberg_table import Table, call
from iceberg_writer import Writer
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, drain
from test_by_keys import runs

from headwater.model.event import Event
from headwater.model.work import Mode
from headwater.spark.tables.iceberg.at import MAPPING

pytestmark = pytest.mark.long

METHODS = {
    "parts": ("full", "PARTITIONED BY (p)", "SELECT p, sum(n) AS s, count(*) AS c FROM {t} GROUP BY p"),
    "whole": ("full", "", "SELECT sum(n) AS s, count(*) AS c FROM {t}"),
    "keyed": ("keys, full", "", "SELECT id, sum(n) AS s, max(p) AS p FROM {t} GROUP BY id"),
    "total": ("incremental, full", "", "SELECT p, sum(n) AS s, count(*) AS c FROM {t} GROUP BY p"),
    "added": ("incremental, full", "", "SELECT id, n + 1 AS n, p FROM {t} WHERE n > 0"),
}
"""A view for each method: the method that it allows, its partitioning and its query."""

FULL, EXACT = (Mode.FULL, ""), {(each, "") for each in (Mode.PARTITION, Mode.KEYS, Mode.CHANGES)}


class Views:
    """A view for each method over one table."""

    def __init__(self, spark: SparkSession, journal: Journal, table: str) -> None:
        self._spark, self._journal = spark, journal
        self._place = table.rpartition(".")[0]
        self._queries = {view: query.format(t=table) for view, (_, _, query) in METHODS.items()}
        for view, (method, by, _) in METHODS.items():
            asked = f"TBLPROPERTIES ('headwater.method' = '{method}')"
            spark.sql(f"CREATE MATERIALIZED VIEW {view} USING iceberg {by} {asked} AS {self._queries[view]}")
        journal.mark()

    def follow(self) -> dict[str, tuple[Mode, str]]:
        """How each view followed what was written, after which it equals its query."""
        refreshed = drain(self._spark)
        self.partitions = {row["partition"] for row in refreshed if row["view"] == f"{self._place}.parts"}
        events: list[Event] = self._journal.events()
        for view, query in self._queries.items():
            assert_equals_query(self._spark, f"{self._place}.{view}", query)
        found = {view: runs(events, f"{self._place}.{view}") for view in METHODS}
        return {view: each[-1] for view, each in found.items() if each}


@pytest.mark.parametrize("version", [2, 3])
def test_rows_that_are_deleted_by_their_values_go(iceberg: Table, journal: Journal, version: int) -> None:
    spark = iceberg.spark
    spark.sql(
        "CREATE TABLE t (id INT, n INT, p STRING) USING iceberg PARTITIONED BY (p) "
        f"TBLPROPERTIES ('format-version' = '{version}')"
    )
    spark.sql("INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'a'), (4, 4, 'c')")
    views, writer = Views(spark, journal, iceberg.key), Writer(spark, iceberg.key)
    steps: Sequence[tuple[str, Callable[[], object], set[str]]] = (
        ("a row is another one", lambda: writer.upsert([{"id": 1}], [{"id": 1, "n": 10, "p": "a"}], ["a"]), {"p=a"}),
        ("a row goes", lambda: writer.upsert([{"id": 2}], partition=["b"]), {"p=b"}),
        ("no row goes", lambda: writer.upsert([{"id": 77}], partition=["c"]), {"p=c"}),
        ("a row comes", lambda: spark.sql("INSERT INTO t VALUES (5, 5, 'b')"), {"p=b"}),
        ("another engine adds", lambda: writer.upsert([], [{"id": 6, "n": 6, "p": "c"}], ["c"]), {"p=c"}),
    )
    for what, write, changed in steps:
        write()
        methods = views.follow()
        assert views.partitions == changed, what
        assert methods["parts"] == (Mode.PARTITION, "") and methods["whole"][0] is Mode.FULL, what
        assert methods["keyed"] == (Mode.KEYS, "") and methods["total"] == (Mode.CHANGES, ""), (what, methods)
    spark.sql(call("rewrite_data_files", "options => map('rewrite-all', 'true')").replace("$t", f"'{iceberg.key[5:]}'"))
    assert views.follow() == {}
    spark.sql("INSERT INTO t VALUES (7, 7, 'b')")
    assert set(views.follow().values()) <= {FULL, *EXACT}


def test_rows_that_are_deleted_in_all_partitions_go(iceberg: Table, journal: Journal) -> None:
    """A file of deletes without a partition reaches all files of before."""
    spark = iceberg.spark
    spark.sql("CREATE TABLE t (id INT, n INT, p STRING) USING iceberg TBLPROPERTIES ('format-version' = '2')")
    spark.sql("INSERT INTO t VALUES (9, 9, 'a')")
    spark.sql("ALTER TABLE t ADD PARTITION FIELD p")
    spark.sql("INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (1, 3, 'b'), (9, 4, 'c')")
    spark.sql(call("rewrite_data_files", "options => map('rewrite-all', 'true')").replace("$t", f"'{iceberg.key[5:]}'"))
    views, writer = Views(spark, journal, iceberg.key), Writer(spark, iceberg.key)
    writer.upsert([{"id": 1}], spec=0)
    assert set(views.follow().values()) <= {FULL, (Mode.PARTITION, "")}
    assert views.partitions == {"p=a", "p=b", "p=c"} and spark.table(iceberg.key).count() == 3
    spark.sql("INSERT INTO t VALUES (1, 5, 'c')")
    views.follow()
    assert views.partitions == {"p=c"}


DEFAULTS = {
    "bytes": ("binary", '"00ff27"'),
    "fixed": ("fixed[2]", '"80c3"'),
    "text": ("string", '"it\'s ${x} \\"\\\\"'),
    "whole": ("int", "-5"),
    "long": ("long", "-9223372036854775808"),
    "single": ("float", "0.1"),
    "double": ("double", "1e300"),
    "yes": ("boolean", "true"),
    "money": ("decimal(5, 2)", '"-1.50"'),
    "day": ("date", '"0099-02-28"'),
    "moment": ("timestamptz", '"2024-03-31T01:30:00.000001+00:00"'),
    "local": ("timestamp", '"2024-03-31T02:30:00.5"'),
    "own": ("uuid", '"f79c3e09-677c-4bbd-a479-3f349cb785e7"'),
}
"""For each type of Iceberg's a value that rows of before have in a column."""


def test_rows_of_before_have_the_values_of_new_columns(iceberg: Table, journal: Journal) -> None:
    """No snapshot has the columns at first: the views read that of before."""
    spark = iceberg.spark
    spark.sql("CREATE TABLE t (id INT) USING iceberg TBLPROPERTIES ('format-version' = '3')")
    spark.sql("INSERT INTO t VALUES (1)")
    Writer(spark, iceberg.key).add_columns(DEFAULTS)
    query = f"SELECT * FROM {iceberg.key}"
    spark.sql(f"CREATE MATERIALIZED VIEW v USING iceberg AS {query}")
    for write in ("INSERT INTO t (id) VALUES (2)", "UPDATE t SET id = 3 WHERE id = 1"):
        drain(spark)
        assert sorted(spark.table("v").collect()) == sorted(spark.sql(query).collect())
        spark.sql(write)


def test_new_columns_with_a_value_are_followed(iceberg: Table, journal: Journal) -> None:
    spark = iceberg.spark
    spark.sql(
        "CREATE TABLE t (id INT, p STRING) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('format-version' = '3')"
    )
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'a'), (4, 'c')")
    Writer(spark, iceberg.key).add_columns({"n": ("int", "5"), "b": ("binary", '"00ff"')})
    views = Views(spark, journal, iceberg.key)
    by = "TBLPROPERTIES ('headwater.method' = 'incremental, full')"
    by_bytes = f"SELECT b, count(*) AS c FROM {iceberg.key} GROUP BY b"
    spark.sql(f"CREATE MATERIALIZED VIEW by_bytes USING iceberg {by} AS {by_bytes}")
    journal.mark()
    for write in (
        "INSERT INTO t VALUES (5, 'b', 7, X'01')",
        "DELETE FROM t WHERE id = 1",
        "UPDATE t SET n = n + 1 WHERE id = 4",
        "UPDATE t SET b = X'02' WHERE id = 3",
    ):
        spark.sql(write)
        assert set(views.follow().values()) <= {FULL, *EXACT}
        assert_equals_query(spark, f"{iceberg.key[:-2]}.by_bytes", by_bytes)
    Writer(spark, iceberg.key).add_columns({"z": ("int", "8")})
    assert views.follow() == {}, "no view reads the column"


def test_columns_of_imported_files_have_other_names(iceberg: Table, journal: Journal, tmp_path: Path) -> None:
    """A property of the table says by which names columns are found in files that do not number them. No snapshot comes
    with another one, and all rows of these files are others."""
    spark = iceberg.spark
    spark.sql("SELECT id, id AS n, -id AS m, 'a' AS p FROM VALUES (1), (2) AS v(id)").write.parquet(f"{tmp_path}/files")
    spark.sql("CREATE TABLE t (id INT, n INT, p STRING) USING iceberg")
    spark.sql(f"CALL lake.system.add_files('{iceberg.key[5:]}', '`parquet`.`{tmp_path}/files`')")
    views = Views(spark, journal, iceberg.key)

    def named(n: str) -> None:
        fields = ({"field-id": at + 1, "names": [name]} for at, name in enumerate(("id", n, "p")))
        spark.sql(f"ALTER TABLE t SET TBLPROPERTIES ('{MAPPING}' = '{json.dumps([*fields])}')")

    named("m")
    assert {mode for mode, _ in views.follow().values()} <= {Mode.FULL, Mode.PARTITION}
    assert {row.n for row in spark.sql("SELECT n FROM added").collect()} == set(), "no value is above 0 any more"
    named("n")
    spark.sql("INSERT INTO t VALUES (1, 4, 'b')")
    views.follow()
    assert spark.sql("SELECT n FROM added").count() == 3
    spark.sql("INSERT INTO t VALUES (1, 5, 'b')")
    assert {mode for mode, _ in views.follow().values()} >= {Mode.KEYS, Mode.CHANGES}
