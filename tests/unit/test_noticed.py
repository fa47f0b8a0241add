"""The events that follow from a look, by the state as it is when they are recorded."""

from __future__ import annotations

import cases
import pytest
from attrs import evolve
from cases import Machine, end, machine, start, view

from headwater.engine.record import changes
from headwater.model.event import FRESH, Altered, Changed, Dropped, Observed, Renamed, Unreadable
from headwater.model.partition import Slice
from headwater.model.reason import Code, Reason
from headwater.model.seen import Command, CommandKind, Seen

A1, A2 = Slice.of(a="1"), Slice.of(a="2")
INSERT, DROP = Command("INSERT INTO", CommandKind.INSERT), Command("DROP PARTITION", CommandKind.ALTER)
NOW = 5

FIRST = Seen("u", schema="s", incarnation=1, partitions={A1: "x"}, columns=frozenset("a"), snapshot="one")


@pytest.fixture
def made() -> Machine:
    return machine({"t": "a"}, view("v", "a", "t"))


def change(made: Machine, seen: Seen, command: Command = INSERT, before: int = 0) -> Changed | None:
    return changes.change(made.state, seen, command, before, NOW)


def looked_at(made: Machine, seen: Seen = FIRST) -> None:
    made.record(lambda _: changes.change(made.state, seen, Command(), 0, NOW))


def test_the_first_look_is_a_baseline_with_the_sources_snapshot(made: Machine):
    event = change(made, FIRST, Command())
    assert event == Changed(NOW, FRESH, "u", (Observed(A1, "x"),), "s", 1, "appeared", True, 0, "one")
    looked_at(made)
    assert made.state.tables["u"].snapshot == "one"
    assert change(made, FIRST) is None


def test_partitions_that_differ_changed(made: Machine):
    looked_at(made)
    found = change(made, evolve(FIRST, partitions={A1: "y"}, snapshot="two"), before=7)
    assert (found.partitions, found.verb, found.baseline) == ((Observed(A1, "y"),), "changed (INSERT INTO)", False)
    assert (found.before, found.snapshot) == (7, "two")


def test_a_stream_tells_its_watermark_with_a_change_or_after_it(made: Machine):
    looked_at(made)
    found = change(made, evolve(FIRST, partitions={A1: "y"}, snapshot="two", watermark=900))
    assert found.watermark == 900
    made.record(lambda _: found)
    assert made.state.tables["u"].watermark == 900
    later = evolve(FIRST, partitions={A1: "y"}, snapshot="two", watermark=950)
    made.record(lambda _: changes.advance(made.state, later, NOW))
    assert made.state.tables["u"].watermark == 950 and changes.advance(made.state, later, NOW) is None
    without = evolve(FIRST, partitions={A1: "z"}, snapshot="three")
    made.record(lambda _: change(made, without))
    assert made.state.tables["u"].watermark == 950, "a program beside the stream wrote"
    made.record(lambda _: change(made, evolve(without, incarnation=2, snapshot="four")))
    assert made.state.tables["u"].watermark is None, "it is another table now"


PINNED = evolve(FIRST, pinned=True)


def since(seen: Seen, snapshot: str, **partitions: str) -> Seen:
    """A look that says what changed since the first one."""
    found = {Slice.of(a=each.removeprefix("a")): fingerprint for each, fingerprint in partitions.items()}
    return evolve(seen, partitions=found, looked=tuple(found), snapshot=snapshot, since=seen.snapshot)


def test_a_log_tells_the_partitions_that_changed_and_all_others_stay(made: Machine):
    looked_at(made, evolve(PINNED, partitions={A1: "one", A2: "one"}))
    found = change(made, since(PINNED, "two", a2="two"))
    assert (found.partitions, found.snapshot, found.pinned) == ((Observed(A2, "two"),), "two", True)


def test_a_rearrangement_is_no_change_and_moves_the_snapshot(made: Machine):
    looked_at(made, PINNED)
    compacted = since(PINNED, "two")
    assert change(made, compacted) is None
    made.record(lambda _: changes.advance(made.state, compacted, NOW))
    assert made.state.tables["u"].snapshot == "two" and changes.advance(made.state, compacted, NOW) is None
    assert changes.advance(made.state, evolve(FIRST, snapshot="three"), NOW) is None, "files have no log"


def test_a_look_that_another_one_overtook_says_nothing(made: Machine):
    looked_at(made, PINNED)
    late = since(PINNED, "two", a1="two")
    looked_at(made, late)
    assert changes.is_outdated(made.state, since(PINNED, "three", a1="three"))
    assert change(made, since(PINNED, "three", a1="three")) is None
    assert not changes.is_outdated(made.state, since(late, "three", a1="three"))


def test_so_does_a_look_at_the_whole_table(made: Machine):
    """It would put the record back to an older snapshot."""
    whole = evolve(PINNED, partitions={A1: "one", A2: "one"})
    looked_at(made, whole)
    cleaned = evolve(PINNED, partitions={A1: "two", A2: "two"}, snapshot="two", since="one", lost="its log was cleaned")
    looked_at(made, since(whole, "three", a1="three"))
    assert changes.is_outdated(made.state, cleaned)
    assert change(made, cleaned) is None and changes.advance(made.state, cleaned, NOW) is None


def test_a_look_at_a_table_that_nobody_knows_any_more_is_not_taken_again(made: Machine):
    """Its view was dropped meanwhile. Another look would record that a table of this name is gone."""
    assert not changes.is_outdated(made.state, since(PINNED, "two", a1="two"))


def test_a_run_that_is_about_to_read_sees_no_later_snapshot(made: Machine):
    """It reads the snapshot that was on record as it began."""
    looked_at(made, PINNED)
    assert change(made, since(PINNED, "two", a1="two"), before=7).before == 0


def test_a_change_of_all_that_nobody_can_place_says_why(made: Machine):
    looked_at(made, PINNED)
    cleaned = evolve(
        PINNED, partitions={A1: "nine"}, snapshot="nine", since="one", lost="the log was cleaned past version 3"
    )
    found = change(made, cleaned)
    assert found.verb == (
        "changed (INSERT INTO). All its partitions count as changed: the log was cleaned past version 3"
    )
    assert found.code is Code.SOURCE_HISTORY_LOST


@pytest.mark.parametrize(
    ("command", "asked", "told"),
    [
        (INSERT, (), True),
        (Command("TRUNCATE TABLE", CommandKind.TRUNCATE), (), True),
        (DROP, (), False),
        (DROP, (A1,), True),
        (Command(), (A1,), False),
        (Command("INSERTED BY HAND", CommandKind.UNKNOWN), (), False),
    ],
)
def test_an_empty_partition_that_a_command_wrote_may_have_been_read_full(made: Machine, command, asked, told):
    """The kind of the command decides, not its words."""
    looked_at(made)
    seen = evolve(FIRST, asked=asked, empty=frozenset([A1]))
    assert (change(made, seen, command) is not None) is told


def test_so_may_one_beside_partitions_that_the_command_named(made: Machine):
    """``FROM s INSERT INTO u PARTITION (a=2) … INSERT INTO u PARTITION (a) …`` wrote both, and named one."""
    looked_at(made)
    seen = evolve(FIRST, asked=(A2,), empty=frozenset([A1]))
    assert [each.slice for each in change(made, seen).partitions] == [A2]
    seen = evolve(seen, unnamed=True)
    assert [each.slice for each in change(made, seen).partitions] == [A2, A1]
    assert [each.slice for each in change(made, evolve(seen, empty=frozenset([A1, A2]))).partitions] == [A2, A1]
    assert [each.slice for each in change(made, seen, DROP).partitions] == [A2]
    assert change(made, seen, Command()) is None


def test_other_columns_another_incarnation_and_the_end_of_a_table(made: Machine):
    looked_at(made)
    gone = Seen("u", exists=False)
    for seen in (evolve(FIRST, schema="s2"), evolve(FIRST, incarnation=2), gone):
        assert changes.is_another(made.state, seen)
        assert change(made, seen).partitions == ()
    assert not changes.is_another(made.state, FIRST)
    looked_at(made, gone)
    assert not changes.is_another(made.state, gone) and change(made, gone) is None
    assert changes.is_another(made.state, FIRST), "it is there again"


def test_what_became_a_view_meanwhile_is_no_table(made: Machine):
    assert change(made, evolve(FIRST, table="v")) is None


def test_readability_is_told_once(made: Machine):
    lost = Seen("u", unreadable=Reason(Code.SOURCE_UNREADABLE, "no file system"))
    assert changes.readability(made.state, FIRST, NOW) is None
    made.record(lambda _: changes.readability(made.state, lost, NOW))
    assert changes.readability(made.state, lost, NOW) is None
    assert changes.readability(made.state, FIRST, NOW) == Unreadable(NOW, "u")


# --- views


def drift(made: Machine, was: changes.Standing) -> Changed | None:
    return changes.drift(made.state, Seen("v", partitions={A1: "by hand"}), was, Command(), NOW)


def test_a_view_that_was_written_past_headwater_drifted(made: Machine):
    was = changes.standing(made.state, "v")
    assert drift(made, was).verb == "was written past Headwater (by another program)"


def test_a_view_that_moved_on_since_the_look_began_did_not_drift(made: Machine):
    was = changes.standing(made.state, "v")
    cases.change(made, "t", A1)
    made.now += 300_000
    assert start(made, "v")
    assert changes.standing(made.state, "v") is None and drift(made, was) is None
    end(made, "v")
    assert changes.standing(made.state, "v") is not None and drift(made, was) is None


def test_a_look_that_began_before_a_view_was_published_does_not_move_its_snapshot():
    """The look found the table empty, as it was created. Readers would read it so."""
    made = machine({"t": "a"}, view("v", "a", "t", format="delta"))
    early = Seen("v", snapshot="created", pinned=True)
    assert made.state.tables["v"].pinned
    assert changes.advance(made.state, early, NOW) is None


def test_the_snapshot_of_a_view_stays_where_it_was_written_past_headwater_and_altered_meanwhile():
    """The next look still has to tell where."""
    made = machine({"t": "a"}, view("v", "a", "t", format="delta"))
    recorded, was = made.state.tables["v"].snapshot, changes.standing(made.state, "v")
    written = since(Seen("v", snapshot=recorded, pinned=True), "later", a1="later")
    assert changes.drift(made.state, written, was, Command(), NOW) is not None
    made.record(lambda _: Altered(NOW, "v", (("headwater.freshness", "1 minute"),)))
    assert changes.drift(made.state, written, was, Command(), NOW) is None
    assert changes.advance(made.state, written, NOW) is None


def test_a_lost_table_means_that_the_view_was_dropped_or_renamed(made: Machine):
    was = changes.standing(made.state, "v")
    assert changes.lost(made.state, "v", was, None, NOW) == Dropped(NOW, "v")
    renamed = changes.lost(made.state, "v", was, "w", NOW)
    assert renamed == Renamed(NOW, FRESH, "v", "w", evolve(was.definition, view="w"))
    assert changes.lost(made.state, "v", was, "v", NOW) is None, "a view on record has that name"
    assert changes.lost(made.state, "v", evolve(was, highest=0), None, NOW) is None, "it moved on"


@pytest.mark.parametrize(
    ("seen", "lost"),
    [
        (Seen("u", incarnation=1, partitions={A1: "none"}, away={A1: "/u/a=1"}), True),
        (Seen("u", incarnation=1, partitions={A1: "x"}, away={A1: "/u/a=1"}), False),
        (Seen("u", incarnation=1, partitions={A1: "x", A2: "none"}, away={A2: "/u/a=2"}), False),
        (Seen("u", incarnation=1, partitions={A2: "none"}), False),
        (Seen("u", incarnation=2, partitions={A1: "none"}, away={A1: "/u/a=1"}), False),
        (Seen("w", incarnation=1, partitions={A1: "none"}, away={A1: "/w/a=1"}), False),
    ],
    ids=["had files", "was empty", "is new", "was dropped", "of another table", "of a table that nobody saw"],
)
def test_a_directory_that_is_away_is_lost_if_it_had_files(made: Machine, seen: Seen, lost: bool):
    looked_at(made)
    found = changes.without_lost(made.state, seen, Command())
    assert found == seen if not lost else "/u/a=1 is not there" in str(found.unreadable)


@pytest.mark.parametrize(
    ("command", "asked", "lost"),
    [(INSERT, (A1,), False), (INSERT, (A2,), True), (INSERT, (), True), (DROP, (A1,), True), (Command(), (A1,), True)],
    ids=["wrote it", "wrote another one", "wrote no one in particular", "wrote nothing", "nobody knows of one"],
)
def test_a_command_may_leave_no_directory(made: Machine, command: Command, asked: tuple[Slice, ...], lost: bool):
    looked_at(made)
    seen = Seen("u", incarnation=1, partitions={A1: "none"}, away={A1: "/u/a=1"}, asked=asked)
    assert bool(changes.without_lost(made.state, seen, command).unreadable) == lost
