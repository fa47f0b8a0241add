"""Law 9: every published version of an active view equals its query over one vector of states of the base tables.

``Lake.history`` has what each snapshot held, so a cut can be held against the query over it.
"""

from __future__ import annotations

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Content, recomputed
from strategies import Graph, chains, examples, graphs, machine, of_lakes, play, scripts

from headwater.engine.tell.cuts import cuts

picks = st.lists(st.integers(0, 100), min_size=1, max_size=8)
SHOWN: list[int] = []


def looking_forward(graph: Graph) -> Graph:
    """The same graph, in which no view reads earlier partitions of itself: their runs follow one another."""
    views, others = (tuple(evolve(each, earlier=()) for each in some) for some in (graph.views, graph.others))
    return evolve(graph, views=views, others=others)


drawn = of_lakes(st.one_of(graphs(), chains(past=False))).map(looking_forward)


def at(made, name: str, snapshots: dict[str, str]) -> Content:
    """The rows of a view over states of the base tables, by its query and those of the views above it."""
    if name not in made.state.views:
        return made.world.lake.held(snapshots[name])
    definition = made.state.views[name].definition
    return recomputed(definition, {each: at(made, each, snapshots) for each in definition.sources})


def untrue(made) -> list[str]:
    """Views whose published rows are not those of the cut that is shown."""
    found = []
    for name, view in made.state.views.items():
        shown = cuts(made.state, name)
        running = made.state.running.get(name)
        if view.unsure or running is not None or made.unseen(name):
            continue
        if not shown or not all(each.snapshot for each in shown):
            continue
        SHOWN.append(1)
        snapshots = {each.table: each.snapshot for each in shown}
        if made.world.content.get(name, {}) != at(made, name, snapshots):
            found.append(f"{name} {snapshots}")
    return found


def test_a_cut_that_is_shown_is_true():
    @examples(100)
    @given(graph=drawn, script=scripts(40, without=("make anew", "images")))
    def holds(graph, script):
        made = machine(graph)

        def watch(each, step):
            if step in ("recorded Published", "recorded Changed", "recorded Skipped"):
                assert not untrue(each), step

        made.watch = watch
        play(made, graph, script)
        made.drain()
        assert not untrue(made)

    holds()
    assert len(SHOWN) > 5 * settings.default.max_examples
