"""Laws of lake tables: runs read them at the snapshots on record, exactly, and never look.

Other programs write, and other engines look, between any two steps.
"""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given, settings, target
from hypothesis import strategies as st
from reference import lost, read_by, recomputed, restricted, wrong
from strategies import (
    ADDING,
    KEYS,
    ROWS,
    chains,
    examples,
    graphs,
    machine,
    of_lakes,
    play,
    racing,
    redefining,
    scripts,
)

from headwater.model.dependency import Adding
from headwater.model.event import Advanced, Changed, Published, Started
from headwater.model.view import Definition

picks = st.lists(st.integers(0, 100), min_size=1, max_size=8)


@examples(60)
@given(graph=of_lakes(graphs()), script=scripts(50, without=("make anew",)))
def test_each_published_version_is_its_query_over_the_snapshots_on_its_record(graph, script):
    """Somebody writes after each step. A view that was never published has no snapshot to read."""
    made = machine(graph)

    def watch(each, step):
        if step == "recorded Started":
            run = each.journal[-1]
            sources = read_by(each.state.views[run.view].definition)
            pinned = {name for name in sources if name in graph.bases or each.state.tables[name].pinned}
            assert pinned <= dict(run.snapshots).keys()
        elif step == "published":
            assert _is_exact(each)
        play(each, graph, [("write unseen", len(each.journal), each.world.writes)])

    made.watch = watch
    play(made, graph, script)


def _is_exact(made) -> bool:
    last = made.world.publications[-1]
    launch = made.flights[last.view].launch
    snapshots, sources = dict(launch.run.snapshots), read_by(launch.definition)
    if not snapshots.keys() >= set(sources):
        return True
    held = {each: made.world.lake.held(snapshots[each]) for each in sources}
    truth = restricted(recomputed(launch.definition, held), launch.run.slices)
    return restricted(last.after, launch.run.slices) == truth


@examples(20)
@given(graph=of_lakes(graphs()), script=scripts(30, without=("make anew", "clean", "drift")), pick=picks)
def test_what_is_written_while_runs_go_on_makes_no_other_run(graph, script, pick):
    """No run looks, so nothing is noticed but by looks of its own time."""
    made = machine(graph)

    def look(launch, before):
        raise AssertionError(f"{launch.run.view} looks")

    made.world.looking = look
    play(made, graph, script)
    began, known = len(made.journal), made.given
    made.watch = lambda each, step: play(each, graph, [("write unseen", len(each.journal), each.world.writes)])
    made.drain(pick)
    after = made.journal[began:]
    assert not [event for event in after if isinstance(event, Changed | Advanced)]
    own = {event.version for event in after if isinstance(event, Published)}  # of a view that was let go past
    for event in after:
        assert not isinstance(event, Started) or {o for _, some in event.needs for o in some} - own <= set(
            range(known + 1)
        )


@examples(40)
@given(graph=graphs(), moves=st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=12))
def test_a_rearrangement_refreshes_nothing_and_is_on_record(graph, moves):
    made = machine(graph)
    made.settle()
    began = len(made.journal)
    for which, looks in moves:
        play(made, graph, [("rearrange", which, 0), *[("look", which, 0)] * looks])
    made.settle()
    assert all(isinstance(event, Advanced) for event in made.journal[began:])
    for table, log in made.world.lake.logs.items():
        assert made.state.tables[table].snapshot == log.current


@examples(150)
@given(graph=of_lakes(chains(past=False)), script=racing(60), pick=picks)
def test_two_engines_whose_looks_overlap_lose_nothing(graph, script, pick):
    """What one recorded since the other one's look began is not taken back."""
    made = machine(graph)

    def watch(each, step):
        assert not lost(each), step

    made.watch = watch
    play(made, graph, script)
    made.drain(pick)
    made.settle()
    assert not wrong(made)


@examples(40)
@given(graph=graphs(), script=scripts(40))
def test_nobody_reads_a_lake_view_before_it_is_published(graph, script):
    """It is neither kept in memory nor prepared."""
    made = machine(graph)

    def watch(each, step):
        event = each.journal[-1]
        if (
            step in ("recorded Prepared", "recorded Started")
            and each.state.views[event.view].definition.storage.commits
        ):
            assert isinstance(event, Started) and not event.kept

    made.watch = watch
    play(made, graph, script)
    made.drain()


@examples(40)
@given(graph=graphs(), script=scripts(40), pick=picks)
def test_when_writes_stop_the_record_has_the_snapshots_that_readers_see(graph, script, pick):
    made = machine(graph)
    play(made, graph, script)
    made.drain(pick)
    made.settle()
    for table, record in made.state.tables.items():
        if record.pinned and table not in made.state.unreadable:
            assert record.snapshot == made.world.lake.logs[table].current


@pytest.mark.parametrize(
    ("asked", "adding", "counted", "often", "least"),
    [
        ("keys, full", ADDING, "by_keys", 700, 1_000),
        ("incremental, full", ADDING, "by_changes", 300, 700),
        ("incremental, full", ROWS, "appended", 300, 100),
    ],
    ids=["keys", "totals", "rows"],
)
def test_a_run_goes_on_from_the_states_that_partitions_or_totals_reflect(asked, adding, counted, often, least):
    """``World`` refuses it otherwise, and added rows if some went, in every law; here each view asks for it."""
    runs: list[int] = []

    @examples(often)
    @given(
        graph=st.one_of(of_lakes(graphs(most=3)), of_lakes(chains(past=False)), chains(past=False)),
        script=st.one_of(scripts(50), redefining(40), racing(40)),
    )
    def exact(graph, script):
        made = machine(asking := _asking(graph, asked, adding))
        play(made, asking, script)
        made.drain()
        runs.append(getattr(made.world, counted))
        target(float(runs[-1]))

    exact()
    assert sum(runs) > least * settings.default.max_examples // 100  # of what the profile plays


def _asking(graph, method: str, adding: Adding = ADDING):
    """The same graph, in which each view asks for a method that can follow every change."""

    def asking(definition: Definition) -> Definition:
        followed = tuple(evolve(each, keys=KEYS, adding=adding) for each in definition.dependencies)
        properties = {**dict(definition.properties), "headwater.method": method}
        return evolve(definition, earlier=(), dependencies=followed, properties=properties)

    return evolve(graph, views=tuple(map(asking, graph.views)), others=tuple(map(asking, graph.others)))
