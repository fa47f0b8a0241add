"""Law 5, Convergence: when writes stop and requests drain, every active derived table equals its query."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from reference import backward, disordered, lost, repeated, wrong
from strategies import chains, examples, failing, graphs, kept, machine, mark, play, scripts

picks = st.lists(st.integers(0, 100), min_size=1, max_size=8)


def converged(made, graph, script, pick):
    """The machine after a script, when writes stop, every view is kept, and nothing is pending any more."""
    play(made, graph, script)
    kept(made)
    made.drain(pick)
    made.settle()
    assert not wrong(made)
    assert not any(view.pending for view in made.state.views.values())
    assert not made.state.running and not made.state.origins
    return made


@examples(100)
@given(graph=graphs(10), script=scripts(50), pick=picks)
def test_every_view_equals_its_query_when_writes_stop_and_requests_drain(graph, script, pick):
    """When writes stop and requests drain, every active derived table equals its query over the current sources;
    one that only marked changes reach does when they are marked."""
    made = converged(machine(graph), graph, script, pick)
    for table in graph.bases:
        mark(made, table)
    made.settle()
    assert not wrong(made, marked=True)


@examples(60)
@given(graph=chains(), script=failing(60), pick=picks)
def test_views_that_read_their_own_past_converge(graph, script, pick):
    """A partition that is new while a change of an earlier one is pending is made of what that becomes."""
    converged(machine(graph, (3,)), graph, script, pick)  # one partition each, so that others are new


@examples(80)
@given(graph=graphs(), script=scripts(50), pick=picks)
def test_active_views_converge_beside_views_that_are_not_kept(graph, script, pick):
    """A view that is suspended, broken or failing holds nobody back: the active ones equal their query over
    what it shows."""
    made = machine(graph)
    play(made, graph, script)
    made.drain(pick)
    made.settle()
    assert not wrong(made)


@examples(40)
@given(graph=graphs(), script=scripts(30), length=st.integers(1, 12))
def test_views_are_kept_while_runs_are_longer_than_any_patience(graph, script, length):
    """Runs that take minutes, overtaken by ever newer changes, lose nothing."""
    made = machine(graph)
    for n, step in enumerate(script):
        play(made, graph, [("start", n, 0), step, ("write", n, n)])
        made.now += length * 10_000
    kept(made)
    made.settle()
    assert not wrong(made)


@examples(12)
@given(graph=graphs(30), script=scripts(60), pick=picks)
def test_all_laws_hold_on_graphs_of_up_to_thirty_views(graph, script, pick):
    made = converged(machine(graph), graph, script, pick)
    assert not lost(made)
    assert not disordered(made) and not backward(made) and not repeated(made)
