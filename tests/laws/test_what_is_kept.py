"""What the core keeps so as not to compute it again equals what it would compute; what it keeps of a view is of
the view as it is defined now."""

from __future__ import annotations

from hypothesis import given
from strategies import examples, graphs, machine, play, redefining, reshaped, scripts

from headwater.engine.decide.readiness import ready, unneeded, wake_at
from headwater.engine.requests.index import rebuilt
from headwater.model.state import State


def _played(graph, script, holds) -> None:
    """Asks after each step whether something holds of the state then, at that time."""
    made = machine(graph)

    def watch(each, step):
        assert holds(each.state, each.now), step

    made.watch = watch
    play(made, graph, script)
    made.drain()


def _index_is_rebuilt(state: State, now: int) -> bool:
    """Whether the index that events kept up to date says the same as one that is made of the state alone. The order
    of views may be another one, as long as each view comes after its sources."""
    kept, made = state.index, rebuilt(state)
    assert kept.readers == made.readers and kept.carried == made.carried and kept.promising == made.promising
    assert state.origins.keys() == made.carried.keys()
    assert kept.order.keys() == made.order.keys()
    assert all(
        kept.order[source] < kept.order[name]
        for name, view in state.views.items()
        for source in view.definition.sources
        if source in kept.order
    )
    made.rations = kept.rations  # a plan of a moment, made at most once a minute
    told = unneeded(state), ready(state, now), wake_at(state, now)
    state.index = made
    again = unneeded(state), ready(state, now), wake_at(state, now)
    state.index = kept
    return _sorted(told) == _sorted(again)


def _sorted(told) -> tuple:
    idle, found, wake = told
    return sorted(idle, key=lambda each: each.view), sorted(found, key=lambda each: each.view), wake


def _is_of_its_definition(state: State, _now: int) -> bool:
    """A slice that names a column which a view is not partitioned by cannot be computed."""
    return all(
        each.columns <= set(view.definition.partitioned_by)
        for name, view in state.views.items()
        for kept in (view.pending, view.news, state.running[name].slices if name in state.running else ())
        for each in kept
    )


@examples(100)
@given(graph=graphs(), script=scripts(50))
def test_the_index_is_what_the_state_says(graph, script):
    _played(graph, script, _index_is_rebuilt)


@examples(60)
@given(graph=graphs(), script=scripts(50))
def test_requests_name_columns_that_their_view_has(graph, script):
    _played(graph, script, _is_of_its_definition)


@examples(60)
@given(graph=reshaped(), script=redefining(30))
def test_so_they_do_where_definitions_change(graph, script):
    _played(graph, script, _is_of_its_definition)
