"""A group whose members show no common state for too long convenes, and then they meet."""

from __future__ import annotations

from math import inf

import pytest
from cases import machine, sound, start, view

from headwater.engine.decide import kernel
from headwater.engine.decide.readiness import wake_at
from headwater.engine.groups.epochs import UNPROMISED
from headwater.engine.requests.meeting import left_for_later
from headwater.model.event import Convened, EpochMade, Hurried, Requested, Started, Suspended
from headwater.model.partition import WHOLE

SECOND = 1_000


def group(*takes, consistency="eventual", tables=("s",), **properties):
    """Views of some tables with the seconds that their refreshes take."""
    members = [
        view(f"v{n}", "", *tables, format="delta", group="g", consistency=consistency, **properties)
        for n, _ in enumerate(takes)
    ]
    made = machine(dict.fromkeys(tables, ""), *members, lakes=tables)
    return made, dict(zip((each.view for each in members), takes, strict=True))


def load(made, takes, minutes, every=5, tables=("s",)):
    """Writes the tables in turn every few seconds, and lets each view refresh when it can."""
    ends, began = {}, made.now
    for number in range(minutes * 60):
        made.now = began + number * SECOND
        if number % every == 0:
            table = tables[number // every % len(tables)]
            made.world.write(table, WHOLE, 100 + number)
            made.look(table)
        for name, at in [*ends.items()]:
            if made.now >= at:
                made.finish(made.flights[name])
                del ends[name]
        for name in takes:
            if name not in ends and start(made, name):
                ends[name] = made.now + takes[name] * SECOND
        made.step()
    for name in ends:
        made.finish(made.flights[name])


def times(made):
    return [event.at for event in made.journal if isinstance(event, EpochMade)]


def waits(made, began):
    """Seconds between epochs."""
    found = [began, *(each for each in times(made) if each > began), made.now]
    return [(after - before) / SECOND for before, after in zip(found, found[1:], strict=False)]


def runs(made):
    return sum(isinstance(each, Started) for each in made.journal)


@pytest.mark.parametrize("consistency", ("eventual", "strict"))
@pytest.mark.parametrize("takes", [(11, 13, 17), (9, 14, 23, 31)])
def test_members_whose_states_rarely_meet_by_themselves_do_so_when_they_convene(takes, consistency, monkeypatch):
    """And it takes no more refreshes."""
    met, slow = group(*takes, consistency=consistency)
    began = met.now
    load(met, slow, minutes=20)
    longest = max(waits(met, began))
    assert longest < UNPROMISED / SECOND
    monkeypatch.setattr(kernel, "convenes_at", lambda state, group: inf)
    alone, slow = group(*takes, consistency=consistency)
    load(alone, slow, minutes=20)
    assert max(waits(alone, began)) > 4 * longest
    assert runs(met) == runs(alone)
    sound(met)


def test_members_of_several_tables_meet():
    tables = ("s", "t")
    met, slow = group(11, 13, 17, tables=tables)
    began = met.now
    load(met, slow, minutes=20, tables=tables)
    assert max(waits(met, began)) < 1.5 * UNPROMISED / SECOND
    sound(met)


def test_nobody_goes_to_a_place_while_a_member_cannot_run():
    made, slow = group(11, 13, 17)
    load(made, slow, minutes=3)
    made.record(lambda _: Convened(made.now, "g"))
    made.record(lambda _: Suspended(made.now, "v2"))
    assert "g" in made.state.convened
    for turn in range(20):
        made.now += 5 * SECOND
        made.world.write("s", WHOLE, 900 + turn)
        made.look("s")
        assert left_for_later(made.state, "v0") == left_for_later(made.state, "v1") == {}


def test_who_asks_for_rows_gets_those_of_now():
    made, slow = group(11, 13, 17)
    load(made, slow, minutes=3)
    made.record(lambda _: Convened(made.now, "g"))
    made.world.write("s", WHOLE, 900)
    made.look("s")
    for name in slow:
        made.record(lambda version, name=name: Requested(made.now, version, name, (WHOLE,), "was asked for"))
        assert left_for_later(made.state, name) == {}
    made.record(lambda version: Hurried(made.now, version))
    assert all(left_for_later(made.state, name) == {} for name in slow)


@pytest.mark.parametrize("promised, convenes", [("10 minutes", False), ("30 seconds", True)])
def test_half_of_the_promised_freshness_is_waited_for(promised, convenes):
    made, slow = group(11, 13, 17, freshness=promised)
    load(made, slow, minutes=4)
    assert any(isinstance(each, Convened) for each in made.journal) == convenes


def test_a_group_that_agrees_never_convenes():
    made, slow = group(1, 2)
    load(made, slow, minutes=5, every=10)
    assert not any(isinstance(each, Convened) for each in made.journal)
    assert wake_at(made.state, made.now) is None or wake_at(made.state, made.now) > made.now


def test_the_first_member_goes_on_while_the_others_come_to_its_state():
    made, slow = group(12, 17)
    load(made, slow, minutes=3)
    ran = [each.view for each in made.journal if isinstance(each, Started)]
    assert ran.count("v0") > ran.count("v1") and not left_for_later(made.state, "s")
