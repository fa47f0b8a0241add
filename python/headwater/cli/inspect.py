"""Commands that look at one view in a store, without Spark: explain, history, and cancel."""

from __future__ import annotations

import json
from pathlib import Path

import click

from headwater.cli.journal import state_of
from headwater.cli.shared import json_option, known_view, milliseconds, open_store, store_option, table
from headwater.engine import report
from headwater.engine.history import REFRESHES, refreshes


@click.command()
@click.argument("view")
@store_option
@json_option
def explain(view: str, path: Path | None, as_json: bool) -> None:
    """Says what a refresh of VIEW would do now, and why."""
    state, _ = state_of(open_store(path))
    lines = report.explain(state, known_view(state, view), milliseconds())
    click.echo(json.dumps(lines, indent=2) if as_json else "\n".join(lines))


@click.command()
@click.argument("view", required=False)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many rows.")
@store_option
@json_option
def history(view: str | None, limit: int, path: Path | None, as_json: bool) -> None:
    """Lists refreshes, newest first: what ran, why, how long, how many rows."""
    store = open_store(path)
    name = known_view(state_of(store)[0], view) if view else None
    rows = refreshes((entry.event for entry in store.history(name, 3 * limit + 20)), limit)
    if as_json:
        click.echo(json.dumps([dict(zip(REFRESHES, row, strict=True)) for row in rows], indent=2))
        return
    table(REFRESHES, rows, leave_out=("run_id", "version"))


@click.command()
@click.argument("view")
@store_option
@json_option
def cancel(view: str, path: Path | None, as_json: bool) -> None:
    """Cancels the running refresh of VIEW; what it was for stays pending."""
    store = open_store(path)
    (state, _), now = state_of(store), milliseconds()
    name = known_view(state, view)
    running, acting = name in state.running, store.holder()[1] > now
    if running and acting:
        store.order("cancel", name)
    if as_json:
        click.echo(json.dumps({"view": name, "cancelled": running and acting}))
    elif not running:
        click.echo(f"{name} is not being refreshed; nothing to cancel")
    elif not acting:
        click.echo(f"no engine is running, so the refresh of {name} has ended already; what it was for is pending")
    else:
        click.echo(f"the engine is told to cancel the refresh of {name}")
