"""The journal's text: every kind of event comes back as it was, and what is not one says where."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, graphs, machine, play, scripts, slices, values

from headwater.model.costs import Estimate
from headwater.model.epoch import Epoch, TableState
from headwater.model.error import JournalError
from headwater.model.event import (
    Advanced,
    Altered,
    Analysed,
    Broken,
    Budgeted,
    CancelAsked,
    Changed,
    Convened,
    Declared,
    Dropped,
    EngineLost,
    EpochMade,
    EpochPublished,
    Evaluated,
    Event,
    Failed,
    Hurried,
    Made,
    Observed,
    Prepared,
    Published,
    Renamed,
    Requested,
    Resumed,
    Reworked,
    Skipped,
    Started,
    Suspended,
    Unreadable,
)
from headwater.model.reason import Code, Reason
from headwater.model.view import Column, Definition, Job, Query
from headwater.model.work import WholePartitions, Work
from headwater.spark.tables import catalog
from headwater.store import codec
from headwater.store.journal import _entry

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(0, 2**53)
views = st.builds(
    Definition,
    view=texts,
    made_by=st.builds(Query, texts) | st.builds(Job, texts),
    columns=st.tuples(st.builds(Column, texts, texts, texts)),
    partitioned_by=st.tuples(texts),
    settings=st.dictionaries(texts, texts, max_size=2),
    properties=st.dictionaries(texts, texts, max_size=2),
    through=st.tuples(texts),
    dependencies=graphs(2).map(lambda graph: graph.views[-1].dependencies),
)
some = st.lists(slices, max_size=3).map(tuple)
works = st.one_of(st.just(WholePartitions(leaves_totals=True)), *map(st.from_type, get_args(Work)))
reasons = st.builds(Reason, st.sampled_from(Code), texts)
needs = st.lists(st.tuples(slices, st.lists(numbers, max_size=3).map(tuple)), max_size=3).map(tuple)
states = st.builds(TableState, texts, numbers, texts)
made = st.builds(Made, slices, numbers, texts, texts, st.booleans())
KINDS = {
    Declared: st.builds(
        Declared, numbers, numbers, views, texts, st.booleans(), st.none() | st.builds(Estimate, numbers, numbers)
    ),
    Dropped: st.builds(Dropped, numbers, texts),
    Unreadable: st.builds(Unreadable, numbers, texts, st.none() | reasons),
    Renamed: st.builds(Renamed, numbers, numbers, texts, texts, views),
    Altered: st.builds(Altered, numbers, texts, st.lists(st.tuples(texts, texts), max_size=2).map(tuple)),
    Changed: st.builds(
        Changed,
        numbers,
        numbers,
        texts,
        st.lists(st.builds(Observed, slices, st.none() | texts), max_size=3).map(tuple),
        texts,
        numbers,
        texts,
        st.booleans(),
        numbers,
        texts,
        st.booleans(),
    ),
    Advanced: st.builds(Advanced, numbers, texts, texts),
    Evaluated: st.builds(
        Evaluated,
        numbers,
        st.lists(st.tuples(texts, st.lists(values, max_size=2).map(tuple), values), max_size=3).map(tuple),
    ),
    Requested: st.builds(Requested, numbers, numbers, texts, some, texts),
    Hurried: st.builds(Hurried, numbers, numbers, st.none() | st.lists(texts, max_size=2).map(tuple)),
    Started: st.builds(
        Started,
        numbers,
        numbers,
        texts,
        needs,
        st.lists(st.tuples(texts, numbers), max_size=2).map(tuple),
        works,
        reasons,
    ),
    Reworked: st.builds(Reworked, numbers, numbers, texts, works, reasons),
    Prepared: st.builds(Prepared, numbers, numbers, texts, st.lists(made, max_size=3).map(tuple), some),
    Published: st.builds(
        Published, numbers, numbers, texts, st.lists(made, max_size=3).map(tuple), some, st.floats(0, 1e6)
    ),
    Failed: st.builds(Failed, numbers, numbers, texts, reasons, st.floats(0, 1e6), st.booleans()),
    Skipped: st.builds(Skipped, numbers, numbers, texts, needs, reasons, needs),
    CancelAsked: st.builds(CancelAsked, numbers, texts),
    Suspended: st.builds(Suspended, numbers, texts),
    Resumed: st.builds(Resumed, numbers, texts),
    Analysed: st.builds(Analysed, numbers, texts, numbers),
    Broken: st.builds(Broken, numbers, texts, reasons),
    Budgeted: st.builds(Budgeted, numbers, st.none() | st.floats(0.1, 1e9), st.floats(1, 1e4)),
    EpochMade: st.builds(
        EpochMade, numbers, texts, st.builds(Epoch, numbers, numbers, st.tuples(states), st.tuples(states))
    ),
    EpochPublished: st.builds(EpochPublished, numbers, texts, numbers),
    Convened: st.builds(Convened, numbers, texts),
    EngineLost: st.builds(EngineLost, numbers, numbers),
}


def test_every_kind_of_event_is_tried():
    assert set(KINDS) == set(get_args(Event))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_event_comes_back_as_it_was(kind):
    @examples(25)
    @given(event=KINDS[kind])
    def comes_back(event):
        text = codec.encode(event)
        assert codec.decode(text) == event and json.loads(text)["kind"] == kind.__name__ == codec.kind(event)

    comes_back()


@pytest.mark.parametrize(
    ("made_by", "spelled"),
    [
        (Query("SELECT 1"), {"kind": "Query", "text": "SELECT 1"}),
        (Job("sales.jobs:weekly"), {"kind": "Job", "function": "sales.jobs:weekly"}),
    ],
)
def test_the_journal_says_what_makes_a_view(made_by, spelled):
    text = codec.encode(Declared(1, 2, Definition("v", made_by, ()), "was created"))
    assert json.loads(text)["definition"] == {"view": "v", "made_by": spelled, "columns": []}


@given(definition=views)
def test_the_catalog_keeps_a_definition_without_what_analysis_adds(definition):
    before = evolve(definition, dependencies=(), through=(), root="/w/v", owner="0cc1")
    properties = {key: value for key, value in catalog.properties(before).items() if len(value) <= catalog.CHUNK}
    assert catalog.read(definition.view, properties) == before


@examples(20)
@given(graph=graphs(), script=scripts(20))
def test_every_event_of_a_life_comes_back_as_it_was(graph, script):
    made = machine(graph)
    play(made, graph, script)
    for event in made.journal:
        assert codec.decode(codec.encode(event)) == event


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "3",
        '"Changed"',
        "{}",
        '{"kind":"Exploded"}',
        '{"kind":"Dropped","at":1}',
        '{"kind":"Dropped","at":"soon","view":"v"}',
        '{"kind":"EngineLost","at":null}',
        '{"kind":"Requested","at":1,"version":2,"view":"v","slices":[3],"why":"x"}',
        '{"kind":"Declared","at":1,"version":2,"definition":{"view":"v"},"why":"x"}',
    ],
)
def test_what_is_not_an_event_is_refused_with_its_position(text):
    with pytest.raises(JournalError) as caught:
        _entry(17, text)
    assert caught.value.position == 17 and str(caught.value).startswith("journal entry 17: not ")
