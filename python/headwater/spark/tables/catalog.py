"""A view's entry in the Spark catalog, which holds the truth about its definition.

Statements here hold literals: they run in sessions of ``Sessions.of_table``, where the parser's settings are fixed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from attrs import evolve
from cattrs import BaseValidationError
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from headwater.model.error import RefreshFailed, StatementError, ViewGone
from headwater.model.format import Format
from headwater.model.name import spelled, split
from headwater.model.policy import GroupCommit
from headwater.model.view import Column, Definition
from headwater.spark.jvm import sql
from headwater.spark.jvm.shim import Shim
from headwater.spark.jvm.wire import Shape
from headwater.spark.tables import hidden
from headwater.store.codec import converter

MARKER = "headwater.view"
OWNER = "headwater.owner"
APART = "headwater.apart"
"""The property of a view whose runs write where only Headwater reads. The catalog shows their rows later."""
DEFINITION = "headwater.definition"
REPLACEMENT = "__headwater"
DETAILS = "# Detailed Table Information"
CHUNK = 3000  # Hive's metastore holds at most 4000 characters in a property

_ANALYSED: Mapping[str, Any] = dict.fromkeys(("dependencies", "earlier", "event_times", "through"), ()) | {
    "fingerprint": ""
}
"""The fields of a definition that analysis adds."""

_CONVERTER = converter()


def create(session: SparkSession, shim: Shim, definition: Definition, name: str | None = None) -> None:
    """Makes the catalog table of a view, empty, rooted in the view's directory. If it has none, the catalog places the
    table.

    Under another ``name`` it is not marked as a view. The session may have kept a table of this name that is gone.
    """
    shim.renew(session, [name or definition.view])
    columns = ", ".join(_column(column) for column in definition.columns)
    partitioned = ", ".join(map(sql.identifier, definition.partitioned_by))
    options = dict((*definition.storage.options, *definition.storage.readers))
    session.sql(
        f"CREATE TABLE {sql.with_catalog(name or definition.view)} ({columns}) USING {definition.format}"
        + (f" OPTIONS ({_properties(options)})" if options else "")
        + (f" PARTITIONED BY ({partitioned})" if partitioned else "")
        + (f" LOCATION {sql.literal(first_location(definition))}" if definition.root else "")
        + (f" COMMENT {sql.literal(definition.comment)}" if definition.comment else "")
        + f" TBLPROPERTIES ({_properties({OWNER: definition.owner} if name else properties(definition))})"
    )
    if definition.storage.properties_in_log:
        shim.mark(name or definition.view, definition.owner)


def first_location(definition: Definition) -> str:
    """Where the table of a view points before its first publication: an empty directory. That of a lake table, in which
    it stays, is a new one each time: its log would have the rows of a table that lay there before."""
    if definition.storage.commits:
        return f"{definition.root}/.v{time.time_ns() // 1_000_000}/{definition.format}"
    return definition.root if definition.partitioned_by else f"{definition.root}/.v0/data"


def store(session: SparkSession, definition: Definition, before: Definition | None = None) -> None:
    """Writes the definition into the properties of the view's table, in place of the one ``before``."""
    table = sql.with_catalog(definition.view)
    session.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({_properties(properties(definition))})")
    gone = _stated(before) - _stated(definition) if before else ()
    if gone:
        session.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES IF EXISTS ({', '.join(map(sql.literal, sorted(gone)))})")


def describe(session: SparkSession, definition: Definition, before: Definition) -> None:
    """Gives the view's table the comments of its definition, where they differ from those ``before``.

    The comments of partition columns cannot be changed; those of columns to come, come with them.
    """
    table = sql.with_catalog(definition.view)
    if before.comment != definition.comment:
        session.sql(f"COMMENT ON TABLE {table} IS {sql.literal(definition.comment)}")
    wanted = {column.name.lower(): column.comment for column in definition.columns}
    fixed = {name.lower() for name in before.partitioned_by}
    for column in before.columns:
        name = column.name.lower()
        if name not in fixed and wanted.get(name, column.comment) != column.comment:
            comment = sql.literal(wanted[name])
            session.sql(f"ALTER TABLE {table} ALTER COLUMN {sql.identifier(column.name)} COMMENT {comment}")


def shape(definition: Definition) -> Shape:
    """What the table of a definition must be, for the shim to compare: partition columns come last."""
    by_name = {column.name: column for column in definition.columns}
    last = set(definition.partitioned_by)
    ordered = [c for c in definition.columns if c.name not in last] + [by_name[n] for n in definition.partitioned_by]
    columns = ", ".join(f"{sql.identifier(column.name)} {column.type}" for column in ordered)
    return Shape(columns, definition.partitioned_by, definition.format)


def replace(session: SparkSession, shim: Shim, definition: Definition) -> str:
    """Makes an empty table of the definition's shape and format beside the view's own; its name.

    What was published goes on to be read until the new table is filled and ``swap`` puts it in place.
    """
    name = replacement(definition.view)
    forget_replacement(session, shim, definition)
    create(session, shim, definition, name)
    return name


def forget_replacement(session: SparkSession, shim: Shim, definition: Definition) -> None:
    """Drops what a change of a view that was not completed left in the place of its replacement.

    Raises:
        RefreshFailed: somebody else's table has that name.
    """
    name = replacement(definition.view)
    if shim.owner(name) not in (None, definition.owner):
        raise RefreshFailed(f"{name} is another table, and a new table of {definition.view} needs the name; rename it")
    forget(session, name)


def replacement(view: str) -> str:
    """The key of the table that is to take a view's place."""
    *database, name = split(view)
    return spelled((*database, f"{name}{REPLACEMENT}"))


def replaced(table: str) -> str:
    """The key of the view that a table of such a name is to replace; empty for another table."""
    *database, name = split(table)
    view = name.removesuffix(REPLACEMENT)
    return spelled((*database, view)) if view != name else ""


def mark(session: SparkSession, definition: Definition) -> None:
    """Gives the replacement of a view's table the view's definition."""
    filled = sql.with_catalog(replacement(definition.view))
    session.sql(f"ALTER TABLE {filled} SET TBLPROPERTIES ({_properties(properties(definition))})")


def swap(session: SparkSession, shim: Shim, definition: Definition) -> list[str]:
    """Puts the filled and marked replacement in the place of the view's table, whatever format that has. Files in the
    view's directory stay. Returns the places that readers of the old table need for a while.

    Where the catalog does not do that in one step, there is no such table for a moment. The replacement has the mark of
    a view only from here on: a view whose table is gone before was dropped by somebody else.

    Raises:
        RefreshFailed: the catalog refuses the new table. Readers go on with the old one.
        ViewGone: somebody dropped the view.
    """
    filled = replacement(definition.view)
    mark(session, definition)
    try:
        placed = shim.exchange(definition.view, filled)
    except Py4JJavaError as error:
        if shim.format(filled) == definition.format:
            forget(session, filled)
        raise RefreshFailed(
            f"its catalog refuses the table of the new format ({shim.failure(error).text}); declare it as it was "
            "before, or drop it first",
            definition.view,
        ) from error
    if placed is None:
        try:
            _drop(session, shim, definition.view)
        except AnalysisException as error:
            forget(session, filled)
            raise ViewGone(f"{definition.view} was dropped while its refresh ended") from error
        shim.rename(filled, definition.view)
    elif not placed:
        forget(session, filled)
    return [placed] if placed else []


def forget(session: SparkSession, table: str) -> None:
    """Drops a table, if it is there. The files stay of one that lies in a view's directory, as a replacement does."""
    session.sql(f"DROP TABLE IF EXISTS {sql.with_catalog(table)}")


def drop(session: SparkSession, shim: Shim, table: str) -> None:
    """Drops a table, if it is there. The files of a lake table that its catalog placed go, too, with a view's totals
    beside them."""
    _drop(session, shim, table, "IF EXISTS ")


def properties(definition: Definition) -> dict[str, str]:
    """The table properties that hold a definition: the user's own, and ours in chunks."""
    body = json.dumps(_CONVERTER.unstructure(evolve(definition, view="", owner="", **_ANALYSED)))
    chunks = [body[at : at + CHUNK] for at in range(0, len(body), CHUNK)]
    kept = {f"{DEFINITION}.{n}": chunk for n, chunk in enumerate(chunks)}
    apart = {APART: "true"} if is_apart(definition) else {}
    return {**dict(definition.properties), **apart, OWNER: definition.owner, MARKER: str(len(chunks)), **kept}


def is_apart(definition: Definition) -> bool:
    """Whether the catalog shows the rows of a view when those of its group are there, and not at the end of a run."""
    return definition.policy.commit is GroupCommit.TOGETHER


def _stated(definition: Definition) -> set[str]:
    return {*dict(definition.properties), *([APART] if is_apart(definition) else [])}


def read(view: str, found: Mapping[str, str]) -> Definition:
    """The definition that ``properties`` wrote, without what analysis adds.

    Raises:
        KeyError, ValueError: the properties are incomplete.
    """
    body = json.loads("".join(found[f"{DEFINITION}.{n}"] for n in range(int(found[MARKER]))))
    try:
        return evolve(_CONVERTER.structure(body, Definition), view=view, owner=found[OWNER])
    except BaseValidationError as error:
        raise ValueError(f"not a definition: {error}") from error


def renamed(session: SparkSession, shim: Shim, definition: Definition, to: str) -> Definition:
    """The definition under another name, which its table gets.

    Raises:
        StatementError: its catalog renames no tables.
    """
    try:
        shim.rename(definition.view, to)
    except (Py4JJavaError, PySparkException) as error:
        raise StatementError(
            f"{definition.view} cannot be renamed: {shim.failure(error).text}; create a view of the new name"
        ) from error
    moved = evolve(definition, view=to)
    store(session, moved)
    return moved


def _drop(session: SparkSession, shim: Shim, table: str, condition: str = "") -> None:
    format = Format.of(shim.format(table))
    location = _location(session, table) if format.commits else ""
    totals = hidden.found(shim, location) if location else []
    purge = " PURGE" if format.purges else ""
    session.sql(f"DROP TABLE {condition}{sql.with_catalog(table)}{purge}")
    hidden.remove(shim, location, totals)


def _location(session: SparkSession, table: str) -> str:
    """Where a lake table lies; empty if that cannot be read, which keeps no table from its drop."""
    try:
        rows = [(row[0], row[1]) for row in session.sql(f"DESCRIBE TABLE EXTENDED {sql.with_catalog(table)}").collect()]
    except (Py4JJavaError, PySparkException):
        return ""
    names = [name for name, _ in rows]
    details = names.index(DETAILS) if DETAILS in names else len(rows)  # a column may have the name "Location"
    return next((said for name, said in rows[details:] if name == "Location"), "")


def _column(column: Column) -> str:
    comment = f" COMMENT {sql.literal(column.comment)}" if column.comment else ""
    return f"{sql.identifier(column.name)} {column.type}{comment}"


def _properties(found: Mapping[str, str]) -> str:
    return ", ".join(f"{sql.literal(key)} = {sql.literal(value)}" for key, value in found.items())
