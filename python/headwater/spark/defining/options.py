"""What a statement asks for beside its query: the times of its sources, and a format."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from headwater.model.error import DefinitionError
from headwater.model.format import FORMATS, Format
from headwater.model.name import SESSION_CATALOG, PathName, TableName, loosely, named, short
from headwater.model.policy import GroupCommit, Propagate
from headwater.model.view import Definition, Job, Pairs
from headwater.model.zone import has_clock

TIMES = re.compile(r"DATE|TIMESTAMP(_NTZ|_LTZ)?", re.IGNORECASE)
"""Types of a column with times of events."""


Columns = Mapping[str, Mapping[str, str]]
"""The columns of each source, with their types."""


def event_times(definition: Definition, sources: Columns) -> Pairs:
    """The column with the times of events, for each source that has one.

    Raises:
        DefinitionError: the properties of the view name no such column of a source.
    """
    policy, view = definition.policy, definition.view
    if not policy.event_time:
        if policy.trailing_edge or policy.lateness is not None:
            raise _refused(view, "without 'headwater.event_time' there is no column with times of events; name it")
        return ()
    if isinstance(definition.made_by, Job):
        raise _refused(view, "a function makes its rows, so the rows of its sources that it reads are not known")
    if definition.earlier and policy.trailing_edge:
        raise _refused(view, "its query reads its own earlier partitions, which have no trailing edge")
    found = {}
    for table, column in policy.event_time:
        for source in _meant(view, table, column, sources):
            found[source] = _checked(view, source, column, sources[source])
    return tuple(found.items())


def _meant(view: str, table: str, column: str, sources: Columns) -> list[str]:
    """The sources of which a property names a column: the one of that name, or all that have the column."""
    if table:
        found = [each for each in sources if loosely(table) in (loosely(each), loosely(short(each)))]
        problem = f"it does not read {table}; it reads {', '.join(sources)}"
    else:
        found = [each for each, columns in sources.items() if column.lower() in map(str.lower, columns)]
        problem = f"none of {', '.join(sources)} has a column {column}"
    if not found:
        raise _refused(view, f"'headwater.event_time': {problem}")
    return found


def _checked(view: str, source: str, column: str, columns: Mapping[str, str]) -> str:
    by_name = {each.lower(): each for each in columns}
    if column.lower() not in by_name:
        known = ", ".join(columns)
        raise _refused(view, f"'headwater.event_time': {source} has no column {column}; it has {known}")
    own = by_name[column.lower()]
    if not TIMES.fullmatch(columns[own]):
        told = f"{source}.{own} is a {columns[own]}"
        raise _refused(view, f"'headwater.event_time': {told}; name a column of the type TIMESTAMP or DATE")
    if isinstance(named(source), PathName):
        raise _refused(view, f"'headwater.event_time': {source} is a path; read the files as a table of a catalog")
    return own


def _refused(view: str, why: str) -> DefinitionError:
    return DefinitionError("PROPERTY", why, view)


def require_times(definition: Definition) -> Definition:
    """The same definition, if the clocks are known by which its properties name times.

    Raises:
        DefinitionError: they are of a zone that is not known.
    """
    policy = definition.policy
    for name, times in (("schedule", policy.schedule), ("group.publish", policy.publish)):
        zone = definition.zone if times is None else times.zone or definition.zone
        if times is not None and not has_clock(zone):
            told = f"the clocks of the zone {zone} are not known here"
            raise _refused(definition.view, f"'headwater.{name}': {told}; write one such as Europe/Berlin or +02:00")
    return definition


def require_group(definition: Definition) -> Definition:
    """The same definition, if it asks for nothing of a group, or is a member of one.

    Raises:
        DefinitionError: it names times of a publication, or a commit together, and no group.
    """
    policy = definition.policy
    if policy.commit is GroupCommit.TOGETHER and policy.group is None:
        raise _refused(
            definition.view, "'headwater.group.commit' is for members of a group; set 'headwater.group', too"
        )
    if policy.publish is not None and policy.group is None:
        raise _refused(
            definition.view, "'headwater.group.publish' is for members of a group; set 'headwater.group', too"
        )
    return definition


def require_copy(definition: Definition, source: str | None) -> None:
    """Refuses a replica that does not copy a table with snapshots into a table that several stores can commit to.

    Args:
        source: the table that its query copies; ``None``: it copies none.

    Raises:
        DefinitionError: it is none.
    """
    if source is None:
        titles = " or ".join(each.title for each in FORMATS if each.snapshots)
        told = (
            f"a replica is SELECT * FROM one table in {titles}, and nothing else; leave the property out, or write that"
        )
        raise _refused(definition.view, f"'headwater.replica': {told}")
    if not definition.storage.commits:
        titles = " or ".join(each.name for each in FORMATS if each.commits)
        told = f"several stores cannot publish into one table of files; write USING {titles}"
        raise _refused(definition.view, f"'headwater.replica': {told}")
    policy = definition.policy
    if policy.commit is GroupCommit.TOGETHER:
        told = "each store has epochs of its own; leave 'headwater.group.commit' out"
        raise _refused(definition.view, f"'headwater.replica': {told}")
    for name, partly in (("trailing_edge", policy.trailing_edge), ("propagate", policy.propagate is not Propagate.ALL)):
        if partly:
            told = f"a replica has all rows of its source; leave 'headwater.{name}' out"
            raise _refused(definition.view, f"'headwater.replica': {told}")


def format_of(view: str, name: TableName, wanted: str | None, held: Collection[str]) -> str:
    """The format of a view's table. ``CREATE MATERIALIZED VIEW lake.db.v`` without ``USING`` makes an Iceberg table in
    an Iceberg catalog, and Parquet files in the session catalog.

    Args:
        wanted: the format after ``USING``, if there is one.
        held: the lake formats that the view's catalog holds.

    Raises:
        DefinitionError: the catalog holds no tables of that format, or no views.
    """
    own = name.catalog == SESSION_CATALOG
    holding = [each for each in FORMATS if each.holds_views]
    if wanted is not None and not Format.of(wanted.lower()).holds_views:
        names = ", ".join(each.name for each in holding)
        raise DefinitionError("FORMAT", f"{view} cannot be stored USING {wanted}; use one of {names}")
    possible = [each.name for each in holding if each.name in held or (own and each.listed)]
    if not possible:
        makers = " or ".join(f"{each.title}'s" for each in holding if each.own_catalogs)
        raise DefinitionError(
            "CATALOG",
            f"{view} cannot be kept in the catalog {name.catalog}, which is not one of {makers}; name the view in one "
            "that is, or in the session catalog",
        )
    if len(name.namespace) != 1 and (own or not name.namespace):
        example = "database.view" if own else f"{name.catalog}.database.view"
        raise DefinitionError("CATALOG", f"{view} is not in a database of its catalog; name it {example}")
    chosen = wanted.lower() if wanted else possible[0]
    if chosen not in possible:
        remedy = Format.of(chosen).remedy if own else f"leave USING out, or write USING {possible[0]}"
        catalog = "the session catalog" if own else f"the catalog {name.catalog}"
        raise DefinitionError(
            "FORMAT", f"{view} cannot be stored USING {chosen}: {catalog} holds no such tables; {remedy}"
        )
    return chosen
