"""Jobs declared from a running program."""

from __future__ import annotations

from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.jobs import JobFunction
from headwater.model.error import DefinitionError, StatementError
from headwater.spark.defining.jobs import messages
from headwater.spark.jvm import wire
from headwater.spark.jvm.shim import Shim


def register(spark: SparkSession, *jobs: JobFunction) -> list[str]:
    """Declares what jobs make, in this session's catalog and database, and fills it; a sentence for each table.

    A job that is declared already as it is, is left alone.

    Raises:
        DefinitionError: a job is of the program itself, where the engine cannot import it from.
        StatementError: the declaration is refused, in words for the user.
    """
    said: list[str] = []
    facts = Shim(spark).facts(spark)
    jvm: Any = spark._jvm
    for job in jobs:
        if job.name.startswith("__main__:"):
            raise DefinitionError("JOB", f"{job.name} cannot be imported by others; put it into a module of its own")
        for message in messages(job, facts):
            told = wire.encode(message)
            try:
                rows = jvm.io.headwater.spark.Bridge.create(spark._jsparkSession, told)
            except PySparkException as error:
                raise StatementError(str(error)) from error
            said += [str(row[0]) for row in wire.decode(rows, list[wire.Row])]
    return said
