"""Views that read earlier partitions of themselves: a[t] is made of a[t-1] and i[t]."""

from __future__ import annotations

import pytest
from attrs import evolve
from cases import change, sound, view
from machine import Machine
from reference import computed
from world import World

from headwater.engine.decide.readiness import unspread_images
from headwater.engine.requests.coverage import cover
from headwater.engine.requests.succession import following
from headwater.model.calendar import YEAR, Window
from headwater.model.dependency import Dependency, Occurrence, Same, Windowed
from headwater.model.event import Failed, Requested
from headwater.model.partition import WHOLE, Slice
from headwater.model.reason import Code, Reason
from headwater.model.view import Definition


def at(year: int, **others: str) -> Slice:
    return Slice.of(others, a=str(2000 + year))


def balance(window: Window = YEAR - 1, by: str = "a") -> Definition:
    """``v``, made of ``t`` of the same year and of what it was before, for each value of the other columns."""
    back = (("a", Windowed("a", window, "string")), *((each, Same(each)) for each in by if each != "a"))
    return evolve(view("v", by, "t"), earlier=(Occurrence(back),))


def machine(*views: Definition, years: range = range(1, 31)) -> Machine:
    made = Machine(World({"t": views[0].partitioned_by}))
    for year in years:
        made.world.write("t", at(year), 1)
    for each in views:
        made.declare(each)
    made.drain()
    return made


def refreshed(made: Machine, since: int) -> list[tuple[str, Slice]]:
    return [(each.view, each.partition) for each in made.record_book if each.version > since]


def test_a_view_is_filled_from_its_earliest_partition_on():
    made = machine(balance())
    assert refreshed(made, 0) == [("v", at(year)) for year in range(1, 31)]
    sound(made)


def test_a_change_before_the_first_rows_reaches_all_later_partitions():
    """It comes while all of the view is one slice of no certain time, which is spread over its partitions later."""
    made = Machine(World({"t": ("a",)}))
    for year in range(1, 6):
        made.world.write("t", at(year), 1)
    made.declare(balance())
    change(made, "t", at(2), 9)
    origin = made.state.highest
    assert made.state.views["v"].pending[at(2)] == {origin} and WHOLE in made.state.views["v"].pending
    while WHOLE in made.state.views["v"].pending:
        made.step()
    pending = made.state.views["v"].pending
    assert {each: origin in origins for each, origins in pending.items()} == {
        at(year): year >= 2 for year in range(1, 6) if at(year) in pending
    }
    sound(made)


@pytest.mark.parametrize(
    ("backfilled", "runs"), [((6, 14, 22), 25), (tuple(range(3, 28, 4)), 28), (tuple(range(2, 29, 2)), 29)]
)
def test_backfills_run_what_follows_once_in_ascending_order(backfilled, runs):
    """Table 12 of [Xu23]: with the backfills of i themselves, 28, 35 and 43 runs."""
    made = machine(balance())
    since = made.state.highest
    for year in reversed(backfilled):
        change(made, "t", at(year), 9)
    sound(made)
    assert refreshed(made, since) == [("v", at(year)) for year in range(min(backfilled), 31)]
    assert len(refreshed(made, since)) == runs


def test_what_comes_out_as_it_was_is_where_it_ends():
    made = machine(balance())
    since = made.state.highest
    change(made, "t", at(6), 1)  # written again with the same rows
    change(made, "t", at(28), 9)
    sound(made)
    assert refreshed(made, since) == [("v", at(year)) for year in (6, 28, 29, 30)]


def test_a_gap_ends_what_follows_and_a_longer_window_reaches_over_it():
    years = [*range(1, 6), *range(7, 11)]
    made = machine(balance(), years=years)
    assert following(made.state, "v", [at(3)]) == (at(4), at(5))
    wide = machine(balance((YEAR - 2).to(YEAR - 1)), years=years)
    assert following(wide.state, "v", [at(3)]) == tuple(at(year) for year in (4, 5, 7, 8, 9, 10))
    every = machine(balance((YEAR - 1).and_earlier()), years=years)
    assert following(every.state, "v", [at(3)]) == following(wide.state, "v", [at(3)])


def test_only_what_is_as_many_periods_apart_follows():
    made = machine(balance(YEAR - 7))
    assert following(made.state, "v", [at(3)]) == (at(10), at(17), at(24))
    since = made.state.highest
    change(made, "t", at(3), 9)
    sound(made)
    assert refreshed(made, since) == [("v", at(year)) for year in (3, 10, 17, 24)]


def test_each_value_of_the_other_columns_has_a_succession_of_its_own():
    made = machine(balance(by="ab"), years=range(0))
    for year in range(1, 5):
        for region in ("1", "2"):
            change(made, "t", at(year, b=region), year)
    made.drain()
    since = made.state.highest
    change(made, "t", at(2, b="1"), 9)
    sound(made)
    assert refreshed(made, since) == [("v", at(year, b="1")) for year in (2, 3, 4)]


def test_of_a_slice_of_no_certain_time_all_follows_that_agrees_in_what_is_taken_over():
    apart = machine(balance(by="ab"), years=range(0))
    assert following(apart.state, "v", [Slice.of(b="1")]) == ()
    together = machine(evolve(balance(by="ab"), earlier=balance().earlier), years=range(0))
    assert following(together.state, "v", [Slice.of(b="1")]) == (WHOLE,)
    assert following(together.state, "v", [WHOLE]) == ()


def test_what_a_reader_reads_of_what_follows_is_covered_too():
    made = machine(balance(), view("w", "a", "v"), years=range(1, 6))
    assert cover(made.state, "t", [at(4)]) == {"v": (at(4), at(5)), "w": (at(4), at(5))}
    assert cover(made.state, "v", [at(4)]) == {"v": (at(5),), "w": (at(4), at(5))}
    since = made.state.highest
    change(made, "t", at(4), 9)
    sound(made)
    assert sorted(refreshed(made, since), key=str) == [(name, at(year)) for name in "vw" for year in (4, 5)]


def test_a_partition_that_is_new_awaits_what_is_pending_for_the_one_before():
    made = machine(balance(), view("w", "a", "v"), years=range(1, 6))
    change(made, "t", at(4), 9)
    made.now += 120_000  # not of one wave
    change(made, "t", at(6), 9)
    [early, late] = sorted(made.state.origins)
    assert made.state.views["v"].pending[at(6)] == made.state.views["w"].pending[at(6)] == {early, late}
    sound(made)


def test_a_refresh_by_hand_of_everything_goes_through_it_in_order():
    made = machine(balance(), years=range(1, 6))
    since = made.state.highest
    made.record(lambda version: Requested(made.now, version, "v", (WHOLE,), "was to be refreshed"))
    sound(made)
    assert refreshed(made, since) == [("v", at(year)) for year in range(1, 6)]


def test_what_follows_waits_while_an_earlier_partition_fails():
    made = machine(balance(), years=range(1, 6))
    change(made, "t", at(2), 9)
    change(made, "t", at(4), 9)
    made.now += 120_000
    assert made.start()
    [run] = made.state.running.values()
    assert run.slices == (at(2),)
    made.record(lambda _: Failed(made.now, run.version, "v", Reason(Code.RUN_FAILED, "no luck"), 1.0))
    made.now += 600_000
    assert made.start() and next(iter(made.state.running.values())).slices == (at(2),)
    sound(made)


def test_a_slice_of_no_certain_time_is_left_to_partitions_whose_computed_columns_are_known():
    """Not to all that agree in the other columns: those would be computed for a change that does not reach them."""
    reads = Occurrence((("a", Same("a")), ("b", computed("half", "b"))))
    v = evolve(balance(by="ab"), dependencies=(Dependency("t", (reads,)),))
    made = Machine(World({"t": ("a", "b")}))
    for year in range(2):
        made.world.write("t", Slice.of({"a": "2000", "b": str(2000 + year)}), 1)
    made.declare(v)
    made.state.images.clear()
    assert unspread_images(made.state) == {("v", "half(`b`)", ("2000",)), ("v", "half(`b`)", ("2001",))}
    made.drain()
    assert {each.partition for each in made.record_book} == {Slice.of({"a": "2000", "b": "1000"})}
    sound(made)
