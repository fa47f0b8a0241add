"""What only Headwater writes: no command of Spark changes a view or its directory."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from commands_of_spark import HARMLESS, REFUSED
from pyspark.sql import SparkSession
from support import assert_equals_query, database

from headwater.spark.jar import build_jar

QUERY = "SELECT sum(n) AS n, p FROM sales GROUP BY p"


def test_the_shim_is_loaded_as_a_whole(spark: SparkSession) -> None:
    """A class that is loaded later is not found, where the Thrift server closed the class loader of ``--jars``."""
    with zipfile.ZipFile(build_jar()) as jar:
        wanted = {each[: -len(".class")].replace("/", ".") for each in jar.namelist() if each.endswith(".class")}
    found = spark._jvm.io.headwater.spark.Classes.loaded()
    assert {found.apply(n) for n in range(found.size())} == wanted


def test_each_command_is_refused_or_harmless(spark: SparkSession, warehouse: Path, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE sales (n BIGINT, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql("INSERT INTO sales VALUES (1, 1)")
    spark.sql(f"CREATE MATERIALIZED VIEW v PARTITIONED BY (p) AS {QUERY}")
    root = warehouse / f"{database(spark)}.db" / "v"
    assert (root / ".headwater").exists()
    more = (
        "ALTER TABLE v PARTITION (p = 1) SET SERDEPROPERTIES ('x' = '1')",
        f"INSERT OVERWRITE DIRECTORY '{root}/.v1' USING parquet SELECT 1",
        f"INSERT OVERWRITE DIRECTORY '{root.parent}' USING parquet SELECT 1",
        f"INSERT OVERWRITE LOCAL DIRECTORY '{root}' STORED AS parquet SELECT 1",
    )
    passed = []
    for statement in (*(each.format(root=root) for each in REFUSED.values()), *more):
        try:
            spark.sql(statement).collect()
            passed.append(statement)
        except Exception as error:
            if "which only Headwater writes" not in str(error) or "\n" in str(error):
                passed.append(f"{statement}: {error}")
    assert not passed
    with pytest.raises(Exception, match="which only Headwater writes"):
        spark.range(1).write.mode("overwrite").parquet(str(root))
    with pytest.raises(Exception, match="which only Headwater writes"):
        spark.range(1).write.mode("overwrite").saveAsTable("v")
    with pytest.raises(Exception, match="which only Headwater writes"):
        spark.sql("BEGIN SELECT 1; INSERT INTO v VALUES (1, 1); END")
    handled = "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'refused' AS said; INSERT INTO v VALUES (1, 1); END"
    assert spark.sql(handled).first()[0] == "refused"
    for statement in HARMLESS.values():
        spark.sql(statement.format(root=root)).collect()
    spark.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' USING parquet SELECT 1")
    spark.range(1).write.parquet(str(tmp_path / "other"))
    assert_equals_query(spark, "v", QUERY)
