"""The parts of the soak test without Spark: it would be worth nothing if it noticed nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from attrs import evolve, frozen

from benchmarks.parts.soaking.arriving import Arriving
from benchmarks.parts.soaking.checks import Checks
from benchmarks.parts.soaking.world import (
    BATCH,
    DAYS,
    KINDS,
    STREAM,
    TABLES,
    VIEWS,
    Day,
    States,
    Table,
    added,
    opening,
    pair,
)

TABLE = Table(BATCH, "delta")
DAILY = next(each for each in VIEWS if each.of == TABLE)
TOTAL = next(each for each in VIEWS if not each.columns)


@frozen
class Read:
    """A row that a reader got."""

    n: int
    zero: int
    gen: int
    weight: int
    day: str = ""


def test_every_table_has_a_view_of_its_days_and_every_format_has_views() -> None:
    assert {each.of for each in VIEWS if each.of} == set(TABLES)
    assert {each.format for each in VIEWS} == {"files", "delta", "iceberg"}


@pytest.mark.parametrize("format", KINDS)
def test_the_state_after_a_write_is_whole_and_newer(format: str) -> None:
    table, chance = Table(BATCH, format), random.Random(1)
    days = opening(table, chance)[0].after
    assert days.keys() == set(DAYS)
    for gen, kind in enumerate(KINDS[format] * 5, 2):
        after = kind(table, days, gen, chance).after
        assert all(each.n % 2 == 0 and each.gen == gen for each in after.values())
        days = {**days, **after}


def test_a_stream_goes_on_from_the_files_that_arrived(tmp_path: Path) -> None:
    table, chance = Table(STREAM, "iceberg"), random.Random(1)
    write, rows = opening(table, chance)
    Arriving(tmp_path, table).add(rows)
    more = pair("01", 2, chance)
    Arriving(tmp_path, table).add(more)
    assert Arriving(tmp_path, table).days() == {**write.after, "01": added(write.after["01"], more)}


# The checks

FIRST = Read(2, 0, 1, 50, "01")
SECOND = Read(4, 0, 2, 90, "01")


@pytest.fixture
def checks(tmp_path: Path) -> Checks:
    """A reader of a table whose first day was written twice; it has read the first state of the view."""
    checks = Checks(tmp_path)
    States(tmp_path, TABLE).add({"01": Day(FIRST.n, FIRST.gen, FIRST.weight)})
    assert not list(checks.violations(DAILY, [FIRST]))
    States(tmp_path, TABLE).add({"01": Day(SECOND.n, SECOND.gen, SECOND.weight)})
    return checks


def test_states_that_writes_left_are_no_violations(checks: Checks) -> None:
    for row in (FIRST, SECOND, SECOND):
        assert not list(checks.violations(DAILY, [row]))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (evolve(SECOND, n=3, zero=7), "a part of a write"),
        (evolve(SECOND, zero=7), "a part of a write"),
        (evolve(SECOND, weight=91), "no write left this"),
        (evolve(SECOND, n=2), "no write left this"),
        (evolve(SECOND, day="02"), "no write left this"),
    ],
)
def test_a_state_that_no_write_left_is_a_violation(checks: Checks, row: Read, said: str) -> None:
    assert next(checks.violations(DAILY, [row])).startswith(said)


def test_an_older_state_is_a_violation(checks: Checks) -> None:
    assert not list(checks.violations(DAILY, [SECOND]))
    [said] = checks.violations(DAILY, [FIRST])
    assert said.startswith("older than the write 2")


def test_rows_that_are_gone_are_a_violation(checks: Checks) -> None:
    assert list(checks.violations(DAILY, [])) == ["the rows of day 01 are gone"]
    assert not list(checks.violations(TOTAL, [Read(2, 0, 1, 5)]))
    assert list(checks.violations(TOTAL, [])) == ["the rows of all days are gone"]
