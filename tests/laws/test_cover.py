"""What a change reaches, where views of the same partitions are followed all at once, and where they are one by one."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from strategies import Graph, examples, machine

from headwater.engine.requests import coverage
from headwater.model.dependency import Dependency, Occurrence, Same
from headwater.model.partition import Slice
from headwater.model.view import Definition

COLUMNS = ("a", "b")
IDENTITY = Occurrence(tuple((column, Same(column)) for column in COLUMNS))


@st.composite
def alike(draw: st.DrawFn) -> Graph:
    """Views that read tables of the same partitions as they are; a few have but one of the columns."""
    tables, views = ["base.t0", "base.t1"], []
    for n in range(draw(st.integers(2, 6))):
        name, columns = f"mart.v{n}", COLUMNS if draw(st.integers(0, 9)) else COLUMNS[:1]
        sources = draw(st.lists(st.sampled_from(tables), min_size=1, max_size=3, unique=True))
        place = IDENTITY if columns == COLUMNS else Occurrence(IDENTITY.columns[:1])
        dependencies = tuple(Dependency(each, (place,)) for each in sources)
        views.append(Definition(name, f"the query of {name}", (), columns, dependencies=dependencies))
        if columns == COLUMNS:
            tables.append(name)
    return Graph({"base.t0": COLUMNS, "base.t1": COLUMNS}, tuple(views))


@examples(100)
@given(alike(), st.sets(st.integers(0, 6)), st.lists(st.sampled_from("123"), max_size=3), st.booleans())
def test_views_that_are_alike_are_reached_as_if_followed_one_by_one(graph, released, values, whole):
    made = machine(graph)
    for place, view in enumerate(made.state.views.values()):
        view.released = place in released
    slices = [Slice.of(a=value, b="1") for value in values] + [Slice.of(a="4")] * whole
    for table in (*graph.bases, *made.state.views):
        at_once = coverage.cover_with_news(made.state, table, slices)
        with patch.object(coverage, "_is_alike", lambda *_: False):
            assert coverage.cover_with_news(made.state, table, slices) == at_once
