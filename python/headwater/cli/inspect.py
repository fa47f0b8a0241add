"""Commands that look into a store, without Spark: status, explain, history, and cancel."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from headwater.engine import report
from headwater.engine.consistency import vertical
from headwater.engine.reasons import of_origin
from headwater.engine.transition import transition
from headwater.model.error import JournalError, StatementError, StoreError
from headwater.model.state import State
from headwater.store.place import default_store
from headwater.store.sql import SqlStore

PIPE_WIDTH = 1000
SHOWN_AS_TIME = ("refreshed_at", "started_at")


def _store_option(command: Callable) -> Callable:
    return click.option(
        "--store",
        "path",
        type=click.Path(path_type=Path),
        help="The store's file. Default: spark-warehouse/.headwater/store.db, here.",
    )(command)


def _json_option(command: Callable) -> Callable:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


@click.command()
@_store_option
@_json_option
def status(path: Path | None, as_json: bool) -> None:
    """Shows every view: its state, how many partitions are behind, and why."""
    store = _open(path)
    state, now = _state(store), _now()
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
    _table(report.VIEWS, [list(row.values()) for row in rows])
    if state.merged:
        told = ", ".join(f"{count:,} {kind}" for kind, count in sorted(state.merged.items()))
        click.echo(f"requests merged into one that was pending already: {told}")
    click.echo(f"kept fresh by {acting}" if acting else "no engine is running; start a session or `headwater run`")


@click.command()
@click.argument("view")
@_store_option
@_json_option
def explain(view: str, path: Path | None, as_json: bool) -> None:
    """Says what a refresh of VIEW would do now, and why."""
    state = _state(_open(path))
    lines = report.explain(state, _known(state, view), _now())
    click.echo(json.dumps(lines, indent=2) if as_json else "\n".join(lines))


@click.command()
@click.argument("view", required=False)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many rows.")
@_store_option
@_json_option
def history(view: str | None, limit: int, path: Path | None, as_json: bool) -> None:
    """Lists refreshes, newest first: what ran, why, how long, how many rows."""
    store = _open(path)
    name = _known(_state(store), view) if view else None
    rows = report.refreshes((entry.event for entry in store.history(name, 3 * limit + 20)), limit)
    if as_json:
        click.echo(json.dumps([dict(zip(report.REFRESHES, row, strict=True)) for row in rows], indent=2))
        return
    _table(report.REFRESHES, rows, leave_out=("run_id", "version"))


@click.command()
@click.argument("view")
@_store_option
@_json_option
def cancel(view: str, path: Path | None, as_json: bool) -> None:
    """Cancels the running refresh of VIEW; what it was for stays pending."""
    store = _open(path)
    state, now = _state(store), _now()
    name = _known(state, view)
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


def _open(path: Path | None) -> SqlStore:
    found = path or default_store(Path("spark-warehouse"))
    if not found.exists():
        raise StoreError(
            f"there is no store at {found}; name it with --store (it lies in the warehouse, .headwater/store.db)"
        )
    return SqlStore(found)


def _state(store: SqlStore) -> State:
    state = State()
    try:
        for entry in store.read():
            state, _ = transition(state, entry.event)
    except JournalError as error:
        raise StoreError(
            f"the store {store.path} is damaged ({error}); move it away: the next session makes a new one and "
            "adopts the views from the catalog"
        ) from error
    return state


def _known(state: State, view: str) -> str:
    wanted = view.lower()
    for name in state.views:
        if name.lower() in (wanted, f"default.{wanted}"):
            return name
    raise StatementError(f"there is no materialized view {view}; there are {', '.join(sorted(state.views)) or 'none'}")


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


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]], leave_out: Sequence[str] = ()) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    shown = [n for n, column in enumerate(columns) if column not in leave_out]
    for n in shown:
        table.add_column(columns[n].replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(*(_cell(columns[n], row[n]) for n in shown))
    console = Console()
    # A file or a pipe has no width to fit into: a row stays a line there.
    (console if console.is_terminal else Console(width=PIPE_WIDTH)).print(table)


def _cell(column: str, value: Any) -> str:
    if value is None:
        return ""
    if column in SHOWN_AS_TIME:
        return datetime.fromtimestamp(value / 1000).strftime("%Y-%m-%d %H:%M:%S")
    return str(value)


def _now() -> int:
    return time.time_ns() // 1_000_000
