"""The picture of ``benchmarks.staleness``."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no window, also where there is a display

from matplotlib import pyplot  # noqa: E402
from matplotlib.ticker import PercentFormatter  # noqa: E402

COLOURS = ("#2f6f4f", "#b04a4a", "#8fb3d9", "#d08a2e")


def draw(found: Sequence[Mapping[str, Any]], sides: Sequence[str], file: Path) -> None:
    """Writes a PNG: on the left the weighted staleness by load, on the right the 99th percentile of each priority at
    the highest load."""
    loads = sorted({each["load"] for each in found})
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
    priorities = list(found[0]["p99"])
    for n, side in enumerate(sides):
        mine = [each for each in found if each["side"] == side]
        weighted = [statistics.median(each["weighted"] for each in mine if each["load"] == load) for load in loads]
        left.plot(loads, weighted, marker="o", color=COLOURS[n], label=side)
        late = [
            statistics.median(each["p99"][priority] for each in mine if each["load"] == loads[-1])
            for priority in priorities
        ]
        right.bar([m + 0.2 * (n - 1.5) for m in range(len(priorities))], late, 0.18, color=COLOURS[n], label=side)
    left.set_title("weighted staleness: priority × mean seconds, over 30 views", fontsize=9)
    left.set_xlabel("load", fontsize=9)
    left.xaxis.set_major_formatter(PercentFormatter(1.0))
    left.set_ylim(bottom=0)
    left.legend(fontsize=8, frameon=False)
    right.set_title(f"99th percentile of staleness at {loads[-1]:.0%} load (s)", fontsize=9)
    right.set_xticks(range(len(priorities)), [f"priority {each}" for each in priorities], fontsize=9)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=130)
    pyplot.close(figure)
