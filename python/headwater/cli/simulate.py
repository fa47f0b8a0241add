"""The core on a virtual clock, as a command: the paper's experiments here, what-if in ``cli.whatif``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from headwater.cli.whatif import history, made_up
from headwater.simulate.experiments import EXPERIMENTS
from headwater.simulate.goals import report
from headwater.simulate.trial import play, plays, summary

COLUMNS = ("setting", "method", "updates", "paper", "optimal", "more", "at most", "converged", "slowest s")
HOLDING = ("setting", "method", "cost s", "late", "optimal", "more", "at most", "converged", "slowest s")


METHODS = """`eager` is Headwater, and `held` is Headwater with a promised freshness. `lazy` and `group` are other
exact methods; `literal` and `ratio` follow the paper's rules word for word. Means are over the seeds."""


def _short(about: str) -> str:
    place, _, _ = about.partition(":")
    return f"The paper's experiment of {place}." if place.startswith("§") else "Waiting within promises, and its cost."


@click.group()
def simulate() -> None:
    """Plays histories and experiments on a virtual clock, with the engine's own core.

    `history` plays the changes of your store, and `generated` those of a made-up warehouse, each under several
    policies. The others are experiments by several methods: four of the paper, and one of holding changes.
    """


def _experiment(name: str) -> click.Command:
    """The command that plays one of the paper's experiments."""
    about = " ".join((EXPERIMENTS[name][0].__doc__ or "").split())

    @click.command(name, help=f"{about}\n\n{METHODS}", short_help=_short(about))
    @click.option(
        "--seeds", type=click.IntRange(1), default=20, show_default=True, help="How many random trials of each."
    )
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    @click.option(
        "--plot", type=click.Path(path_type=Path, dir_okay=False), help="Also draw the updates into this PNG."
    )
    def command(seeds: int, as_json: bool, plot: Path | None) -> None:
        _play(name, seeds, as_json, plot)

    return command


for command in (history, made_up, *map(_experiment, EXPERIMENTS)):
    simulate.add_command(command)


def _play(experiment: str, seeds: int, as_json: bool, plot: Path | None) -> None:
    found = report(experiment, _rows(experiment, seeds), seeds)
    if plot is not None:
        _draw(found, plot)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    console = Console()
    console.print(found["about"] + "\n", markup=False, highlight=False)
    console.print(_table(experiment, found["rows"], seeds))
    for goal in found["goals"]:
        met = "met   " if goal["met"] else "MISSED"
        console.print(f"{met} {goal['goal']}: {goal['measured']} (goal: {goal['target']})", highlight=False)


def _draw(found: dict[str, Any], file: Path) -> None:
    try:
        from headwater.simulate.plot import draw  # only who plots needs matplotlib
    except ImportError as error:
        raise click.ClickException("--plot needs matplotlib; pip install 'headwater[plot]'") from error
    draw(found, file)


def _rows(experiment: str, seeds: int) -> list[dict[str, Any]]:
    rows = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        todo = plays(experiment)
        task = progress.add_task(experiment, total=len(todo) * seeds)
        for setting, method in todo:
            progress.update(task, description=f"{experiment}, {setting}: {method}")
            rows.append(
                summary(setting, method, play(experiment, setting, method, seeds, lambda: progress.advance(task)))
            )
    return rows


def _table(experiment: str, rows: list[dict[str, Any]], seeds: int) -> Table:
    holding = experiment == "holding"
    table = Table(*(HOLDING if holding else COLUMNS), title=f"{seeds} seeds")
    for column in table.columns[2:]:
        column.justify = "right"
    before = None
    for row in rows:
        if before not in (None, row["setting"]):
            table.add_section()
        unneeded, converged = row["unneeded"], row["converged_seeds"]
        table.add_row(
            "" if before == row["setting"] else row["setting"],
            row["method"],
            f"{row['processed']['mean']:.1f}",
            str(row["missed"] if holding else row["paper"].get(row["method"], "")),
            f"{row['optimal']['mean']:.1f}",
            f"{unneeded['mean']:.1f}",
            str(unneeded["most"]),
            "always" if converged == seeds else f"{converged} of {seeds}",
            f"{row['slowest_seconds']:.0f}",
        )
        before = row["setting"]
    return table
