"""A name passes from a view to a table, or back, before anybody looks. What is made from it follows the new one."""

from __future__ import annotations

import pytest
from cases import A1, A2, change, converged, machine, view
from machine import Machine
from reference import wrong
from strategies import rename

from headwater.model.event import Dropped
from headwater.model.partition import Slice

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
