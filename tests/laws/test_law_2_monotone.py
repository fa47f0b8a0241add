"""Law 2, Monotone: no input of a version is recorded older than the same input of a lower version."""

from __future__ import annotations

from hypothesis import given
from reference import backward
from strategies import examples, graphs, machine, play, scripts


@examples(60)
@given(graph=graphs(), script=scripts())
def test_no_input_is_recorded_older_than_that_of_a_lower_version(graph, script):
    """If d(Vj) > d(Vi), no input of d(Vj) is recorded older than the same input of d(Vi)."""
    made = machine(graph)
    play(made, graph, script)
    made.drain()
    assert not backward(made)


@examples(60)
@given(graph=graphs(), script=scripts())
def test_an_input_is_never_recorded_newer_than_it_was_read(graph, script):
    """Where a source changes while it is read, the older version is recorded and a request remains. What a run
    reads of one that is not published yet has that one's version."""
    made = machine(graph)

    def watch(each, step):
        for flight in each.flights.values():
            for source, version in flight.launch.run.inputs:
                known = each.state.tables.get(source)
                assert known is None or version <= known.highest or version in flight.launch.run.on

    made.watch = watch
    play(made, graph, script)
