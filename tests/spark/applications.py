"""A PySpark program that makes one application after another in the same process; for test_faults.py.

Run as ``applications.py JAR BARE_PYTHON``, in an empty directory. It prints what it saw as one line of
JSON, a list of [step, what was seen].
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Thread

from processes import CONF, SALES, command_line, descendants, engine_of, is_alive, until
from pyspark.sql import SparkSession

JAR, BARE = sys.argv[1:3]
STORE = Path("spark-warehouse/.headwater/store.db").absolute()
seen: list[tuple[str, object]] = []


def application(catalog: str = "hive", spark: dict[str, str] | None = None, **settings: str) -> SparkSession:
    builder = SparkSession.builder.master("local[2]")
    configured = {**CONF, "spark.sql.catalogImplementation": catalog, "spark.jars": JAR, **(spark or {})}
    for key, value in configured.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.sql.extensions", "io.headwater.spark.HeadwaterExtensions")
    for key in ("python", "store", "storre", "role", "tracks"):
        builder = builder.config(f"spark.headwater.{key}", settings[key]) if key in settings else builder
    return builder.getOrCreate()


def stop(spark: SparkSession) -> None:
    """Ends the application and what it was configured with."""
    spark.stop()
    SparkSession.builder._options.clear()


def engine() -> int | None:
    return engine_of(os.getpid())


def said(work: Callable) -> object:
    """The rows, or the first line of the error."""
    try:
        return [list(row) for row in work().collect()]
    except Exception as error:
        return str(error).splitlines()[0]


def step(name: str, found: object) -> None:
    seen.append((name, found))


def total(spark: SparkSession) -> int:
    return spark.sql("SELECT total FROM everything").first()[0]


def write(spark: SparkSession, amount: int) -> float:
    """One row more; the seconds that took."""
    began = time.monotonic()
    spark.sql(f"INSERT INTO sales VALUES ({amount}, {amount}, 1, '2024-03')")
    return time.monotonic() - began


def corrupt(spark: SparkSession, how: Callable[[], None]) -> str:
    """What a statement says when the engine finds a store that was damaged; then without that store."""
    if engine():
        dying = engine()
        os.kill(dying, signal.SIGKILL)
        until(lambda: not is_alive(dying), "end of the engine")
    connection = sqlite3.connect(STORE)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    how()
    answer = said(lambda: spark.sql("SHOW MATERIALIZED VIEWS"))
    write(spark, 5)
    if not engine():
        for each in STORE.parent.glob("store.db*"):
            each.unlink()
    return answer


def garbage() -> None:
    STORE.write_bytes(os.urandom(20_000))


def truncated() -> None:
    content = STORE.read_bytes()
    STORE.write_bytes(content[: len(content) // 2])


def malformed() -> None:
    connection = sqlite3.connect(STORE)
    connection.execute("UPDATE journal SET body = substr(body, 1, 20) WHERE seq = 4")
    connection.commit()
    connection.close()


def without_changes() -> None:
    connection = sqlite3.connect(STORE)
    connection.execute("DELETE FROM journal WHERE kind = 'Changed'")
    connection.commit()
    connection.close()


def main() -> None:
    spark = application()
    for statement in SALES:
        spark.sql(statement)
    first = engine()
    command = Path(f"/proc/{first}/environ").read_bytes().split(b"\0")
    [secret] = [each.split(b"=", 1)[1].decode() for each in command if each.startswith(b"PYSPARK_GATEWAY_SECRET=")]
    [port] = [each.split(b"=", 1)[1].decode() for each in command if each.startswith(b"PYSPARK_GATEWAY_PORT=")]
    step(
        "gateway",
        [secret, listening(int(port)), [command_line(each) for each in (os.getpid(), *descendants(os.getpid()))]],
    )
    write(spark, 70)
    stop(spark)
    step("engine ends with its application", not is_alive(first))

    spark = application()
    spark.sql("REFRESH MATERIALIZED VIEWS")
    step("second application", [total(spark), engine() not in (None, first)])
    stop(spark)

    spark = application(python=BARE)
    step("no headwater", said(lambda: spark.sql("CREATE MATERIALIZED VIEW v AS SELECT 1 AS one")))
    spark.conf.set("spark.headwater.wait", "true")
    step("writes go on", write(spark, 100))
    stop(spark)

    spark = application(python="/no/such/python")
    step("no python", said(lambda: spark.sql("SHOW MATERIALIZED VIEWS")))
    write(spark, 100)
    stop(spark)

    spark = application(store="/proc/nowhere/store.db")
    step("no store", said(lambda: spark.sql("SHOW MATERIALIZED VIEWS")))
    write(spark, 100)
    stop(spark)

    spark = application(storre="/tmp/store.db")
    step("unknown setting", said(lambda: spark.sql("SHOW MATERIALIZED VIEWS")))
    write(spark, 100)
    stop(spark)

    spark = application(tracks="many", role="repot")
    step("bad value", said(lambda: spark.sql("SHOW MATERIALIZED VIEWS")))
    write(spark, 100)
    stop(spark)

    spark = application(role=" OFF")
    step("off", said(lambda: spark.sql("SHOW MATERIALIZED VIEWS")))
    write(spark, 100)
    stop(spark)

    spark = application()
    spark.sql("REFRESH MATERIALIZED VIEWS")
    step("after all that", total(spark))
    for how in (garbage, truncated, malformed, without_changes):
        found = corrupt(spark, how)
        spark.sql("REFRESH MATERIALIZED VIEWS")
        step(how.__name__, [found, total(spark), said(lambda: spark.sql("SHOW MATERIALIZED VIEWS"))])
    last = total(spark)
    stop(spark)

    spark = application("in-memory")
    step("in memory", said(lambda: spark.sql("SHOW MATERIALIZED VIEWS")))
    for name in ("a", "b"):
        create = f"CREATE MATERIALIZED VIEW memory_{name} AS SELECT 1 AS one"
        step(f"made in memory: {name}", said(partial(spark.sql, create)))
    step("stopped while a statement waits", abandoned(spark))

    elsewhere = {"spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:;databaseName=elsewhere;create=true"}
    spark = application(spark=elsewhere)
    step("another catalog", said(lambda: spark.sql("SHOW MATERIALIZED VIEWS")))
    stop(spark)

    spark = application()
    spark.sql("REFRESH MATERIALIZED VIEWS")
    step("untouched", [total(spark) == last, said(lambda: spark.sql("SHOW MATERIALIZED VIEWS"))])
    stop(spark)
    print(json.dumps(seen, default=str))


def abandoned(spark: SparkSession) -> list[object]:
    """Stops an application while a statement in another thread waits for a long refresh; the answers, within 30 s."""
    spark.sql("CREATE TABLE seed USING parquet AS SELECT 1 AS id")
    pairs = "LATERAL VIEW explode(sequence(1, 50000)) a AS x LATERAL VIEW explode(sequence(1, 50000)) b AS y"
    query = f"SELECT count(*) AS n FROM seed {pairs} WHERE hash(x, y) = id"
    spark.sql(f"CREATE MATERIALIZED VIEW long_one TBLPROPERTIES ('headwater.fill' = 'later') AS {query}")
    answers: list[object] = []
    waiting = Thread(target=lambda: answers.append(said(lambda: spark.sql("REFRESH MATERIALIZED VIEWS"))), daemon=True)
    waiting.start()
    time.sleep(3)
    stop(spark)
    waiting.join(30)
    return answers


def listening(port: int) -> list[str]:
    """The addresses on which this machine listens at a port, in the kernel's hexadecimal spelling."""
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            address, number = line.split()[1].split(":")
            if int(number, 16) == port and line.split()[3] == "0A":
                found.append(address)
    return found


if __name__ == "__main__":
    main()
