"""Views are analysed again when a table changes: Spark's analysis may break one, a failure that passes may not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve
from cases import A1, change, converged, machine, view
from pyspark.errors import PySparkException

from headwater.engine.record.transition import transition
from headwater.model.error import AnalysisFailed, NotNow
from headwater.model.event import Analysed, Broken, Changed, Declared
from headwater.model.reason import Code, Reason
from headwater.model.view import Job, Query
from headwater.spark.defining.analyse import Analyst
from headwater.spark.jvm.wire import Failure, FailureKind
from headwater.spark.observing.observer import Observer

DEFINITION = evolve(view("v", "a", "t"), made_by="SELECT 1", fingerprint="before")


class Analysis:
    """An analyst that answers what it is told to."""

    def __init__(self) -> None:
        self.answer = DEFINITION

    def analysed(self, definition):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Record(SimpleNamespace):
    """A recorder that only notes what is recorded, and which of that together."""

    def __init__(self) -> None:
        made = machine({"t": "a"}, DEFINITION)
        super().__init__(state=made.state, clock=SimpleNamespace(now=lambda: 1), events=[], together=[])

    def read(self, ask):
        return ask(self.state)

    def record(self, build):
        [event] = self.record_all([build])
        return event

    def record_all(self, builds) -> list:
        events = [build(self.state) for build in builds]
        if some := [each for each in events if each is not None]:
            self.events += some
            self.together.append(some)
        return events


@pytest.fixture
def analysis() -> Analysis:
    return Analysis()


@pytest.fixture
def observer(analysis: Analysis) -> Observer:
    return Observer(Record(), None, SimpleNamespace(look=lambda looks: []), analysis, None)


def kinds(observer: Any) -> list[type]:
    return [type(each) for each in observer._recorder.events]


def test_a_failure_that_passes_breaks_nothing_and_is_asked_again(observer: Any, analysis: Analysis):
    analysis.answer = NotNow("the metastore did not answer")
    observer.reanalyse("t")
    assert kinds(observer) == []
    analysis.answer = evolve(DEFINITION, fingerprint="after")
    observer.check()
    assert kinds(observer) == [Declared]
    assert observer._recorder.events[0].why == "means something else since t changed"


def test_an_analysis_that_an_engine_did_not_come_to_is_made_by_the_next_one(observer: Any, analysis: Analysis):
    """The change is on record, and the engine that found it ended."""
    state, asked = observer._recorder.state, []
    view, later = state.views["v"], state.highest + 1
    transition(state, Changed(1, later, "t", (), "other columns", 1, "has other columns"))
    assert view.unanalysed == later
    analysis.analysed = lambda definition: asked.append(definition) or DEFINITION
    observer.check()
    assert asked == [DEFINITION] and observer._recorder.events == [Analysed(1, "v", later)]
    transition(state, evolve(observer._recorder.events[0], upto=later - 1))
    assert view.unanalysed == later, "the table changed again while it was analysed"
    transition(state, observer._recorder.events[0])
    observer.check()
    assert len(asked) == 1 and not view.unanalysed


def test_a_view_that_was_never_analysed_is_analysed_at_the_next_check(observer: Any, analysis: Analysis):
    """It follows nothing: its definition is as the catalog has it."""
    view = observer._recorder.state.views["v"]
    observer.check()
    assert kinds(observer) == []
    view.definition = evolve(DEFINITION, fingerprint="", dependencies=())
    observer.check()
    assert [event.definition for event in observer._recorder.events] == [DEFINITION]
    view.definition = evolve(view.definition, made_by=Job("jobs:made"))
    observer.check()
    assert kinds(observer) == [Declared], "a job says what it reads"


def test_readers_of_a_view_with_another_definition_are_analysed_again():
    made = machine({"t": "a"}, DEFINITION, evolve(view("w", "a", "v"), through=("ordinary",)))
    made.record(lambda _: Analysed(made.now, "w", made.state.highest))
    made.declare(evolve(DEFINITION, fingerprint="after"), "was redefined")
    converged(made)
    assert made.state.views["w"].unanalysed and not made.state.views["v"].unanalysed
    made.record(lambda _: Analysed(made.now, "w", made.state.highest))
    change(made, "t", A1, 9)
    converged(made)
    assert not made.state.views["w"].unanalysed
    made.record(lambda version: Changed(made.now, version, "ordinary", (), "another text", 0, "has another text"))
    assert made.state.views["w"].unanalysed


def test_what_spark_refuses_is_broken(observer: Any, analysis: Analysis):
    analysis.answer = AnalysisFailed("a column is missing", "v")
    observer.reanalyse("t")
    assert kinds(observer) == [Broken]
    assert observer._recorder.events[0].reason == Reason(Code.QUERY_NOT_ANALYSED, "a column is missing")


def test_a_view_that_is_redefined_while_it_is_analysed_is_analysed_again(observer: Any, analysis: Analysis):
    """The old query's new meaning must not take the place of the new query."""
    views, newer = observer._recorder.state.views, evolve(DEFINITION, made_by=Query("SELECT 2"), fingerprint="newer")
    asked = []

    def analysed(definition):
        asked.append(definition)
        views["v"].definition = newer
        return evolve(definition, fingerprint=f"{definition.fingerprint}, changed")

    analysis.analysed = analysed
    observer.reanalyse("t")
    assert asked == [DEFINITION, newer]
    [event] = observer._recorder.events
    assert event.definition.query == "SELECT 2"


@pytest.mark.parametrize(
    ("kind", "raised"),
    [(FailureKind.ANALYSIS, AnalysisFailed), (FailureKind.OTHER, NotNow), (FailureKind.STOPPED, NotNow)],
)
def test_only_an_analysis_error_is_the_querys_fault(kind: FailureKind, raised: type[Exception]):
    def describe(session, query):
        raise PySparkException("something went wrong")

    shim = SimpleNamespace(
        describe=describe, is_gone=lambda _: False, failure=lambda error: Failure(kind, "it went wrong")
    )
    with pytest.raises(raised, match="it went wrong"):
        Analyst(shim, SimpleNamespace(fresh=lambda definition: None)).analysed(DEFINITION)
