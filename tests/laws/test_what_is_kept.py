"""What the core keeps so as not to compute it again equals what it would compute; what it keeps of a view is of
the view as it is defined now."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from strategies import examples, graphs, machine, play, redefining, reshaped, scripts

from headwater.engine.choose import ready, wake_at
from headwater.model.state import State


def _played(graph, script, holds) -> None:
    """Asks after each step whether something holds of the state then, at that time."""
    made = machine(graph)

    def watch(each, step):
        assert holds(each.state, each.now), step

    made.watch = watch
    play(made, graph, script)
    made.drain()


def _is_found_again(state: State, now: int) -> bool:
    kept = ready(state, now), wake_at(state, now)
    state.free.clear()
    state.slack.clear()
    state.stale.update(state.views)
    return (ready(state, now), wake_at(state, now)) == kept


def _is_counted(state: State, _now: int) -> bool:
    carried = Counter(
        origin for view in state.views.values() for origins in view.pending.values() for origin in origins
    )
    carried.update(origin for run in state.running.values() for _, origins in run.needs for origin in origins)
    return state.carried == carried and state.origins.keys() == carried.keys()


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
def test_what_is_ready_is_found_again_from_scratch(graph, script):
    _played(graph, script, _is_found_again)


@examples(80)
@given(graph=graphs(), script=scripts(50))
def test_origins_are_counted_by_the_slices_that_carry_them(graph, script):
    _played(graph, script, _is_counted)


@examples(60)
@given(graph=graphs(), script=scripts(50))
def test_requests_name_columns_that_their_view_has(graph, script):
    _played(graph, script, _is_of_its_definition)


@examples(60)
@given(graph=reshaped(), script=redefining(30))
def test_so_they_do_where_definitions_change(graph, script):
    _played(graph, script, _is_of_its_definition)
