"""The figures of [Golab11] §4 as a report: rows, goals, and a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from benchmarks.papers.streams.figures import FIGURES, HEADWATER, Figure, Row, lateness, mean

FULL, QUICK = 1_000_000, 15_000
"""Events for each point."""
ABOVE, BELOW = 1.02, 0.90
SPEED = 200_000
"""Events a second that the simulator plays at each point."""
FASTER = ("8", "9", "10")
"""The figures in which Headwater's default is to be better than the paper's best."""


def report(figures: Sequence[Figure], events: int, seeds: int, told: Callable[[], None]) -> dict[str, Any]:
    rows = [row for figure in figures for row in lateness(figure, events, range(1, seeds + 1), told)]
    return {"events": events, "seeds": seeds, "rows": rows, "goals": goals(figures, rows)}


def points(figures: Sequence[Figure]) -> int:
    """The points that a report measures."""
    return sum((len(each.series) + (len(each.weathers) == 1)) * len(each.utilizations) for each in figures)


def goals(figures: Sequence[Figure], rows: Sequence[Row]) -> list[dict[str, Any]]:
    found = []
    for figure in figures:
        if len(figure.weathers) > 1:
            continue
        beside = {each: ratio(figure, rows, each) for each in figure.utilizations}
        at, most = max(beside.items(), key=lambda each: each[1])
        found.append(_goal(figure, f"at most {ABOVE} of the best at any utilization", at, most, most <= ABOVE))
        if figure.name in FASTER:
            at, least = min(beside.items(), key=lambda each: each[1])
            found.append(_goal(figure, f"at most {BELOW} of the best at some utilization", at, least, least <= BELOW))
    return [*found, _speed(rows)]


def ratio(figure: Figure, rows: Sequence[Row], utilization: float) -> float:
    """The lateness of Headwater's default beside that of the paper's best algorithm at a utilization."""
    told = {
        row["algorithm"]: value
        for row in rows
        if row["figure"] == figure.name and row["utilization"] == utilization and (value := mean(row)) is not None
    }
    return told.pop(HEADWATER.name) / min(told.values())


def draw(figures: Sequence[Figure], rows: Sequence[Row], file: Path) -> None:
    """Writes a PNG: for each figure the relative lateness by utilization."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, LogLocator

    picture, grid = pyplot.subplots(
        (len(figures) + 1) // 2,
        min(2, len(figures)),
        figsize=(11, 3.4 * ((len(figures) + 1) // 2)),
        layout="constrained",
    )
    for axes, figure in zip(getattr(grid, "flat", [grid]), figures, strict=False):
        for name in dict.fromkeys(row["algorithm"] for row in rows if row["figure"] == figure.name):
            mine = [
                (row["utilization"], mean(row))
                for row in rows
                if (row["figure"], row["algorithm"]) == (figure.name, name)
            ]
            own = name == HEADWATER.name
            axes.plot(
                *zip(*mine, strict=True), label=name, color="#2f6f4f" if own else None, linewidth=2.2 if own else 1.1
            )
        axes.set_title(f"Figure {figure.name}: {figure.title}", fontsize=10, loc="left")
        axes.set_xlabel(fill(f"In the paper: {figure.about}", 80), fontsize=6.5)
        axes.set_yscale("log")
        if axes.get_ylim()[1] > 5:  # all minor ticks of several decades would hide each other's labels
            axes.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
            axes.set_ylim(bottom=0.95)
        for each in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
            each(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=7, frameon=False)
    for axes in list(getattr(grid, "flat", []))[len(figures) :]:
        axes.set_visible(False)
    picture.supylabel("relative lateness", fontsize=9)
    picture.supxlabel("utilization", fontsize=9)
    picture.savefig(file, dpi=140)


def chosen(names: Sequence[str]) -> list[Figure]:
    """The figures of these names; all without any."""
    return [each for each in FIGURES if not names or each.name in names]


# --- inside


def _speed(rows: Sequence[Row]) -> dict[str, Any]:
    slowest = min((row for row in rows if row["events_a_second"]), key=lambda row: row["events_a_second"])
    speed = slowest["events_a_second"]
    return {
        "goal": "The simulator",
        "target": f"at least {SPEED:,} events in a second of one core",
        "measured": f"{speed:,}: {slowest['algorithm']}, Figure {slowest['figure']}, {slowest['utilization']:.0%}",
        "met": speed >= SPEED,
    }


def _goal(figure: Figure, target: str, at: float, measured: float, met: bool) -> dict[str, Any]:
    return {
        "goal": f"Figure {figure.name}, {figure.title}",
        "target": target,
        "measured": f"{measured:.3f} at {at:.0%}",
        "met": met,
    }
