"""The times of events in the sources of a view, and refreshes that read the sources up to a trailing edge only.

Example: ``orders`` has rows up to 10:05 and ``clicks`` up to 10:01, and rows may come a minute late. The safe trailing
edge is 10:00. A view with ``'headwater.trailing_edge' = 'on'`` is its query over the rows of both up to 10:00.

A stream with a watermark writes ``orders``, and no property of the view says how late rows may come. Then the watermark
is the edge of ``orders``, because the stream was told how late they may come.

A row whose time is NULL belongs to no time and is read always. A time after the start of the refresh is taken for an
error of a clock: it moves no edge, and its row is read once that time has passed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from attrs import evolve
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.model.command import Launch
from headwater.model.measure import Edge
from headwater.model.view import Definition
from headwater.spark.jvm import sql
from headwater.spark.jvm.facts import Pin
from headwater.spark.refreshing.changed_rows import pinned


def measured(session: SparkSession, launch: Launch) -> Edge | None:
    """The edge of a run, in the sources as its session reads them now; ``None``: its view names no times of events."""
    definition, now = launch.definition, 1000 * launch.run.started.at
    policy, before = definition.policy, launch.edge if launch.edge is not None else Edge(None)
    passed, ends, late = dict(before.passed), list[int | None](), 0
    for source, column in definition.event_times:
        time = _micros(column)
        aggregates = [F.max(F.when(time <= now, time)), F.count_if(time <= F.lit(before.at))]
        newest, count = _table(session, source).agg(*aggregates).collect()[0]
        ends.append(_end(launch, source, newest, now))
        late += max(0, count - passed[source]) if source in passed else 0
    if not ends:
        return None
    at = None if None in ends else min(each for each in ends if each is not None)
    if not policy.trailing_edge:
        return Edge(at)
    return Edge(at, tuple((each, _passed(session, each, column, at)) for each, column in definition.event_times), late)


@contextlib.contextmanager
def up_to(session: SparkSession, pins: Mapping[str, Pin], definition: Definition, edge: Edge | None) -> Iterator[None]:
    """Lets the queries of a session read the sources of a view up to its trailing edge only, if it has one.

    Args:
        pins: how the session reads tables now.
    """
    if not definition.policy.trailing_edge or edge is None:
        yield
        return
    cut = {
        source: evolve(pins.get(source, Pin("", live=True)), until=_condition(column, edge.at))
        for source, column in definition.event_times
    }
    with pinned(session, {**pins, **cut}):
        yield


# --- inside


def _table(session: SparkSession, source: str) -> DataFrame:
    return session.table(sql.with_catalog(source))


def _end(launch: Launch, source: str, newest: int | None, now: int) -> int | None:
    """The time up to which all rows of a source are there, but for late ones (µs)."""
    lateness, watermark = launch.definition.policy.lateness, dict(launch.run.started.watermarks).get(source)
    if lateness is None and watermark is not None and 1000 * watermark <= now:
        return 1000 * watermark
    return None if newest is None else newest - 1000 * (lateness or 0)


def _passed(session: SparkSession, source: str, column: str, at: int | None) -> int:
    count: int = _table(session, source).agg(F.count_if(_micros(column) <= F.lit(at))).collect()[0][0]
    return count


def _micros(column: str) -> Column:
    return F.unix_micros(F.col(sql.identifier(column)).cast("timestamp"))


def _condition(column: str, at: int | None) -> str:
    """Of the rows up to a time. A comparison of the column itself lets Spark skip files."""
    name = sql.identifier(column)
    return f"{name} IS NULL" if at is None else f"({name} IS NULL OR {name} <= timestamp_micros({at}))"
