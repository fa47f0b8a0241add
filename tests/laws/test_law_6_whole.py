"""Law 6, Whole or not at all: every partition of a view is published whole."""

from __future__ import annotations

from hypothesis import given
from reference import recomputed, restricted
from strategies import chains, examples, failing, graphs, machine, play, scripts

from headwater.model.event import Started


@examples(80)
@given(graph=graphs(), script=scripts(50, without=("drift",)))
def test_a_reader_sees_each_partition_old_or_new_and_nothing_between(graph, script):
    """A reader between any two steps sees what the last publication of a view left, and nothing of a run
    that has not published."""
    made = machine(graph)
    views = {definition.view for definition in graph.views}
    shown = {view: dict(content) for view, content in made.world.content.items()}
    publications = len(made.world.publications)

    def watch(each, step):
        nonlocal publications
        new = each.world.publications[publications:]
        publications = len(each.world.publications)
        for view in views & set(each.world.content):
            mine = [one for one in new if one.view == view]
            if not mine:
                if view in shown and step != "recorded Declared":
                    assert each.world.content[view] == shown[view], step
            else:
                assert len(mine) == 1 and each.world.content[view] == mine[0].after
        shown.update({view: dict(content) for view, content in each.world.content.items()})

    made.watch = watch
    play(made, graph, script)


@examples(80)
@given(graph=graphs(), script=scripts(50))
def test_what_a_run_publishes_is_its_query_over_the_sources_it_read(graph, script):
    """All partitions of a run appear together, each the whole result of the query, and no other changes.

    A partition of files that is on no record, for it was written past the engine or published just before a crash,
    stays until the next look at the view finds it. Of a lake table it goes with the commit.
    """
    made = machine(graph)

    def watch(each, step):
        if step != "published":
            return
        last = each.world.publications[-1]
        flight = each.flights[last.view]
        definition, slices = flight.launch.definition, flight.launch.run.slices
        truth = restricted(recomputed(definition, flight.read), slices)
        columns = set(definition.partitioned_by)
        unknown = {p: c for p, c in last.before.items() if p not in {*truth, *flight.launch.existing}}
        if definition.storage.commits:
            unknown = {}
        assert restricted(last.after, slices) == truth | restricted(_of(unknown, columns), slices)
        others = {p: c for p, c in last.before.items() if p in unknown or not any(one.covers(p) for one in slices)}
        if last.anew:
            others = {}
        assert {p: c for p, c in last.after.items() if p not in truth} == _of(others, columns)

    made.watch = watch
    play(made, graph, script)


def _of(content, columns):
    return {each: value for each, value in content.items() if each.columns == columns}


@examples(120)
@given(graph=chains(past=False), script=failing(80))
def test_what_was_made_of_a_run_that_came_to_nothing_is_not_published(graph, script):
    made = _watched(graph)
    play(made, graph, script)
    made.drain()


@examples(80)
@given(graph=graphs(), script=scripts(50))
def test_nothing_is_published_that_was_made_of_what_is_not(graph, script):
    """Whatever run's version of a view another run read, readers see that one or a newer one when they see the other's.
    What was written into a view past Headwater has a version too, but there was no run."""
    made = _watched(graph)
    play(made, graph, script)
    made.drain()


def _watched(graph):
    """A machine that looks at what was read, whenever something is published."""
    made = machine(graph)

    def watch(each, step):
        if step != "published":
            return
        run = each.flights[each.world.publications[-1].view].launch.run
        runs = {event.version for event in each.journal if isinstance(event, Started)}
        for source, version in run.inputs:
            assert version not in runs or version <= each.world.newest.get(source, 0)

    made.watch = watch
    return made
