"""The figures of ``benchmarks.choices`` as a curve: how much dearer each choice was than the best method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no window, also where there is a display

from matplotlib import pyplot  # noqa: E402

COLOURS = {"partition": "tab:blue", "full": "tab:gray", "keys": "tab:orange", "incremental": "tab:green"}
"""By the method that would have been the best."""


def draw(pairs: Sequence[Mapping[str, Any]], path: Path) -> None:
    """All pairs in the order of their ratios, and beside it their core-seconds, chosen over best."""
    figure, (sorted_, seconds) = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    pairs = sorted(pairs, key=lambda each: each["took"] / each["least"])
    for best, colour in COLOURS.items():
        some = [(n, each) for n, each in enumerate(pairs, 1) if each["best"] == best]
        ratios = [each["took"] / each["least"] for _, each in some]
        sorted_.plot([100 * n / len(pairs) for n, _ in some], ratios, ".", color=colour, label=f"best: {best}")
        least, took = ([each[key] for _, each in some] for key in ("least", "took"))
        seconds.plot(least, took, ".", color=colour)
    sorted_.axhline(1.1, color="black", linewidth=0.6)
    sorted_.axvline(90, color="black", linewidth=0.6)
    sorted_.set(yscale="log", xlabel="part of the pairs, %", ylabel="chosen / best")
    sorted_.legend(fontsize=8)
    ends = [min(each["least"] for each in pairs), max(each["took"] for each in pairs)]
    seconds.plot(ends, ends, color="black", linewidth=0.6)
    seconds.set(xscale="log", yscale="log", xlabel="best method, core-seconds", ylabel="chosen method, core-seconds")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
