"""The demo's report: a table, a verdict, and the same as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import asdict, frozen
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from headwater.demo.figures import StepFigures


@frozen
class Report:
    """The results of the demo. ``differences`` counts the wrong rows of each view."""

    scale: float
    format: str
    steps: Sequence[StepFigures]
    differences: Mapping[str, int]
    seconds: float

    @property
    def equal(self) -> bool:
        return not any(self.differences.values())

    @property
    def verdict(self) -> str:
        if self.equal:
            return f"Every view equals its query: {len(self.differences)} views recomputed and compared."
        wrong = ", ".join(f"{view} ({rows} rows)" for view, rows in self.differences.items() if rows)
        return f"Not every view equals its query: {wrong}."

    def total(self, figure: str) -> float:
        return sum(getattr(step, figure) for step in self.steps)


def show(report: Report, console: Console) -> None:
    console.print(rendered(report))


def rendered(report: Report) -> RenderableType:
    verdict = Text(report.verdict, style="bold green" if report.equal else "bold red")
    return Group(_table(report), verdict)


def write_json(report: Report, file: Path) -> None:
    figures = {
        "scale": report.scale,
        "format": report.format,
        "steps": [asdict(step) for step in report.steps],
        "total": {name: report.total(name) for name in ("immediate", "refreshed", "touched", "seconds")},
        "views": len(report.differences),
        "differences": dict(report.differences),
        "equal": report.equal,
        "seconds": report.seconds,
    }
    file.write_text(json.dumps(figures, indent=2) + "\n")


def _table(report: Report) -> Table:
    table = Table(title=f"Three days of TPC-H at scale {report.scale:g}: refreshes", show_footer=True)
    table.add_column("day", "all", no_wrap=True)
    table.add_column("step")
    table.add_column("immediate", f"{report.total('immediate'):,}", justify="right", no_wrap=True)
    table.add_column("Headwater", f"{report.total('refreshed'):,}", justify="right", no_wrap=True)
    table.add_column("partitions", f"{report.total('touched'):,}", justify="right", no_wrap=True)
    table.add_column("seconds", f"{report.total('seconds'):.1f}", justify="right", no_wrap=True)
    for step in report.steps:
        partitions = f"{step.touched:,} of {step.existing:,}"
        counts = (f"{step.immediate:,}", f"{step.refreshed:,}", partitions, f"{step.seconds:.1f}")
        table.add_row(step.day, step.title, *counts)
    return table
