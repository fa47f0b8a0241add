"""Builds the shim's jar for the installed Spark, with the Scala compiler that PySpark carries.

The jar is cached under ``$XDG_CACHE_HOME/headwater`` (``~/.cache/headwater``), by Spark's version
and a hash of the sources, so it is compiled once for each Spark and each Headwater.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyspark

from headwater.model.error import JarError

EXTENSION = "io.headwater.spark.HeadwaterExtensions"
"""The jar's class that ``spark.sql.extensions`` names."""

JAR = "headwater-spark"
"""With this the name of the jar's file begins, whoever built it."""


RESOURCES = "resources"


def build_jar() -> Path:
    """The path of the shim's jar, compiled now if the cache does not have it.

    Raises:
        JarError: there is no Java, the cache cannot be written, or the sources do not compile.
    """
    return built(JAR, _source_root())


def built(name: str, root: Path) -> Path:
    """The path of a jar of the Scala sources below a directory, with what lies in its ``resources``, as ``build_jar``
    makes it of the shim's.

    Raises:
        JarError: as there.
    """
    sources = sorted(root.rglob("*.scala"))
    if not sources:
        raise JarError(f"{root} has no Scala sources; install Headwater again")
    resources = [each for each in sorted((root / RESOURCES).rglob("*")) if each.is_file()]
    target = _cache() / f"{name}-{pyspark.__version__}-{_digest([*sources, *resources])}.jar"
    if target.exists():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with alone(target.with_suffix(".lock")):
            if not target.exists():  # another program may have made it meanwhile
                _make(sources, root / RESOURCES, target)
    except OSError as error:
        raise JarError(
            f"cannot write the jar to {target.parent} ({error.strerror}); "
            "set XDG_CACHE_HOME to a directory you can write"
        ) from error
    return target


@contextlib.contextmanager
def alone(lock: Path) -> Iterator[None]:
    """One program at a time; another waits. On a file system without locks none does."""
    with lock.open("a") as handle:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _make(sources: list[Path], resources: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        classes = Path(scratch, "classes")
        classes.mkdir()
        _compile(sources, classes)
        if resources.is_dir():
            shutil.copytree(resources, classes, dirs_exist_ok=True)
        _pack(classes, Path(scratch, "shim.jar")).rename(target)


def _source_root() -> Path:
    package = Path(__file__).resolve().parents[2]
    packed = package / "shim_sources"
    return packed if packed.is_dir() else package.parents[1] / "jvm-shim/src/main"


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headwater"


def _digest(sources: list[Path]) -> str:
    digest = hashlib.sha256(sys.executable.encode())
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home, "bin", "java"))) if home else shutil.which("java")
    if java is None:
        raise JarError("no Java found; install a JDK 17 and put it on PATH, or set JAVA_HOME")
    return java


def _compile(sources: list[Path], classes: Path) -> None:
    jars = Path(pyspark.__file__).parent / "jars"
    # A short program: with the JVM's second compiler it takes twice as long.
    java = [_java(), "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*"]
    command = [*java, "scala.tools.nsc.Main", "-usejavacp", "-nowarn", "-d", str(classes)]
    compiled = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True, check=False)
    if compiled.returncode != 0:
        words = (compiled.stdout + compiled.stderr).strip()
        raise JarError(f"the shim does not compile against Spark {pyspark.__version__}:\n{words}")


def _pack(classes: Path, jar: Path) -> Path:
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nImplementation-Title: headwater\n")
        archive.writestr("headwater.properties", f"python={sys.executable}\n")
        for file in sorted(classes.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(classes).as_posix())
    return jar
