"""Queries of changed rows: the query of a view, with the rows that came and went in place of a table.

Example: rows of ``sales`` came, and the view joins ``sales`` with ``shops``. The query of the new rows reads ``shops``
as it is at the snapshot of the run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from headwater.model.command import Launch
from headwater.model.error import ChangesUnknown
from headwater.model.partition import WHOLE, Region
from headwater.model.reason import Code
from headwater.model.seen import ChangedRows, TableQuestion
from headwater.model.view import Pairs
from headwater.spark.jvm import wire
from headwater.spark.jvm.facts import Pin
from headwater.spark.jvm.sessions import LENIENT, having
from headwater.spark.refreshing.near_rows import WhichRows
from headwater.spark.refreshing.recipe import Ingredients
from headwater.spark.tables.registry import Formats

PINS = "spark.headwater.pins"
"""The setting of a run's session that tells the shim how to read tables (``PinnedSnapshots.scala``)."""


def terms(
    run: Ingredients, changed: Pairs, made: Callable[[DataFrame], list[DataFrame]], only_added: bool = False
) -> list[DataFrame]:
    """Frames of the query with changed rows: for each place where it reads a source of which rows changed, the query
    with these rows in this place.

    The places before it read their sources as they are now, those after it as they were. So no row is counted twice,
    whatever other places did ([Garcia98] §4.2; ``Terms.scala``).

    Args:
        changed: the sources, each with the snapshot to go on from.
        made: makes the frames of a query whose places are open.
        only_added: refuse rows that went.

    Raises:
        ChangesUnknown: it is not known which rows changed.
    """
    refuse_lenient(run.session)
    # New rows that no other table is joined with are read once, by the job that computes with them.
    found = of_sources(
        changed_rows(run, changed, near=sum(len(each.occurrences) for each in run.launch.definition.dependencies) > 1)
    )
    if only_added and (went := [source for source, rows in found.items() if rows.removed is not None]):
        raise ChangesUnknown(Code.SOURCE_ROWS_REMOVED, f"rows of {went[0]} went or changed")
    found = {source: rows for source, rows in found.items() if rows.added is not None or rows.removed is not None}
    now, before = (_pins(run, each) for each in (dict(run.launch.run.snapshots), dict(changed)))
    names = {source: uuid4().hex for source in found}
    with contextlib.ExitStack() as held:
        for source, name in names.items():
            held.callback(run.shim.stand_out, name)
            run.shim.stand_in(name, found[source], now[source], before[source])
        held.enter_context(pinned(run.session, now | {source: Pin("", rows=name) for source, name in names.items()}))
        frames = made(run.analysed()) if names else []
        if unread := [source for source, name in names.items() if not run.shim.stands_in(name)]:
            said = f"{run.launch.definition.view} reads {unread[0]} under a name that Headwater does not know it by"
            raise ChangesUnknown(Code.METHOD_PLACE_UNKNOWN, said)
        return frames


def as_of_the_run(run: Ingredients, made: Callable[[DataFrame], DataFrame]) -> DataFrame:
    """A frame of the query, with its sources at the snapshots of the run.

    Raises:
        ChangesUnknown: one of them cannot be read at its snapshot any more.
    """
    with pinned(run.session, _pins(run, dict(run.launch.run.snapshots))):
        return made(run.analysed())


def changed_rows(run: Ingredients, changed: Pairs, near: bool) -> dict[tuple[str, str], ChangedRows]:
    """The rows of sources that came and went since some snapshots.

    Args:
        changed: the sources, each with a snapshot to go on from. A source occurs once for each state that partitions of
            the view reflect.
        near: whether they are wanted in memory if they are few, also if none went. One Spark job then reads them of
            all sources, and nothing that reads them afterwards starts a job for it. Rows that went are compared with
            those that came: a file that was written anew has most rows on both sides.

    Raises:
        ChangesUnknown: it is not known which rows changed.
    """
    missing = [each for each in changed if each not in run.read]
    with run.near.reading(source for source, _ in missing):
        for each in missing:
            run.read[each] = _read(run, *each)
        found = {each: run.read[each] for each in changed}
        near = near or any(each.removed is not None for each in found.values())
        far = [each for each, rows in found.items() if rows.few is None]
        if near and far:
            for each, rows in zip(far, run.shim.few_rows([found[each] for each in far]), strict=True):
                found[each] = run.read[each] = rows
                if rows.netted:
                    run.near.keep(_which(run, *each), rows)
    return found


def of_sources(found: Mapping[tuple[str, str], ChangedRows]) -> dict[str, ChangedRows]:
    """Changed rows by source, where all rows of the view reflect one state of it."""
    sources = {source: rows for (source, _), rows in found.items()}
    assert len(sources) == len(found), "rows of one state alone are added up"
    return sources


def in_driver(run: Ingredients, changed: Pairs) -> bool:
    """Whether the rows of sources that came and went are in the memory of the driver, as the run read them."""
    return all((rows := run.read.get(each)) is not None and bool(rows.few) for each in changed)


def _read(run: Ingredients, source: str, since: str) -> ChangedRows:
    known = run.near.find(run.session, asked := _which(run, source, since))
    if known is not None:
        return known
    rows = run.formats.changed(run.session, source, since, asked.until)
    run.held.callback(rows.close)
    return rows


def _which(run: Ingredients, source: str, since: str) -> WhichRows:
    launch = run.launch
    return WhichRows(source, since, dict(launch.run.snapshots)[source], launch.definition.settings)


def _pins(run: Ingredients, snapshots: dict[str, str]) -> dict[str, Pin]:
    """How the run's session reads tables at these snapshots."""
    pins = run.formats.pins(snapshots)
    if lost := snapshots.keys() - pins.keys() - {run.launch.run.view}:
        raise ChangesUnknown(
            Code.SOURCE_SNAPSHOT_EXPIRED, f"{', '.join(sorted(lost))} cannot be read at a snapshot any more"
        )
    return pins


def pinned(session: SparkSession, pins: Mapping[str, Pin]) -> contextlib.AbstractContextManager[None]:
    """Lets the queries of a session read tables as pins say."""
    return having(session, {PINS: wire.encode(pins)})


def refuse_lenient(session: SparkSession) -> None:
    """Refuses to follow changes in a session that may leave out rows.

    Raises:
        ChangesUnknown: it is one.
    """
    for name in LENIENT:
        if (session.conf.get(name) or "").lower() == "true":
            raise ChangesUnknown(Code.METHOD_LENIENT_SETTING, f"with {name} Spark may leave out rows")


def refuse_drift(formats: Formats, launch: Launch) -> None:
    """Refuses to leave rows of a view as they are that are not those on record. The snapshot on record of a lake table
    may have rows of another program: a publication of other partitions went on from them. A look tells them all the
    same.

    Raises:
        ChangesUnknown: another program wrote some.
    """
    run, definition = launch.run, launch.definition
    slices = None if WHOLE in run.slices else run.slices
    since = dict(run.snapshots).get(definition.view, "")
    [seen] = formats.of_view(definition).look([TableQuestion(definition.view, slices, since)])
    computed = Region(run.slices)
    there = {each: fingerprint for each, fingerprint in seen.partitions.items() if computed.covers(each)}
    if definition.storage.commits:
        drifted = bool(seen.lost) or not since or bool(there)
    else:
        drifted = there != {each: record.fingerprint for each, record in launch.existing.items()}
    if drifted or not seen.exists or seen.unreadable:
        raise ChangesUnknown(Code.VIEW_WRITTEN_OUTSIDE, f"{definition.view} was written past Headwater")
