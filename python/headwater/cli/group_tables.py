"""``headwater groups``: the epochs of groups, for people and for engines other than Spark."""

from __future__ import annotations

import json
from typing import Any

import click

from headwater.cli.shared import milliseconds, open_store, state_of, store_options, table
from headwater.engine.tell.group_rows import GROUPS, STATES, GroupRow, group_rows, state_rows
from headwater.model.error import StatementError
from headwater.model.name import loosely
from headwater.model.properties import nearest
from headwater.model.state import State
from headwater.store.dialect import Where


@click.command()
@click.argument("group", required=False)
@store_options
def groups(group: str | None, path: Where | None, as_json: bool) -> None:
    """Shows each group with its newest epoch, or the tables of GROUP in it.

    The column "as of" has the number after VERSION AS OF, by which Trino, DuckDB or Spark read the table.
    """
    state, _ = state_of(open_store(path))
    found = group_rows(state, milliseconds())
    if group is not None:
        found = [_known(found, group)]
    if as_json:
        click.echo(json.dumps([_told(state, each) for each in found], indent=2))
    elif group is not None:
        table([*STATES], [each.row for each in state_rows(state, found[0].group, milliseconds())])
    else:
        table([*GROUPS], [each.row for each in found])


def _known(found: list[GroupRow], name: str) -> GroupRow:
    for each in found:
        if each.group == loosely(name):
            return each
    names = [each.group for each in found]
    other = nearest(loosely(name), names, "") if names else "; no view has the property 'headwater.group'"
    raise StatementError(f"there is no group {name}{other}")


def _told(state: State, row: GroupRow) -> dict[str, Any]:
    tables = [dict(zip(STATES, each.row, strict=True)) for each in state_rows(state, row.group, milliseconds())]
    return {**dict(zip(GROUPS, row.row, strict=True)), "tables": tables}
