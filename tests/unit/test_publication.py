"""A group publishes at times: readers see the epoch of the last one until the next."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from attrs import evolve
from cases import change
from hypothesis import given
from hypothesis import strategies as st
from reference import replayed
from test_epochs import epochs, member, read, refused, rows, shop

from headwater.engine.decide.readiness import wake_at
from headwater.engine.groups.kept import MOST, kept_since, next_publication
from headwater.engine.groups.reading import read_states
from headwater.engine.requests.limits import AHEAD
from headwater.engine.tell.group_rows import group_rows, state_rows
from headwater.model.error import StatementError
from headwater.model.event import Altered, EpochMade, EpochPublished
from headwater.model.partition import WHOLE

HOUR, DAY = 3_600_000, 86_400_000
GROUP = ("headwater.group", "revenue")


def at(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1000)


def publishing(*texts: str, **properties: str):
    """``by_day`` asks for the first of these times, ``more0`` for the second, …"""
    first, *others = texts
    more = [member(f"more{n}", "s", **{"group.publish": text}) for n, text in enumerate(others)]
    return shop(*more, **{"group.publish": first}, **properties)


def move_to(made, text: str) -> None:
    assert at(text) >= made.now, "clocks go on"
    made.now = at(text)
    made.step()


def write(made, value: int) -> int:
    """A change of ``s``, and the number of the epoch that has it."""
    change(made, "s", WHOLE, value)
    made.drain()
    return epochs(made)[-1].number


def shown(made, **asked):
    """The number of the epoch at which a statement reads ``by_day``."""
    known = read(made, ["by_day"], **asked).states["by_day"]
    return max(each.number for each in epochs(made) if each.of("by_day") == known)


def alter(made, view: str, *properties: tuple[str, str]) -> None:
    made.record(lambda _: Altered(made.now, view, (GROUP, *properties)))


def in_the_morning(*texts: str, **properties: str):
    """A group with an epoch of 05:00 and one of 06:30, and their numbers."""
    made = publishing(*texts, **properties)
    move_to(made, "2070-01-01T05:00")
    early = write(made, 11)
    move_to(made, "2070-01-01T06:00")
    move_to(made, "2070-01-01T06:30")
    return made, early, write(made, 12)


def test_readers_see_the_epoch_of_the_time_until_the_next_one():
    made, early, late = in_the_morning("06:00 UTC")
    assert shown(made) == early and rows(made, epochs(made)[-2])["s"] == {WHOLE: 11}
    move_to(made, "2070-01-02T05:59")
    assert shown(made) == early
    move_to(made, "2070-01-02T06:00")
    assert shown(made) == late
    assert replayed(made.journal).published == made.state.published


def test_an_engine_wakes_for_the_time():
    made, *_ = in_the_morning("06:00 UTC")
    assert wake_at(made.state, made.now) == at("2070-01-02T06:00")


def test_where_no_engine_ran_at_the_time_readers_see_the_newest_epoch_when_one_does():
    made, early, late = in_the_morning("06:00 UTC")
    made.now = at("2070-01-03T09:00")
    assert shown(made) == early
    made.step()
    assert shown(made) == late and next_publication(made.state, "revenue") == at("2070-01-04T06:00")


def test_a_session_that_names_an_epoch_reads_it_before_its_time():
    made, early, late = in_the_morning("06:00 UTC")
    assert shown(made, epoch=late) == late and shown(made, epoch=early) == early


def test_readers_of_a_new_group_see_the_epochs_with_more_members_until_its_first_time():
    made = publishing("06:00 UTC")
    first = shown(made)
    write(made, 11)
    assert shown(made) == first
    made.declare(member("late", "s"))
    made.drain()
    assert read(made, ["late", "by_day"]).states["by_day"] == epochs(made)[-1].of("by_day")
    move_to(made, "2070-01-01T06:30")
    made.declare(member("later", "s"))
    assert "REFRESH MATERIALIZED VIEW GROUP revenue waits for an epoch that has it" in refused(made, "later")
    made.drain()
    newest = epochs(made)[-1].number
    assert f"SET spark.headwater.read.epoch = {newest} reads the newest one, which has it" in refused(made, "later")
    assert read(made, ["later"], epoch=newest).states
    move_to(made, "2070-01-02T06:00")
    assert read(made, ["later"]).states


def test_the_published_epoch_stays_and_then_for_the_time_of_replaced_ones():
    made, early, late = in_the_morning("06:00 UTC")
    move_to(made, "2070-01-01T20:00")
    write(made, 13)
    newest, held = epochs(made)[-1], next(each for each in epochs(made) if each.number == early)
    for number in range(1, MOST + 20):
        later = type(newest)(made.state.numbered + number, made.now + number, newest.members, newest.sources)
        made.record(lambda _, later=later: EpochMade(later.at, "revenue", later))
    assert len(epochs(made)) == MOST + 2 and shown(made) == early
    assert f"epoch {late} of revenue is gone; {early}, " in refused(made, "by_day", epoch=late), (
        "also if an older one is there"
    )
    replaced = min(each for each in made.state.tables["by_day"].past if each > held.of("by_day").version)
    first = read(made, ["by_day"])
    for soon in ("2070-01-02T06:00", "2070-01-02T06:59"):
        move_to(made, soon)
        assert kept_since(made.state, "by_day", made.now) <= replaced, "a statement, or a frame, may read it still"
        assert read_states(made.state, ["by_day"], None, False, made.now, first.moment) == first
        assert shown(made, epoch=early) == early
    move_to(made, "2070-01-02T07:01")
    write(made, 14)
    assert early not in [each.number for each in epochs(made)]


def test_each_time_that_a_member_states_counts():
    made, early, late = in_the_morning("06:00 UTC", "18:00 UTC")
    assert shown(made) == early and next_publication(made.state, "revenue") == at("2070-01-01T18:00")
    move_to(made, "2070-01-01T18:00")
    assert shown(made) == late


@pytest.mark.parametrize(("zone", "hour"), [("Europe/Berlin", 5), ("+02:00", 4), ("Nowhere/Else", 6)])
def test_a_time_without_a_zone_is_of_the_session_that_declared_the_view(zone, hour):
    declared = member("by_night", "s", **{"group.publish": "06:00"})
    made = shop(evolve(declared, settings={"spark.sql.session.timeZone": zone}))
    move_to(made, "2070-01-01T00:00")
    assert next_publication(made.state, "revenue") == at(f"2070-01-01T{hour:02}:00")


@pytest.mark.parametrize("meanwhile", ["publication", "times", "no times", "a member", "no member"])
def test_a_statement_reads_at_one_moment_whatever_happens_meanwhile(meanwhile):
    made, *_ = in_the_morning("06:00 UTC")
    made.declare(member("other", "s"))
    made.drain()
    first = read(made, ["by_day"])
    match meanwhile:
        case "publication":
            move_to(made, "2070-01-02T06:00")
        case "times":
            alter(made, "by_shop", ("headwater.group.publish", "* * * * *"))
        case "no times":
            alter(made, "by_day")
        case "a member":
            made.declare(member("late", "s"))
            made.drain()
        case "no member":
            made.drop("other")
    write(made, 13)
    both = read_states(made.state, ["by_day", "by_shop"], None, False, made.now, first.moment)
    assert both.states["by_day"] == first.states["by_day"] and both.moment == first.moment
    epoch = next(each for each in epochs(made) if each.of("by_day") == both.states["by_day"])
    assert both.states["by_shop"] == epoch.of("by_shop")


def test_base_tables_are_read_as_the_published_epoch_shows_them():
    made, *_ = in_the_morning("06:00 UTC")
    found = read(made, ["by_day", "s"], sources=True).states["s"]
    assert made.world.lake.held(found.snapshot) == {WHOLE: 11}


def test_readers_do_not_go_back_when_members_ask_for_other_times():
    made, early, late = in_the_morning("06:00 UTC")
    alter(made, "by_day", ("headwater.group.publish", "12:00 UTC"))
    assert shown(made) == early and next_publication(made.state, "revenue") == at("2070-01-01T12:00")
    alter(made, "by_day")
    assert shown(made) == late and next_publication(made.state, "revenue") is None
    newest = write(made, 13)
    assert shown(made) == newest
    alter(made, "by_shop", ("headwater.group.publish", "06:00 UTC"))
    write(made, 14)
    assert shown(made) == newest
    made.drop("by_shop")
    assert shown(made) == epochs(made)[-1].number


def test_readers_do_not_go_back_when_a_clock_does():
    made, early, late = in_the_morning("06:00 UTC")
    move_to(made, "2070-01-02T06:00")
    newest = write(made, 13)
    made.now -= AHEAD // 2
    made.step()
    assert shown(made) == late and newest not in (early, late)


def test_the_rows_of_a_group_tell_what_readers_see_and_when_that_changes():
    made, early, late = in_the_morning("06:00 UTC")
    [row] = group_rows(made.state, made.now)
    assert (row.published, row.epoch, row.next_publication) == (early, late, at("2070-01-02T06:00"))
    assert {each.epoch for each in state_rows(made.state, "revenue", made.now)} == {early}
    assert {each.epoch for each in state_rows(made.state, "revenue", made.now, late)} == {late}


def test_a_group_without_an_epoch_says_so():
    made = publishing("06:00 UTC")
    made.declare(member("cost", "s", group="costs", **{"group.publish": "06:00"}))
    assert "the group costs has no epoch yet" in refused(made, "cost")
    made.record(lambda _: EpochPublished(made.now, "costs", made.state.numbered + 1))
    assert "costs" not in made.state.published


@given(st.lists(st.integers(1, 30 * HOUR), min_size=1, max_size=12), st.integers(0, 40 * HOUR))
def test_what_readers_see_is_the_newest_epoch_at_the_last_time(gaps, later):
    """The engine runs at each time; the reference notes the newest epoch then."""
    made = publishing("06:00 UTC", retain="1 hour")
    move_to(made, "2070-01-01T06:00")
    seen, moment = epochs(made)[-1].number, made.now

    def go(until: int) -> None:
        nonlocal seen, moment
        for when in range(moment // DAY * DAY + 6 * HOUR, until + 1, DAY):
            if made.now < when:
                seen = epochs(made)[-1].number
                made.now = when
                made.step()
        made.now = moment = until

    for n, gap in enumerate(gaps):
        go(made.now + gap)
        write(made, 11 + n)
        assert shown(made) == seen
    go(made.now + later)
    assert shown(made) == seen


def test_a_clock_that_was_ahead_holds_no_publication_up():
    made, _, late = in_the_morning("06:00 UTC")
    before = made.now
    made.now += 365 * DAY
    made.step()
    made.now = before
    made.step()
    assert shown(made) == late and next_publication(made.state, "revenue") == at("2070-01-02T06:00")


def test_a_statement_that_goes_on_for_longer_than_epochs_stay_is_refused():
    made, *_ = in_the_morning("06:00 UTC")
    first = read(made, ["by_day"])
    move_to(made, "2070-01-02T06:00")
    move_to(made, "2070-01-02T07:01")
    write(made, 13)
    with pytest.raises(StatementError, match=f"what readers of revenue saw at the moment {first.moment} is gone"):
        read_states(made.state, ["by_shop"], None, False, made.now, first.moment)


@pytest.mark.parametrize("how", ["alter", "join"])
def test_a_time_that_passed_before_a_member_asked_for_it_publishes_nothing(how):
    made, early, late = in_the_morning("06:00 UTC")
    move_to(made, "2070-01-01T13:00")
    if how == "alter":
        alter(made, "by_day", ("headwater.group.publish", "12:00 UTC"))
    else:
        made.declare(member("late", "s", **{"group.publish": "12:00 UTC"}))
    made.step()
    assert shown(made) == early
    assert next_publication(made.state, "revenue") == at("2070-01-02T12:00" if how == "alter" else "2070-01-02T06:00")
    alter(made, "by_shop", ("headwater.retain", "2 hours"))
    move_to(made, "2070-01-02T12:00")
    assert shown(made) >= late


def test_so_many_publications_stay_at_most():
    made = publishing("* * * * * UTC", retain="1 day")
    for value in range(MOST + 20):
        made.now += 60_000
        write(made, 11 + value)
        made.step()
    assert len(made.state.published["revenue"]) <= MOST + 1 and len(epochs(made)) <= 2 * MOST + 2
