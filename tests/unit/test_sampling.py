"""The times at which samples of views are compared with their queries."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
from attrs import evolve
from cases import machine, view

from headwater.model.error import StatementError
from headwater.model.event import Requested
from headwater.model.partition import WHOLE
from headwater.model.state import Status
from headwater.spark.process.sampling import Sampler
from headwater.spark.refreshing.verify import Difference, Sample
from headwater.store.sql_store import SqlStore

HOUR = 3_600_000


class Engine:
    """Two views, of which ``v`` asks to be compared each hour, and a verifier that says what it is told to say."""

    def __init__(self, store: SqlStore) -> None:
        asking = view("v", "a", "t")
        views = evolve(asking, properties={"headwater.verify": "1 hour"}), view("w", "a", "t")
        self.state, self.now, self.requests = machine({"t": "a"}, *views).state, HOUR, []
        self.says, self.compared = Difference(), []
        clock = SimpleNamespace(now=lambda: self.now)
        self.recorder = SimpleNamespace(read=lambda ask: ask(self.state), clock=clock, record=self._record)
        self.loop, self.store = SimpleNamespace(leads=True), store
        self.restart()

    def restart(self) -> None:
        verifier = SimpleNamespace(compared=self._compare)
        self.sampler = Sampler(self.recorder, self.loop, self.store, verifier, None)

    def after(self, time: int) -> list[str]:
        """The views that are compared that much later."""
        self.now, self.compared = self.now + time, []
        self.sampler.sample()
        return self.compared

    def _compare(self, name: str, rows: Sample) -> Difference | None:
        assert rows == Sample()
        self.compared.append(name)
        if isinstance(self.says, Exception):
            raise self.says
        return self.says

    def _record(self, build) -> Requested:
        event = build(self.state)
        self.requests.append((event.view, event.slices, event.why))
        return event


@pytest.fixture
def engine(tmp_path):
    store = SqlStore(tmp_path / "store.db")
    yield Engine(store)
    store.close()


def test_the_first_comparison_comes_a_period_after_the_view(engine):
    assert [engine.after(0), engine.after(HOUR - 1), engine.after(1)] == [[], [], ["v"]]
    assert [engine.after(HOUR - 1), engine.after(1)] == [[], ["v"]]
    assert not engine.requests


def test_an_engine_that_starts_goes_on_counting(engine):
    engine.after(0)
    engine.now += HOUR
    engine.restart()
    assert engine.after(0) == ["v"]


def test_a_view_that_differs_is_recomputed(engine, caplog):
    engine.after(0)
    engine.says = Difference(2, 1, 'missing: {"card":"4111"}')
    assert engine.after(HOUR) == ["v"]
    assert engine.requests == [("v", (WHOLE,), "differed from its query in a sample, see headwater.verify")]
    assert "2 rows were missing, 1 were too many" in caplog.text and "4111" not in caplog.text


def test_a_view_that_changed_meanwhile_is_compared_at_the_next_check(engine):
    engine.after(0)
    engine.says = None
    assert [engine.after(HOUR), engine.after(1)] == [["v"], ["v"]] and not engine.requests


def test_comparisons_leave_the_machine_to_refreshes(engine):
    engine.after(0)
    engine.state.running["w"] = None
    assert engine.after(HOUR) == []
    del engine.state.running["w"]
    assert engine.after(0) == ["v"]


@pytest.mark.parametrize("status", [each for each in Status if each is not Status.ACTIVE])
def test_a_view_that_is_not_kept_fresh_is_not_compared(engine, status):
    engine.after(0)
    engine.state.views["v"].status = status
    assert engine.after(HOUR) == []


def test_only_the_engine_that_leads_compares(engine):
    engine.after(0)
    engine.loop.leads = False
    assert engine.after(HOUR) == []


def test_a_view_that_cannot_be_compared_is_told_once_a_period(engine, caplog):
    engine.after(0)
    engine.says = StatementError("v cannot be verified: a function makes its rows")
    with caplog.at_level(logging.WARNING):
        assert [engine.after(HOUR), engine.after(1)] == [["v"], []]
    assert caplog.messages == ["a sample of v was not compared: v cannot be verified: a function makes its rows"]
