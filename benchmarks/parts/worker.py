"""The Spark process that a benchmark measures in. Reads requests as JSON lines, answers likewise."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.errors import PySparkException


def serve(calls: Mapping[str, Callable[..., Any]]) -> None:
    """Answers requests until there are no more; ``calls`` get the session and the arguments of a request."""
    say, began = _answers(), time.perf_counter()
    spark = _session(json.loads(sys.argv[1]))
    say({"seconds": time.perf_counter() - began})
    for line in sys.stdin:
        request = json.loads(line)
        if "run" in request:
            say({"seconds": run(spark, request["run"])})
        elif "rows" in request:
            say({"rows": rows(spark, request["rows"])})
        else:
            say({"value": calls[request["call"]](spark, *request["arguments"])})
    spark.stop()


def run(spark, statements: Sequence[str]) -> list[float]:
    """Seconds of each statement."""
    return [_timed(lambda text=text: spark.sql(text).collect()) for text in statements]


def rows(spark, statement: str) -> list[list[Any]]:
    """The rows of a statement as JSON has them."""
    return json.loads(json.dumps([list(row) for row in spark.sql(statement).collect()], default=str))


def calls() -> dict[str, Callable[..., Any]]:
    """The functions that a benchmark calls by name."""
    return {"first": first, "jobs": jobs, "observe": observe, "succeeds": succeeds}


def first(spark, statement: str) -> dict[str, Any]:
    """The first row of a statement by its columns, as JSON has it."""
    return json.loads(json.dumps(spark.sql(statement).first().asDict(), default=str))


def jobs(spark) -> int:
    """How many jobs the application has had so far."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()  # the store learns of a job from the bus
    listed = context.statusStore().jobsList(None)
    return listed.head().jobId() + 1 if listed.nonEmpty() else 0


def succeeds(spark, statement: str) -> bool:
    """Runs a statement, and says whether it was accepted."""
    try:
        spark.sql(statement).collect()
    except PySparkException:
        return False
    return True


def observe(spark, table: str, partitions: list[dict[str, str]] | None) -> dict[str, Any]:
    """Seconds to look at the state of a table of the current database, and the number of partitions listed."""
    # Here, so that a worker of another tree, which may have no such modules, starts without them.
    from headwater.spark.jvm.facts import Asked
    from headwater.spark.jvm.shim import Shim

    shim, found = Shim(spark), []
    asked = [Asked(f"{spark.catalog.currentDatabase()}.{table}", partitions, whole=partitions is None)]
    seconds = _timed(lambda: found.extend(shim.observe(asked)))
    return {"seconds": seconds, "partitions": len(found[0].partitions)}


OPTIONS = "spark.driver.extraJavaOptions"


def _session(conf: dict[str, str]):
    from pyspark.sql import SparkSession

    home = os.environ["BENCHMARK_HOME"]
    options = f"-Dderby.system.home={home} {conf.get(OPTIONS, '')}".strip()
    defaults = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"{home}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={home}/metastore;create=true",
        "spark.driver.memory": "3g",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder
    for key, value in {**defaults, **conf, OPTIONS: options}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _timed(work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _answers() -> Callable[[dict[str, Any]], None]:
    """Writes answers. Statements print too (``VACUUM`` does): that goes where the log goes."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return lambda answer: print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve(calls())
