"""Law 8: the members of an epoch equal their queries over one vector of states of the base tables, and the vectors of
later epochs are not older.

``Lake.history`` has what each snapshot held, of base tables and of views.
"""

from __future__ import annotations

from collections import Counter

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import disordered, replayed, wrong
from strategies import Graph, chains, examples, graphs, machine, of_lakes, play, scripts
from test_law_9_no_state_that_never_was import at, plain

from headwater.engine.requests.coverage import upstream
from headwater.model.epoch import Epoch
from headwater.model.event import Convened, EpochMade
from headwater.model.view import Definition

COUNTED: Counter[str] = Counter()
GROUP = "headwater.group"


@st.composite
def grouped(draw: st.DrawFn) -> Graph:
    """Graphs over lake tables, in which some views are members of two groups. Views are lake tables, or files."""
    graph = draw(of_lakes(st.one_of(graphs(), chains(past=False))))
    names = sorted({each.view for each in graph.views})
    groups = draw(st.fixed_dictionaries({each: st.sampled_from(("", "one", "one", "one", "two")) for each in names}))
    formats = draw(st.fixed_dictionaries({each: st.sampled_from(("delta", "parquet")) for each in names}))
    plainly = draw(st.sampled_from((True, True, False)))

    def member(each: Definition) -> Definition:
        properties = [] if plainly else [*each.properties]
        properties += [(GROUP, groups[each.view])] if groups[each.view] else []
        return evolve(each, earlier=(), properties=tuple(properties), format=formats[each.view])

    return evolve(graph, views=tuple(map(member, graph.views)), others=tuple(map(member, graph.others)))


def untrue(made, epoch: Epoch) -> list[str]:
    """The members whose rows are not those of their queries over the states of an epoch."""
    snapshots = {each.table: each.snapshot for each in epoch.sources}
    found = []
    for member in epoch.members:
        tables = upstream(made.state, member.table)
        views = tables & made.state.views.keys()
        if views & made.world.foreign and any(made.unseen(each) for each in views):
            continue  # another program wrote a view's table, and no look has noticed it yet
        if not all(snapshots.get(each) for each in tables - made.state.views.keys()):
            COUNTED["state not kept"] += 1
            continue
        COUNTED["members"] += 1
        COUNTED["in files"] += not made.state.views[member.table].definition.storage.commits
        if made.world.lake.held(member.snapshot) != at(made, member.table, snapshots):
            found.append(f"{member} {snapshots}")
    return found


def older(before: Epoch | None, epoch: Epoch) -> list[str]:
    """The tables of which an epoch shows an older state than the one before it."""
    known = {} if before is None else {each.table: each.version for each in (*before.members, *before.sources)}
    return [each.table for each in (*epoch.members, *epoch.sources) if each.version < known.get(each.table, 0)]


def convene(made) -> None:
    """Lets all groups meet, whether or not that is due."""
    for group in sorted(made.state.index.grouped):
        made.record(lambda _, group=group: Convened(made.now, group))


def law(graph: Graph, script, seconds: int = 0, convened: bool = False) -> None:
    made = machine(graph)
    read = 0

    def watch(each, step):
        nonlocal read
        if step == "wrote":
            each.now += seconds * 1000
        while step.startswith("recorded") and read < len(each.journal):
            event = each.journal[read]
            read += 1
            if isinstance(event, EpochMade) and read == len(each.journal):
                COUNTED["epochs"] += 1
                known = each.state.groups[event.group]
                assert not untrue(each, known[-1])
                assert not older(known[-2] if len(known) > 1 else None, known[-1])

    made.watch = watch
    for step in script:
        if convened:
            convene(made)
        play(made, graph, [step])
    made.drain()
    if convened:
        made.settle()
        assert not wrong(made) and not disordered(made)
        assert replayed(made.journal) == made.state


def test_the_members_of_an_epoch_show_one_state_of_every_table():
    @examples(150)
    @given(
        graph=grouped(),
        script=scripts(50, without=plain),
        seconds=st.sampled_from((0, 2, 20, 70)),
        convened=st.booleans(),
    )
    def holds(graph, script, seconds, convened):
        law(graph, script, seconds, convened)

    COUNTED.clear()
    holds()
    assert COUNTED["members"] > settings.default.max_examples / 2
    assert COUNTED["in files"] > COUNTED["members"] / 5
    assert COUNTED["state not kept"] < COUNTED["members"] / 4


def test_epochs_hold_whatever_happens():
    @examples(100)
    @given(graph=grouped(), script=scripts(40, without=("make anew", "images")), convened=st.booleans())
    def holds(graph, script, convened):
        law(graph, script, convened=convened)

    holds()
