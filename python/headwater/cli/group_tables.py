"""``headwater groups``: the epochs of groups, for people and for engines other than Spark."""

from __future__ import annotations

import json
from typing import Any

import click

from headwater.cli.shared import milliseconds, open_store, state_of, store_options, table
from headwater.engine.groups.reading import group_of
from headwater.engine.tell.group_rows import GROUPS, STATES, GroupRow, group_rows, state_rows
from headwater.model.state import State
from headwater.store.dialect import Where


@click.command()
@click.argument("group", required=False)
@store_options
def groups(group: str | None, path: Where | None, as_json: bool) -> None:
    """Shows each group with its newest epoch, or the tables of GROUP in the epoch that readers see.

    The column "as of" has the number after VERSION AS OF, by which Trino, DuckDB or Spark read the table.
    """
    state, _ = state_of(open_store(path))
    now = milliseconds()
    found = group_rows(state, now)
    if group is not None:
        asked = group_of(state, group)
        found = [each for each in found if each.group == asked]
    if as_json:
        click.echo(json.dumps([_told(state, each, now) for each in found], indent=2))
    elif group is not None:
        table([*STATES], [each.row for each in state_rows(state, found[0].group, now)])
    else:
        table([*GROUPS], [each.row for each in found])


def _told(state: State, row: GroupRow, now: int) -> dict[str, Any]:
    tables = [dict(zip(STATES, each.row, strict=True)) for each in state_rows(state, row.group, now)]
    return {**dict(zip(GROUPS, row.row, strict=True)), "tables": tables}
