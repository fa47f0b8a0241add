"""A job that is edited, imported again and registered again."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support import drain

import headwater
from headwater.model.error import HeadwaterError

JOBS = Path(__file__).parent / "edited"
"""On the driver's PYTHONPATH is the directory of the tests, so this one is a package there."""

JOB = """
from pyspark.sql import functions as F
from headwater import job, table
from edited.{helper} import rate

@F.udf("bigint")
def times(n):
    return n * {factor}

@job(outputs=["priced"], columns="n BIGINT", deps=[table("sales")])
def priced(spark, partitions, inputs):
    return spark.table("sales").select(times("n").alias("n")).select((F.col("n") + rate()).alias("n"))
"""


@pytest.fixture
def edited(spark: SparkSession):
    """Writes an edition of the job, and imports it as its program does."""
    JOBS.mkdir(exist_ok=True)
    name, helper = "job_under_edit", "helper_under_edit"
    files = JOBS / f"{name}.py", JOBS / f"{helper}.py"

    def write(factor: int, rate: int):
        files[0].write_text(JOB.format(helper=helper, factor=factor))
        files[1].write_text(f"def rate():\n    return {rate}\n")
        importlib.invalidate_caches()
        for each in (f"edited.{helper}", f"edited.{name}"):
            sys.modules.pop(each, None)
        return importlib.import_module(f"edited.{name}").priced

    yield write
    for each in files:
        each.unlink(missing_ok=True)
    for each in [*JOBS.glob("__pycache__/*")]:
        each.unlink()
    for each in (JOBS / "__pycache__", JOBS):
        if each.exists() and not any(each.iterdir()):
            each.rmdir()


def rows(spark: SparkSession) -> list[int]:
    return sorted(n for [n] in spark.sql("SELECT n FROM priced").collect())


def test_what_is_computed_is_the_edition_on_record(spark: SparkSession, edited) -> None:
    spark.sql("CREATE TABLE sales (n BIGINT) USING parquet")
    spark.sql("INSERT INTO sales VALUES (1), (2)")
    for factor, rate in ((2, 0), (3, 0), (3, 100), (5, 0)):  # a file, then a module that it imports
        headwater.register(spark, edited(factor, rate))
        drain(spark)
        assert rows(spark) == [factor + rate, 2 * factor + rate]
    old = edited(7, 0)
    edited(8, 0)
    with pytest.raises(HeadwaterError, match="another edition of the job edited.job_under_edit:priced"):
        headwater.register(spark, old)
    spark.sql("INSERT INTO sales VALUES (3)")
    with pytest.raises(Exception, match="another edition than the one that was registered"):
        for _ in range(3):
            drain(spark)
            failed = spark.sql("SHOW REFRESHES FOR priced LIMIT 1").first()["error"]
            if failed:
                raise AssertionError(failed)
    assert rows(spark) == [5, 10]
    edited(5, 0)
    spark.sql("REFRESH MATERIALIZED VIEW priced").collect()
    assert rows(spark) == [5, 10, 15]
