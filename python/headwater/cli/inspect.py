"""Commands that look at one view in a store, without Spark: explain, history, and cancel."""

from __future__ import annotations

import json
from pathlib import Path

import click

from headwater.cli import planned
from headwater.cli.journal import state_of
from headwater.cli.shared import json_option, known_view, milliseconds, open_store, store_option, table
from headwater.engine import report
from headwater.engine.history import REFRESHES, refreshes
from headwater.plan.wave import decode_means


@click.command()
@click.argument("view", required=False)
@click.option("--plan", is_flag=True, help="Say in which order all that is pending is refreshed, and what is kept.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Also draw the plan into this PNG.")
@store_option
@json_option
def explain(view: str | None, plan: bool, plot: Path | None, path: Path | None, as_json: bool) -> None:
    """Says what a refresh of VIEW would do now, and why; or, with --plan, what a refresh of everything would."""
    store = open_store(path)
    state, _ = state_of(store)
    if plan or plot is not None:
        planned.say(state, store.noted("means"), plot, as_json)
        return
    if view is None:
        raise click.UsageError("name a view, or say --plan for all that is pending")
    name, means = known_view(state, view), decode_means(store.noted("means") or "null")
    lines = report.explain(state, name, milliseconds())
    if means is not None and means.pays:
        from headwater.plan.said import said  # not at the top: the solver in it takes a second to import

        lines += said(state, name, means)
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
    found = refreshes((entry.event for entry in store.history(name, 3 * limit + 20)), limit)
    if as_json:
        click.echo(json.dumps([dict(zip(REFRESHES, each.row, strict=True)) for each in found], indent=2))
        return
    table(REFRESHES, [each.row for each in found], leave_out=("run_id", "version"))


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
