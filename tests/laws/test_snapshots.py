"""A state that is read from a snapshot goes on as the one that was replayed from the beginning does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from reference import replayed
from strategies import examples, graphs, machine, play, scripts

from headwater.engine.decide.readiness import ready, wake_at
from headwater.engine.record.transition import transition
from headwater.model.state import State, copied
from headwater.store.pieces import decode, encode


def _folded(state: State, events) -> State:
    for event in events:
        state = transition(state, event)
    return state


def _read_back(state: State) -> State:
    pieces = list(encode(state))
    return decode(pieces, len(pieces))


@examples(30)
@given(graph=graphs(), script=scripts(40), at=st.floats(0, 1))
def test_a_snapshot_and_what_comes_after_it_tell_what_the_journal_tells(graph, script, at):
    made = machine(graph)
    play(made, graph, script)
    place = round(at * len(made.journal))
    before, after = made.journal[:place], made.journal[place:]
    taken = copied(replayed(before))
    assert _read_back(taken) == taken
    state, expected = _folded(_read_back(taken), after), replayed(made.journal)
    assert state == expected and state.index.carried == expected.index.carried
    assert state.index.promising == expected.index.promising
    assert ready(state, made.now) == ready(expected, made.now)
    assert wake_at(state, made.now) == wake_at(expected, made.now)


@examples(15)
@given(graph=graphs(), script=scripts(20), more=scripts(20))
def test_a_copy_stays_as_it_is(graph, script, more):
    made = machine(graph)
    play(made, graph, script)
    taken, expected = copied(made.state), replayed(made.journal)
    play(made, graph, more)
    assert taken == expected
