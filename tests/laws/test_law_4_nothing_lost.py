"""Law 4, Nothing lost: a recorded change is reflected downstream or has a pending request that will
reflect it, after a crash of any process at any moment."""

from __future__ import annotations

from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st
from machine import Machine
from reference import lost, replayed, wrong
from strategies import Graph, examples, graphs, kept, machine, play, scripts

from headwater.model.dependency import Dependency, Occurrence
from headwater.model.event import Requested
from headwater.model.partition import WHOLE, Slice
from headwater.model.view import Definition


@examples(100)
@given(graph=graphs(), script=scripts(50))
def test_a_recorded_change_is_reflected_or_pending_at_every_moment(graph, script):
    """A recorded change is reflected downstream or has a pending request that will reflect it."""
    made = machine(graph)

    def watch(each, step):
        assert not lost(each), step

    made.watch = watch
    play(made, graph, script)
    made.drain()


def test_what_came_and_went_between_two_looks_is_not_kept_by_who_read_it():
    """A partition that was never on record: read by a run, and deleted before the run ends."""
    reader = Definition("mart.v", "q", (), (), dependencies=(Dependency("base.t", (Occurrence(()),)),))
    made, brief = machine(Graph({"base.t": ("a",)}, (reader,))), Slice.of(a="2003")
    made.world.write("base.t", brief, 9)
    made.record(lambda version: Requested(made.now, version, "mart.v", (WHOLE,), "was asked for"))
    made.now += 61_000
    made.start()
    made.advance(made.flight(0))
    made.world.write("base.t", brief, None)
    made.look("base.t", named=(brief,))
    made.drain()
    assert not lost(made)


@examples(40)
@given(
    graph=graphs(5), script=scripts(40, without=("crash",)), pick=st.lists(st.integers(0, 100), min_size=1, max_size=4)
)
def test_nothing_is_lost_when_the_engine_dies_at_any_moment(graph, script, pick):
    """After a crash of any process at any moment, what was recorded is reflected in the end: the engine
    is killed after every journal entry and every publication, and another one carries on."""
    made = machine(graph, filled=False)
    moments = []

    def watch(each, step):
        moments.append((len(each.journal), deepcopy(each.world), each.now, each.given))

    made.watch = watch
    play(made, graph, script)
    for length, world, now, given_ in moments:
        survivor = Machine(world, now, made.journal[:length], given_)
        assert not lost(survivor)
        kept(survivor)
        survivor.drain(pick)
        survivor.settle()
        assert not wrong(survivor)


@examples(50)
@given(graph=graphs(), script=scripts(50))
def test_the_journal_holds_everything(graph, script):
    """State is a fold over the journal: replay, from what the codec wrote, gives the live state."""
    made = machine(graph)
    play(made, graph, script)
    assert replayed(made.journal) == made.state
