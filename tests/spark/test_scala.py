"""Runs the shim's ScalaTest suites without sbt, against the Spark that is installed.

PySpark's wheel has the Scala compiler and Ivy, so a JDK is enough: Ivy fetches ScalaTest, the compiler compiles the
shim and the suites. `sbt test` runs the same suites.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import fetched
import pytest
from fetched import ROOT, SPARK, java, run
from support import SHORT

from headwater.spark.jvm.jar import build_jar

SOURCES = ROOT / "jvm-shim/src/test/scala"


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_scala_suites(tmp_path: Path) -> None:
    classpath = os.pathsep.join(map(str, [*fetched.scalatest(), build_jar()]))
    sources = sorted(SOURCES.rglob("*.scala"))
    compiled = java("scala.tools.nsc.Main", "-usejavacp", "-nowarn", "-d", tmp_path, *sources, classpath=classpath)
    assert compiled.returncode == 0, compiled.stdout + compiled.stderr
    ran = run(
        *(SPARK / "bin/spark-submit", "--class", "org.scalatest.tools.Runner"),
        *("--driver-memory", "1g", "--driver-java-options", SHORT),
        *("--driver-class-path", os.pathsep.join([classpath, str(tmp_path)]), "spark-internal"),
        *("-R", tmp_path, "-oWD"),
    )
    assert ran.returncode == 0, ran.stdout[-20000:] + ran.stderr[-3000:]
    assert re.search(r"Tests: succeeded [1-9]", ran.stdout), ran.stdout[-2000:]
