"""Runs read lake tables at the snapshots on record: what begins, what is recorded, and what a failure leaves."""

from __future__ import annotations

import pytest
from attrs import evolve
from cases import A1, A2, Machine, change, end, fail_for_good, machine, sound, start, view
from reference import recomputed

from headwater.engine.decide.readiness import Choice, ready
from headwater.engine.decide.starting import decided
from headwater.model.event import Advanced, Changed, EngineLost, Failed, Made, Prepared, Published, Started

LAKE = view("v", "a", "t", format="delta")
READER = view("w", "a", "v")


def journaled(made: Machine, kind: type, name: str) -> list:
    return [each for each in made.journal if isinstance(each, kind) and getattr(each, "view", name) == name]


def snapshots(made: Machine, name: str) -> dict[str, str]:
    """Those on the record of a view's last run."""
    return dict(journaled(made, Started, name)[-1].snapshots)


def recorded(made: Machine, table: str) -> str:
    return made.state.tables[table].snapshot


def begin(made: Machine, name: str) -> None:
    made.now += 300_000
    assert start(made, name)


def begin_kept(made: Machine, name: str) -> None:
    """Begins a run, and asks to keep what it makes in memory."""
    made.now += 300_000
    [found] = [each for each in ready(made.state, made.now) if each.view == name]
    made.record(lambda version: decided(made.state, Choice(found, kept=True), version, made.now).event)


@pytest.fixture
def made() -> Machine:
    """A view of files over a view that is a lake table, over a lake table."""
    return machine({"t": "a"}, LAKE, READER, lakes=["t"])


def test_a_run_is_recorded_with_the_snapshots_that_it_reads(made: Machine):
    """Of its sources, and of the view itself, which it may read as well."""
    change(made, "t", A1)
    before = {"t": recorded(made, "t"), "v": recorded(made, "v")}
    begin(made, "v")
    assert snapshots(made, "v") == before
    assert dict(made.state.running["v"].snapshots) == before
    assert snapshots(made, "w") == {"v": before["v"]}, "files have none"
    sound(made)


def test_it_reads_them_whatever_is_written_meanwhile(made: Machine):
    change(made, "t", A1, 3)
    begin(made, "v")
    change(made, "t", A2, 4)
    made.world.write("t", A1, 5)
    end(made, "v")
    last = made.world.publications[-1]
    read = {"t": made.world.lake.held(snapshots(made, "v")["t"])}
    assert read["t"] == {A1: 3, A2: 1} and last.after == recomputed(LAKE, read)
    assert made.state.views["v"].pending, "the write that was noticed is another run's"
    sound(made)


def test_it_takes_no_look_and_one_over_files_takes_two():
    looks = []
    for lakes in (["t"], []):
        made = machine({"t": "a"}, LAKE, lakes=lakes)
        made.world.looking = lambda launch, before: looks.append(before) or True
        change(made, "t", A1)
        made.drain()
    assert looks == [True, False]


def test_a_write_that_nobody_noticed_leaves_no_request_when_the_run_ends(made: Machine):
    change(made, "t", A1)
    begin(made, "v")
    made.world.write("t", A2, 4)
    end(made, "v")
    assert not made.state.views["v"].pending
    made.look("t")
    assert list(made.state.views["v"].pending) == [A2]
    sound(made)


def test_what_a_look_before_a_run_finds_of_a_lake_table_is_left_to_the_next_run():
    """The run looks since it reads files too; the change of the files it takes along."""
    made = machine({"t": "a", "u": "a"}, view("v", "a", "t", "u"), lakes=["t"])
    change(made, "u", A1)
    begin(made, "v")
    made.world.write("t", A2, 4)
    made.world.write("u", A1, 4)
    end(made, "v")
    assert list(made.state.views["v"].pending) == [A2]
    sound(made)


def test_a_publication_moves_the_snapshot_on_record(made: Machine):
    before = recorded(made, "v")
    change(made, "t", A1)
    begin(made, "v")
    end(made, "v")
    [*_, event] = journaled(made, Published, "v")
    assert event.snapshot == recorded(made, "v") == made.world.lake.logs["v"].current != before
    begin(made, "w")
    assert snapshots(made, "w") == {"v": event.snapshot}


def test_a_rearrangement_moves_it_too_and_refreshes_nothing(made: Machine):
    for table in ("t", "v"):
        made.world.commit(table)
        made.look(table)
        assert recorded(made, table) == made.world.lake.logs[table].current
    assert [type(each) for each in made.journal[-2:]] == [Advanced, Advanced]
    assert not any(view.pending for view in made.state.views.values())


def test_nobody_reads_a_lake_view_before_its_publication(made: Machine):
    change(made, "t", A1)
    begin_kept(made, "v")
    while not made.flights["v"].visible:
        assert not made.state.running["v"].prepared and not start(made, "w")
        made.advance(made.flights["v"])
    end(made, "v")
    assert not journaled(made, Prepared, "v") and not any(each.kept for each in journaled(made, Started, "v"))
    sound(made)


def test_a_lake_view_on_a_run_that_is_not_published_waits_for_it():
    made = machine({"t": "a"}, view("u", "a", "t"), view("v", "a", "u", format="delta"))
    change(made, "t", A1)
    begin_kept(made, "u")
    while not start(made, "v"):
        made.advance(made.flights["u"])
    assert made.state.running["v"].on == {made.state.running["u"].version}
    for _ in range(10):
        made.advance(made.flights["v"])
    assert made.flights["v"].known.written and not made.flights["v"].visible
    assert not journaled(made, Prepared, "v")
    sound(made)


def test_a_run_that_failed_is_followed_by_one_that_reads_the_newest_snapshots(made: Machine):
    change(made, "t", A1)
    begin(made, "v")
    before = snapshots(made, "v")
    change(made, "t", A2)
    made.fail(made.flights["v"])
    assert recorded(made, "v") == before["v"], "it published nothing"
    begin(made, "v")
    assert snapshots(made, "v") == before | {"t": recorded(made, "t")} != before
    sound(made)


def test_a_snapshot_that_is_gone_fails_the_run_and_the_next_one_reads_another(made: Machine):
    """The tables were looked at when the run could not read."""
    change(made, "t", A1)
    begin(made, "v")
    made.world.commit("t")
    made.world.lake.logs["t"].clean(told=False, read=True)
    end(made, "v")
    [failed] = journaled(made, Failed, "v")
    assert "cannot be read any more" in failed.error.text and recorded(made, "t") == made.world.lake.logs["t"].current
    sound(made)


def test_the_run_of_an_engine_that_is_lost_is_done_again_on_the_newest_snapshots(made: Machine):
    """It may have been published, of which the record says nothing: readers stay at the snapshot on record."""
    change(made, "t", A1)
    begin(made, "v")
    while not made.flights["v"].visible:
        made.advance(made.flights["v"])
    published = made.world.lake.logs["v"].current
    made.crash()
    assert journaled(made, EngineLost, "v") and made.state.views["v"].unsure
    assert recorded(made, "v") != published and list(made.state.views["v"].pending) == [A1]
    change(made, "t", A2)
    made.now += 300_000
    made.step()
    begin(made, "v")
    assert snapshots(made, "v") == {"t": recorded(made, "t"), "v": recorded(made, "v")}
    sound(made)


def test_a_view_that_gives_up_keeps_its_snapshot(made: Machine):
    before = recorded(made, "v")
    change(made, "t", A1)
    fail_for_good(made, "v")
    assert recorded(made, "v") == before


def test_rows_of_another_program_that_a_publication_leaves_are_found_by_the_next_look(made: Machine):
    """The snapshot of the publication tells that it came after them."""
    made.world.write("v", A2, 9)
    change(made, "t", A1)
    begin(made, "v")
    end(made, "v")
    begin(made, "w")
    assert made.world.lake.held(snapshots(made, "w")["v"])[A2] == 9, "readers read what is there"
    made.look("v")
    assert list(made.state.views["v"].pending) == [A2] and A2 in made.state.views["w"].pending
    sound(made)


def test_a_view_of_files_becomes_a_lake_table_and_files_again():
    """Its readers read a snapshot from its first publication in the new format on, and none from that in the old."""
    made = machine({"t": "a"}, evolve(LAKE, format="parquet"), READER)
    for definition in (LAKE, evolve(LAKE, format="parquet"), LAKE):
        was = made.state.tables["v"].pinned
        made.declare(definition, "was redefined")
        assert made.state.tables["v"].pinned is was is not definition.storage.commits
        sound(made)
        assert made.state.tables["v"].pinned is definition.storage.commits
        assert (recorded(made, "v") != "") is definition.storage.commits
        assert snapshots(made, "w") == ({"v": recorded(made, "v")} if definition.storage.commits else {})
    assert all(not each.snapshot for each in journaled(made, Published, "w"))


def test_a_view_that_another_program_made_a_lake_table_is_not_read_before_it_is_files_again():
    """Its readers read a snapshot until then."""
    made = machine({"t": "a"}, evolve(LAKE, format="parquet"), READER)
    made.world.make_anew("v", lake=True)
    made.world.write("v", A1, 9)
    made.look("v")
    assert made.state.tables["v"].pinned
    begin_kept(made, "v")
    while not made.flights["v"].visible:
        assert not start(made, "w")
        made.advance(made.flights["v"])
    sound(made)
    assert not made.state.tables["v"].pinned


def test_a_lake_table_made_anew_as_files_is_read_as_it_is(made: Machine):
    made.world.make_anew("t", lake=False)
    made.look("t")
    [*_, event] = journaled(made, Changed, "t")
    assert not event.pinned and not made.state.tables["t"].pinned
    begin(made, "v")
    assert "t" not in snapshots(made, "v")
    sound(made)


def test_a_view_that_reads_its_own_past_reads_it_at_a_snapshot(made: Machine):
    """Another program's rows in it that nobody has noticed are not computed with."""
    begun = recorded(made, "v")
    made.world.write("v", A2, 9)
    change(made, "t", A1)
    begin(made, "v")
    assert snapshots(made, "v")["v"] == begun
    sound(made)
    assert made.world.content["v"] == recomputed(LAKE, made.world.content)


def test_nobody_reads_ahead_of_a_view_whose_table_became_a_lake_table():
    """Another program made it one while a run computed the view's rows as files."""
    made = machine({"t": "a"}, view("v", "a", "t"), view("w", "a", "v"))
    change(made, "t", A1)
    begin(made, "v")
    run, record = made.state.running["v"], made.state.tables["v"]
    rows = (Made(A1, 1, "new", "another content"),)
    record.snapshot, record.pinned = "7@x", True
    made.record(lambda _: Prepared(made.now, run.version, "v", rows, ()))
    assert not made.state.running["v"].prepared
    record.snapshot, record.pinned = "", False
    made.record(lambda _: Prepared(made.now, run.version, "v", rows, ()))
    assert made.state.running["v"].prepared
