"""An experiment's updates, or their cost, by method as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no window, also where there is a display

from matplotlib import pyplot  # noqa: E402

COLOURS = {"literal": "#b04a4a", "ratio": "#b07a4a", "lazy": "#8fb3d9", "group": "#6c97c4", "eager": "#2f6f4f"}


def draw(report: Mapping[str, Any], file: Path) -> None:
    """Writes a PNG: for each setting a group of bars, one a method, with the optimum as a line across."""
    settings = list(dict.fromkeys(row["setting"] for row in report["rows"]))
    methods = list(dict.fromkeys(row["method"] for row in report["rows"]))
    figure, axes = pyplot.subplots(figsize=(1.6 + 0.45 * len(settings) * len(methods), 4.2), layout="constrained")
    width = 0.8 / len(methods)
    for row in report["rows"]:
        at = settings.index(row["setting"]) + (methods.index(row["method"]) + 0.5) * width - 0.4
        kind, _, held = row["method"].partition(", ")
        first = row["setting"] == settings[0]
        processed, lost = row["processed"], row["converged_seeds"] < report["seeds"]
        axes.bar(
            at,
            processed["mean"],
            width * 0.9,
            color=COLOURS[kind],
            alpha=1 if held or not any("held" in method for method in methods) else 0.55,
            hatch="//" if lost else None,
            edgecolor="white",
            label=row["method"] if first else None,
        )
        axes.plot([at, at], [processed["least"], processed["most"]], color="#333333", linewidth=0.8)
    for position, setting in enumerate(settings):
        optimum = next(row["optimal"]["mean"] for row in report["rows"] if row["setting"] == setting)
        label = "optimum" if position == 0 else None
        axes.plot([position - 0.4, position + 0.4], [optimum, optimum], color="#d08a2e", linewidth=2, label=label)
    axes.set_xticks(range(len(settings)), settings)
    counted = "run time of all updates (s)" if report["experiment"] == "holding" else "updates"
    axes.set_ylabel(f"{counted} (mean; line: least to most)")
    axes.set_title(f"{report['experiment']}, {report['seeds']} seeds; hatched: some seeds do not converge", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
    figure.savefig(file, dpi=150)
    pyplot.close(figure)
