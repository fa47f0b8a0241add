"""Runs the shim's ScalaTest suites without sbt, against the Spark that is installed.

PySpark's wheel has the Scala compiler and Ivy, so a JDK is enough: Ivy fetches ScalaTest (once; from
where Ivy's settings say, Maven Central if there are none), the compiler compiles the shim and the
suites. `sbt test` runs the same suites.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pyspark
import pytest
from support import SHORT

from headwater.spark.jar import build_jar

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "jvm-shim/src/test/scala"
SPARK = Path(pyspark.__file__).parent
SCALATEST = "3.2.19"  # as in build.sbt


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)


def java(main: str, *arguments: object, classpath: str = "") -> subprocess.CompletedProcess[str]:
    home = os.environ.get("JAVA_HOME")
    return run(
        Path(home, "bin", "java") if home else "java",
        *SHORT.split(),
        *("-cp", f"{SPARK}/jars/*{os.pathsep}{classpath}", main, *arguments),
    )


@pytest.fixture(scope="module")
def scalatest() -> str:
    """ScalaTest's jars, kept beside the shim's."""
    kept = build_jar().parent / f"scalatest-{SCALATEST}"
    if not (kept / "complete").exists():
        fetched = java(
            "org.apache.ivy.Main",
            *("-cache", kept / "ivy", "-retrieve", kept / "[artifact]-[revision].[ext]"),
            *("-dependency", "org.scalatest", "scalatest-funsuite_2.13", SCALATEST, "-confs", "default"),
        )
        there = fetched.returncode == 0 and list(kept.glob("scalatest-funsuite*.jar"))
        assert there, f"ScalaTest could not be fetched: {(fetched.stdout + fetched.stderr).strip()[-500:]}"
        (kept / "complete").touch()
    # The Scala library and its modules are Spark's own.
    return os.pathsep.join(map(str, sorted(kept.glob("scala[tc]*.jar"))))


@pytest.mark.timeout(600)
def test_scala_suites(scalatest: str, tmp_path: Path) -> None:
    classpath = os.pathsep.join([scalatest, str(build_jar())])
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
