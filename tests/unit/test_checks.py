"""What a check looks at."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from attrs import evolve
from cases import machine, view

from headwater.spark.observing.observer import Observer


@pytest.fixture
def looked() -> list[str]:
    return []


@pytest.fixture
def observer(looked: list[str]) -> Observer:
    """Two chains of views, ``t`` to ``b`` and ``u`` to ``c``; ``a`` also uses an ordinary view and ``c`` a function."""

    def look(looks):
        looked.extend(each.table for each in looks)
        return []

    views = (
        evolve(view("a", "a", "t"), through=("plain",)),
        view("b", "a", "a"),
        evolve(view("c", "a", "u"), through=("function:default.f",)),
    )
    state = machine({"t": "a", "u": "a"}, *views).state
    recorder = SimpleNamespace(
        read=lambda ask: ask(state),
        record=lambda build: build(state),
        record_all=lambda builds: [*builds],
        clock=SimpleNamespace(now=lambda: 1),
    )
    for each in state.views.values():
        each.unanalysed, each.definition = 0, evolve(each.definition, fingerprint="f")
    return Observer(recorder, None, SimpleNamespace(look=look), SimpleNamespace(), None)


def test_a_check_looks_at_everything(observer: Observer, looked: list[str]):
    observer.check()
    assert sorted(looked) == ["a", "b", "c", "function:default.f", "plain", "t", "u"]


@pytest.mark.parametrize(
    ("checked", "expected"),
    [("b", ["a", "b", "plain", "t"]), ("a", ["a", "plain", "t"]), ("c", ["c", "function:default.f", "u"])],
)
def test_a_check_for_one_view_looks_at_what_it_is_made_from(
    observer: Observer, looked: list[str], checked: str, expected: list[str]
):
    observer.check(checked)
    assert sorted(looked) == expected
