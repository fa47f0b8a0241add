"""Commands for the refreshes in a store, without Spark: history and cancel."""

from __future__ import annotations

import json
from datetime import datetime

import click

from headwater.cli.journal import state_of
from headwater.cli.shared import json_option, known_view, open_store, store_option, table
from headwater.engine.refreshes import REFRESHES, refreshes
from headwater.store.dialect import Where


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
