"""A view reads what is written before it is created, whoever wrote, and whether or not anybody followed the table then.

The observer of the engine looks at the tables of a world.
"""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from reference import read_by, recomputed, wrong
from strategies import Graph, examples, graphs, happen, machine, of_lakes

from headwater.model.event import FRESH, Declared, Dropped
from headwater.spark.jvm.wire import Hint
from headwater.spark.observing.observer import Observer

KINDS = (
    ("create",) * 3 + ("drop",) * 2 + ("write",) * 3 + ("outside",) * 2 + ("make anew", "check", "drain", "redefine")
)


class Played:
    """A machine whose observer is that of the engine."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.made = graph, machine(graph)
        self.made.looks = False  # no run finds by itself what the observer missed
        formats = SimpleNamespace(look=lambda looks: [self.made.world.seen(each.table, each.since) for each in looks])
        analyst = SimpleNamespace(analysed=lambda definition: definition)
        self.observer = Observer(self.made.recorder, SimpleNamespace(), formats, analyst, SimpleNamespace())

    def write(self, which: int, how: int, hinted: bool, kind: str = "write unseen") -> None:
        table = sorted(self.graph.bases)[which % len(self.graph.bases)]
        happen(self.made, self.graph, kind, which, how)
        if hinted:
            for each in {table, *self.graph.bases}:
                self.observer.hints.notice(Hint("INSERT", table=each))
            self.observer.hinted()

    def create(self, definition, how: int, late: bool) -> None:
        """Declares a view as a statement does; ``late``: somebody writes between its steps."""
        self.observer.baseline(definition)
        if late:
            self.write(how, how, hinted=True)
        if definition.view not in self.made.world.content:
            self.made.world.make(definition.view, definition.storage.commits)
        self.made.recorder.record(lambda _: Declared(self.made.now, FRESH, definition, "was created"))
        if late:
            tables = sorted(self.graph.bases)
            read = [tables.index(each) for each in definition.sources if each in tables]
            # The view's own look finds it. A table that it does not read is looked at after a hint only.
            self.write(read[how % len(read)] if read else how + 1, how + 1, hinted=not read)
        self.observer.catch_up(definition)

    def drop(self, which: int) -> None:
        state = self.made.state
        unread = [each for each in sorted(state.views) if not state.index.readers.get(each)]
        if unread:
            definition = state.views[unread[which % len(unread)]].definition
            self.made.record(lambda _: Dropped(self.made.now, definition.view))
            self.made.world.remove(definition)

    def happen(self, kind: str, which: int, how: int, late: bool) -> None:
        match kind:
            case "create":
                self.create_one(which, how, late)
            case "redefine":
                views = self.made.state.views
                some = [each for each in self.graph.others if each.view in views and self.is_there(each)]
                if some:
                    self.checked(some[which % len(some)], how, late)
            case "drop":
                self.drop(which)
            case "write":
                self.write(which, how, hinted=True)
            case "outside":
                self.write(which, how, hinted=False)
            case "make anew":
                self.write(which, how, hinted=how % 2 > 0, kind="make anew")
            case "check":
                self.observer.check()
            case "drain":
                self.made.drain()

    def is_there(self, definition) -> bool:
        return set(definition.sources) <= {*self.graph.bases, *self.made.state.views}

    def create_one(self, which: int, how: int, late: bool) -> None:
        views = self.made.state.views
        gone = [each for each in self.graph.views if each.view not in views and self.is_there(each)]
        if gone:
            self.checked(gone[which % len(gone)], how, late)

    def checked(self, definition, how: int, late: bool) -> None:
        self.create(definition, how, late)
        self.made.drain()
        if not definition.earlier:
            world = self.made.world
            read = {each: world.content[each] for each in read_by(definition)}
            assert world.content[definition.view] == recomputed(definition, read), definition.view


steps = st.tuples(st.sampled_from(KINDS), st.integers(0, 99), st.integers(0, 99), st.booleans())
scripts = st.lists(steps, min_size=6, max_size=25)


@examples(60)
@given(graph=of_lakes(graphs(most=4)), script=scripts)
def test_a_view_that_is_created_has_all_that_was_written_before(graph, script):
    played = Played(graph)
    for each in script:
        played.happen(*each)


@examples(40)
@given(graph=of_lakes(graphs(most=4)), script=scripts)
def test_a_write_that_a_hint_tells_of_is_lost_by_no_create_beside_it(graph, script):
    played = Played(graph)
    for kind, which, how, late in script:
        played.happen("write" if kind in ("outside", "make anew", "check") else kind, which, how, late)
    played.made.drain()
    assert not wrong(played.made)
