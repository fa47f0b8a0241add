"""How far the times of events reach in a view, on record and as it is shown. No Spark."""

from __future__ import annotations

import pytest
from cases import warehouse, written

from headwater.engine.decide.readiness import Choice, ready
from headwater.engine.decide.starting import decided
from headwater.engine.record.runs import launched
from headwater.engine.record.transition import transition
from headwater.engine.tell.status import VIEWS, statuses
from headwater.model.error import StatementError
from headwater.model.event import Advanced, Changed, Declared, Made, Observed, Published
from headwater.model.measure import Edge, Measured
from headwater.model.partition import WHOLE
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.spark.refreshing.verify import Comparison

VIEW = {"v": (("t",), {"event_time": "ts", "freshness": "60 seconds"}, None)}


def refreshed(state: State, at: int, edge: Edge | None) -> State:
    """The state after a change at some time, and a refresh a minute later that found an edge."""
    state = written(state, "t", at)
    [found] = ready(state, at + 60_000)
    event = decided(state, Choice(found), state.highest + 1, at + 60_000).event
    state = transition(state, event)
    made = (Made(WHOLE, 1, str(event.version)),)
    return transition(state, Published(at + 61_000, event.version, "v", made, (), 1.0, Measured(edge=edge)))


def shown(state: State, now: int) -> dict:
    [told] = statuses(state, now)
    return dict(zip(VIEWS, told.row(now), strict=True))


def test_a_view_is_as_stale_as_its_events_are_old():
    state = refreshed(warehouse(VIEW), 1_000_000, Edge(900_000_500))
    row = shown(state, 1_070_000)
    assert (row["fresh_to"], row["staleness"]) == (900_000, 170.0)
    assert row["reason"].startswith("late by 110.0 s"), "its source stopped, or its files come late"


def test_without_rows_changes_tell_how_stale_a_view_is():
    state = refreshed(warehouse(VIEW), 1_000_000, Edge(None))
    row = shown(state, 1_070_000)
    assert (row["fresh_to"], row["staleness"]) == (None, 0.0)


def test_rows_that_came_too_late_are_told_until_the_next_refresh():
    state = refreshed(warehouse(VIEW), 1_000_000, Edge(1_060_000_000, (("t", 7),), 3))
    assert "3 rows came later than headwater.lateness or a watermark allows" in shown(state, 1_061_000)["reason"]
    state = refreshed(state, 1_100_000, Edge(1_160_000_000, (("t", 9),), 0))
    assert shown(state, 1_161_000)["reason"] == ""


def test_a_run_knows_the_edge_of_the_one_before_unless_the_view_was_redefined():
    edge = Edge(900_000_000, (("t", 7),))
    state = written(refreshed(warehouse(VIEW), 1_000_000, edge), "t", 1_100_000)
    [found] = ready(state, 1_170_000)
    state = transition(state, decided(state, Choice(found), state.highest + 1, 1_170_000).event)
    assert launched(state, "v").edge == edge
    again = state.views["v"].definition
    state = transition(state, Declared(1_171_000, state.highest + 1, again, "was redefined"))
    assert state.views["v"].edge is None


def test_a_run_keeps_the_watermarks_that_belong_to_the_snapshots_it_reads():
    state = transition(warehouse(VIEW), Changed(5, 10, "t", (Observed(WHOLE, "x"),), "", 0, "changed", watermark=3))
    [found] = ready(state, 100_000)
    state = transition(state, decided(state, Choice(found), state.highest + 1, 100_000).event)
    state = transition(state, Advanced(100_001, "t", "", 7))
    assert state.tables["t"].watermark == 7 and launched(state, "v").run.started.watermarks == (("t", 3),)


def test_a_view_of_unknown_edge_is_not_compared_with_all_rows():
    """Another store adopted it, and nobody knows up to which time it was refreshed."""
    properties = {"headwater.event_time": "ts", "headwater.trailing_edge": "on"}
    with pytest.raises(StatementError, match="first REFRESH MATERIALIZED VIEW v FULL"):
        Comparison(None, None, None).difference(Definition("v", "SELECT 1", (), properties=properties), [WHOLE], ())
