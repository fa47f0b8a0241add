"""Pictures of the commands: a plan of ``explain --plan``, the policies of ``whatif`` side by side, and the staleness of
``history --plot``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import inf
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no window, also where there is a display

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullLocator, PercentFormatter  # noqa: E402

from headwater.memory.planning.plan import Plan  # noqa: E402
from headwater.model.policy import duration  # noqa: E402
from headwater.simulate.staleness import Stretch  # noqa: E402
from headwater.simulate.whatif import SECOND, Row  # noqa: E402

KEPT, PLAIN, COPIED = "#2f6f4f", "#8fb3d9", "#d08a2e"

COLOURS = ("#2f6f4f", "#6c97c4", "#d08a2e", "#8a5fa8", "#4aa3a2", "#7d7d7d", "#a8793f", "#c46c9a")
NAIVE = "#b04a4a"
MINUTE, HOUR = 60, 3600
TICKS = [n * unit for unit in (1, MINUTE, HOUR) for n in (1, 3, 10, 30)] + [100 * HOUR, 300 * HOUR, 1000 * HOUR]
LABELS = 9
POINTS = 2000
"""A curve of more points than that is drawn with fewer."""
PANELS = 12
"""The most views in a picture of their staleness."""


# --- a plan


def draw_plan(plan: Plan, file: Path) -> None:
    """Writes a PNG: a bar for each run, dark if memory keeps it, thin during the copy; and the memory in use."""
    names = [task.name.removeprefix("default.") for task in plan.problem.tasks]
    height = 1.2 + 0.24 * len(names)
    figure, (runs, memory) = pyplot.subplots(
        2, 1, figsize=(10, height + 1.8), height_ratios=(height, 1.8), sharex=True, layout="constrained"
    )
    _runs(runs, plan, names)
    _memory(memory, plan)
    figure.savefig(file, dpi=130)
    pyplot.close(figure)


def _runs(axes: Axes, plan: Plan, names: list[str]) -> None:
    spans = plan.timeline.spans
    rows = plan.by_start
    for row, task in enumerate(rows):
        span, kept = spans[task], task in plan.flagged
        axes.barh(row, (span.end - span.start) / 1e6, 0.7, left=span.start / 1e6, color=KEPT if kept else PLAIN)
        if kept:
            axes.barh(row, (span.published - span.end) / 1e6, 0.2, left=span.end / 1e6, color=COPIED)
    axes.set_yticks(range(len(rows)), [names[task] for task in rows], fontsize=8)
    axes.invert_yaxis()
    for colour, label in (
        (PLAIN, "written to the warehouse"),
        (KEPT, "kept in memory"),
        (COPIED, "until it is copied"),
    ):
        axes.barh(0, 0, color=colour, label=label)
    axes.legend(fontsize=8, frameon=False, loc="lower left")
    axes.set_title(f"{len(rows)} refreshes on {plan.problem.tracks} tracks ({plan.method})", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def _memory(axes: Axes, plan: Plan) -> None:
    moments = [0.0, *(moment / 1e6 for moment, _ in plan.timeline.used), plan.timeline.makespan / 1e6]
    used = [0.0, *(size / 1e6 for _, size in plan.timeline.used)]
    axes.stairs(used, moments, fill=True, color=KEPT, alpha=0.6)
    axes.axhline(plan.problem.memory / 1e6, color="#b04a4a", linewidth=1)
    axes.set_ylabel("MB in memory")
    axes.set_xlabel("seconds from the start; the line is the limit")
    axes.spines[["top", "right"]].set_visible(False)


# --- policies


def draw_policies(title: str, rows: Sequence[Row], file: Path) -> None:
    """Writes a PNG: on the left the runs of each policy, on the right for how much of the time, over all
    views, staleness was at most so much. A dotted line is a freshness that the policy promises."""
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(12, 2.6 + 0.5 * len(rows)), layout="constrained", width_ratios=(1, 1.4)
    )
    figure.suptitle(title, fontsize=10)
    colours = _colours(rows)
    _counts(left, rows, colours)
    _curves(right, rows, colours)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=150)
    pyplot.close(figure)


def _colours(rows: Sequence[Row]) -> dict[str, str]:
    simulated = [row.policy for row in rows if row.total.staleness is not None]
    return {row.policy: NAIVE for row in rows} | {
        name: COLOURS[n % len(COLOURS)] for n, name in enumerate(dict.fromkeys(simulated))
    }


def _counts(axes: Axes, rows: Sequence[Row], colours: dict[str, str]) -> None:
    for position, row in enumerate(rows):
        total = row.total
        axes.barh(position, total.runs, 0.6, color=colours[row.policy])
        label = f" {total.runs:,.0f} runs, {total.partitions:,.0f} partitions\n {_spelled(total.seconds)} of work"
        axes.text(total.runs, position, label, va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [row.policy for row in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.6 * max((row.total.runs for row in rows), default=1) or 1)
    axes.set_title("refreshes", fontsize=9)


def _curves(axes: Axes, rows: Sequence[Row], colours: dict[str, str]) -> None:
    known = [(row, stale) for row in rows if (stale := row.total.staleness) is not None and stale.span]
    most = 1.2 * max((stale.most / SECOND for _, stale in known), default=1)
    for row, stale in known:
        points = stale.curve[:: 1 + len(stale.curve) // POINTS] + stale.curve[-1:]
        seconds = [0.0, *(at / SECOND for at, _ in points), most]
        shares = [0.0, *(time / stale.span for _, time in points), 1.0]
        axes.plot(seconds, shares, color=colours[row.policy], linewidth=1.8, label=row.policy)
        promised = dict(row.properties).get("headwater.freshness")
        if promised:
            axes.axvline(duration(promised) / SECOND, color=colours[row.policy], linewidth=1, linestyle=":")
    axes.set_xscale("symlog", linthresh=1, linscale=0.3)
    ticks = [each for each in TICKS if each <= most]
    axes.set_xticks(ticks[:: 1 + len(ticks) // LABELS])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: _spelled(seconds)))
    axes.set_xlim(0, most)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_title("share of the time in which views were at most so stale", fontsize=9)
    axes.legend(fontsize=8, loc="lower right", edgecolor="none", framealpha=1)


# --- staleness over time


def draw_staleness(views: Mapping[str, Sequence[Stretch]], weights: Mapping[str, float], file: Path) -> int:
    """Writes a PNG: a panel for each view with its staleness over time, those with the most weighted staleness first.
    A dotted line is the promised freshness, and what is above it is red.

    Args:
        views: what was known of each, in the order of time.
        weights: their priorities.

    Returns:
        How many views were left out for want of room.
    """
    ordered = sorted(views, key=lambda each: (-weights[each] * _area(views[each]), each))
    shown = ordered[:PANELS]
    figure, panels = pyplot.subplots(
        len(shown), 1, figsize=(11, 1.0 + 1.25 * len(shown)), sharex=True, squeeze=False, layout="constrained"
    )
    for name, axes in zip(shown, panels[:, 0], strict=True):
        _sawtooth(axes, views[name])
        axes.set_title(f"{name.removeprefix('default.')}, priority {weights[name]:g}", fontsize=9, loc="left")
    figure.suptitle("staleness: the age of the oldest change that a view lacks", fontsize=10)
    figure.savefig(file, dpi=130)
    pyplot.close(figure)
    return len(ordered) - len(shown)


def _area(stretches: Sequence[Stretch]) -> float:
    """The staleness of a view, summed over time."""
    return sum((low + high) / 2 * each.length for each in stretches for low, high in [each.rise])


def _sawtooth(axes: Axes, stretches: Sequence[Stretch]) -> None:
    times: Any = [datetime.fromtimestamp(at / 1000) for each in stretches for at in (each.start, each.end)]
    stale = [at / SECOND for each in stretches for at in each.rise]
    bounds = [inf if each.bound is None else each.bound / SECOND for each in stretches for _ in range(2)]
    late = [at > bound for at, bound in zip(stale, bounds, strict=True)]
    axes.fill_between(times, stale, color=PLAIN, linewidth=0)
    axes.fill_between(times, stale, bounds, where=late, color=NAIVE, linewidth=0, interpolate=True)
    axes.plot(times, stale, color=KEPT, linewidth=1)
    axes.plot(times, bounds, color=NAIVE, linewidth=1, linestyle=":")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: _spelled(seconds)))
    axes.spines[["top", "right"]].set_visible(False)


def _spelled(seconds: float) -> str:
    for unit, name in ((HOUR, "h"), (MINUTE, "min")):
        if seconds >= unit:
            return f"{round(seconds / unit, 1):,g} {name}"
    return f"{round(seconds, 1):g} s"
