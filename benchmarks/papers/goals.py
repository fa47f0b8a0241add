"""The goals of the experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.papers.experiments import EXPERIMENTS, PIPELINE_BOUND, ROLLUP
from benchmarks.papers.holding import HOLDING
from benchmarks.papers.script import SECOND
from benchmarks.papers.trial import EXACT

Row = Mapping[str, Any]
BOUND = PIPELINE_BOUND / SECOND


def goals(experiment: str, rows: Sequence[Row], seeds: int) -> list[dict[str, Any]]:
    """Goal, target, measured and met, for the rows of one experiment."""
    exact = [row for row in rows if row["method"] in EXACT]
    found = [
        _goal("every exact method converges", f"{seeds} of {seeds} seeds", _least(exact, "converged_seeds"), seeds)
    ]
    match experiment:
        case "binomial" | "lifetime":
            for method in ("lazy", "group", "eager"):
                mine = [row for row in rows if row["method"] == method]
                most = max(row["unneeded"]["most"] for row in mine)
                found.append(_row(f"unneeded updates, {method}, all settings and seeds", "0", most, most == 0))
        case "holding":
            found += _holding(rows)
        case "pipeline":
            for row in rows:
                if row["method"] in ("lazy, held", "eager, held"):
                    what = f"{row['setting']}: {row['method']}"
                    found.append(_goal(f"{what}, optimal", f"{seeds} of {seeds} seeds", row["optimal_seeds"], seeds))
                    slowest = row["slowest_seconds"]
                    found.append(_row(f"{what}, slowest", f"<= {BOUND:.0f} s", f"{slowest:.0f} s", slowest <= BOUND))
        case "rollup":
            for row in rows:
                paper, processed = ROLLUP[row["setting"]][1], row["processed"]
                met = processed["least"] <= paper <= processed["most"]
                spread = f"{processed['least']} to {processed['most']}, mean {processed['mean']:.1f}"
                found.append(_row(f"updates of the day, {row['setting']}", f"the paper's {paper} within", spread, met))
    return found


def _holding(rows: Sequence[Row]) -> list[dict[str, Any]]:
    by = {(row["setting"], row["method"]): row for row in rows}
    found = []
    for setting in HOLDING:
        held, ratio = by[setting, "eager, held"], by[setting, "ratio"]
        found.append(_goal(f"{setting}: changes reflected later than promised, held", "0", held["missed"], 0))
        gap, other = held["gap"]["mean"], ratio["gap"]["mean"]
        if setting == "chain":
            found.append(_row(f"{setting}: cost above the optimum, held", "0.0 %", _percent(gap), gap == 0))
        else:
            least = f"below the ratio rule's {_percent(other)}"
            most = f"{_percent(gap)}, at most {_percent(held['gap']['most'])}"
            found.append(_row(f"{setting}: cost above the optimum, held", least, most, gap < other))
    return found


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def report(experiment: str, rows: Sequence[Row], seeds: int) -> dict[str, Any]:
    """The experiment's report, as JSON has it."""
    return {
        "experiment": experiment,
        "about": " ".join((EXPERIMENTS[experiment][0].__doc__ or "").split()),
        "seeds": seeds,
        "rows": list(rows),
        "goals": goals(experiment, rows, seeds),
    }


def _least(rows: Sequence[Row], key: str) -> int:
    return min(row[key] for row in rows)


def _goal(goal: str, target: str, measured: int, wanted: int) -> dict[str, Any]:
    return _row(goal, target, measured, measured == wanted)


def _row(goal: str, target: str, measured: Any, met: bool) -> dict[str, Any]:
    return {"goal": goal, "target": target, "measured": str(measured), "met": met}
