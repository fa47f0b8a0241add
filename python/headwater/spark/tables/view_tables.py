"""The table of a view, whatever its format: whose it is, and what a run replaces there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from attrs import evolve
from pyspark.sql import SparkSession

from headwater.model.command import Launch, Replaced
from headwater.model.error import FilesReplaced, HeadwaterError, Overtaken, RefreshFailed, TakenOver, ViewGone
from headwater.model.event import Made
from headwater.model.name import anywhere
from headwater.model.partition import WHOLE, Region, Slice, Version
from headwater.model.seen import Seen, TableQuestion
from headwater.model.state import PartitionRecord, Run
from headwater.model.view import Definition
from headwater.spark.jvm import paths
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables import catalog

Looking = Callable[[Sequence[TableQuestion]], Sequence[Seen]]


def filled(shim: Shim, definition: Definition) -> str:
    """The name of the table that a run fills while the view's own table has another format.

    Raises:
        ViewGone: the view has no table, or its name is that of another one.
    """
    require_own(shim, definition)
    return catalog.replacement(definition.view)


def require_own(shim: Shim, definition: Definition) -> None:
    """Refuses to go on without the table of a view.

    Raises:
        ViewGone: there is none, or another one has its name.
    """
    owner = shim.owner(definition.view)
    if owner is None:
        raise gone(definition.view)
    if owner != definition.owner:
        raise taken(definition.view)


def replace(session: SparkSession, shim: Shim, definition: Definition) -> str:
    """Makes a table beside that of a view, which is to take its place; its name.

    Raises:
        ViewGone: the view was dropped meanwhile.
    """
    require_own(shim, definition)
    name = catalog.replace(session, shim, definition)
    try:
        require_own(shim, definition)
    except ViewGone:
        catalog.forget(session, name)
        raise
    return name


def replaced(session: SparkSession, shim: Shim, definition: Definition, done: Replaced) -> Replaced:
    """Lets the published replacement take the view's name."""
    left = catalog.swap(session, shim, definition)
    return evolve(done, reshaped=True, locations=[*done.locations, *left])


def other_files(view: str) -> FilesReplaced:
    """A run replaces files of a view's table, and one of them is not there any more with all its rows."""
    return FilesReplaced("its table got other files meanwhile; it is tried again", view)


def refuse_part(run: Run, partly: bool) -> None:
    """Refuses to fill a replacement in part.

    Raises:
        RefreshFailed: the run is not one of the whole view, or leaves rows as they are.
    """
    if WHOLE not in run.slices or partly:
        raise RefreshFailed(
            f"{run.view} changes its format, but this refresh is not one of the whole view; "
            f"REFRESH MATERIALIZED VIEW {anywhere(run.view)} FULL makes it"
        )


def emptied(launch: Launch, made: Collection[Slice], look: Looking) -> tuple[Slice, ...]:
    """The partitions in a run's slices that readers see before it is published, and that it did not make again."""
    return tuple(each for each in _there(launch, look) if each not in made)


def is_same(made: Made, known: PartitionRecord | None) -> bool:
    """Whether a partition holds the rows that the record says it held."""
    return known is not None and bool(made.content) and (made.content, made.rows) == (known.content, known.rows)


def same(launch: Launch, made: Iterable[Made], appended: bool) -> frozenset[Slice]:
    """The published partitions that hold the rows that the record says they held; ``appended``: none of these went.
    Readers of an unsure view may have read other rows than those on record since, so none counts there."""
    known = {} if launch.unsure else launch.existing
    if appended:
        return frozenset(each.slice for each in made if each.slice in known and each.rows == known[each.slice].rows)
    return frozenset(each.slice for each in made if is_same(each, known.get(each.slice)))


def outrun(launch: Launch, highest: Version) -> HeadwaterError:
    """A higher version is published. Another engine took over the runs of this one; or another store keeps the same
    replica, and its clock is ahead."""
    if launch.definition.policy.replica:
        return Overtaken(
            f"another store published {launch.run.view} first; it is looked at again", launch.run.view, highest
        )
    return TakenOver(f"version {highest} of {launch.run.view} is already published")


def require_upon(launch: Launch, found: str, highest: Version) -> None:
    """Refuses to publish a replica upon another state than its run found: that may be newer than the run's rows.

    Raises:
        Overtaken: another store was first.
    """
    if launch.upon and launch.upon != found:
        raise outrun(launch, highest)


def taken(view: str) -> ViewGone:
    """Another table has the name of a view."""
    return ViewGone(f"{view} was dropped, and another table has its name; that table stays as it is")


def gone(view: str) -> ViewGone:
    """A view has no table. A run makes none: that of a view that somebody drops would come back."""
    return ViewGone(f"{view} was dropped while its refresh was due; CREATE MATERIALIZED VIEW makes it again")


def resume(shim: Shim, definition: Definition) -> None:
    """Gives a view without a table its filled replacement, if that waits for the view's name: an engine was killed in
    that moment.

    Raises:
        ViewGone: the view was dropped, or its table has another name.
    """
    if is_waiting(shim, definition):
        shim.rename(catalog.replacement(definition.view), definition.view)
        return
    for each in shim.views():
        if each.properties.get(catalog.OWNER) == definition.owner and not catalog.replaced(each.table):
            raise ViewGone(f"{definition.view} is {each.table} now; its refresh goes on under that name")
    raise gone(definition.view)


def is_waiting(shim: Shim, definition: Definition) -> bool:
    """Whether the filled replacement of a view's table waits for the view's name. A table in another format than the
    view's is the one that the view had before."""
    name = catalog.replacement(definition.view)
    filled = [each for each in shim.views() if each.table == name]
    return any(each.properties.get(catalog.OWNER) == definition.owner for each in filled) and has_its_format(
        shim, definition, name
    )


def has_its_format(shim: Shim, definition: Definition, table: str) -> bool:
    """Whether a table has the format of a view."""
    return shim.format(table) == definition.storage.tables


def with_above(locations: Iterable[str | None]) -> set[str]:
    """Places, and all directories that these are in."""
    found: set[str] = set()
    for each in locations:
        place = paths.plain(each) if each else ""
        while place and place not in found:
            found.add(place)
            place = place.rpartition("/")[0]
    return found


def forget(shim: Shim, definition: Definition, locations: Iterable[str], published: Collection[str]) -> None:
    """Deletes superseded places in a view's directory, but for those that are published."""
    gone = [path for path in locations if paths.plain(path) not in published]
    if gone:
        shim.delete_versions(definition.root, definition.owner, gone)


def forget_replaced(session: SparkSession, shim: Shim, definition: Definition) -> None:
    """Drops the table that a view had before it changed its format, with the files that its catalog owns."""
    if shim.owner(catalog.replacement(definition.view)) == definition.owner:
        catalog.drop(session, shim, catalog.replacement(definition.view))


def _there(launch: Launch, look: Looking) -> Iterable[Slice]:
    if not launch.unsure:
        return launch.existing
    [seen] = look([TableQuestion(launch.run.view)])
    computed = Region(launch.run.slices)
    return dict.fromkeys((*launch.existing, *(each for each in seen.partitions if computed.covers(each))))
