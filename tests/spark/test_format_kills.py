"""A view changes its format in applications of their own: with Iceberg in the session catalog, with engines that are
killed, and until its old files are gone."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import fetched
import pytest
from processes import Home, Session, until
from support import EXTENSIONS

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

ROWS = 400_000
QUERY = "SELECT sum(amount) AS total, count(*) AS n, day FROM sales GROUP BY day"
SETTINGS = {
    "spark.driver.extraClassPath": os.pathsep.join(map(str, fetched.delta())),
    "spark.sql.extensions": ",".join(each for each in EXTENSIONS if "iceberg" not in each),
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
}
LATER = 0.35
"""Seconds that the engine has more each time."""


@pytest.fixture
def home(tmp_path_factory) -> Home:
    return Home(tmp_path_factory.mktemp("formats"))


PROGRAM = """
import json, sys, threading
from pyspark.sql import SparkSession
from headwater.spark.jvm.jar import build_jar

builder = SparkSession.builder.master("local[2]").config("spark.jars", ",".join([str(build_jar()), *sys.argv[2:]]))
for key, value in json.loads(sys.argv[1]).items():
    builder = builder.config(key, value)
builder = builder.config("spark.headwater.python", sys.executable).config("spark.ui.enabled", "false")
spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
query = "SELECT sum(amount) AS total, count(*) AS n, day FROM sales GROUP BY day"


def rows(session, asked):
    return sorted(map(tuple, session.sql(asked).collect()))


def declare(format, by):
    spark.sql(f"CREATE OR REPLACE MATERIALIZED VIEW v USING {format} {by} AS {query}")


def refused(format, by, why):
    try:
        declare(format, by)
    except Exception as error:
        assert why in str(error), error
    else:
        raise AssertionError(f"the view became {format}")


def read(session, over, seen):
    while not over.is_set():
        try:
            seen.append(rows(session, "SELECT total, n, day FROM v"))
        except Exception as error:
            seen.append(str(error)[:300])


def exchanged(format, by):
    seen, over, whole = [], threading.Event(), rows(spark, query)
    threads = [threading.Thread(target=read, args=(spark.newSession(), over, seen)) for _ in range(2)]
    for each in threads:
        each.start()
    declare(format, by)
    before = len(seen)
    while len(seen) < before + 6:
        pass
    over.set()
    for each in threads:
        each.join()
    assert all(each == whole for each in seen), [each for each in seen if each != whole][:3]
    told = [row[1].lower() for row in spark.sql("DESCRIBE EXTENDED v").collect() if row[0] == "Provider"]
    assert told == [format], told
    for amount in (5, 6):
        spark.sql(f"INSERT INTO sales VALUES ({amount}, 'd1'), ({amount}, 'd{amount}')")
        spark.sql("REFRESH MATERIALIZED VIEWS")
        assert rows(spark, "SELECT * FROM v") == rows(spark, query)
        assert rows(spark, "SELECT total FROM downstream") == rows(spark, "SELECT sum(amount) FROM sales")


spark.sql("CREATE TABLE sales (amount BIGINT, day STRING) USING parquet PARTITIONED BY (day)")
spark.sql("INSERT INTO sales SELECT id, concat('d', id % 3) FROM range(1000)")
for by in ("", "PARTITIONED BY (day)"):
    declare("parquet", by)
    spark.sql("CREATE MATERIALIZED VIEW downstream AS SELECT sum(total) AS total FROM v")
    STEPS
    assert [row.tableName for row in spark.sql("SHOW TABLES LIKE 'v*'").collect()] == ["v"]
    spark.sql("DROP MATERIALIZED VIEW downstream")
    spark.sql("DROP MATERIALIZED VIEW v")
THEN
print("all of it held")
"""

ICEBERG = {
    "spark.sql.catalogImplementation": "hive",
    "spark.sql.extensions": ",".join(each for each in EXTENSIONS if "delta" not in each),
    "spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
    "spark.sql.catalog.spark_catalog.type": "hive",
    "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
}


def assert_holds(home: Home, settings: dict[str, str], jars: list[Path], steps: str, then: str = "") -> None:
    program = PROGRAM.replace("STEPS", steps).replace("THEN", then)
    done = home.python(program, json.dumps(settings), *map(str, jars), timeout=400)
    assert done.returncode == 0 and "all of it held" in done.stdout, done.stdout + done.stderr


def test_files_become_an_iceberg_table_of_the_session_catalog(home: Home) -> None:
    assert_holds(
        home,
        ICEBERG,
        fetched.iceberg(),
        """exchanged("iceberg", by)
    refused("parquet", by, "is stored USING iceberg and keeps that")""",
        """query = "SELECT day, sum(amount) AS total, concat('n', count(*)) AS n FROM sales GROUP BY day"
declare("parquet", "PARTITIONED BY (day)")
refused("iceberg", "PARTITIONED BY (day)", "whose first columns have the same types")
assert rows(spark.newSession(), "SELECT day, total, n FROM v") == rows(spark, query)""",
    )


def test_an_in_memory_catalog_exchanges_partitioned_files_too(home: Home) -> None:
    settings = {**SETTINGS, "spark.sql.catalogImplementation": "in-memory"}
    del settings["spark.driver.extraClassPath"]
    steps = """for format in ("delta", "parquet", "delta", "orc"):
        exchanged(format, by)"""
    assert_holds(home, settings, fetched.delta(), steps)


def read(session: Session) -> list[list[str]]:
    """The rows of the view; Delta's clean-up in the background says something, too."""
    return sorted(row for row in session.run("SELECT total, n, day FROM v") if len(row) == 3)


def declare(format: str) -> str:
    return f"CREATE OR REPLACE MATERIALIZED VIEW v USING {format} PARTITIONED BY (day) AS {QUERY}"


def test_a_view_is_the_old_one_or_the_new_one(home: Home) -> None:
    """Each time a bit later; in between the store is lost, too."""
    with home.session(SETTINGS) as session:
        session.run("CREATE TABLE sales (amount BIGINT, day STRING) USING parquet PARTITIONED BY (day)")
        session.run(f"INSERT INTO sales SELECT id, concat('d', id % 3) FROM range({ROWS})")
        asked = sorted(session.run(QUERY))
        session.run(declare("parquet"))
        for turn in range(10):
            engine = session.await_engine()
            begun = session.begin(declare(("delta", "parquet")[turn % 2]))
            until(lambda: home.state().running, "a run")
            time.sleep(turn // 2 * LATER)
            os.kill(engine, signal.SIGKILL)
            begun()
            assert read(session) == asked, turn
            session.run("REFRESH MATERIALIZED VIEWS")
            assert read(session) == asked, turn
    described = home.state().views["default.v"].definition
    assert described.format == "parquet"


def test_another_store_adopts_a_view_whose_format_was_to_change(home: Home) -> None:
    with home.session(SETTINGS) as session:
        session.run("CREATE TABLE sales (amount BIGINT, day STRING) USING parquet PARTITIONED BY (day)")
        session.run(f"INSERT INTO sales SELECT id, concat('d', id % 3) FROM range({ROWS})")
        session.run(declare("parquet"))
        for _ in range(3):
            session.run("INSERT INTO sales VALUES (1, 'd1')")
            session.run("REFRESH MATERIALIZED VIEWS")
        engine = session.await_engine()
        begun = session.begin(declare("delta"))
        until(lambda: home.state().running, "a run")
        os.kill(engine, signal.SIGKILL)
        begun()
    before = home.state().tables["default.v"].highest
    for each in home.store_path.parent.glob("store.db*"):
        each.unlink()
    with home.session(SETTINGS) as session:
        session.run("REFRESH MATERIALIZED VIEWS")
        assert read(session) == sorted(session.run(QUERY))
        assert [row[1].strip() for row in session.run("DESCRIBE EXTENDED v") if row[0].strip() == "Provider"] == [
            "delta"
        ]
        session.run("INSERT INTO sales VALUES (1, 'd2')")
        session.run("REFRESH MATERIALIZED VIEWS")
        assert read(session) == sorted(session.run(QUERY))
    assert home.state().tables["default.v"].highest > before


def names(home: Home) -> set[str]:
    """What lies where the view's table and its files lie."""
    return {each.name for each in home.warehouse.iterdir() if each.name.startswith("v")}


def places(home: Home) -> set[str]:
    """The versions of the view that have files."""
    [root] = [each for each in home.warehouse.iterdir() if (each / ".headwater").is_file()]
    return {each.relative_to(root).parts[0] for each in root.rglob("*.parquet") if "_delta_log" not in each.parts}


def test_old_files_go_after_the_retention_time(home: Home) -> None:
    """Those of files and of Delta tables, whoever placed these. Nothing of a dropped view stays."""
    kept = f"TBLPROPERTIES ('headwater.retain' = '1 second') AS {QUERY}"
    with home.session({**SETTINGS, "spark.headwater.check.interval": "1"}) as session:
        session.run("CREATE TABLE sales (amount BIGINT, day STRING) USING parquet PARTITIONED BY (day)")
        session.run("INSERT INTO sales VALUES (1, 'd1'), (2, 'd2')")
        session.run(f"CREATE MATERIALIZED VIEW v USING delta {kept}")
        for format in ("parquet", "delta", "parquet"):
            session.run(f"CREATE OR REPLACE MATERIALIZED VIEW v USING {format} {kept}")
            until(lambda: len(places(home)) == len(names(home)) == 1, f"removal of old files, {format}")
            assert read(session) == [["1", "1", "d1"], ["2", "1", "d2"]]
            assert ["v__headwater"] not in [row[-1:] for row in session.run("SHOW TABLES LIKE 'v*'")]
        session.run("DROP MATERIALIZED VIEW v")
        assert names(home) == set()
        session.run(f"CREATE MATERIALIZED VIEW v USING delta AS {QUERY}")
        session.run(f"CREATE OR REPLACE MATERIALIZED VIEW v USING parquet AS {QUERY}")
        assert len(names(home)) == 2, "the old table is kept for readers"
        session.run("DROP MATERIALIZED VIEW v")
        assert names(home) == set()
