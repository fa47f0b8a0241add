"""A name passes from a view to a table, or back, before anybody looks. What is made from it follows the new one."""

from __future__ import annotations

import pytest
from cases import A1, A2, change, converged, end, machine, start, view
from machine import Machine
from reference import wrong
from strategies import rename

from headwater.model.event import Dropped, Unreadable
from headwater.model.partition import Slice
from headwater.model.reason import Code, Reason
from headwater.model.state import Status

FORMATS = pytest.mark.parametrize("lake", [False, True])


def table_made(made: Machine, name: str, lake: bool, content: dict[Slice, int]) -> None:
    made.world.make(name, lake)
    for each, value in content.items():
        made.world.write(name, each, value)


def table_gone(made: Machine, name: str) -> None:
    """Drops a table; no look finds that."""
    made.world.content.pop(name)
    made.world.stamps.pop(name)
    made.world.lake.logs.pop(name, None)


@FORMATS
def test_a_table_takes_the_name_of_a_view(lake: bool):
    """The look that finds it is the first one of the table, and still no baseline: ``r`` was made of another one."""
    made = machine({"t": "a"}, view("m", "a", "t"), view("r", "a", "m"))
    made.drop("m")
    table_made(made, "m", lake, {A1: 8})
    made.look("m")
    converged(made)
    assert not wrong(made)


@FORMATS
def test_a_table_with_no_row_takes_the_name_of_a_view(lake: bool):
    made = machine({"t": "a"}, view("m", "a", "t"), view("r", "a", "m"))
    made.drop("m")
    table_made(made, "m", lake, {})
    made.look("m")
    converged(made)
    assert not wrong(made)


@FORMATS
def test_a_view_is_renamed_to_a_table_that_others_read(lake: bool):
    """The versions of ``x`` are older than those of the table that had its new name."""
    made = machine(
        {"t": "a", "m": "a"},
        view("x", "a", "t", format="delta" if lake else "parquet"),
        view("r", "a", "m"),
        lakes=["m"] * lake,
    )
    change(made, "m", A1, 9)
    converged(made)
    table_gone(made, "m")
    before = made.state.tables["m"].highest
    rename(made, "x", "m")
    assert all(each.version > before for each in made.state.tables["m"].partitions.values())
    converged(made)
    assert not wrong(made)
    change(made, "t", A2, 5)
    converged(made)
    assert not wrong(made)


@FORMATS
def test_a_view_is_created_in_the_name_of_a_table_that_others_read(lake: bool):
    """The view makes no partition ``a=2``, which the table had."""
    made = machine({"t": "a", "m": "a"}, view("r", "a", "m"), lakes=["m"] * lake)
    made.world.write("t", A2, None)
    made.look("t", named=(A2,))
    table_gone(made, "m")
    made.declare(view("m", "a", "t", format="delta" if lake else "parquet"))
    assert not made.state.tables["m"].partitions
    converged(made)
    assert not wrong(made)


def test_what_a_renamed_view_is_pending_for_reaches_its_new_readers():
    """``r`` is pending for an older change, and does not wait for the newer one of ``x``."""
    late = {"freshness": "10 minutes"}
    made = machine({"t": "a", "s": "a", "m": "a"}, view("x", "a", "t", **late), view("r", "a", "s", "m", **late))
    change(made, "s", A1, 9)
    made.now += 60_000
    change(made, "t", A1, 9)
    made.now += 60_000
    table_gone(made, "m")
    rename(made, "x", "m")
    assert made.state.views["r"].unanalysed
    changes = {version for origins in made.state.views["m"].pending.values() for version in origins}
    asked = {version for origins in made.state.views["r"].pending.values() for version in origins}
    assert changes and changes <= asked
    made.now += 470_000
    if start(made, "r"):
        end(made, "r")
    converged(made)
    assert not wrong(made)


def test_a_view_in_the_name_of_a_table_is_lost_before_it_has_rows():
    """``r`` keeps no row of the table that had the name first."""
    made = machine({"t": "a", "m": "a"}, view("r", "a", "m"))
    table_gone(made, "m")
    made.declare(view("m", "a", "t"))
    made.record(lambda _: Dropped(made.now, "m"))
    table_gone(made, "m")
    table_made(made, "m", False, {A1: 7})
    made.look("m")
    converged(made)
    assert not wrong(made)


@pytest.mark.parametrize("renamed", [False, True])
def test_readers_of_an_unreadable_view_go_on_when_it_is_gone(renamed: bool):
    made = machine({"t": "a"}, view("v", "a", "t"), view("r", "a", "v"))
    gone = Reason(Code.SOURCE_UNREADABLE, "its files are away")
    made.record(lambda _: Unreadable(made.now, "v", gone))
    assert made.state.views["r"].status is Status.UNREADABLE
    if renamed:
        rename(made, "v", "w")
        assert made.state.views["w"].status is Status.UNREADABLE
        made.record(lambda _: Unreadable(made.now, "w", None))
    else:
        made.drop("v")
    table_made(made, "v", False, {A1: 3})
    made.look("v")
    assert made.state.views["r"].status is Status.ACTIVE and not made.state.unreadable
    converged(made)
    assert not wrong(made)


def test_a_view_that_has_another_name_holds_its_own_changes_by_that():
    """Rows that another program wrote to it are a change of the view."""
    made = machine({"t": "a"}, view("x", "a", "t", format="delta"))
    made.world.write("x", A1, 6)
    made.look("x")
    assert "x" in made.state.views["x"].holds
    rename(made, "x", "m")
    record, holds = made.state.tables["m"], made.state.views["m"].holds
    assert "m" in holds and "x" not in holds
    assert all("x" not in dict(each.holds) and "x" not in dict(each.first) for each in record.past.values())
    converged(made)
    assert not wrong(made)


def test_a_name_that_nobody_reads_is_free():
    """A table is looked at for the first time where no view was."""
    made = machine({"t": "a"}, view("m", "a", "t"))
    made.record(lambda _: Dropped(made.now, "m"))
    table_made(made, "m", False, {A1: 8})
    made.look("m")
    assert not made.state.origins
