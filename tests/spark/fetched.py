"""Jars that only tests need. Ivy, which PySpark has, fetches them once, from where Ivy's settings say (Maven Central if
there are none), and keeps them beside the shim's jar."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pyspark
from support import SHORT

from headwater.spark.jvm.jar import alone, build_jar

ROOT = Path(__file__).parents[2]
SPARK = Path(pyspark.__file__).parent

SCALATEST = "3.2.19"  # as in build.sbt
DELTA = "4.4.0"
ICEBERG = "1.12.0"
LOCAL_FILES = "0.1.0"


def scalatest() -> list[Path]:
    """ScalaTest; the Scala library and its modules are Spark's own."""
    kept = _fetched(f"scalatest-{SCALATEST}", "org.scalatest", ["scalatest-funsuite_2.13"], SCALATEST, transitive=True)
    return sorted(kept.glob("scala[tc]*.jar"))


def delta() -> list[Path]:
    """Delta Lake: the jars of its own that ``configure_spark_with_delta_pip`` brings."""
    kernel = ["delta-kernel-api", "delta-kernel-defaults", "delta-kernel-unitycatalog"]
    kept = _fetched(f"delta-spark-{DELTA}", "io.delta", ["delta-spark_4.1_2.13", "delta-storage", *kernel], DELTA)
    return sorted(kept.glob("*.jar"))


def iceberg() -> list[Path]:
    """Iceberg with all that it needs."""
    kept = _fetched(f"iceberg-{ICEBERG}", "org.apache.iceberg", ["iceberg-spark-runtime-4.1_2.13"], ICEBERG)
    return sorted(kept.glob("*.jar"))


def local_files() -> list[Path]:
    """A local file system that sets permissions by Java. Hadoop's own starts a program for each file, a hundred in a
    second: a sixth of the processors' time of these tests."""
    artifact = "hadoop-bare-naked-local-fs"
    kept = _fetched(f"{artifact}-{LOCAL_FILES}", "com.globalmentor", [artifact], LOCAL_FILES)
    return sorted(kept.glob("*.jar"))


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)


def java(main: str, *arguments: object, classpath: str = "") -> subprocess.CompletedProcess[str]:
    home = os.environ.get("JAVA_HOME")
    return run(
        Path(home, "bin", "java") if home else "java",
        *SHORT.split(),
        *("-cp", f"{SPARK}/jars/*{os.pathsep}{classpath}", main, *arguments),
    )


def _fetched(name: str, organisation: str, modules: Sequence[str], revision: str, *, transitive: bool = False) -> Path:
    """The directory of some modules' jars."""
    kept = build_jar().parent / name
    if (kept / "complete").exists():
        return kept
    with alone(kept.with_suffix(".lock")):  # another worker may fetch them meanwhile
        if (kept / "complete").exists():
            return kept
        for module in modules:
            done = java(
                "org.apache.ivy.Main",
                *("-cache", kept / "ivy", "-retrieve", kept / "[artifact]-[revision].[ext]"),
                *("-dependency", organisation, module, revision, "-confs", "default"),
                *(() if transitive else ("-notransitive",)),
            )
            there = done.returncode == 0 and list(kept.glob(f"{module}*.jar"))
            assert there, f"{module} could not be fetched: {(done.stdout + done.stderr).strip()[-500:]}"
        (kept / "complete").touch()
    return kept
