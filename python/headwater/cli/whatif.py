"""``headwater whatif``: the recorded history of a store under other policies, on a virtual clock."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from headwater.cli.shared import journal, json_option, open_store, pictures, store_option, wide_console
from headwater.engine.requests.limits import TRACKS
from headwater.model.error import DefinitionError, StatementError, StoreError
from headwater.model.policy import DEPENDENCY, PROPERTIES
from headwater.model.properties import check_properties
from headwater.simulate.accounts import as_it_ran
from headwater.simulate.replay import USUAL, Override
from headwater.simulate.scenario import Scenario, opening, recorded
from headwater.simulate.whatif import Row, naive, ran, report, simulated
from headwater.store.dialect import Where

SHOWN = 6
"""How many views are listed one by one."""


def policy(text: str) -> Override:
    """``NAME:headwater.freshness=10 minutes,headwater.settle=5 seconds``; nothing after ``=`` takes a property
    away.

    Raises:
        StatementError: it is not of that form.
        DefinitionError: a property is unknown or cannot have the value.
    """
    name, _, assigned = text.partition(":")
    properties = {}
    for part in re.split(r",\s*(?=headwater\.)", assigned):
        key, equals, value = (each.strip() for each in part.partition("="))
        if not equals or not key.startswith("headwater.") or not name.strip():
            raise StatementError(
                f"'{text}' is no policy; write for example late:headwater.freshness=1 hour,headwater.settle=5 seconds"
            )
        if key.startswith(f"headwater.{DEPENDENCY}"):
            raise DefinitionError(
                "PROPERTY", f"policy {name}: the dependencies of a view come from its history; leave out {key}"
            )
        properties[key] = value
    known = {f"headwater.{key}" for key in PROPERTIES}
    check_properties(f"policy {name}", {key: value for key, value in properties.items() if value or key not in known})
    return Override(name.strip(), properties)


def policy_options(command: Callable) -> Callable:
    options = (
        click.option(
            "--policy",
            "policies",
            multiple=True,
            metavar="NAME:PROPERTY=VALUE,…",
            help="Also play these properties on every view, such as 'late:headwater.freshness=1 hour'. Repeatable. "
            f"Without any: {' and '.join(each.name for each in USUAL)} of promised freshness.",
        ),
        click.option("--tracks", type=click.IntRange(1), default=TRACKS, show_default=True, help="Runs side by side."),
        click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Also draw it into this PNG."),
        json_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@store_option
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="Random draws of run times.")
@policy_options
def whatif(
    path: Where | None, seeds: int, policies: tuple[str, ...], tracks: int, plot: Path | None, as_json: bool
) -> None:
    """Plays the store's recorded history again, as it was declared and under other policies.

    Sources change at their recorded times. The refreshes are decided anew. A run takes as long as a recorded
    run of its view, by its number of partitions, and never fails. The row `as it ran` shows the recorded
    refreshes, and `naive` the refreshes of a warehouse that refreshes on every change. It begins where the
    recorded history does: a store keeps that of the last 30 days or of spark.headwater.history.
    """
    others = asked_for(policies)
    store = open_store(path)
    before, entries = journal(store)
    events = [entry.event for entry in entries]
    begin = events[0].at if events else store.now()
    found = recorded([*opening(before, begin), *events])
    if not found.kinds["Declared"]:
        raise StoreError(f"the store {store.name} has no view yet, so there is nothing to simulate")
    about = {"simulation": "history", "store": store.name}
    rows = [ran(as_it_ran(events, found.end, before))]
    rows += played([found] * seeds, [found], [Override("recorded"), *others], tracks)
    show(about, f"History of {store.name}", [found] * seeds, tracks, rows, as_json, plot)


# --- also for made-up warehouses


def asked_for(texts: Sequence[str]) -> list[Override]:
    """The policies of the option, or the usual ones."""
    return [policy(each) for each in texts] or list(USUAL)


def played(
    scenarios: Sequence[Scenario], distinct: Sequence[Scenario], policies: Sequence[Override], tracks: int
) -> list[Row]:
    """A row for each policy, and one for immediate triggering, which no seed concerns. A bar shows the progress.

    Args:
        scenarios: one for each seed.
        distinct: each of them once.
    """
    with Progress(console=Console(stderr=True), transient=True) as progress:
        total = len(policies) * _length(scenarios) + _length(distinct)
        task = progress.add_task("", total=total)

        def tell(played: int) -> None:
            progress.advance(task, played)

        rows = []
        for each in policies:
            progress.update(task, description=each.name)
            rows.append(simulated(scenarios, each, tracks, tell))
        progress.update(task, description="naive")
        return [*rows, naive(distinct, tell)]


def _length(scenarios: Sequence[Scenario]) -> int:
    return sum(each.end - each.begin for each in scenarios)


def show(
    about: Mapping[str, Any],
    title: str,
    scenarios: Sequence[Scenario],
    tracks: int,
    rows: Sequence[Row],
    as_json: bool,
    plot: Path | None,
) -> None:
    """Prints the rows, as a table or as JSON, and draws them into ``plot``."""
    found = report(about, scenarios, tracks, rows)
    changes = found["events"].get("Changed", 0)
    title += f": {_spelled(found['hours'] * 3600)}, {found['views']} views, {changes:,.0f} changes"
    title += f"; {tracks} tracks, {found['seeds']} seed{'s' * (found['seeds'] > 1)}"
    if plot is not None:
        pictures().draw_policies(title, rows, plot)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    console = wide_console()
    console.print(title + "\n", markup=False, highlight=False)
    console.print(_table(found["policies"]))
    console.print()
    if found["views"] > SHOWN:
        console.print(f"{found['views'] - SHOWN} less stale views are left out; --json shows all.", highlight=False)
    console.print(LEGEND, highlight=False)
    for row in found["policies"]:
        if row["pending"]:
            console.print(f"{row['policy']}: still behind at the end: {', '.join(row['pending'])}", highlight=False)


COLUMNS = ("", "runs", "partitions", "work", "p50", "p95", "max", "kept")
LEGEND = "p50, p95, max: staleness over time. kept: the share of the time within the promised freshness."


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """All policies over all views, then over each of the views that were stalest under any."""
    table = Table(*COLUMNS, box=None, pad_edge=False, header_style="bold")
    table.columns[0].overflow = "fold"
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    for row in rows:
        table.add_row(row["policy"], *_cells(row))
    accounts = [{each["table"]: each for each in row["tables"]} for row in rows]
    for name in _stalest(accounts):
        table.add_row()
        table.add_row(Text(name, style="bold"))
        for row, account in zip(rows, accounts, strict=True):
            if name in account:
                table.add_row(f"  {row['policy']}", *_cells(account[name]))
    return table


def _stalest(accounts: Sequence[Mapping[str, Any]]) -> list[str]:
    worst: dict[str, float] = {}
    for account in accounts:
        for name, each in account.items():
            p95 = each["staleness"]["p95"] if each["staleness"] else 0.0
            worst[name] = max(worst.get(name, 0.0), p95)
    return sorted(worst, key=lambda name: (-worst[name], name))[:SHOWN]


def _cells(row: Mapping[str, Any]) -> list[str]:
    stale = row["staleness"]
    cells = [f"{row['runs']:,.0f}", f"{row['partitions']:,.0f}", _spelled(row["seconds"])]
    if stale is None:
        return cells
    within = stale["within_promise"]
    kept = "" if within is None else f"{within:.1%}"
    return [*cells, *(_spelled(stale[key]) for key in ("p50", "p95", "max")), kept]


def _spelled(seconds: float) -> str:
    if seconds >= 2 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.1f} min" if seconds >= 120 else f"{seconds:.1f} s"
