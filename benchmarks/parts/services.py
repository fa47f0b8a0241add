"""The services that several applications share: a metastore, and a PostgreSQL server."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from headwater.demo.session import spark_home

PATIENCE = 90
"""Seconds in which a service must answer."""


@contextmanager
def metastore(folder: Path) -> Iterator[str]:
    """The URI of a metastore service, which Spark's own jars contain: embedded Derby serves one program only.

    Raises:
        RuntimeError: the service does not answer.
    """
    folder.mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/db;create=true",
        "hive.metastore.schema.verification": "false",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.warehouse.dir": f"{folder}/warehouse",
    }
    command = [
        "java",
        "-Dhive.async.log.enabled=false",
        f"-Dderby.system.home={folder}",
        *("-cp", f"{spark_home()}/jars/*", "org.apache.hadoop.hive.metastore.HiveMetaStore"),
        *("-p", str(port)),
        *(part for key, value in settings.items() for part in ("--hiveconf", f"{key}={value}")),
    ]
    with (folder / "log").open("wb") as log:
        service = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        _await(port, folder / "log")
        yield f"thrift://127.0.0.1:{port}"
    finally:
        service.kill()
        service.wait()


def has_postgresql() -> bool:
    """Whether the package is installed that brings a PostgreSQL server along."""
    return find_spec("pgserver") is not None


@contextmanager
def postgresql(folder: Path) -> Iterator[str]:
    """The URL of a PostgreSQL server with a database of its own.

    Raises:
        SystemExit: the package ``pgserver`` is not installed.
    """
    if not has_postgresql():
        raise SystemExit("--store postgresql needs the package pgserver; install it, or use --store sqlite")
    import pgserver

    folder.mkdir(parents=True)
    server = pgserver.get_server(folder, cleanup_mode="delete")
    try:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
    finally:
        server.cleanup()


def _await(port: int, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"the metastore does not answer; its log is {log}:\n{log.read_text()[-2000:]}")
