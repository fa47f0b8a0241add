"""The figures of ``benchmarks.refresh`` as bars: one picture of all cells, a row for each storage and memory limit."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no window, also where there is a display

from matplotlib import pyplot  # noqa: E402

Cell = Mapping[str, Any]


def draw(cells: Sequence[Cell], path: Path) -> None:
    """Seconds of each method as a share of the sequential ones, round by round: median, least and most."""
    rows = sorted({(cell["storage"], cell["memory"], cell["scale"]) for cell in cells})
    methods = list(dict.fromkeys(method for cell in cells for method in cell["runs"]))
    figure, panels = pyplot.subplots(len(rows), 1, figsize=(10, 2.8 * len(rows)), squeeze=False, layout="constrained")
    for (storage, memory, scale), panel in zip(rows, panels[:, 0], strict=True):
        some = [cell for cell in cells if (cell["storage"], cell["memory"], cell["scale"]) == (storage, memory, scale)]
        _panel(panel, some, methods)
        panel.set_title(f"storage: {storage}, memory: {memory:g} % of the data, scale {scale:g}", fontsize=10)
    panels[0, 0].legend(methods, ncols=len(methods), fontsize=8, loc="lower left")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _panel(panel: Any, cells: Sequence[Cell], methods: Sequence[str]) -> None:
    width = 0.8 / len(methods)
    for n, method in enumerate(methods):
        shares = [_shares(cell, method) for cell in cells]
        middle = [statistics.median(each) for each in shares]
        below = [value - min(each) for value, each in zip(middle, shares, strict=True)]
        above = [max(each) - value for value, each in zip(middle, shares, strict=True)]
        places = [place + n * width for place in range(len(cells))]
        panel.bar(places, middle, width, yerr=(below, above), capsize=2, error_kw={"linewidth": 0.8})
    panel.axhline(1, color="black", linewidth=0.6)
    panel.set_xticks([place + 0.4 - width / 2 for place in range(len(cells))], [cell["workload"] for cell in cells])
    panel.set_ylabel("time / sequential")


def _shares(cell: Cell, method: str) -> list[float]:
    base = [run["seconds"] for run in cell["runs"]["sequential"]]
    return [run["seconds"] / other for run, other in zip(cell["runs"].get(method, []), base, strict=False)] or [0.0]
