"""A plain `spark-sql` process in a format of the demo, fed with statements on its standard input.

After every statement the shell command ``!echo`` marks the end of its output. A statement succeeded
when spark-sql reported its time; otherwise its standard error has the reason.
"""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import IO, TypeVar, cast

from attrs import frozen

from headwater.model.error import HeadwaterError
from headwater.spark.jvm.jar import EXTENSION

PROMPT = "spark-sql ("
LOG_LINE = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d |\s+at |\s+\.\.\. \d+ more")
SETTINGS = {
    # Short statements on few cores: the second compiler and the parallel collector cost more than they
    # save (loading, filling and comparing at scale 0.1 took 103 s of CPU instead of 185 s). Without the
    # second compiler the code cache is small by default, and Spark's generated code overruns it.
    "spark.driver.extraJavaOptions": ("-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
}


@frozen
class DemoFormat:
    """A format of the sources and the views: the word after ``USING``, and what makes a session know it."""

    name: str
    package: str = ""
    extension: str = ""
    settings: tuple[tuple[str, str], ...] = ()


PARQUET = DemoFormat("parquet")
DELTA = DemoFormat(
    "delta",
    "io.delta:delta-spark_4.1_2.13:4.4.0",
    "io.delta.sql.DeltaSparkSessionExtension",
    (
        ("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"),
        # A log of the demo has some hundred files; Delta reads one with 50 tasks.
        ("spark.databricks.delta.snapshotPartitions", "1"),
    ),
)
ICEBERG = DemoFormat(
    "iceberg",
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    (
        ("spark.sql.catalog.spark_catalog", "org.apache.iceberg.spark.SparkSessionCatalog"),
        ("spark.sql.catalog.spark_catalog.type", "hive"),
        # The embedded metastore has no tables for locks. It serves one process, in which no two commits run at once.
        ("spark.hadoop.iceberg.engine.hive.lock-enabled", "false"),
    ),
)
FORMATS = {each.name: each for each in (PARQUET, DELTA, ICEBERG)}


class SparkSqlError(HeadwaterError):
    """A statement failed, or the process ended or fell silent; the message is its output."""


Own = TypeVar("Own", bound="SparkSql")


class SparkSql:
    """One process; use it in ``with``. ``jar`` turns Headwater on; without it this is stock Spark."""

    def __init__(
        self,
        folder: Path,
        jar: Path | None = None,
        settings: Mapping[str, str] | None = None,
        timeout: float = 900,
        format: DemoFormat = PARQUET,
    ) -> None:
        self._timeout = timeout
        self._log = folder / "spark-sql.log"
        self._marks = count(1)
        self._lines: queue.Queue[str | None] = queue.Queue()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command(folder, jar, settings or {}, format),
                cwd=folder,
                env={**os.environ, "SPARK_HOME": str(spark_home()), "PYSPARK_PYTHON": sys.executable},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self._input, self._output = cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self: Own) -> Own:
        """Waits until the process answers."""
        try:
            self._answer_to("")
        except SparkSqlError:
            self.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.kill()

    def run(self, statement: str) -> list[list[str]]:
        """Runs one statement to its end; its rows as spark-sql prints them."""
        said = self._log.stat().st_size
        lines = self._answer_to(f"{one_line(statement)};\n")
        answer = self._said_since(said)
        if "Time taken:" not in answer:
            raise SparkSqlError(f"{one_line(statement)}\n{without_log(answer)}")
        echoed = f"{one_line(statement)};"  # without the prompt, where it came before that
        return [line.split("\t") for line in lines if not line.startswith(PROMPT) and line != echoed]

    def close(self) -> None:
        """Ends the input, as a user leaving the shell does, and waits for the process."""
        self._input.close()
        try:
            code = self._process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            self.kill()
            raise SparkSqlError(f"spark-sql did not end; see {self._log}") from None
        if code != 0:
            raise SparkSqlError(f"spark-sql ended with code {code}; see {self._log}")

    def kill(self) -> None:
        """Ends the process and everything it started, at once."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _read(self) -> None:
        for line in self._output:
            self._lines.put(line.decode(errors="replace").rstrip("\n"))
        self._lines.put(None)

    def _answer_to(self, text: str) -> list[str]:
        mark = f"headwater-demo-{next(self._marks)}"
        self._send(f"{text}!echo {mark};\n")
        return self._until(mark)

    def _send(self, text: str) -> None:
        try:
            self._input.write(text.encode())
            self._input.flush()
        except BrokenPipeError:
            raise SparkSqlError(f"spark-sql ended; see {self._log}") from None

    def _until(self, mark: str) -> list[str]:
        deadline = time.monotonic() + self._timeout
        lines: list[str] = []
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                self.kill()
                raise SparkSqlError(f"no answer within {self._timeout:g} s; see {self._log}") from None
            if line is None:
                raise SparkSqlError(f"spark-sql ended before it answered; see {self._log}")
            if line == mark:
                return lines
            lines.append(line)

    def _said_since(self, position: int) -> str:
        with self._log.open("rb") as log:
            log.seek(position)
            return log.read().decode(errors="replace").strip()


def command(folder: Path, jar: Path | None, settings: Mapping[str, str], format: DemoFormat = PARQUET) -> list[str]:
    """The command line of a user, with the warehouse in ``folder``. Headwater's extension is the last: it reads a
    statement first."""
    extensions = ",".join(filter(None, (format.extension, EXTENSION if jar else "")))
    extension = {"spark.sql.extensions": extensions} if extensions else {}
    warehouse = {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    configured = {**SETTINGS, **warehouse, **dict(format.settings), **extension, **settings}
    return [
        str(spark_home() / "bin" / "spark-sql"),
        "-S",
        *("--master", "local[2]"),
        *("--driver-memory", "2g"),
        *(("--jars", str(jar)) if jar else ()),
        *(("--packages", format.package) if format.package else ()),
        *(part for key, value in configured.items() for part in ("--conf", f"{key}={value}")),
    ]


def spark_home() -> Path:
    """Where the Spark that came with PySpark lies."""
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None, "Headwater depends on PySpark"
    return Path(spec.origin).parent


def without_log(text: str) -> str:
    """The words of spark-sql itself: no log lines, no stack traces."""
    return "\n".join(line for line in text.splitlines() if not LOG_LINE.match(line))


def one_line(statement: str) -> str:
    return " ".join(line.strip() for line in statement.strip().splitlines())
