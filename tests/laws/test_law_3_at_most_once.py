"""Law 3, At most once: a recorded version of a source publishes a downstream partition at most once per
origin, whatever the shape of the graph; failed attempts and ``FULL`` by hand excepted."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from reference import repeated
from strategies import examples, graphs, happen, machine, play, scripts


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
@given(
    graph=graphs(12, redefined=False),
    writes=st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=6),
    pick=st.lists(st.integers(0, 100), min_size=1, max_size=10),
)
def test_changes_recorded_before_the_first_run_publish_each_affected_partition_once(graph, writes, pick):
    """A diamond is minimal: changes that are all recorded when the first run starts publish every
    affected partition exactly once, in whatever order the ready runs are started and end."""
    made = machine(graph)
    before = len(made.record_book)
    for which, content in writes:
        happen(made, graph, "write", which, content)
    asked = {name: tuple(view.pending) for name, view in made.state.views.items()}
    made.drain(pick)
    counts = Counter((each.view, each.partition) for each in made.record_book[before:])
    assert set(counts.values()) <= {1}
    for view, content in made.world.content.items():
        for partition in content:
            if any(one.covers(partition) for one in asked.get(view, ())):
                assert counts[view, partition] == 1
