"""What the core keeps so as not to compute it again equals what it would compute."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from strategies import examples, graphs, machine, play, scripts

from headwater.engine.choose import ready, wake_at


@examples(150)
@given(graph=graphs(), script=scripts(50))
def test_what_is_ready_is_found_again_from_scratch(graph, script):
    made = machine(graph)

    def watch(each, step):
        state = each.state
        kept = ready(state, each.now), wake_at(state, each.now)
        state.free.clear()
        state.stale.update(state.views)
        assert (ready(state, each.now), wake_at(state, each.now)) == kept, step

    made.watch = watch
    play(made, graph, script)
    made.drain()


@examples(150)
@given(graph=graphs(), script=scripts(50))
def test_origins_are_counted_by_the_slices_that_carry_them(graph, script):
    made = machine(graph)

    def watch(each, step):
        state = each.state
        carried = Counter(
            origin for view in state.views.values() for origins in view.pending.values() for origin in origins
        )
        carried.update(origin for run in state.running.values() for _, origins in run.needs for origin in origins)
        assert state.carried == carried and state.origins.keys() == carried.keys(), step

    made.watch = watch
    play(made, graph, script)
    made.drain()
