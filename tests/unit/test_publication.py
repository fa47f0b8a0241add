"""A group publishes at times: readers see the epoch of the last one until the next."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from attrs import evolve
from cases import change
from hypothesis import given
from hypothesis import strategies as st
from test_epochs import epochs, member, read, refused, rows, shop

from headwater.engine.groups.kept import MOST, kept_since, next_publication
from headwater.engine.groups.reading import moment_now, read_states
from headwater.engine.tell.group_rows import group_rows, state_rows
from headwater.model.event import Altered, EpochMade
from headwater.model.partition import WHOLE

HOUR, DAY = 3_600_000, 86_400_000


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


def write(made, value: int) -> None:
    change(made, "s", WHOLE, value)
    made.drain()


def shown(made, **asked):
    """The number of the epoch at which a statement reads ``by_day``, and what is in it."""
    known = read(made, ["by_day"], **asked).states["by_day"]
    return next(each.number for each in epochs(made) if each.of("by_day") == known)


def test_readers_see_the_epoch_of_the_time_until_the_next_one():
    made = publishing("06:00 UTC")
    move_to(made, "2070-01-01T05:00")
    write(made, 11)
    move_to(made, "2070-01-01T06:30")
    write(made, 12)
    before, newest = epochs(made)[-2:]
    assert shown(made) == before.number and rows(made, before)["s"] == {WHOLE: 11}
    move_to(made, "2070-01-02T05:59")
    assert shown(made) == before.number
    move_to(made, "2070-01-02T06:00")
    assert shown(made) == newest.number


def test_a_session_that_names_an_epoch_reads_it_before_its_time():
    made = publishing("06:00 UTC")
    move_to(made, "2070-01-01T05:00")
    write(made, 11)
    move_to(made, "2070-01-01T06:30")
    write(made, 12)
    assert shown(made, epoch=epochs(made)[-1].number) == epochs(made)[-1].number


def test_a_group_that_was_never_published_is_read_at_its_first_epoch():
    """Machines begin in January 1970."""
    made = publishing("0 6 1 7 * UTC")
    first = epochs(made)[0]
    for value in (11, 12, 13):
        made.now += HOUR
        write(made, value)
    assert len(epochs(made)) > 1 and shown(made) == first.number
    move_to(made, "1970-07-01T06:00")
    assert shown(made) == epochs(made)[-1].number


def test_the_published_epoch_outlives_its_time_and_all_that_follow():
    made = publishing("06:00 UTC", retain="10 minutes")
    move_to(made, "2070-01-01T05:00")
    write(made, 11)
    held = epochs(made)[-1]
    move_to(made, "2070-01-01T06:30")
    write(made, 12)
    move_to(made, "2070-01-01T20:00")
    write(made, 13)
    newest = epochs(made)[-1]
    for number in range(1, MOST + 20):
        number, moment = newest.number + number, made.now + number
        later = type(newest)(number, moment, newest.members, newest.sources)
        made.record(lambda _, later=later: EpochMade(later.at, "revenue", later))
    assert len(epochs(made)) == MOST + 2 and epochs(made)[0] == held and shown(made) == held.number
    replaced = min(each for each in made.state.tables["by_day"].past if each > held.of("by_day").version)
    assert kept_since(made.state, "by_day", made.now) <= replaced, "its files stay, too"
    move_to(made, "2070-01-02T07:00")
    write(made, 14)
    assert held not in epochs(made)


def test_each_time_that_a_member_states_counts():
    made = publishing("06:00 UTC", "18:00 UTC")
    move_to(made, "2070-01-01T05:00")
    write(made, 11)
    move_to(made, "2070-01-01T12:00")
    write(made, 12)
    early, late = epochs(made)[-2:]
    assert shown(made) == early.number and next_publication(made.state, "revenue", made.now) == at("2070-01-01T18:00")
    move_to(made, "2070-01-01T18:00")
    assert shown(made) == late.number


@pytest.mark.parametrize(("zone", "hour"), [("Europe/Berlin", 5), ("+02:00", 4), ("Nowhere/Else", 6)])
def test_a_time_without_a_zone_is_of_the_session_that_declared_the_view(zone, hour):
    declared = member("by_night", "s", **{"group.publish": "06:00"})
    made = shop(evolve(declared, settings={"spark.sql.session.timeZone": zone}))
    move_to(made, "2070-01-01T00:00")
    assert next_publication(made.state, "revenue", made.now) == at(f"2070-01-01T{hour:02}:00")


def test_a_statement_reads_at_one_moment_across_a_publication():
    made = publishing("06:00 UTC")
    move_to(made, "2070-01-01T05:00")
    write(made, 11)
    move_to(made, "2070-01-01T06:30")
    write(made, 12)
    move_to(made, "2070-01-02T05:59")
    first = read(made, ["by_day"])
    move_to(made, "2070-01-02T06:00")
    second = read_states(made.state, ["by_day", "by_shop"], None, False, first.moment)
    assert second.states["by_day"] == first.states["by_day"] and second.moment == first.moment
    assert second.states["by_shop"] != read(made, ["by_shop"]).states["by_shop"]


def test_base_tables_are_read_as_the_published_epoch_shows_them():
    made = publishing("06:00 UTC")
    move_to(made, "2070-01-01T05:00")
    write(made, 11)
    move_to(made, "2070-01-01T06:30")
    write(made, 12)
    found = read(made, ["by_day", "s"], sources=True).states["s"]
    assert made.world.lake.held(found.snapshot) == {WHOLE: 11}


def test_a_group_publishes_at_once_when_its_members_ask_for_no_time_any_more():
    made = publishing("06:00 UTC")
    move_to(made, "2070-01-01T05:00")
    write(made, 11)
    move_to(made, "2070-01-01T06:30")
    write(made, 12)
    made.record(lambda _: Altered(made.now, "by_day", (("headwater.group", "revenue"),)))
    assert shown(made) == epochs(made)[-1].number and next_publication(made.state, "revenue", made.now) is None


def test_the_rows_of_a_group_tell_what_readers_see_and_when_that_changes():
    made = publishing("06:00 UTC")
    move_to(made, "2070-01-01T05:00")
    write(made, 11)
    move_to(made, "2070-01-01T06:30")
    write(made, 12)
    [row] = group_rows(made.state, made.now)
    assert (row.published, row.epoch, row.next_publication) == (2, 3, at("2070-01-02T06:00"))
    assert {each.epoch for each in state_rows(made.state, "revenue", made.now)} == {2}
    assert {each.epoch for each in state_rows(made.state, "revenue", made.now, 3)} == {3}


def test_a_group_without_an_epoch_says_so():
    made = publishing("06:00 UTC")
    made.declare(member("cost", "s", group="costs", **{"group.publish": "06:00"}))
    assert "the group costs has no epoch yet" in refused(made, "cost")


@given(st.lists(st.integers(1, 30 * HOUR), min_size=1, max_size=12), st.integers(0, 40 * HOUR))
def test_what_readers_see_is_what_a_reader_at_that_time_saw(gaps, later):
    """The reference looks at the very minute of the publication, before anything else happens."""
    made = publishing("06:00 UTC", retain="1 hour")
    move_to(made, "2070-01-01T06:00")
    seen = epochs(made)[-1].number
    for n, gap in enumerate(gaps):
        for when in range(made.now // DAY * DAY + 6 * HOUR, made.now + gap + 1, DAY):
            if made.now < when:
                seen = epochs(made)[-1].number
        made.now += gap
        write(made, 11 + n)
        assert shown(made) == seen
    until = made.now + later
    if any(made.now < when <= until for when in range(made.now // DAY * DAY + 6 * HOUR, until + 1, DAY)):
        seen = epochs(made)[-1].number
    made.now = until
    assert shown(made) == seen
    assert moment_now(made.state, made.now).number == made.state.numbered


def test_a_member_that_joins_after_the_publication_is_read_at_the_next_one():
    made = publishing("06:00 UTC")
    move_to(made, "2070-01-01T05:00")
    write(made, 11)
    move_to(made, "2070-01-01T06:30")
    made.declare(member("late", "s"))
    assert "REFRESH MATERIALIZED VIEW GROUP revenue waits for an epoch that has it" in refused(made, "late")
    made.drain()
    newest = epochs(made)[-1].number
    assert f"SET spark.headwater.read.epoch = {newest} reads the newest one, which has it" in refused(made, "late")
    assert read(made, ["late"], epoch=newest).states
    move_to(made, "2070-01-02T06:00")
    assert read(made, ["late"]).states


def test_the_first_epoch_that_readers_see_has_all_members():
    made = publishing("0 6 1 7 * UTC")
    made.declare(member("late", "s"))
    made.drain()
    write(made, 11)
    assert [each.published for each in group_rows(made.state, made.now)] == [2] and read(made, ["late"]).states
