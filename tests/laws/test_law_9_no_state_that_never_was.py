"""Law 9: every published version of an active view equals its query over one vector of states of the base tables, and
these vectors never go back.

``Lake.history`` has what each snapshot held, so a version can be held against the query over any vector of states.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice, product

from attrs import define, evolve, field
from hypothesis import given, settings
from hypothesis import strategies as st
from machine import Machine
from reference import Content, recomputed
from strategies import Graph, chains, examples, graphs, machine, of_lakes, play, scripts

from headwater.engine.requests.coverage import unresolved, upstream
from headwater.engine.requests.limits import follows
from headwater.engine.tell.cuts import cuts
from headwater.engine.waits.agreement import patience
from headwater.model.event import Changed, Declared, Published, Started

COUNTED: Counter[str] = Counter()
MOST = 3_000
"""So many vectors of states are tried for a version of which no cut is shown."""


STRICT = ("headwater.consistency", "strict")


def strict(graph: Graph) -> Graph:
    """The same graph, in which views are strict, and none reads earlier partitions of itself: their runs follow one
    another."""
    views, others = (
        tuple(evolve(each, earlier=(), properties=(*each.properties, STRICT)) for each in some)
        for some in (graph.views, graph.others)
    )
    return evolve(graph, views=views, others=others)


drawn = of_lakes(st.one_of(graphs(), chains(past=False))).map(strict)


def at(made, name: str, snapshots: dict[str, str]) -> Content:
    """The rows of a view over states of the base tables, by its query and those of the views above it."""
    if name not in made.state.views:
        return made.world.lake.held(snapshots[name])
    definition = made.state.views[name].definition
    return recomputed(definition, {each: at(made, each, snapshots) for each in definition.sources})


def shown(made, name: str) -> dict[str, tuple[int, str]] | None:
    """The cut that is shown of a view: the version of each table, and its snapshot."""
    found = cuts(made.state, name)
    if not found or not all(each.snapshot for each in found):
        return None
    return {each.table: (each.version or 0, each.snapshot) for each in found}


def untrue(made) -> list[str]:
    """Views whose published rows are not those of the cut that is shown."""
    found = []
    for name, view in made.state.views.items():
        cut = shown(made, name)
        if cut is None or view.unsure or name in made.state.running:
            continue
        if any(made.unseen(each) for each in {name, *upstream(made.state, name)} & made.state.views.keys()):
            continue  # another program wrote a view's table, and no look has noticed it yet
        COUNTED["shown"] += 1
        snapshots = {table: snapshot for table, (_, snapshot) in cut.items()}
        if made.world.content.get(name, {}) != at(made, name, snapshots):
            found.append(f"{name} {snapshots}")
    return found


@define
class States:
    """The recorded states of each base table, in their order, and the newest vector that each view was found at.

    Attributes:
        exempt: the runs of which the law does not speak, as they waited long enough, went past a view that cannot run,
            or read what such a run made.
        astray: the views that show what such a run made, until they have a cut again.
    """

    made: Machine
    of: dict[str, list[tuple[int, str]]] = field(factory=dict)
    newest: dict[str, dict[str, int]] = field(factory=dict)
    exempt: set[int] = field(factory=set)
    astray: set[str] = field(factory=set)
    read: int = 0

    def follow(self) -> list[str]:
        """Holds each new version of a view against the law."""
        found, journal = [], self.made.journal
        while self.read < len(journal):
            event = journal[self.read]
            self.read += 1
            self.astray = {each for each in self.astray & self.made.state.views.keys() if not shown(self.made, each)}
            if isinstance(event, Changed) and event.snapshot and event.table not in self.made.state.views:
                self.of.setdefault(event.table, []).append((event.version, event.snapshot))
            elif isinstance(event, Declared):
                self.newest.clear()  # it may have another query
            elif isinstance(event, Started):
                found += self.begun(event)
            elif isinstance(event, Published) and self.read == len(journal):
                if event.version in self.exempt:
                    self.astray.add(event.view)
                elif not self.speaks_not_of(event):
                    found += self.judged(event.view)
        return found

    def begun(self, event: Started) -> list[str]:
        above, views = upstream(self.made.state, event.view), self.made.state.views
        past_a_released_one = any(views[each].released for each in above & views.keys())
        if event.let_go is not None or past_a_released_one or not self.astray.isdisjoint(above):
            self.exempt.add(event.version)
        if event.let_go is None:
            return []
        COUNTED["let go"] += 1
        view, state = self.made.state.views[event.view], self.made.state
        origins = [state.origins[each] for _, some in event.needs for each in some if each in state.origins]
        asked = max(state.hurried, view.hurried)
        early = all(event.at < each.at + patience(view) and each.version > asked for each in origins)
        return [f"{event.view} began too early"] if early and not any(each.definition for each in origins) else []

    def speaks_not_of(self, event: Published) -> bool:
        """Whether the law does not speak of a version: it reads a view of another query, or one not waited for."""
        state = self.made.state
        above = upstream(state, event.view) & state.views.keys()
        views = [state.views[each] for each in above]
        if any(each.unsure or not follows(each.definition) for each in views):
            return True
        if any(self.made.unseen(each) for each in above):
            return True
        owed = {origin for each in above for some in unresolved(state, each).values() for origin in some}
        return any(state.origins[each].table in state.views and not state.origins[each].asked for each in owed)

    def judged(self, name: str) -> list[str]:
        COUNTED["published"] += 1
        tables = sorted(upstream(self.made.state, name) - self.made.state.views.keys())
        before, content = self.newest.get(name, {}), self.made.world.content.get(name, {})
        cut = shown(self.made, name)
        if cut is not None:
            COUNTED["with a cut"] += 1
            vector = {table: version for table, (version, _) in cut.items()}
            back = [table for table in tables if vector[table] < before.get(table, 0)]
            self.newest[name] = vector
            return [f"{name} went back in {back}"] if back else []
        choices = [[each for each in self.of[table] if each[0] >= before.get(table, 0)][::-1] for table in tables]
        for states in islice(product(*choices), MOST):
            snapshots = {table: snapshot for table, (_, snapshot) in zip(tables, states, strict=True)}
            if at(self.made, name, snapshots) == content:
                return []
        return [f"{name} shows a state that never was"]


def law(graph: Graph, script, seconds: int = 0) -> None:
    """Plays a script, in which each run takes some seconds, and holds every version against the law."""
    made = machine(graph)
    states = States(made)
    broken: list[str] = []

    def watch(each, step):
        if step == "wrote":
            each.now += seconds * 1000
        if step.startswith("recorded"):
            assert not untrue(each), step
            broken.extend(states.follow())
            assert not broken, broken

    made.watch = watch
    play(made, graph, script)
    made.drain()
    assert not untrue(made)


plain = ("make anew", "images", "drift", "redefine", "roll back", "clean", "rename", "drop or create")
"""What makes the past of a table unreadable, or gives views another meaning."""


def test_a_version_is_of_one_state_of_every_table():
    @examples(60)
    @given(graph=drawn, script=scripts(50, without=plain), seconds=st.sampled_from((0, 2, 20, 70)))
    def holds(graph, script, seconds):
        law(graph, script, seconds)

    COUNTED.clear()
    holds()
    assert COUNTED["with a cut"] > 0.9 * COUNTED["published"] > settings.default.max_examples / 2


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

    COUNTED.clear()
    holds()
    assert COUNTED["shown"] > 5 * settings.default.max_examples
