"""Recomputes partitions, and the views downstream, from the command line."""

from __future__ import annotations

import json
import time

import click
from rich.console import Console
from rich.progress import Progress

from headwater.cli.shared import known_table, open_store, state_of, store_options, table
from headwater.engine.requests.backfill import ViewBackfill, asked, planned
from headwater.engine.requests.coverage import unresolved
from headwater.model.error import StatementError
from headwater.model.event import Requested
from headwater.model.partition import Slice, Version
from headwater.model.state import State
from headwater.store.dialect import Where
from headwater.store.recovery import caught_up
from headwater.store.sql_store import SqlStore

LOOK_AGAIN = 0.5


@click.command()
@click.argument("name", metavar="TABLE")
@click.argument("conditions", metavar="[COLUMN=VALUE | COLUMN=FIRST..LAST]...", nargs=-1)
@click.option("--downstream", is_flag=True, help="Also recompute the views downstream.")
@click.option("--dry-run", is_flag=True, help="Only show the refreshes.")
@store_options
def backfill(
    name: str, conditions: tuple[str, ...], downstream: bool, dry_run: bool, path: Where | None, as_json: bool
) -> None:
    """Recomputes partitions of TABLE, changed or not: those that meet all conditions, or all.

    Example: headwater backfill monthly month=2024-01-01..2024-03-01 --downstream

    A base table has no rows to recompute, so it needs --downstream. The running engine does the work, or
    the next one that starts. If you interrupt this command, the work goes on.
    """
    store = open_store(path)
    state, seq = state_of(store)
    found = known_table(state, name)
    if found not in state.views and not downstream:
        raise StatementError(f"{found} is no view; add --downstream to recompute the views downstream")
    slices = asked(state, found, conditions)
    plan = planned(state, found, slices, downstream)
    if as_json:
        click.echo(json.dumps({"table": found, "dry_run": dry_run, "plan": _rows(plan)}, indent=2))
    else:
        _show(plan)
    if dry_run or not plan:
        return
    order = {"table": found, "slices": [dict(each.bound) for each in slices], "downstream": downstream}
    store.order("backfill", json.dumps(order))
    if not _follow(store, state, seq, found, slices):
        click.echo("no engine is running; the next session or `headwater run` does the work", err=True)


def _rows(plan: list[ViewBackfill]) -> list[dict[str, object]]:
    return [
        {"view": part.view, "partitions": [str(each) for each in part.slices], "seconds": part.seconds} for part in plan
    ]


def _show(plan: list[ViewBackfill]) -> None:
    rows = []
    for part in plan:
        named = "; ".join(map(str, part.slices[:3])) + (" …" if len(part.slices) > 3 else "")
        seconds = "not known" if part.seconds is None else f"{part.seconds:.1f}"
        rows.append([part.view, len(part.slices), named, seconds])
    table(("view", "requests", "partitions", "about seconds"), rows)
    total = sum(part.seconds or 0 for part in plan)
    runs = "1 refresh" if len(plan) == 1 else f"{len(plan)} refreshes"
    click.echo(f"{runs}, about {total:.1f} s of work, by the last run of each")


def _follow(store: SqlStore, state: State, seq: int, name: str, slices: tuple[Slice, ...]) -> bool:
    """Shows the progress of a backfill until its end; false when no engine works on it."""
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"backfill of {name}", total=None)
        origin, total = None, 0
        while any(each.alive for each in store.engines()):
            origin = origin or _taken_up(store, seq, name, slices)
            state, seq = caught_up(store, state, seq)
            if origin is not None:
                left = sum(origin in each for view in state.views for each in unresolved(state, view).values())
                total = max(total, left)
                progress.update(task, total=total, completed=total - left)
                if left == 0:
                    click.echo(f"{name} is backfilled", err=True)
                    return True
            time.sleep(LOOK_AGAIN)
    return False


def _taken_up(store: SqlStore, after: int, name: str, slices: tuple[Slice, ...]) -> Version | None:
    """The origin of the backfill, once the engine has recorded it."""
    for entry in store.read(after):
        match entry.event:
            case Requested(version=version, view=view, slices=asked) if (view, asked) == (name, slices):
                return version
    return None
