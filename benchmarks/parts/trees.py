"""Workers that run the Headwater of a tree of its sources, with the packages of this environment."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from benchmarks.parts import lakes
from benchmarks.parts.harness import Worker
from benchmarks.parts.results import ROOT

SOURCES = Path("python")
"""Where a tree has its packages."""
JAR = "from headwater.spark.jvm.jar import build_jar; print(build_jar())"


def tree(base: str, place: Path) -> Path:
    """A tree by its directory, or else by a git reference, whose files are put into a new directory.

    Raises:
        SystemExit: it is neither.
    """
    if (Path(base) / SOURCES / "headwater").is_dir():
        return Path(base).resolve()
    packed = subprocess.run(["git", "archive", "--format=tar", base], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode != 0:
        said = packed.stderr.decode().strip()
        raise SystemExit(f"{base} is no directory of a tree and no git reference ({said}); name one with --base")
    place.mkdir(parents=True)
    subprocess.run(["tar", "-x", "-C", place], input=packed.stdout, check=True)
    return place


def worker_of(sources: Path, home: Path) -> Worker:
    """A worker with both lake formats, whose Headwater is that of a tree."""
    python = _environment(sources, home / "environment")
    # By this Python: a jar is kept for each Python that builds one, and the new environment goes at the end.
    own_first = {**os.environ, "PYTHONPATH": str(sources / SOURCES)}
    jar = subprocess.run([sys.executable, "-c", JAR], env=own_first, stdout=subprocess.PIPE, text=True, check=True)
    own = {"spark.jars": jar.stdout.strip(), "spark.headwater.python": str(python)}
    return Worker(home, {**lakes.settings(home / "lake"), **own}, python=python)


def _environment(sources: Path, place: Path) -> Path:
    """The Python of a new environment: it finds the tree's packages first, and then those of this environment.

    An engine starts an isolated Python, which reads no PYTHONPATH.
    """
    venv.create(place, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(place)}))
    packages.mkdir(parents=True, exist_ok=True)
    (packages / "tree.pth").write_text(f"{sources / SOURCES}\n{sysconfig.get_path('purelib')}\n")
    return place / "bin" / Path(sys.executable).name
