"""Statements and writes come to a driver through Spark Connect and over JDBC too."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from documents import commands
from fetched import delta, iceberg
from processes import CONF, Home, until
from pyhive import hive
from support import EXTENSIONS

from headwater.demo.session import spark_home
from headwater.spark.jvm.jar import EXTENSION, build_jar

pytestmark = pytest.mark.long

TOKEN = "only for this test"
HOST = "localhost"  # the name for which a Connect client needs no TLS

CLIENT = """
import json, sys
from pyspark.sql import SparkSession

session = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
for statement in sys.argv[2:]:
    try:
        if statement.startswith("{"):
            written = session.createDataFrame([tuple(json.loads(statement).values())], "amount INT, day STRING")
            written.write.insertInto("sales")
            print(json.dumps([]))
        else:
            print(json.dumps([list(map(str, row)) for row in session.sql(statement).collect()]))
    except Exception as error:
        print(json.dumps(str(error)))
"""


class Server:
    """A Thrift server that is a Connect server too: one driver with two ways in."""

    def __init__(self, folder: Path, way: str = "--jars") -> None:
        self.home, self.jdbc, self.connect = Home(folder), _free_port(), _free_port()
        settings = {
            **CONF,
            "spark.master": "local[2]",
            "spark.sql.extensions": EXTENSION,
            "spark.headwater.python": sys.executable,
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.address": HOST,
            "spark.connect.grpc.binding.port": str(self.connect),
            "spark.connect.authenticate.token": TOKEN,
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
        command = [
            *(spark_home() / "bin/spark-submit", way, build_jar()),
            *("--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"),
            *(each for name, value in settings.items() for each in ("--conf", f"{name}={value}")),
            *("spark-internal", "--hiveconf", f"hive.server2.thrift.port={self.jdbc}"),
            *("--hiveconf", f"hive.server2.thrift.bind.host={HOST}"),
        ]
        with (folder / "server.log").open("wb") as log:
            self._process = subprocess.Popen(
                [str(each) for each in command],
                cwd=folder,
                env=_environment(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until(lambda: _answers(self.jdbc) and _answers(self.connect), "answer of the server", 120)

    def stop(self) -> None:
        os.killpg(self._process.pid, signal.SIGTERM)
        self._process.wait(60)

    def through_connect(self, *statements: str) -> list:
        """The rows of each statement, or its error. An object is a row to insert as a data frame."""
        return through_connect(self.home, self.connect, *statements)

    def through_jdbc(self, *statements: str) -> str:
        """Everything that beeline prints."""
        file = self.home.folder / "statements.sql"
        file.write_text(";\n".join(statements) + ";\n")
        done = subprocess.run(
            [
                *(str(spark_home() / "bin/beeline"), "-u", f"jdbc:hive2://{HOST}:{self.jdbc}"),
                *("--silent=true", "--outputformat=csv2", "--force=true", "-f", str(file)),
            ],
            env=_environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.stdout + done.stderr

    def through_pyhive(self, *statements: str) -> list:
        """The rows of the last statement, from a client that comes and goes."""
        return through_pyhive(self.jdbc, *statements)


def through_connect(home: Home, port: int, *statements: str) -> list:
    done = home.python(CLIENT, f"sc://{HOST}:{port}", *statements, environment=_environment())
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def through_pyhive(port: int, *statements: str) -> list:
    connection = hive.connect(HOST, port)
    try:
        cursor = connection.cursor()
        for each in statements:
            cursor.execute(each)
        return [list(map(str, row)) for row in cursor.fetchall()]
    finally:
        connection.close()


@contextmanager
def documented(folder: Path, command: str, port: int) -> Iterator[None]:
    """A server started by a command of the document, at a place and a port of this test, until it is stopped."""
    command = command.replace("/data/", f"{folder}/")
    if "thriftserver" in command:
        command += f" --hiveconf hive.server2.thrift.port={port} --hiveconf hive.server2.thrift.bind.host={HOST}"
    else:
        command = command.replace("spark-internal", f"--conf spark.connect.grpc.binding.port={port} spark-internal")
    own = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    bare = {name: value for name, value in os.environ.items() if name not in ("SPARK_HOME", "PYSPARK_PYTHON")}
    with (folder / "server.log").open("ab") as log:
        server = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=folder,
            env={**bare, **own},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        until(lambda: _answers(port) or server.poll() is not None, "answer of the server", 120)
        assert server.poll() is None, (folder / "server.log").read_text(errors="replace")[-2000:]
        yield
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.stop()


def test_connect_and_jdbc_lead_to_the_same_views(server: Server) -> None:
    made, filled, created, shown = server.through_connect(
        "CREATE TABLE sales (amount INT, day STRING) USING parquet PARTITIONED BY (day)",
        "INSERT INTO sales VALUES (1, '2024-01-01'), (2, '2024-01-02')",
        "CREATE MATERIALIZED VIEW daily PARTITIONED BY (day) AS "
        "SELECT sum(amount) AS total, day FROM sales GROUP BY day",
        "SHOW MATERIALIZED VIEWS",
    )
    assert (made, filled) == ([], [])
    assert created == [["default.daily created: 2 partitions, 2 rows"]]
    assert [row[1:4] for row in shown if row[1] == "daily"] == [["daily", "fresh", "2"]]

    said = server.through_jdbc(
        "SET spark.headwater.wait = true",
        "INSERT INTO sales VALUES (10, '2024-01-01')",
        "SELECT * FROM daily ORDER BY day",
        "CREATE MATERIALIZED VIEW whole AS SELECT sum(total) AS total FROM daily",
        "EXPLAIN REFRESH whole",
    )
    assert "11,2024-01-01\n2,2024-01-02" in said
    assert "default.whole created: 1 partition, 1 row" in said
    assert "default.whole: nothing to do" in said

    _, written, total = server.through_connect(
        "SET spark.headwater.wait = true", '{"amount": 100, "day": "2024-01-02"}', "SELECT total FROM whole"
    )
    assert (written, total) == ([], [["113"]])


def test_an_error_says_the_same_through_each(server: Server) -> None:
    wrong = "REFRESH MATERIALIZED VIEW nothing"
    [connect] = server.through_connect(wrong)
    said, _, stack = connect.partition("\n\nJVM stacktrace:\n")
    assert said.startswith("there is no materialized view nothing") and "\n" not in said
    assert not stack, "Spark Connect shows it to clients, unless its server has another setting"
    assert said in server.through_jdbc(wrong)


def test_a_direct_write_is_refused_through_each(server: Server) -> None:
    server.through_connect("CREATE MATERIALIZED VIEW one AS SELECT 1 AS one")
    write = "INSERT INTO one VALUES (2)"
    [connect] = server.through_connect(write)
    assert "which only Headwater writes" in connect
    assert "which only Headwater writes" in server.through_jdbc(write)


def test_the_connect_server_of_the_document_keeps_its_views(tmp_path: Path) -> None:
    [command] = [each for each in commands("docs/ways-in.md", "spark-submit") if "SparkConnectServer" in each]
    home = Home(tmp_path)
    with documented(tmp_path, command, port := _free_port()):
        *_, created, wrong, write, read = through_connect(
            home,
            port,
            "CREATE TABLE sales (amount INT) USING parquet",
            "INSERT INTO sales VALUES (1)",
            "CREATE MATERIALIZED VIEW total AS SELECT sum(amount) AS total FROM sales",
            "REFRESH MATERIALIZED VIEW nothing",
            "INSERT INTO total VALUES (1)",
            "DROP TABLE sales_that_is_not_there",
        )
        assert created == [["default.total created: 1 partition, 1 row"]]
        assert wrong == "there is no materialized view nothing; there are default.total"
        assert (
            write.startswith("default.total is a materialized view, which only Headwater writes") and "\n" not in write
        )
        assert "JVM stacktrace" not in read
    with documented(tmp_path, command, port := _free_port()):
        *_, total, [shown] = through_connect(
            home,
            port,
            "SET spark.headwater.wait = true",
            "INSERT INTO sales VALUES (10)",
            "SELECT total FROM total",
            "SHOW MATERIALIZED VIEWS",
        )
        assert total == [["11"]] and shown[1:3] == ["total", "fresh"]


@pytest.mark.parametrize("server", ["SparkConnectServer", "DeltaCatalog"])
def test_a_server_of_the_document_serves_delta_and_iceberg(tmp_path: Path, server: str) -> None:
    """… to clients that come and go, each one the first that uses some class."""
    [command] = [each for each in commands("docs/ways-in.md", "spark-submit") if server in each]
    (tmp_path / "jars").mkdir()
    for jar in (*delta(), *iceberg()):
        (tmp_path / "jars" / jar.name).symlink_to(jar)
    (tmp_path / "lake" / "d").mkdir(parents=True)
    command = with_lakes(command, tmp_path)
    with documented(tmp_path, command, port := _free_port()):

        def ask(*statements: str) -> list:
            """The rows of the last statement, through a client of its own."""
            if server == "SparkConnectServer":
                return through_connect(Home(tmp_path), port, *statements)[-1]
            return through_pyhive(port, *statements)

        assert ask("SELECT 1") == [["1"]]
        for name, form in (("t", "delta"), ("lake.d.t", "iceberg")):
            view = f"{name[:-1]}v"
            ask(f"CREATE TABLE {name} (id INT, n INT) USING {form}", "SELECT 1")
            ask(f"INSERT INTO {name} VALUES (1, 1), (2, 2)", "SELECT 1")
            incremental = "TBLPROPERTIES ('headwater.method' = 'incremental, full')"
            query = f"SELECT id, sum(n) AS n FROM {name} GROUP BY id"
            ask(f"CREATE MATERIALIZED VIEW {view} USING {form} {incremental} AS {query}")
            ask(f"INSERT INTO {name} VALUES (1, 10)", "SELECT 1")
            [row] = ask(f"REFRESH MATERIALIZED VIEW {view}")
            assert row[3] == "incremental", row
            assert ask(f"SELECT n FROM {view} ORDER BY id") == [["11"], ["2"]]
            assert ask(f"VERIFY MATERIALIZED VIEW {view}")[0][1] == "equal"
            members_agree(ask, name, view, form)
            ask(f"DROP MATERIALIZED VIEW {view}")
    log = (tmp_path / "server.log").read_text(errors="replace")
    assert "NoClassDefFoundError" not in log and "JavaPackage" not in log


def members_agree(ask: Callable[..., list], table: str, view: str, form: str) -> None:
    """A client reads a view and a suspended one of the same table, as they are and at the epoch of their group."""
    other, grouped = f"{view}2", f"'headwater.group' = 'g_{form}'"
    ask(f"CREATE MATERIALIZED VIEW {other} USING {form} TBLPROPERTIES ({grouped}) AS SELECT sum(n) AS n FROM {table}")
    ask(f"ALTER MATERIALIZED VIEW {view} SET TBLPROPERTIES ({grouped})")
    [row] = ask(f"REFRESH MATERIALIZED VIEW GROUP g_{form}")
    ask(f"ALTER MATERIALIZED VIEW {other} SUSPEND")
    ask(f"INSERT INTO {table} VALUES (2, 100)", "SELECT 1")
    ask(f"REFRESH MATERIALIZED VIEW {view}")
    both = f"SELECT (SELECT sum(n) FROM {view}), (SELECT n FROM {other})"
    assert ask(both) == [["113", "13"]]
    assert ask("SET spark.headwater.read = consistent", both) == [["13", "13"]]
    assert ask(f"SET spark.headwater.read.epoch = {row[2]}", both) == [["13", "13"]]
    with_sources = f"SELECT sum(n), (SELECT n FROM {other}) FROM {table}"
    assert ask("SET spark.headwater.read = consistent, with sources", with_sources) == [["13", "13"]]
    assert ask(both) == [["113", "13"]], "the setting was of other sessions"
    ask(f"ALTER MATERIALIZED VIEW {other} RESUME")
    ask(f"REFRESH MATERIALIZED VIEW GROUP g_{form}")
    assert ask("SET spark.headwater.read = consistent", both) == [["113", "113"]]
    ask(f"DROP MATERIALIZED VIEW {other}")


def with_lakes(command: str, folder: Path) -> str:
    """A command of the document with what Delta and a catalog ``lake`` of Iceberg need, where it does not have it."""
    lake = "spark.sql.catalog.lake"
    conf = {
        lake: "org.apache.iceberg.spark.SparkCatalog",
        f"{lake}.type": "hadoop",
        f"{lake}.warehouse": f"{folder}/lake",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.extensions": ",".join(EXTENSIONS),
    }
    settings = " ".join(f"--conf {name}={value}" for name, value in conf.items())
    jars = ",".join(str(each) for each in (folder / "jars").iterdir())
    named = command.replace("--jars $(headwater jar)", f"--jars $(headwater jar),{jars}")
    return named.replace("spark-internal", f"{settings} spark-internal")


@pytest.mark.parametrize("way", ["--jars", "--driver-class-path"])
def test_a_server_stays_as_it_is_when_clients_come_and_go(tmp_path: Path, way: str) -> None:
    """The server closes the class loader of ``--jars`` with the session of the first client that goes."""
    server = Server(tmp_path, way)
    try:
        assert server.through_pyhive("SELECT 1") == [["1"]]
        server.through_jdbc("SELECT 1")
        [[created]] = server.through_pyhive(
            "CREATE TABLE sales (amount INT, day STRING) USING parquet PARTITIONED BY (day)",
            "INSERT INTO sales VALUES (1, '2024-01-01'), (2, '2024-01-02')",
            "CREATE MATERIALIZED VIEW daily PARTITIONED BY (day) AS "
            "SELECT sum(amount) AS total, day FROM sales GROUP BY day",
        )
        assert created == "default.daily created: 2 partitions, 2 rows"
        waiting = "SET spark.headwater.wait = true"
        total = "SELECT sum(total) FROM daily"
        assert server.through_pyhive(waiting, "INSERT INTO sales VALUES (10, '2024-01-01')", total) == [["13"]]
        assert "\n113\n" in server.through_jdbc(waiting, "INSERT INTO sales VALUES (100, '2024-01-02')", total)
        [row] = server.through_pyhive("SHOW MATERIALIZED VIEWS")
        assert row[1:3] == ["daily", "fresh"]
        assert server.through_pyhive("VERIFY MATERIALIZED VIEW daily")[0][1] == "equal"
        log = (tmp_path / "server.log").read_text(errors="replace")
        assert "NoClassDefFoundError: io/headwater" not in log and "JavaPackage" not in log
    finally:
        server.stop()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return found.getsockname()[1]


def _answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex((HOST, port)) == 0


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "SPARK_HOME": str(spark_home()),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": TOKEN,
    }
