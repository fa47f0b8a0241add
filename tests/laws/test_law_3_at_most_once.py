"""Law 3, At most once: a recorded version of a source publishes a downstream partition at most once per
origin, whatever the shape of the graph; failed attempts and ``FULL`` by hand excepted."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st
from reference import follows, is_earlier, repeated, wrong
from strategies import chains, examples, failing, graphs, happen, machine, play, scripts

from headwater.algebra.dependency import forward
from headwater.engine.requests.common_cut import is_strict
from headwater.model.event import Prepared

writes = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=6)
picks = st.lists(st.integers(0, 100), min_size=1, max_size=10)


@examples(120)
@given(graph=graphs(), script=scripts(50))
def test_a_change_publishes_a_partition_at_most_once_per_origin(graph, script):
    """Each recorded version of a source publishes a downstream partition at most once per origin,
    whatever the shape of the graph; failed attempts and ``FULL`` by hand excepted."""
    made = machine(graph)
    play(made, graph, script)
    made.drain()
    assert not repeated(made)


@examples(100)
@given(graph=graphs(12, redefined=False), writes=writes, pick=picks)
def test_changes_recorded_before_the_first_run_publish_each_affected_partition_once(graph, writes, pick):
    """A diamond is minimal: changes that are all recorded when the first run starts publish every affected
    partition exactly once, in whatever order the ready runs are started and end. Affected is what reads a
    partition that was written or published. A strict view takes the changes of a table in their order, so it may
    publish a partition for each of them."""
    _once(machine(graph), graph, writes, pick)


@examples(80)
@given(graph=chains(), writes=writes, pick=picks)
def test_so_they_do_where_views_read_their_own_past(graph, writes, pick):
    """Most partitions are new: they await what is pending before them."""
    _once(machine(graph, (3,)), graph, writes, pick)


def _once(made, graph, writes, pick):
    made.world.sums = False
    before, stamps = len(made.record_book), {name: made.world.found(name) for name in graph.bases}
    for which, content in writes:
        happen(made, graph, "write", which, content)
    made.drain(pick)
    counts = Counter((each.view, each.partition) for each in made.record_book[before:])
    renewed = [
        *counts,
        *((name, one) for name in graph.bases for one in _written(stamps[name], made.world.found(name))),
    ]
    for name, view in made.state.views.items():
        if not follows(view.definition):
            continue
        hits = [
            hit
            for dependency in view.definition.dependencies
            for table, partition in renewed
            if table == dependency.source
            for hit in forward(dependency, partition, made.state.images)
        ]
        for partition in made.world.read(name):
            asked = any(hit.covers(partition) for hit in hits) or any(
                is_earlier(place, earlier, partition)
                for place in view.definition.earlier
                for table, earlier in renewed
                if table == name
            )
            assert asked <= counts[name, partition] <= asked * (len(writes) if is_strict(view) else 1)


def _written(before, after):
    return [each for each in {*before, *after} if before.get(each) != after.get(each)]


@examples(100)
@given(graph=graphs(12, redefined=False), writes=writes, pick=picks)
def test_what_came_out_unchanged_runs_no_reader(graph, writes, pick):
    """A view is refreshed for a change only if a table that it reads was written, or a view that it reads came
    out with other rows; and it is what its query yields all the same."""
    made = machine(graph)
    before, shown = len(made.record_book), deepcopy(made.world)
    for which, content in writes:
        happen(made, graph, "write", which, content)
    made.drain(pick)
    differ = {name for name in graph.bases if made.world.found(name) != shown.found(name)}
    differ |= {name for name in made.state.views if made.world.read(name) != shown.read(name)}
    for view in {each.view for each in made.record_book[before:]}:
        assert differ.intersection(made.state.views[view].definition.sources)
    assert not wrong(made)


@examples(80)
@given(graph=chains(past=False), script=failing(60))
def test_no_reader_starts_on_what_may_prove_to_be_unchanged(graph, script):
    """What is read before it is published differs from what is published, all of it, or readers may run for nothing."""
    made = machine(graph)

    def watch(each, step):
        ready = {run.version for run in each.state.running.values() if run.prepared}
        for event in each.journal:
            if isinstance(event, Prepared) and event.version in ready:
                known = each.state.tables[event.view].partitions
                assert not any(one.slice in known and known[one.slice].content == one.content for one in event.made)

    made.watch = watch
    play(made, graph, script)
    made.drain()
