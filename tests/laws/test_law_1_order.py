"""Law 1, Order: versions of a partition are unique and only increase."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from reference import disordered
from strategies import examples, graphs, machine, play, scripts


@examples(60)
@given(graph=graphs(), script=scripts())
def test_versions_of_a_partition_are_unique_and_only_increase(graph, script):
    """Versions of a partition are unique and only increase."""
    made = machine(graph)
    play(made, graph, script)
    assert not disordered(made)


@examples(60)
@given(graph=graphs(), script=scripts())
def test_what_is_recorded_of_a_table_never_goes_back(graph, script):
    """The record of a table holds the versions that were given last, also when runs and other writes race."""
    made = machine(graph)
    highest: dict[str, int] = {}

    def watch(each, step):
        for name, record in each.state.tables.items():
            if "r" in name.split(".")[1] or name not in highest or step == "recorded Declared":
                highest[name] = record.highest  # a renamed or new view begins anew
            assert record.highest >= highest[name], (name, step)
            highest[name] = record.highest
            newest = max((known.version for known in record.partitions.values()), default=0)
            assert newest <= record.highest

    made.watch = watch
    play(made, graph, script)


@examples(30)
@given(graph=graphs(), script=scripts(), moments=st.lists(st.integers(-100_000, 100_000), min_size=1))
def test_versions_increase_whatever_the_clock_says(graph, script, moments):
    """A version is above every version given before, also when the clock is set back."""
    made = machine(graph)
    for n, step in enumerate(script):
        play(made, graph, [step])
        made.now += moments[n % len(moments)]
    assert not disordered(made)
    versions = [event.version for event in made.journal if type(event).__name__ in ("Changed", "Declared", "Started")]
    assert versions == sorted(set(versions))
