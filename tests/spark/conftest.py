"""Spark for tests. One JVM and one warehouse serve the whole run; each test has a database of its own. The session
catalog holds Delta tables too, and the catalog ``lake`` holds Iceberg tables."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import fetched
import pytest
import searching
from iceberg_table import Table
from pyspark.sql import SparkSession
from support import EXTENSIONS, SHORT, Journal, database, new_database

from headwater.spark.jvm.jar import build_jar

CONF = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.catalogImplementation": "hive",
    "spark.sql.extensions": ",".join(EXTENSIONS),
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",  # VACUUM makes as many tasks
    "spark.driver.memory": "2g",
    "spark.headwater.tracks": "4",  # more than there are cores: more happens side by side
    "spark.headwater.join": "50 milliseconds",
    "spark.sql.session.timeZone": "UTC",
    "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",  # as fetched.local_files says
}


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """A shell that starts the tests with ``&`` has them ignore Ctrl-C, and so would the programs they start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def application(tmp_path_factory) -> Iterator[SparkSession]:
    """The Spark application of this test run, with Headwater on."""
    home = tmp_path_factory.mktemp("application")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # From these the engine imports the jobs of the tests and of the documents.
    jobs = str(Path(__file__).parent), str(Path(__file__).parents[2] / "docs/examples")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (*jobs, os.environ.get("PYTHONPATH"))))
    builder = SparkSession.builder.appName("headwater tests")
    for key, value in CONF.items():
        builder = builder.config(key, value)
    session = (
        builder.config("spark.jars", ",".join(map(str, (build_jar(), *fetched.delta(), *fetched.iceberg()))))
        .config("spark.driver.extraClassPath", os.pathsep.join(map(str, fetched.local_files())))
        .config("spark.headwater.python", str(searching.python(home)))
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .config("spark.sql.catalog.lake.warehouse", str(home / "warehouse/lake"))
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:memory:{home}/metastore;create=true")
        .config("spark.driver.extraJavaOptions", f"{SHORT} -Dderby.system.home={home}")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    # The engine starts now, and not at a pause of some test: what it adopts at its start is not what that test makes.
    session.sql("SHOW MATERIALIZED VIEWS").collect()
    yield session
    session.stop()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def spark(application: SparkSession, warehouse: Path) -> Iterator[SparkSession]:
    """A session of its own, in an empty database of its own that goes with the test. So does the namespace of that name
    in ``lake``: an engine that starts would adopt its views."""
    session = application.newSession()
    database = new_database()
    session.sql(f"CREATE DATABASE {database}")
    session.sql(f"USE {database}")
    yield session
    session.sql(f"DROP DATABASE IF EXISTS spark_catalog.{database} CASCADE")
    shutil.rmtree(warehouse / "lake" / database, ignore_errors=True)


@pytest.fixture
def iceberg(spark: SparkSession) -> Iterator[Table]:
    """An Iceberg table ``t`` that is still to be made, in a namespace in which the session is."""
    place = f"lake.{database(spark)}"
    spark.sql(f"CREATE NAMESPACE {place}")
    spark.sql(f"USE {place}")
    yield Table(spark, place)
    spark.sql("USE spark_catalog.default")


@pytest.fixture
def plain_spark(application: SparkSession) -> SparkSession:
    """The application's own session, for tests of parts that need no views."""
    return application


@pytest.fixture
def warehouse(application: SparkSession) -> Path:
    return Path(application.conf.get("spark.sql.warehouse.dir").removeprefix("file:"))


@pytest.fixture
def journal(spark: SparkSession, warehouse: Path) -> Journal:
    """What the engine records during the test."""
    return Journal(warehouse, database(spark))
