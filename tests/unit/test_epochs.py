"""Groups have epochs: versions of their members that show one state of every table."""

from __future__ import annotations

import pytest
from cases import A1, A2, change, end, machine, sound, start, view
from reference import replayed
from strategies import rename

from headwater.engine.groups.epochs import is_readable, members, next_epoch, shows
from headwater.engine.groups.kept import MOST, kept_since
from headwater.engine.groups.reading import read_states
from headwater.engine.requests.limits import AHEAD, SETTLE
from headwater.engine.tell.group_rows import group_rows, state_rows
from headwater.model.epoch import TableState
from headwater.model.error import StatementError
from headwater.model.event import Advanced, Altered, Changed, Declared, EpochMade, Requested, Resumed, Suspended
from headwater.model.partition import WHOLE
from headwater.model.reason import Code
from headwater.spark.tables.delta.snapshot import Snapshot
from headwater.spark.tables.iceberg.at import At

HOUR = 3_600_000


def member(name, *sources, group="revenue", **properties):
    return view(name, "", *sources, format="delta", group=group, **properties)


def shop(*more, lakes=("s",), **properties):
    """``by_day`` and ``by_shop`` count the rows of ``s``."""
    return machine({"s": ""}, member("by_day", "s", **properties), member("by_shop", "s"), *more, lakes=lakes)


def run(made, name):
    made.now += SETTLE
    assert start(made, name)
    made.now += SETTLE
    end(made, name)


def epochs(made, group="revenue"):
    return made.state.groups.get(group, ())


def rows(made, state):
    """The content of the members and sources in an epoch."""
    return {each.table: made.world.lake.held(each.snapshot) for each in (*state.members, *state.sources)}


def read(made, tables, epoch=None, sources=False):
    """What a statement reads now."""
    return read_states(made.state, tables, epoch, sources, made.now)


def refused(made, *tables, epoch=None, sources=False):
    with pytest.raises(StatementError) as raised:
        read(made, tables, epoch, sources)
    return str(raised.value)


def test_an_epoch_has_the_newest_versions_that_agree():
    """``by_shop`` has two changes, and ``by_day`` has the first one."""
    made = shop()
    first = epochs(made)[-1]
    change(made, "s", WHOLE, 11)
    run(made, "by_shop")
    assert epochs(made)[-1] == first, "by_day lacks the change"
    change(made, "s", WHOLE, 12)
    begun = made.state.tables["by_shop"].highest
    made.now += SETTLE
    assert start(made, "by_day")
    change(made, "s", WHOLE, 13)
    end(made, "by_day")
    run(made, "by_shop")
    newest = epochs(made)[-1]
    assert newest == first and made.state.tables["by_shop"].highest > begun, "no version of by_shop has 12 alone"
    run(made, "by_day")
    assert rows(made, epochs(made)[-1])["s"] == {WHOLE: 13}
    assert [each.number for each in epochs(made)] == [1, 2]
    sound(made)


def test_a_member_goes_back_to_the_version_that_others_have():
    made = shop()
    change(made, "s", WHOLE, 11)
    run(made, "by_shop")
    made.now += SETTLE
    assert start(made, "by_day")
    change(made, "s", WHOLE, 12)
    run(made, "by_shop")
    end(made, "by_day")
    newest = epochs(made)[-1]
    assert rows(made, newest)["s"] == {WHOLE: 11}
    assert newest.of("by_shop").version < made.state.tables["by_shop"].highest
    assert not shows(made.state, "revenue", made.state.tables["s"].highest)
    run(made, "by_day")
    assert shows(made.state, "revenue", made.state.highest)
    assert replayed(made.journal).groups == made.state.groups


def test_a_change_that_reaches_no_member_makes_no_epoch():
    made = machine({"s": "", "t": ""}, member("by_day", "s"), view("other", "", "t"), lakes=("s", "t"))
    change(made, "t", WHOLE, 11)
    made.drain()
    assert len(epochs(made)) == 1 and shows(made.state, "revenue", made.state.highest)


def test_views_join_and_leave_a_group():
    made = shop()
    assert members(made.state, "revenue") == ("by_day", "by_shop")
    made.declare(member("late", "s"))
    assert "no member of revenue in its epoch 1, as it joined" in refused(made, "late")
    made.drain()
    assert {each.table for each in epochs(made)[-1].members} == {"by_day", "by_shop", "late"}
    made.record(lambda _: Altered(made.now, "late", ()))
    assert members(made.state, "revenue") == ("by_day", "by_shop")
    made.drop("by_shop")
    assert [each.table for each in epochs(made)[-1].members] == ["by_day"]
    made.record(lambda _: Altered(made.now, "by_day", ()))
    assert not made.state.groups and not made.state.index.grouped
    made.record(lambda _: Altered(made.now, "by_day", (("headwater.group", "COSTS "),)))
    made.step()
    assert [each.number for each in epochs(made, "costs")] == [made.state.numbered], "epochs of all groups count"


def test_a_renamed_member_keeps_its_epochs():
    made = shop()
    before = epochs(made)[-1].of("by_day")
    rename(made, "by_day", "by_night")
    known = epochs(made)[-1].of("by_night")
    assert known is not None and known.snapshot == before.snapshot and epochs(made)[-1].of("by_day") is None
    assert read(made, ["by_night"]).states == {"by_night": known}


def test_the_only_member_of_a_group_is_renamed():
    made = machine({"s": ""}, member("by_day", "s"), lakes=("s",))
    rename(made, "by_day", "by_night")
    assert [each.of("by_night").version for each in epochs(made)] and members(made.state, "revenue") == ("by_night",)


def test_an_epoch_is_gone_for_a_member_that_was_redefined():
    made = shop()
    made.declare(member("by_day", "s", fingerprint="2"))
    assert read(made, ["by_day"]).states, "the old rows can be read until there are others"
    assert "by_day is to be refreshed as by_day was redefined" in next_epoch(made.state, "revenue", made.now).text
    run(made, "by_day")
    assert len(epochs(made)) == 2 and read(made, ["by_day"]).moment == 2
    assert "epoch 1 of revenue is gone for by_day, which can be read at the epochs 2" in refused(
        made, "by_day", epoch=1
    )
    assert read(made, ["by_shop"], epoch=1).states


def test_the_last_epoch_stays_while_a_member_cannot_follow():
    made = shop()
    made.record(lambda _: Suspended(made.now, "by_day"))
    change(made, "s", WHOLE, 11)
    made.drain()
    assert [each.number for each in epochs(made)] == [1]
    [row] = group_rows(made.state, made.now)
    assert row.code == Code.CUT_RELEASED.value and "by_day" in row.reason
    assert row.epoch == 1 and row.lag > 0
    made.record(lambda _: Resumed(made.now, "by_day"))
    made.drain()
    assert [each.number for each in epochs(made)] == [1, 2]


def test_a_view_in_files_keeps_versions_as_soon_as_it_is_a_member():
    """Its versions of before are kept by nobody, so it is refreshed once."""
    made = shop()
    made.declare(view("by_week", "", "s", format="parquet"))
    made.drain()
    assert not made.state.tables["by_week"].pinned
    first = made.state.tables["by_week"].highest
    made.record(lambda _: Altered(made.now, "by_week", (("headwater.group", "revenue"),)))
    made.drain()
    newest = made.state.groups["revenue"][-1]
    assert newest.of("by_week").version > first and newest.of("by_week").snapshot
    change(made, "s", WHOLE, 11)
    made.drain()
    assert read(made, ["by_week"], epoch=newest.number).states["by_week"] == newest.of("by_week")


def test_a_view_in_files_that_another_program_wrote_is_in_no_epoch_until_its_refresh():
    made = shop()
    made.declare(view("by_week", "", "s", format="parquet", group="revenue"))
    made.drain()
    newest = made.state.groups["revenue"][-1]
    made.world.write("by_week", WHOLE, 99)
    made.look("by_week")
    with pytest.raises(StatementError, match=f"epoch {newest.number} of revenue is gone for by_week"):
        read(made, ["by_week"], epoch=newest.number)
    made.drain()
    assert made.state.groups["revenue"][-1].of("by_week").version > newest.of("by_week").version


@pytest.mark.parametrize("format", ("delta", "parquet"))
def test_a_version_with_a_refresh_that_is_on_no_record_is_in_no_epoch(format: str):
    """The engine ends as ``v`` is published in ``a=1`` and not yet recorded. Then ``a=1`` waits for ``u``, and ``v``
    runs for ``a=2`` alone: its version shows the change of before, too."""
    v = view("v", "a", "u", "t", format=format, group="g", consistency="eventual")
    views = v, view("w", "a", "t", format="delta", group="g")
    made = machine({"s": "a", "t": "a"}, view("u", "a", "s", format="delta"), *views, lakes=("s", "t"))
    change(made, "s", A1, 100)
    run(made, "u")
    made.now += SETTLE
    assert start(made, "v")
    while not (flight := made.flights["v"]).visible:
        made.advance(flight, brief=True)
    made.crash()
    change(made, "s", A1, 300)
    change(made, "t", A2, 200)
    run(made, "w")
    run(made, "v")
    assert made.state.views["v"].unsure and [each.number for each in epochs(made, "g")] == [1]
    made.drain()
    newest = epochs(made, "g")[-1]
    assert newest.number > 1 and made.world.lake.held(newest.of("v").snapshot) == made.world.content["v"]
    sound(made)


def test_rows_of_another_program_are_in_no_version():
    """A look noticed what the program wrote in ``a=1``, and not yet ``a=2``."""
    views = view("v", "a", "s", format="parquet", group="g"), view("w", "a", "s", format="delta", group="g")
    made = machine({"s": "a"}, *views, lakes=("s",))
    made.world.write("v", A1, 77)
    made.look("v")
    made.world.write("v", A2, 88)
    run(made, "v")
    assert not made.state.tables["v"].pinned and [each.number for each in epochs(made, "g")] == [1]
    sound(made)
    newest = epochs(made, "g")[-1]
    assert newest.number > 1 and A2 in made.world.lake.held(newest.of("v").snapshot)


def test_a_view_that_keeps_no_versions_is_asked_once():
    """Whoever publishes it cannot keep one: a simulation, for example."""
    made = shop()
    made.world._kept = lambda launch, stay: ""
    made.declare(view("by_week", "", "s", format="parquet"))
    made.drain()
    made.record(lambda _: Altered(made.now, "by_week", (("headwater.group", "revenue"),)))
    made.drain()
    assert sum(isinstance(each, Requested) for each in made.journal) == 1


def test_tables_without_states_agree_when_each_member_has_all_of_their_changes():
    made = shop(lakes=())
    assert [each.number for each in epochs(made)] == [1]
    change(made, "s", WHOLE, 11)
    run(made, "by_shop")
    assert next_epoch(made.state, "revenue", made.now).code is Code.SOURCE_NO_SNAPSHOTS
    run(made, "by_day")
    assert len(epochs(made)) == 2
    assert "the state of s that revenue show cannot be read" in refused(made, "s", sources=True)
    sound(made)


def test_epochs_are_kept_as_long_as_replaced_rows():
    made = shop(retain="2 hours")
    for value in range(11, 14):
        change(made, "s", WHOLE, value)
        made.drain()
        made.now += HOUR - 60_000
    assert [each.number for each in epochs(made)] == [1, 2, 3, 4]
    change(made, "s", WHOLE, 14)
    made.drain()
    assert [each.number for each in epochs(made)] == [2, 3, 4, 5]
    assert "epoch 1 of revenue is gone; 2 to 5 can be read" in refused(made, "by_day", epoch=1)
    made.now += 10 * HOUR
    assert "epoch 4 of revenue is gone; 5 can be read" in refused(made, "by_day", epoch=4), "its files may be, too"
    epoch = epochs(made)[-1]
    for number in range(6, MOST + 20):
        made.record(lambda _, n=number: EpochMade(made.now, "revenue", _numbered(epoch, n)))
    assert len(epochs(made)) == MOST + 1


def _numbered(epoch, number):
    return type(epoch)(number, epoch.at + number, epoch.members, epoch.sources)


def test_what_an_epoch_names_is_not_deleted():
    made = shop()
    assert kept_since(made.state, "by_shop", made.now) is None
    change(made, "s", WHOLE, 11)
    run(made, "by_shop")
    replaced = made.state.tables["by_shop"].highest
    assert kept_since(made.state, "by_shop", made.now) == replaced - AHEAD
    assert kept_since(made.state, "by_day", made.now) is None and kept_since(made.state, "s", made.now) is None
    run(made, "by_day")
    assert kept_since(made.state, "by_shop", made.now) == replaced - AHEAD, "the replaced epoch is kept for its time"
    assert kept_since(made.state, "by_shop", made.now + 2 * HOUR) is None


def test_an_epoch_has_the_snapshot_of_a_compaction():
    """The one before may be cleaned up, as its version is the newest one still."""
    made = shop()
    made.record(lambda _: Advanced(made.now, "by_shop", "compacted"))
    made.record(lambda _: Advanced(made.now, "s", "optimized"))
    assert epochs(made)[-1].of("by_shop").snapshot == "compacted"
    assert epochs(made)[-1].of("s").snapshot == "optimized" and epochs(made)[-1].of("by_day").snapshot != "compacted"


def test_a_base_table_of_a_member_that_left_is_read_as_it_is():
    made = machine({"s": "", "t": ""}, member("by_s", "s"), member("by_t", "t"), lakes=("s", "t"))
    assert read(made, ["s", "t"], sources=True).states.keys() == {"s", "t"}
    made.drop("by_s")
    assert read(made, ["s", "t"], sources=True).states.keys() == {"t"}


def test_no_epoch_has_an_older_state_of_a_base_table():
    made = machine({"s": "", "t": ""}, member("by_day", "s"), member("by_t", "t"), lakes=("s", "t"))
    made.declare(view("late", "", "s", format="delta"))
    made.drain()
    change(made, "s", WHOLE, 11)
    run(made, "by_day")
    shown = epochs(made)[-1].of("s")
    made.record(lambda _: Altered(made.now, "late", (("headwater.group", "revenue"),)))
    made.record(lambda _: Altered(made.now, "by_day", ()))
    made.step()
    assert epochs(made)[-1].of("s") == shown
    assert "only on states of s from before the last epoch" in next_epoch(made.state, "revenue", made.now).text
    run(made, "late")
    assert epochs(made)[-1].of("late") is not None and epochs(made)[-1].of("s") == shown


def test_a_source_that_cannot_be_read_as_it_was_has_a_new_epoch():
    """Other columns of a table make no run where no member reads them."""
    made = shop()
    before = made.state.tables["s"]
    made.record(
        lambda version: Changed(
            made.now, version, "s", (), "other columns", before.created, "got a column", snapshot="later", pinned=True
        )
    )
    made.drain()
    known = epochs(made)[-1].of("s")
    assert is_readable(made.state, known) and known.version == made.state.tables["s"].highest


def test_members_that_none_is_left_of_make_no_epoch():
    made = shop()
    made.declare(member("late", "s"))
    for each in ("by_day", "by_shop"):
        made.record(lambda _, each=each: Altered(made.now, each, ()))
    [row] = group_rows(made.state, made.now)
    assert row.members == 1 and "late was not filled yet" in row.reason


def test_a_number_is_a_moment_of_all_groups():
    made = shop(member("cost", "s", group="costs"))
    assert sorted((each.number, group) for group in ("revenue", "costs") for each in epochs(made, group))[-1][0] == 2
    first = made.state.numbered
    change(made, "s", WHOLE, 11)
    made.drain()
    now = read(made, ["by_day", "cost"])
    assert now.moment == made.state.numbered
    assert {each.version for each in now.states.values()} == {
        made.state.tables[each].highest for each in ("by_day", "cost")
    }
    then = read(made, ["by_day", "cost", "unknown"], epoch=first)
    assert all(then.states[each].version < made.state.tables[each].highest for each in ("by_day", "cost"))
    assert "there is no epoch 99; the newest is" in refused(made, "by_day", epoch=99)


def test_base_tables_are_read_at_the_state_of_the_epoch():
    made = shop()
    change(made, "s", WHOLE, 11)
    run(made, "by_shop")
    assert made.world.lake.held(read(made, ["s"], sources=True).states["s"].snapshot) != {WHOLE: 11}
    assert read(made, ["s"]).states == {}


def test_groups_that_show_other_states_of_a_table_are_read_apart():
    made = shop(member("cost", "s", group="costs"))
    change(made, "s", WHOLE, 11)
    run(made, "cost")
    assert "s is a source of costs and revenue, whose epochs show different states" in refused(made, "s", sources=True)
    alone = read(made, ["s", "cost"], sources=True).states["s"]
    assert made.world.lake.held(alone.snapshot) == {WHOLE: 11}


def test_a_group_without_an_epoch_says_why():
    made = shop()
    made.record(lambda _: Suspended(made.now, "by_day"))
    made.declare(member("cost", "by_day", group="costs"))
    assert "the group costs has no epoch yet: cost was not filled yet" in refused(made, "cost")


def test_a_table_of_the_same_name_is_not_read_as_an_old_one():
    made = shop()
    known = epochs(made)[-1].of("s")
    assert is_readable(made.state, known)
    made.world.make_anew("s", True)
    made.look("s")
    assert not is_readable(made.state, known)


def test_the_rows_of_a_group_name_its_tables():
    made = shop()
    [row] = group_rows(made.state, made.now)
    assert (row.group, row.members, row.epoch, row.oldest, row.lag, row.reason) == ("revenue", 2, 1, 1, 0, None)
    made.declare(member("late", "s"))
    found = [(each.table, each.role, each.epoch == 1) for each in state_rows(made.state, "revenue", made.now)]
    members_first = [("by_day", "member", True), ("by_shop", "member", True), ("late", "member", False)]
    assert found == [*members_first, ("s", "source", True)]


def test_rows_are_those_of_the_epoch_that_is_asked_for():
    made = shop()
    change(made, "s", WHOLE, 11)
    made.drain()
    first, newest = state_rows(made.state, "revenue", made.now, 1), state_rows(made.state, "revenue", made.now)
    assert {each.epoch for each in first} == {1} and {each.epoch for each in newest} == {2}
    assert all(each.version < each.newest for each in first) and all(each.version == each.newest for each in newest)
    with pytest.raises(StatementError, match="there is no epoch 3; the newest is 2"):
        state_rows(made.state, "revenue", made.now, 3)


@pytest.mark.parametrize(
    "snapshot, number",
    [
        (str(Snapshot(0, "a242", "90")), 0),
        (str(Snapshot(7, "a242", "90", told=5)), 7),
        (str(At(8533180192018, 1, 0)), 8533180192018),
        (str(At(0, 1, 0)), None),
        ("12 " + "f" * 32, None),
        ("", None),
    ],
)
def test_any_engine_reads_a_snapshot_of_a_lake_table_by_its_number(snapshot, number):
    assert TableState("t", 1, snapshot).as_of == number


def test_a_view_that_is_declared_again_stays_a_member():
    made = shop()
    again = made.state.views["by_day"].definition
    made.record(lambda version: Declared(made.now, version, again, "was redescribed", fill=False))
    assert members(made.state, "revenue") == ("by_day", "by_shop")
