"""Commands for one view in a store, without Spark: explain, history and cancel."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import click

from headwater.cli import planned
from headwater.cli.journal import state_of
from headwater.cli.shared import json_option, known_view, milliseconds, open_store, store_option, table
from headwater.engine import report
from headwater.engine.history import REFRESHES, refreshes
from headwater.plan.pending import decode_means
from headwater.store.dialect import Where


@click.command()
@click.argument("view", required=False)
@click.option("--plan", is_flag=True, help="Show the order of all pending refreshes, and the rows that stay in memory.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Also draw the plan into this PNG.")
@store_option
@json_option
def explain(view: str | None, plan: bool, plot: Path | None, path: Where | None, as_json: bool) -> None:
    """Shows the next refresh of VIEW and its reasons; or, with --plan, the refresh of all pending views."""
    store = open_store(path)
    state, _ = state_of(store)
    if plan or plot is not None:
        planned.say(state, store.noted("means"), plot, as_json)
        return
    if view is None:
        raise click.UsageError("name a view, or add --plan for all pending refreshes")
    name, means = known_view(state, view), decode_means(store.noted("means") or "null")
    lines = report.explain(state, name, milliseconds())
    if means is not None and means.pays:
        from headwater.plan.arrange import explained  # not at the top: the solver in it takes a second to import

        lines += explained(state, name, means)
    click.echo(json.dumps(lines, indent=2) if as_json else "\n".join(lines))


@click.command()
@click.argument("view", required=False)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Rows to show.")
@store_option
@json_option
def history(view: str | None, limit: int, path: Where | None, as_json: bool) -> None:
    """Lists refreshes, newest first: view, partition, reason, rows and duration."""
    store = open_store(path)
    name = known_view(state_of(store)[0], view) if view else None
    found = refreshes((entry.event for entry in store.history(name, 3 * limit + 20)), limit)
    if as_json:
        click.echo(json.dumps([dict(zip(REFRESHES, each.row, strict=True)) for each in found], indent=2))
        return
    table(REFRESHES, [each.row for each in found], leave_out=("run_id", "version"))
    gone = store.gone()
    if gone is not None and len(found) < limit:
        since = datetime.fromtimestamp(gone.at / 1000).strftime("%Y-%m-%d %H:%M:%S")
        click.echo(f"the store keeps no refreshes before {since}; spark.headwater.history says how long it does")


@click.command()
@click.argument("view")
@store_option
@json_option
def cancel(view: str, path: Where | None, as_json: bool) -> None:
    """Cancels the running refresh of VIEW; its changes stay pending."""
    store = open_store(path)
    state, _ = state_of(store)
    name = known_view(state, view)
    running, acting = name in state.running, any(each.alive for each in store.engines())
    if running and acting:
        store.order("cancel", name)
    if as_json:
        click.echo(json.dumps({"view": name, "cancelled": running and acting}))
    elif not running:
        click.echo(f"no refresh of {name} is running; nothing to cancel")
    elif not acting:
        click.echo(f"no engine is running, so the refresh of {name} has ended already; its changes are pending")
    else:
        click.echo(f"the engine cancels the refresh of {name}")
