"""What the engine's Python imports: nothing from the working directory, and jobs after all that is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "jvm-shim/src/main/scala/io/headwater/spark/session/EngineProcess.scala"
PLANTED = (
    "attrs",
    "attr",
    "queue",
    "pyspark",
    "py4j",
    "linecache",
    "site",
    "sitecustomize",
    "usercustomize",
    "headwater",
)


def started(folder: Path, tail: str, path: str) -> subprocess.CompletedProcess[str]:
    """Runs the start of the engine, without the engine itself."""
    text = SOURCE.read_text()
    [body] = re.findall(r'val Imported =\n    """(.*?)"""\.stripMargin', text, re.DOTALL)
    [switches] = re.findall(r"val Isolated = Seq\((.*?)\)", text)
    program = re.sub(r"\n\s*\|", "\n", body) + "\n" + tail
    return subprocess.run(
        [sys.executable, *re.findall(r'"(.*?)"', switches), program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    for name in PLANTED:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a planted module ran')\n")
    return tmp_path


@pytest.mark.parametrize("path", ["", os.pathsep, f"{os.pathsep}/nowhere{os.pathsep}"])
def test_no_module_of_the_working_directory_is_imported(planted: Path, path: str) -> None:
    done = started(
        planted, "import os\nassert os.getcwd() not in sys.path and '' not in sys.path\nprint('started')", path
    )
    assert (done.stdout, done.returncode) == ("started\n", 0), done.stderr


def test_jobs_are_found_by_the_path_and_replace_nothing_that_is_installed(planted: Path, tmp_path: Path) -> None:
    (planted / "rates.py").write_text("RATE = 7\n")
    done = started(planted, "import attrs, queue, rates\nprint(rates.RATE)", str(planted))
    assert (done.stdout, done.returncode) == ("7\n", 0), done.stderr
