"""``headwater status``: the state of every view, from the store's summary if that is up to date."""

from __future__ import annotations

import json
import time
from collections.abc import Collection

import click

from headwater.cli.shared import milliseconds, open_store, state_of, store_options, table
from headwater.engine.tell.detail import detail
from headwater.engine.tell.status import VIEWS, Summary, summary
from headwater.store.board import Kept
from headwater.store.dialect import Where
from headwater.store.sql_store import SqlStore

RARE = ("bound", "attainable", "fresh_to")
"""Columns that are shown where a view has a property for them."""

PATIENCE = 1.0
"""Seconds in which a running engine may bring the summary up to date."""

LOOK = 0.05  # s between two looks whether it did

LARGEST = 16_000_000
"""Characters of detail that are kept for the next reader."""


@click.command()
@store_options
def status(path: Where | None, as_json: bool) -> None:
    """Shows every view: its state, its partitions behind, and the reason."""
    store = open_store(path)
    alive = {each.number: each.name for each in store.engines() if each.alive}
    acting = ", ".join(alive.values()) or None
    known = _kept(store, as_json, acting is not None) or _replayed(store, as_json)
    if as_json:
        _print_json(known, acting, alive)
    else:
        _print(known.summary, acting, alive)


def _kept(store: SqlStore, detailed: bool, acting: bool) -> Kept | None:
    """The summary of the store, if it is as of the journal's last entry when this command began."""
    last, ends = store.last(), time.monotonic() + PATIENCE
    while (known := store.summary(last, detailed)) is None and acting and time.monotonic() < ends:
        time.sleep(LOOK)
    return None if known is None or (detailed and known.detail is None) else known


def _replayed(store: SqlStore, detailed: bool) -> Kept:
    """The same from the journal; it is kept for the next reader, if this one may write."""
    state, seq = state_of(store)
    said = json.dumps(detail(state)) if detailed else None
    known = Kept(summary(state), said)
    if not store.reads_only:
        store.summarise(seq, known.summary, said if said is not None and len(said) <= LARGEST else None)
    return known


def _print(known: Summary, acting: str | None, alive: Collection[int]) -> None:
    rows = known.rows(milliseconds(), alive)
    names = [*VIEWS]
    table(names, rows, leave_out=[name for name in RARE if all(row[names.index(name)] is None for row in rows)])
    needed, tracks = known.needed, known.tracks
    click.echo(f"at this load, refreshes need {needed:.2f} of {tracks} tracks")
    click.echo(f"kept fresh by {acting}" if acting else "no engine is running; start a session or `headwater run`")


def _print_json(known: Kept, acting: str | None, alive: Collection[int]) -> None:
    rows = [dict(zip(VIEWS, row, strict=True)) for row in known.summary.rows(milliseconds(), alive)]
    load = {"tracks": known.summary.tracks, "needed": known.summary.needed}
    told = {"engine": acting, "load": load, "views": rows, **json.loads(known.detail or "{}")}
    click.echo(json.dumps(told, indent=2))
