"""Writes to lake tables are noticed at once, however they are made. A write to a view is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from processes import until
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import Journal, database, drain

from headwater.model.event import Changed

FORMATS = ("delta", "iceberg")


class Lake:
    """A session with a lake table ``t`` of three rows, under a name that is a path, too, if it is Delta."""

    def __init__(self, spark: SparkSession, format: str) -> None:
        self.spark, self.format = spark, format
        self.place = database(spark) if format == "delta" else f"lake.{database(spark)}"
        self.table = f"{self.place}.t"

    def run(self, statement: str):
        return self.spark.sql(statement.format(t=self.table, place=self.place))

    def where(self) -> str:
        """The directory of the table."""
        rows = {row[0]: row[1] for row in self.run("DESCRIBE EXTENDED {t}").collect()}
        return rows["Location"].removeprefix("file:")


@pytest.fixture(params=FORMATS)
def lake(spark: SparkSession, request) -> Iterator[Lake]:
    made = Lake(spark, request.param)
    if request.param == "iceberg":
        spark.sql(f"CREATE NAMESPACE {made.place}")
    made.run(f"CREATE TABLE {{t}} (x INT, day INT) USING {request.param} PARTITIONED BY (day)")
    made.run("INSERT INTO {t} VALUES (1, 1), (2, 2), (3, 2)")
    yield made
    drain(spark)
    for row in spark.sql(f"SHOW TABLES IN {made.place}").collect():
        if request.param == "iceberg":
            spark.sql(f"DROP TABLE {made.place}.{row['tableName']}")
    if request.param == "iceberg":
        spark.sql(f"DROP NAMESPACE {made.place}")


def changes(journal: Journal, table: str) -> list[Changed]:
    """The changes that were recorded of a table."""
    return [each for each in journal.events() if isinstance(each, Changed) and each.table == table]


STATEMENTS = (
    "INSERT INTO {t} VALUES (4, 3)",
    "INSERT OVERWRITE {t} VALUES (1, 1), (2, 2), (3, 2)",
    "DELETE FROM {t} WHERE x = 3",
    "UPDATE {t} SET x = x + 1 WHERE x = 2",
    "MERGE INTO {t} USING (SELECT 4 AS x) s ON t.x = s.x WHEN MATCHED THEN UPDATE SET x = 5 "
    "WHEN NOT MATCHED THEN INSERT (x, day) VALUES (9, 9)",
    "TRUNCATE TABLE {t}",
    "CREATE OR REPLACE TABLE {t} PARTITIONED BY (day) AS SELECT 7 AS x, 7 AS day",
)


@pytest.mark.long
def test_a_statement_waits_for_the_views_of_the_table_that_it_writes(lake: Lake) -> None:
    """Nothing but the write itself tells of it: no check comes meanwhile."""
    lake.run("CREATE MATERIALIZED VIEW v AS SELECT sum(x) AS s, count(*) AS n FROM {t}")
    lake.spark.conf.set("spark.headwater.wait", "true")
    using = f"USING {lake.format} "
    for statement in STATEMENTS:
        lake.run(statement.replace("PARTITIONED", f"{using}PARTITIONED"))
        expected = lake.run("SELECT sum(x) AS s, count(*) AS n FROM {t}").first()
        assert lake.spark.newSession().table(f"{database(lake.spark)}.v").first() == expected, statement


def added(lake: Lake) -> Callable:
    return lambda: lake.spark.sql("SELECT 4 AS x, 4 AS day")


WAYS: dict[str, Callable[[Lake], object]] = {
    "writeTo": lambda lake: added(lake)().writeTo(lake.table).append(),
    "overwritePartitions": lambda lake: added(lake)().writeTo(lake.table).overwritePartitions(),
    "insertInto": lambda lake: added(lake)().write.insertInto(lake.table),
    "saveAsTable": lambda lake: added(lake)().write.format(lake.format).mode("append").saveAsTable(lake.table),
}


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS)
def test_a_write_of_the_frame_api_is_noticed(lake: Lake, journal: Journal, way: str) -> None:
    noticed(lake, journal, lambda: WAYS[way](lake))


def noticed(lake: Lake, journal: Journal, write: Callable[[], object]) -> None:
    """The change is on record soon, though nobody asks for a check."""
    lake.run("CREATE MATERIALIZED VIEW v AS SELECT sum(x) AS s FROM {t}")
    journal.mark()
    write()
    until(lambda: changes(journal, lake.table), "change", 20)
    drain(lake.spark)
    assert lake.spark.table("v").first()[0] == lake.run("SELECT sum(x) FROM {t}").first()[0]


@pytest.mark.thorough
@pytest.mark.parametrize("lake", ["delta"], indirect=True)
def test_a_write_to_the_path_of_a_delta_table_is_noticed(lake: Lake, journal: Journal) -> None:
    place = lake.where()
    noticed(lake, journal, lambda: added(lake)().write.format("delta").mode("append").save(place))
    journal.mark()
    lake.run(f"UPDATE delta.`{place}` SET x = 100 WHERE x = 1")
    until(lambda: changes(journal, lake.table), "change", 20)


@pytest.mark.thorough
@pytest.mark.parametrize("lake", ["delta"], indirect=True)
def test_a_view_that_reads_a_path_follows_writes_by_name(lake: Lake, journal: Journal) -> None:
    place = lake.where()
    lake.run(f"CREATE MATERIALIZED VIEW v AS SELECT sum(x) AS s FROM delta.`{place}`")
    journal.mark()
    lake.run("INSERT INTO {t} VALUES (5, 5)")
    until(lambda: changes(journal, f"path:file:{place}"), "change", 20)


@pytest.mark.thorough
@pytest.mark.parametrize("lake", ["delta"], indirect=True)
def test_deltas_own_commands_are_noticed(lake: Lake, journal: Journal) -> None:
    lake.run("INSERT INTO {t} VALUES (5, 5)")
    noticed(lake, journal, lambda: lake.run("RESTORE TABLE {t} TO VERSION AS OF 1"))


@pytest.mark.parametrize("lake", ["iceberg"], indirect=True)
@pytest.mark.parametrize("name", ["{t}", "{db}.t"])
def test_a_procedure_of_iceberg_is_noticed(lake: Lake, journal: Journal, name: str) -> None:
    [first, *_] = lake.run("SELECT snapshot_id FROM {t}.snapshots ORDER BY committed_at").collect()
    lake.run("INSERT INTO {t} VALUES (5, 5)")
    table = name.format(t=lake.table, db=database(lake.spark))
    call = f"CALL lake.system.rollback_to_snapshot('{table}', {first[0]})"
    noticed(lake, journal, lambda: lake.run(call))


def test_columns_that_come_are_noticed(lake: Lake, journal: Journal) -> None:
    lake.run("CREATE MATERIALIZED VIEW v AS SELECT sum(x) AS s FROM {t}")
    journal.mark()
    lake.run("ALTER TABLE {t} ADD COLUMN more INT")
    until(lambda: journal.events(), "look at the columns", 20)


@pytest.mark.thorough
def test_each_batch_of_a_stream_is_noticed(lake: Lake, journal: Journal, tmp_path: Path) -> None:
    """By the stream's own sink, and by a function of each batch."""
    lake.run("CREATE MATERIALIZED VIEW v AS SELECT sum(x) AS s FROM {t}")
    arriving, table = tmp_path / "arriving", lake.table
    for number, start in enumerate(
        (
            lambda writer: writer.format(lake.format).toTable(table),
            lambda writer: writer.foreachBatch(lambda frame, _: frame.writeTo(table).append()).start(),
        )
    ):
        journal.mark()
        added(lake)().write.mode("append").json(str(arriving))
        stream = lake.spark.readStream.schema("x INT, day INT").json(str(arriving))
        writer = stream.writeStream.trigger(availableNow=True)
        start(writer.option("checkpointLocation", str(tmp_path / f"seen{number}"))).awaitTermination()
        until(lambda: changes(journal, table), "change", 20)
    drain(lake.spark)
    expected = lake.spark.newSession().table(table).agg({"x": "sum"}).first()
    assert lake.spark.table("v").first() == expected


DIRECT = [
    "INSERT INTO {v} VALUES (1, 1)",
    "INSERT OVERWRITE {v} VALUES (1, 1)",
    "DELETE FROM {v} WHERE s = 1",
    "UPDATE {v} SET s = 2",
    "MERGE INTO {v} USING (SELECT 1 AS s) o ON o.s = {v}.s WHEN MATCHED THEN DELETE",
    "TRUNCATE TABLE {v}",
    "CREATE OR REPLACE TABLE {v} USING {format} AS SELECT 1 AS s, 1 AS day",
    "ALTER TABLE {v} ADD COLUMN more INT",
    "ALTER TABLE {v} SET TBLPROPERTIES ('headwater.view' = '9')",
]


STRUCTURAL = (
    "ADD PARTITION FIELD bucket(4, s)",
    "DROP PARTITION FIELD day",
    "REPLACE PARTITION FIELD day WITH truncate(10, day)",
    "CREATE BRANCH dev",
    "CREATE OR REPLACE TAG old",
    "SET IDENTIFIER FIELDS day",
)
"""Iceberg's own statements, which name their table as it was written."""


@pytest.mark.parametrize("lake", ["iceberg"], indirect=True)
def test_icebergs_own_statements_are_refused_however_a_view_is_named(lake: Lake) -> None:
    view = f"{lake.place}.v"
    lake.run(f"CREATE MATERIALIZED VIEW {view} PARTITIONED BY (day) AS SELECT day, x AS s FROM {lake.table}")
    for current, name in (("lake", f"{database(lake.spark)}.v"), (lake.place, "v"), ("spark_catalog.default", view)):
        lake.run(f"USE {current}")
        with pytest.raises(PySparkException, match="is a materialized view, which only Headwater writes"):
            lake.run(f"ALTER TABLE {name} ADD PARTITION FIELD bucket(4, s)")
    lake.run(f"USE {lake.place.removeprefix('lake.')}")
    lake.run(f"ALTER TABLE {view} WRITE ORDERED BY s")
    lake.run(f"DROP MATERIALIZED VIEW {view}")


@pytest.mark.parametrize("lake", ["iceberg"], indirect=True)
@pytest.mark.parametrize("statement", ["ADD PARTITION FIELD bucket(4, x)", "DROP PARTITION FIELD day"])
def test_another_partitioning_is_noticed(lake: Lake, journal: Journal, statement: str) -> None:
    noticed(lake, journal, lambda: lake.run(f"ALTER TABLE {{t}} {statement}"))


def test_a_direct_write_to_a_view_is_refused(lake: Lake) -> None:
    query = f"PARTITIONED BY (day) AS SELECT sum(x) AS s, day FROM {lake.table} GROUP BY day"
    view = f"{lake.place}.v"
    lake.run(f"CREATE MATERIALIZED VIEW {view} USING {lake.format} {query}")
    direct = [each.format(v=view, format=lake.format) for each in DIRECT]
    if lake.format == "delta":
        place = lake.where().removesuffix("/t") + "/v"
        direct += [f"INSERT INTO delta.`{place}` VALUES (1, 1)", f"DELETE FROM delta.`{place}`"]
        direct += [f"CREATE OR REPLACE TABLE delta.`{place}` USING delta AS SELECT 1 AS s, 1 AS day"]
        direct += [f"ALTER TABLE {view} SET TBLPROPERTIES ('delta.appendOnly' = 'true')"]
        direct += [f"ALTER TABLE {view} UNSET TBLPROPERTIES ('delta.minReaderVersion')"]
        direct += [
            f"RESTORE TABLE {view} TO VERSION AS OF 0",
            f"CREATE OR REPLACE TABLE {view} SHALLOW CLONE {lake.table}",
        ]
    else:
        direct += [f"ALTER TABLE {view} RENAME COLUMN s TO r", f"ALTER TABLE {view} DROP COLUMN s"]
        direct += [f"ALTER TABLE {view} {each}" for each in STRUCTURAL]
        direct += [f"CALL lake.system.rollback_to_timestamp('{view}', TIMESTAMP'2024-01-01')"]
    for statement in direct:
        with pytest.raises(PySparkException, match="is a materialized view, which only Headwater writes"):
            lake.run(statement)
    frame = lake.spark.sql("SELECT CAST(1 AS BIGINT) AS s, 1 AS day")
    with pytest.raises(PySparkException, match="only Headwater writes"):
        frame.writeTo(view).append()
    if lake.format == "delta":
        with pytest.raises(PySparkException, match="only Headwater writes"):
            frame.write.format("delta").mode("append").save(place)
    tidied = "OPTIMIZE {v}" if lake.format == "delta" else "CALL lake.system.rewrite_data_files('{v}')"
    lake.run(tidied.format(v=view))
    lake.run(f"ALTER TABLE {view} SET TBLPROPERTIES ('team' = 'sales')")
    assert sorted(lake.run(f"SELECT s, day FROM {view}").collect()) == [(1, 1), (5, 2)]
    lake.run(f"DROP MATERIALIZED VIEW {view}")
