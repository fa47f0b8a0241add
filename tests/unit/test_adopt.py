"""A view that the catalog holds and the store does not know is adopted; one that another driver is making is not."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
from attrs import evolve
from cases import machine, view
from py4j.protocol import Py4JJavaError
from test_reanalysis import Record

from headwater.model.error import AnalysisFailed
from headwater.model.event import Broken, Declared
from headwater.model.reason import Code, Reason
from headwater.model.view import Query
from headwater.spark.observing import adopt as adoption
from headwater.spark.observing.adopt import adopt

V = evolve(view("v", "a", "t"), made_by=Query("SELECT 1"), fingerprint="f", owner="somebody")


class Catalog:
    """A catalog that holds ``v``; ``meanwhile`` happens while the view is analysed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.record, self.held, self.meanwhile = Record(), "somebody", lambda: None
        self.record.state = machine({"t": "a"}).state
        self.record.store = SimpleNamespace(raise_version=lambda version: None)
        monkeypatch.setattr(adoption.catalog, "read", lambda name, properties: V)
        monkeypatch.setattr(adoption.catalog, "replaced", lambda name: "")

    def views(self):
        return [SimpleNamespace(table="v", properties={})]

    def owner(self, name: str) -> str | None:
        return self.held

    def analysed(self, definition):
        self.meanwhile()
        return definition

    def adopt(self, complete: bool = True) -> list[str]:
        """Adopts what it holds; what was recorded of it."""
        looks = SimpleNamespace(first_look=lambda definition: None)
        assert adopt(self.record, self, SimpleNamespace(highest=lambda definition: 0), self, looks) is complete
        return [event.why for event in self.record.events if isinstance(event, Declared)]


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Catalog:
    caplog.set_level(logging.WARNING)
    return Catalog(monkeypatch)


def test_a_view_that_only_the_catalog_holds_is_adopted(catalog: Catalog, caplog: pytest.LogCaptureFixture):
    assert catalog.adopt() == ["was found in the catalog"]
    assert "v was found in the catalog" in caplog.text


def test_a_view_that_cannot_be_computed_is_broken_from_the_first(catalog: Catalog):
    """An engine that ends between two entries would leave a view that follows nothing for good."""

    def fails() -> None:
        raise AnalysisFailed("a column is missing", "v")

    catalog.meanwhile = fails
    assert catalog.adopt() == ["was found in the catalog"]
    reason = Reason(Code.QUERY_NOT_ANALYSED, "a column is missing")
    assert [[type(each) for each in some] for some in catalog.record.together] == [[Declared, Broken]]
    assert catalog.record.events[-1] == Broken(1, "v", reason)


def test_a_view_whose_maker_records_it_meanwhile_is_left_to_it(catalog: Catalog, caplog: pytest.LogCaptureFixture):
    def declared() -> None:
        catalog.record.state = machine({"t": "a"}, V).state

    catalog.meanwhile = declared
    assert catalog.adopt() == []
    assert not caplog.text


def test_a_view_that_is_dropped_meanwhile_does_not_come_back(catalog: Catalog, caplog: pytest.LogCaptureFixture):
    def dropped() -> None:
        catalog.held = None

    catalog.meanwhile = dropped
    assert catalog.adopt() == []
    assert not caplog.text


def test_a_catalog_that_does_not_answer_is_asked_at_the_next_check(catalog: Catalog, monkeypatch: pytest.MonkeyPatch):
    def away(name: str) -> str:
        raise Away

    catalog.meanwhile = lambda: monkeypatch.setattr(catalog, "owner", away)
    assert catalog.adopt(complete=False) == []


class Away(Py4JJavaError):
    """What Spark says of a catalog that does not answer."""

    def __init__(self) -> None:
        pass

    def __str__(self) -> str:
        return "the catalog is away"
