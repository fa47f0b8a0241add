"""Vertical and horizontal consistency, against what partitions truly reflect."""

from __future__ import annotations

from cases import A1, A2, change, end, machine, sound, start, view
from hypothesis import given
from reference import follows, recomputed, wrong
from strategies import examples, graphs, play, rename, scripts
from strategies import machine as machine_of

from headwater.engine.requests.coverage import upstream
from headwater.engine.requests.limits import SETTLE
from headwater.engine.tell.consistency import horizontal, vertical
from headwater.model.event import Suspended
from headwater.model.partition import WHOLE

CHAIN = (view("v", "a", "u"), view("w", "a", "v", "t"))
BASES = {"t": "a", "u": "a"}


def lacking(state, name, partition=WHOLE) -> dict[str, list[str]]:
    found = vertical(state, name, partition)
    return {each.other: [origin.table for origin in each.lacks] for each in found if not each.consistent}


def test_everything_upstream_is_asked_about():
    made = machine(BASES, *CHAIN)
    assert upstream(made.state, "w") == {"t", "u", "v", "w"}
    assert [each.other for each in vertical(made.state, "w")] == ["t", "u", "v"]
    assert lacking(made.state, "w") == {}


def test_a_change_is_lacking_until_it_arrived():
    made = machine(BASES, *CHAIN)
    change(made, "u", A1)
    made.now += SETTLE
    at = made.now - SETTLE
    assert lacking(made.state, "w", A1) == {"u": ["u"], "v": ["u"]}
    assert lacking(made.state, "w", A2) == {}
    [_, u, _] = vertical(made.state, "w")
    assert (u.since, u.requests) == (at, (("v", A1), ("w", A1)))
    assert start(made, "v")
    end(made, "v")
    assert lacking(made.state, "v") == {}
    [_, u, _] = vertical(made.state, "w")
    assert u.requests == (("w", A1),)
    assert start(made, "w")
    assert lacking(made.state, "w") == {"u": ["u"], "v": ["u"]}
    end(made, "w")
    assert lacking(made.state, "w") == {}


def test_siblings_are_apart_while_one_of_them_is_behind():
    made = machine({"t": "a"}, view("v", "a", "t"), view("w", "a", "t"))
    assert horizontal(made.state, "v", "w").consistent
    change(made, "t", A1)
    made.now += SETTLE
    assert horizontal(made.state, "v", "w").consistent, "both lack the same"
    assert start(made, "v")
    end(made, "v")
    apart = horizontal(made.state, "v", "w")
    assert [origin.table for origin in apart.lacks] == ["t"] and apart.requests == (("w", A1),)
    assert horizontal(made.state, "v", "w", A2, A2).consistent
    assert start(made, "w")
    end(made, "w")
    assert horizontal(made.state, "w", "v").consistent


def test_what_a_suspended_view_keeps_back_its_readers_lack():
    made = machine(BASES, *CHAIN)
    made.record(lambda _: Suspended(made.now, "v"))
    change(made, "u", A1)
    assert made.state.views["w"].pending == {}
    assert lacking(made.state, "w") == {"u": ["u"], "v": ["u"]}


def test_a_view_that_was_renamed_lacks_what_it_lacked_before():
    made = machine({"t": "a"}, view("v", "a", "t"))
    made.declare(view("v", "a", "t", fingerprint="2"), "was redefined")
    rename(made, "v", "w")
    assert lacking(made.state, "w") == {"t": ["w"]}
    sound(made)


@examples(60)
@given(graph=graphs(), script=scripts(40, without=("suspend", "break", "unreadable", "drift")))
def test_what_lacks_nothing_equals_its_query(graph, script):
    """A view that is consistent with everything upstream is what its query yields, if all writes were looked at."""
    made = machine_of(graph)
    play(made, graph, script)
    for table in sorted(made.world.content):
        made.look(table)
    stale = {each for each in made.state.views if lacking(made.state, each) or each in made.state.running}
    for name in made.state.views:
        definition = made.state.views[name].definition
        if follows(definition) and not stale & upstream(made.state, name):
            assert made.world.content[name] == recomputed(definition, made.world.content), name
    made.drain()
    made.settle()
    assert not wrong(made) and not any(lacking(made.state, each) for each in made.state.views)
