"""The files of an Iceberg table that a query of some rows reads, as the driver finds them by Iceberg's statistics. No
file with such a row is left out, each is read as a whole, and no job runs to find them."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession
from spark_jobs import jobs_of_this_thread
from support import database
from test_files_in_driver import POOL, TYPES, conditions, rows

from headwater.spark.jvm.shim import Shim

FILES = 12
FLOATING = ("x", "f")
"""Iceberg leaves out files with rows of which ``x > 1.5`` holds for NaN, and -0.0 is none of its zeros. So does a query
of Spark. No condition of a refresh is on such a column (``ValueRanges.scala``)."""


@pytest.mark.thorough
@pytest.mark.parametrize(
    "by", ["", "PARTITIONED BY (days(at))", "PARTITIONED BY (truncate(5, s))"], ids=["plain", "days", "texts"]
)
@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles"])
def test_no_file_of_iceberg_with_a_row_is_left_out(spark: SparkSession, zone: str, by: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    chance = random.Random(by)
    place = f"lake.{database(spark)}"
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {place}")
    table = f"{place}.t"
    spark.sql(f"CREATE TABLE {table} (id INT, {', '.join(f'{c} {t}' for c, t in TYPES.items())}) USING iceberg {by}")
    values, named = ", ".join(rows(chance, FILES)), ", ".join(("file", "id", *POOL))
    wanted = ", ".join(("id", *(f"CAST({each} AS {type}) AS {each}" for each, type in TYPES.items())))
    made = spark.sql(f"SELECT file, {wanted} FROM VALUES {values} AS t({named})")
    for file in range(FILES):
        made.where(f"file = {file}").drop("file").coalesce(1).writeTo(table).append()

    every = conditions(chance, {column: f"<{column}>" if column in FLOATING else column for column in POOL})
    asked = [each for each in dict.fromkeys(every) if not any(f"<{column}>" in each for column in FLOATING)]
    files = spark.sql(
        f"SELECT _file AS file, count(*) AS rows, {', '.join(f'coalesce(any({each}), false)' for each in asked)} "
        f"FROM {table} GROUP BY ALL"
    ).collect()
    shim = Shim(spark)
    calls = shim.calls("iceberg")
    loaded = spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table)
    snapshot, left = loaded.currentSnapshot().snapshotId(), 0
    for n, each in enumerate(asked):
        with jobs_of_this_thread(spark) as jobs:
            tasks = calls.within(loaded, snapshot, shim.read_conditions(spark.table(table).where(each)))
            found = {*calls.locations(tasks)}
        assert not jobs
        assert {row.file for row in files if row[n + 2]} <= found, each
        left += len(files) - len(found)
        if n % 4 == 0 and found:
            calls.lend(loaded, "found", tasks)
            read = spark.read.format("iceberg").option("scan-task-set-id", "found").load("found").count()
            calls.takeBack(loaded, "found")
            assert read == sum(row.rows for row in files if row.file in found), f"whole files of {each}"
    assert left, "some files are left out"
