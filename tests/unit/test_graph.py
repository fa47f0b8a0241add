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
        refuse_cycle({**sources, "v": ["old"]}, "v", reads)


def test_a_diamond_is_no_cycle():
    refuse_cycle({"a": ["t"], "b": ["t"], "reader": ["v"]}, "v", ["a", "b"])


def test_only_tables_upstream_are_looked_at():
    class Sources(dict):
        def __iter__(self):
            raise AssertionError("all views were looked at")

        keys = values = items = __iter__

    refuse_cycle(Sources({"a": ["b"], "b": ["t"], "other": ["t"]}), "v", ["a"])
