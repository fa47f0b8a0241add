"""What a case measured, as it is kept in ``benchmarks/results``: figures, with the machine, the day and the commit."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import statistics
import subprocess
from collections.abc import Iterable, Sequence
from datetime import date
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from attrs import Factory, asdict, frozen

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


@frozen
class Figure:
    """A figure of a case.

    Attributes:
        name: what it is of. Figures of one name are a row of a table.
        least, most: of the rounds; ``None`` where only their median is known.
        column: tells figures of one name apart.
        goal: what the median should be, such as ``<= 1.3``; empty: it is only reported.
        met: whether it is; ``None`` without a goal.
    """

    name: str
    median: float
    rounds: int
    least: float | None = None
    most: float | None = None
    unit: str = ""
    column: str = ""
    goal: str = ""
    met: bool | None = None
    note: str = ""

    @property
    def text(self) -> str:
        """The figure as a table shows it."""
        spread = ""
        if self.least is not None and self.most is not None and self.least != self.most:
            spread = f" ({_shown(self.least)} to {_shown(self.most)})"
        note = f"; {self.note}" if self.note else ""
        return f"{_shown(self.median)}{f' {self.unit}' if self.unit else ''}{spread}{note}"

    @property
    def verdict(self) -> str:
        """The goal, and whether it is missed."""
        goal = f"{self.goal} {self.unit}".strip() if self.goal else ""
        return f"{goal}, **missed**" if self.met is False else goal


def figure(
    name: str,
    values: float | Iterable[float],
    unit: str = "",
    *,
    most: float | None = None,
    least: float | None = None,
    column: str = "",
    note: str = "",
) -> Figure:
    """The figure of some rounds, or of one.

    Args:
        most, least: the goal of its median.
    """
    rounds = [values] if isinstance(values, int | float) else list(values)
    middle = statistics.median(rounds)
    found = [each if isinstance(each, int) else float(f"{each:.6g}") for each in (middle, *rounds)]
    goal = f"<= {most:g}" if most is not None else f">= {least:g}" if least is not None else ""
    met = (most is None or middle <= most) and (least is None or middle >= least) if goal else None
    return Figure(name, found[0], len(rounds), min(found[1:]), max(found[1:]), unit, column, goal, met, note)


def none(name: str, wrong: Iterable[str]) -> Figure:
    """How many of something there are, where there should be none; the first ones are named."""
    there = list(wrong)
    return figure(name, len(there), most=0, note=", ".join(there[:10]))


@frozen
class Report:
    """What a case found.

    Attributes:
        details: more than the figures; they lie beside the result, and not in git.
    """

    figures: Sequence[Figure]
    details: Any = Factory(dict)


@frozen
class Result:
    """The figures of one run of a case.

    Attributes:
        command: runs the case so again.
        busy: other programs ran on the machine meanwhile, so only ratios within a round tell something.
        source: where figures are from that were not written by a run.
    """

    suite: str
    case: str
    command: str
    date: str
    commit: str
    machine: dict[str, Any]
    figures: Sequence[Figure]
    busy: bool = False
    source: str = ""

    @classmethod
    def read(cls, file: Path) -> Result:
        found = json.loads(file.read_text())
        return cls(**found | {"figures": [Figure(**each) for each in found["figures"]]})

    @classmethod
    def now(cls, suite: str, case: str, command: str, commit: str, figures: Sequence[Figure], busy: bool) -> Result:
        """The result of a case that ended just now; ``commit`` is the one that it began with."""
        return cls(suite, case, command, date.today().isoformat(), commit, machine(), figures, busy)

    def write(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        found = {key: each for key, each in asdict(self).items() if each not in (False, "")}
        found["figures"] = [
            {key: each for key, each in one.items() if each not in ("", None)} for one in found["figures"]
        ]
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def _shown(value: float) -> str:
    if value == int(value) and (isinstance(value, int) or not 0 < abs(value) < 10) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"


@cache
def machine() -> dict[str, Any]:
    """What a figure depends on beside the program. It names no machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    words = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr if java else ""
    number = re.search(r'version "([^"]+)"', words)
    return {
        "cores": len(os.sched_getaffinity(0)),
        "memory": f"{memory / 2**30:.0f} GB",
        "spark": version("pyspark"),
        "java": number[1] if number else "",
        "python": platform.python_version(),
        "system": platform.system(),
    }


def commit() -> str:
    """The commit of this tree, and whether it has changes beside results of earlier cases."""
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)benchmarks/results")
    return _git("describe", "--always", "--abbrev=7", "--exclude=*") + ("-dirty" if changed else "")


def _git(*command: str) -> str:
    return subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
