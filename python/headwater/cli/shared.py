"""Shared by the commands: the store, its state and views, the layout of rows, and the module that draws."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from headwater.model.error import JournalError, StatementError, StoreError
from headwater.model.name import loosely
from headwater.model.state import State
from headwater.store.dialect import EXAMPLE, Where, default_store, is_url, repeatable
from headwater.store.journal import Entry
from headwater.store.sql_store import SqlStore

HALF_URL = re.compile(r"postgresql(\+\w+)?:(?!//)")
"""The URL of a database with a slash too few. It may have a password in it, which the path of a file shows."""

PIPE_WIDTH = 1000
SHOWN_AS_TIME = ("fresh_to", "refreshed_at", "started_at", "made_at")


class StoreParameter(click.ParamType):
    """A file, or the URL of a database."""

    name = "file or URL"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Where:
        if isinstance(value, str) and HALF_URL.match(value):
            self.fail(f"{repeatable(value)} is no URL of a database; write it as {EXAMPLE}", param, ctx)
        return value if is_url(value) else Path(value)


def store_option(command: Callable) -> Callable:
    return click.option(
        "--store",
        "path",
        type=StoreParameter(),
        help="The store: a file, or the URL of a database. Default: spark-warehouse/.headwater/store.db in this "
        "directory.",
    )(command)


def json_option(command: Callable) -> Callable:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def store_options(command: Callable) -> Callable:
    """Both: what a command reads is in a store, and a program may read what it prints."""
    return store_option(json_option(command))


def open_store(path: Where | None) -> SqlStore:
    """The store of that name, which is there already.

    Raises:
        StoreError: there is none.
    """
    found = path or default_store(Path("spark-warehouse"))
    if not isinstance(found, Path):
        return SqlStore(found, creates=False)
    if not found.exists():
        raise StoreError(
            f"there is no store at {found}; name it with --store, for example spark-warehouse/.headwater/store.db"
        )
    # A user who may not write the store may still look at it.
    writable = os.access(found, os.W_OK) and os.access(found.parent, os.W_OK)
    return SqlStore(found, reads_only=not writable)


def known_view(state: State, view: str) -> str:
    if (name := _known(state.views, view)) is not None:
        return name
    raise StatementError(f"there is no materialized view {view}; there are {', '.join(sorted(state.views)) or 'none'}")


def known_table(state: State, name: str) -> str:
    """A table by its name, of which ``default.`` may be left out.

    Raises:
        StatementError: it is unknown to this store.
    """
    if (table := _known((*state.views, *state.tables), name)) is not None:
        return table
    known = ", ".join(sorted(state.tables)) or "no tables yet"
    raise StatementError(f"there is no view {name}, and no view reads a table of this name; there are {known}")


def _known(names: Iterable[str], name: str) -> str | None:
    wanted, known = (loosely(name), f"default.{loosely(name)}"), list(names)
    # Some catalogs tell cases apart.
    return name if name in known else next((each for each in known if loosely(each) in wanted), None)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], leave_out: Sequence[str] = ()) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    shown = [n for n, column in enumerate(columns) if column not in leave_out]
    for n in shown:
        table.add_column(columns[n].replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(*(_cell(columns[n], row[n]) for n in shown))
    wide_console().print(table)


def wide_console() -> Console:
    """A file or a pipe has no width to fit into: a row stays a line there."""
    console = Console()
    return console if console.is_terminal else Console(width=PIPE_WIDTH)


def pictures() -> ModuleType:
    """The module that draws.

    Raises:
        ClickException: matplotlib is not installed; only commands that draw need it.
    """
    try:
        return import_module("headwater.cli.pictures")
    except ImportError as error:
        raise click.ClickException("--plot needs matplotlib; pip install 'headwater[plot]'") from error


def milliseconds() -> int:
    return time.time_ns() // 1_000_000


def _cell(column: str, value: Any) -> str:
    if value is None:
        return ""
    if column in SHOWN_AS_TIME:
        return datetime.fromtimestamp(value / 1000).strftime("%Y-%m-%d %H:%M:%S")
    return escape(str(value))  # a partition in brackets is no markup


def state_of(store: SqlStore) -> tuple[State, int]:
    """The state of a store, and the number of its last journal entry.

    Raises:
        StoreError: an entry is malformed.
    """
    from headwater.store.recovery import restored  # takes a tenth of a second that not every command need wait

    with _readable(store):
        return restored(store)


def journal(store: SqlStore) -> tuple[State, Sequence[Entry]]:
    """All entries that a store still has, and the state before them.

    Raises:
        StoreError: an entry is malformed.
    """
    from headwater.store.recovery import recorded_in

    with _readable(store):
        return recorded_in(store)


@contextmanager
def _readable(store: SqlStore) -> Iterator[None]:
    """Names the remedy for a store whose journal cannot be read.

    Raises:
        StoreError: an entry is malformed.
    """
    try:
        yield
    except JournalError as error:
        raise StoreError(
            f"the store {store.name} is damaged ({error}); move it away: the next session makes a new one and "
            "finds the views in the catalog"
        ) from error
