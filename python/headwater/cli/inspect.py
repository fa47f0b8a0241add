"""Commands that look into a store, without Spark: status, explain, history, and cancel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from headwater.cli.shared import json_option, known_view, milliseconds, open_store, state_of, store_option, table
from headwater.engine import report
from headwater.engine.consistency import vertical
from headwater.engine.history import REFRESHES, refreshes
from headwater.engine.reasons import of_origin
from headwater.model.state import State

RELATIONS = ("independent origins", "same ancestor", "same origin")


@click.command()
@store_option
@json_option
def status(path: Path | None, as_json: bool) -> None:
    """Shows every view: its state, how many partitions are behind, and why."""
    store = open_store(path)
    (state, _), now = state_of(store), milliseconds()
    holder, until = store.holder()
    rows = [dict(zip(report.VIEWS, row, strict=True)) for row in report.views(state, now)]
    acting = holder if until > now else None
    if as_json:
        click.echo(
            json.dumps(
                {
                    "engine": acting,
                    "views": rows,
                    "partitions": _partitions(state),
                    "consistency": _consistency(state),
                    "merged": dict(state.merged),
                },
                indent=2,
            )
        )
        return
    table(report.VIEWS, [list(row.values()) for row in rows])
    if state.merged:
        merged, exact = state.merged["both pending"], state.merged["exact duplicate"]
        kinds = ", ".join(f"{state.merged[kind]:,} {kind}" for kind in RELATIONS)
        click.echo(f"requests merged with pending ones: {merged:,} ({kinds}); {exact:,} exact duplicates")
    click.echo(f"kept fresh by {acting}" if acting else "no engine is running; start a session or `headwater run`")


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


def _consistency(state: State) -> dict[str, Any]:
    """For each view, the tables upstream of which it lacks changes, since when, and what will bring them."""
    return {
        name: [
            {
                "with": each.other,
                "since": each.since,
                "lacks": [of_origin(origin) for origin in each.lacks],
                "requests": [f"{table}[{part}]" for table, part in each.requests],
            }
            for each in vertical(state, name)
            if not each.consistent
        ]
        for name in sorted(state.views)
    }


def _partitions(state: State) -> dict[str, Any]:
    return {
        name: [
            {"partition": str(each), "version": known.version, "rows": known.rows, "inputs": dict(known.inputs)}
            for each, known in state.tables[name].partitions.items()
            if known.fingerprint is not None
        ]
        for name in sorted(state.views)
    }
