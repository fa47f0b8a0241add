"""Attaches this Python process to the driver's running Spark application."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor

from py4j.java_gateway import java_import
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from headwater.spark.jvm.sessions import SUBSTITUTE


def attach() -> SparkSession:
    """A session of the engine's own in the application whose gateway the environment names.

    Made in another thread: in the main thread PySpark would take over Ctrl-C and cancel the user's jobs.
    """
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # that a driver has ended is no news
    with ThreadPoolExecutor(1, "headwater-attach") as aside:
        return aside.submit(_attach).result()


def _attach() -> SparkSession:
    """The application's default and active sessions stay as they are: wrapping a session makes it the
    default one, so the default itself is what is wrapped first."""
    gateway = launch_gateway()
    jvm = gateway.jvm
    java_import(jvm, "org.apache.spark.api.java.*")
    context = jvm.org.apache.spark.headwater.Contexts.active().get()
    jsc = jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(context)
    spark_context = SparkContext(gateway=gateway, jsc=jsc, conf=SparkConf(_jvm=jvm, _jconf=context.conf()))
    default = jvm.org.apache.spark.sql.headwater.Access.someSession(context)
    session = SparkSession(spark_context, default).newSession()
    session.conf.set("spark.headwater.internal", "true")
    session.conf.set(SUBSTITUTE, "false")
    return session
