"""The graph of views: a view that would read itself."""

from __future__ import annotations

import pytest

from headwater.algebra.graph import refuse_cycle
from headwater.model.error import DefinitionError


@pytest.mark.parametrize(
    ("sources", "reads", "said"),
    [
        ({}, ["v"], "v reads v"),
        ({"a": ["v"]}, ["t", "a"], "v reads a reads v"),
        ({"a": ["t", "b"], "b": ["c"], "c": ["v"], "d": ["v"]}, ["a"], "v reads a reads b reads c reads v"),
    ],
)
def test_a_view_that_would_read_itself_is_refused(sources: dict[str, list[str]], reads: list[str], said: str):
    with pytest.raises(DefinitionError, match=f"v would read itself: {said}$"):
        refuse_cycle(lambda each: {**sources, "v": ["old"]}.get(each, ()), "v", reads)


def test_a_diamond_is_no_cycle():
    sources = {"a": ["t"], "b": ["t"], "reader": ["v"]}
    refuse_cycle(lambda each: sources.get(each, ()), "v", ["a", "b"])


def test_only_tables_upstream_are_looked_at():
    asked: list[str] = []

    def sources(table: str) -> list[str]:
        asked.append(table)
        return {"a": ["b"], "b": ["t"], "other": ["t"]}.get(table, [])

    refuse_cycle(sources, "v", ["a"])
    assert asked == ["a", "b", "t"]
