"""Queries of changed rows: the query of a view, with the rows that came and went in place of a table.

Example: rows of ``sales`` came, and the view joins ``sales`` with ``shops``. The query of the new rows reads ``shops``
as it is at the snapshot of the run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
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
from headwater.spark.jvm.sessions import having
from headwater.spark.refreshing.near_rows import WhichRows
from headwater.spark.refreshing.recipe import Ingredients
from headwater.spark.tables.registry import Formats

PINS = "spark.headwater.pins"
"""The setting of a run's session that tells the shim how to read tables (``PinnedSnapshots.scala``)."""

LENIENT = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles")
"""Settings with which Spark leaves out rows of a file. A file that went away may have been cleaned up since."""


def sides(
    run: Ingredients, changed: Pairs, made: Callable[[DataFrame], DataFrame], only_added: bool = False
) -> list[DataFrame]:
    """A frame for each changed source: of the query with its changed rows in its place.

    Of several changed sources, each is followed while those before it in the query's order are new and those after it
    are old. So no row is counted twice, whatever other sources did ([Garcia98] §4.2).

    Args:
        changed: the sources, each with the snapshot to go on from.
        made: makes the frame of such a query.
        only_added: refuse rows that went.

    Raises:
        ChangesUnknown: it is not known which rows changed.
    """
    refuse_lenient(run.session)
    since, now = dict(changed), dict(run.launch.run.snapshots)
    order = [each for each in run.launch.definition.sources if each in since]
    # New rows that no other table is joined with are read once, by the job that computes with them.
    found = changed_rows(run, changed, near=len(run.launch.definition.sources) > 1)
    frames: list[DataFrame] = []
    for n, source in enumerate(order):
        rows = found[source]
        if only_added and rows.removed is not None:
            raise ChangesUnknown(Code.SOURCE_ROWS_REMOVED, f"rows of {source} went or changed")
        if rows.added is None and rows.removed is None:
            continue
        name, lasting = uuid4().hex, rows.lasting and len(order) == 1
        run.shim.stand_in(name, rows, lasting)
        try:
            with _reading(run, now | {each: since[each] for each in order[n + 1 :]}, source, name):
                frames.append(made(run.analysed()))
        finally:
            run.shim.stand_out(name)
    return frames


def changed_rows(run: Ingredients, changed: Pairs, near: bool) -> dict[str, ChangedRows]:
    """The rows of sources that came and went.

    Args:
        changed: the sources, each with the snapshot to go on from.
        near: whether they are wanted in memory if they are few, also if none went. One Spark job then reads them of
            all sources, and nothing that reads them afterwards starts a job for it. Rows that went are compared with
            those that came there: a file that was written anew has most rows on both sides.

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
                if rows.few:
                    run.near.keep(_which(run, *each), rows)
    return {source: rows for (source, _), rows in found.items()}


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


@contextlib.contextmanager
def _reading(run: Ingredients, snapshots: dict[str, str], source: str, name: str) -> Iterator[None]:
    """Lets queries read tables at these snapshots, and the stand-in of a name in place of one of them."""
    pins = run.formats.pins(snapshots)
    if lost := snapshots.keys() - pins.keys() - {run.launch.run.view}:
        raise ChangesUnknown(
            Code.SOURCE_SNAPSHOT_EXPIRED, f"{', '.join(sorted(lost))} cannot be read at a snapshot any more"
        )
    with pinned(run.session, pins | {source: Pin("", rows=name)}):
        yield


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
