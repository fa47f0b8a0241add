"""Commands for the refreshes in a store, without Spark: history and cancel."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import click

from headwater.cli.shared import journal, known_view, milliseconds, open_store, pictures, state_of, store_options, table
from headwater.engine.requests.limits import back_off
from headwater.engine.tell.refreshes import REFRESHES, refreshes
from headwater.model.error import StoreError
from headwater.model.name import anywhere
from headwater.simulate.accounts import as_it_ran
from headwater.store.dialect import Where
from headwater.store.sql_store import SqlStore


@click.command()
@click.argument("view", required=False)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Rows to show.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw staleness over time into this PNG.")
@store_options
def history(view: str | None, limit: int, plot: Path | None, path: Where | None, as_json: bool) -> None:
    """Lists refreshes, newest first: view, partition, reason, rows and duration.

    With --plot it draws how stale each view was instead, as far back as the store keeps its history.
    """
    store = open_store(path)
    if plot is not None:
        _draw(store, view, plot)
        return
    name = known_view(state_of(store)[0], view) if view else None
    alive = {each.number for each in store.engines() if each.alive}
    found = refreshes((entry.event for entry in store.history(name, 3 * limit + 20)), limit, alive)
    if as_json:
        click.echo(json.dumps([dict(zip(REFRESHES, each.row, strict=True)) for each in found], indent=2))
        return
    table([*REFRESHES], [each.row for each in found], leave_out=("run_id", "version"))
    gone = store.gone()
    if gone is not None and len(found) < limit:
        since = datetime.fromtimestamp(gone.at / 1000).strftime("%Y-%m-%d %H:%M:%S")
        click.echo(f"the store keeps no refreshes before {since}; spark.headwater.history says how long it does")


def _draw(store: SqlStore, view: str | None, file: Path) -> None:
    """The staleness of a view, or of all, until now."""
    state, _ = state_of(store)
    name = known_view(state, view) if view else None
    before, entries = journal(store)
    accounts = as_it_ran([each.event for each in entries], milliseconds(), before)
    wanted = (name,) if name else state.views
    drawn = {
        each: found for each in wanted if each in accounts.views and (found := accounts.views[each].meter.stretches)
    }
    if not drawn:
        raise StoreError(
            f"the store {store.name} has no history of {name or 'any view'} yet, so there is nothing to draw"
        )
    weights = {each: state.views[each].definition.policy.priority for each in drawn}
    left_out = pictures().draw_staleness(drawn, weights, file)
    click.echo(f"drawn into {file}")
    if left_out:
        click.echo(f"{left_out} less stale views are left out; name one: headwater history VIEW --plot {file}")


@click.command()
@click.argument("view")
@store_options
def cancel(view: str, path: Where | None, as_json: bool) -> None:
    """Cancels the running refresh of VIEW; its changes stay pending, and it is tried again after a pause.

    ALTER MATERIALIZED VIEW … SUSPEND keeps it stopped.
    """
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
        click.echo(
            f"the engine cancels the refresh of {name}, and tries it again after {back_off(1) / 1000:g} s; "
            f"ALTER MATERIALIZED VIEW {anywhere(name)} SUSPEND keeps it stopped"
        )
