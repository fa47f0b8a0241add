"""An Iceberg REST catalog on this machine: ``rest_server/RestServer.java``, which Java starts from its source.

It serves Iceberg's own handlers of requests over Iceberg's catalog of directories, with the jar that tests have anyway.
"""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from pathlib import Path

import fetched
from pyspark.sql import SparkSession

SOURCE = Path(__file__).parent / "rest_server/RestServer.java"


class RestCatalog:
    """A server of its own.

    Attributes:
        uri: where it is.
    """

    def __init__(self, warehouse: Path) -> None:
        home = os.environ.get("JAVA_HOME")
        classes = os.pathsep.join([*map(str, fetched.iceberg()), f"{fetched.SPARK}/jars/*"])
        java = str(Path(home, "bin", "java")) if home else "java"
        self._server = subprocess.Popen(
            [java, "-Xmx256m", "-cp", classes, str(SOURCE), str(warehouse)], stdout=subprocess.PIPE, text=True
        )
        assert self._server.stdout is not None
        port = self._server.stdout.readline().strip()
        assert port.isdecimal(), "the REST catalog did not start"
        self.uri = f"http://127.0.0.1:{port}"

    def joined(self, session: SparkSession, name: str) -> None:
        """Lets a session, and all that begin after it, know the catalog by a name."""
        for key, value in self.options(name).items():
            session.conf.set(key, value)

    def options(self, name: str) -> dict[str, str]:
        prefix = f"spark.sql.catalog.{name}"
        return {
            prefix: "org.apache.iceberg.spark.SparkCatalog",
            f"{prefix}.type": "rest",
            f"{prefix}.uri": self.uri,
            f"{prefix}.cache-enabled": "false",  # else a session sees a commit of another one half a minute later
        }

    def count(self) -> int:
        """The commits of several tables that were made."""
        return json.loads(self._asked("GET", "count"))

    def fail(self, times: int) -> None:
        """Lets the next commits of several tables fail."""
        self._asked("POST", f"fail?{times}")

    def lose(self, times: int) -> None:
        """Makes the next commits of several tables, and says that nobody knows whether they were made."""
        self._asked("POST", f"lose?{times}")

    def stop(self) -> None:
        self._server.kill()
        self._server.wait()

    def _asked(self, method: str, path: str) -> str:
        request = urllib.request.Request(f"{self.uri}/{path}", method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode()
