"""A plan as a picture: the runs of each track over time, and below them the memory in use."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window, also where there is a display

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402

from headwater.plan.plan import Plan  # noqa: E402

KEPT, PLAIN, COPIED = "#2f6f4f", "#8fb3d9", "#d08a2e"


def draw(plan: Plan, file: Path) -> None:
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
    rows = sorted(plan.order, key=lambda task: (spans[task].start, plan.order.index(task)))
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
