"""Who makes a scan, who reads it, and when it goes."""

from __future__ import annotations

from threading import Event, Thread

import pytest
from attrs import evolve

from headwater.memory.buffers.scans import KeptScan, Part, Scans
from headwater.model.event import Started
from headwater.model.extract import Extract, Shared
from headwater.model.partition import WHOLE, Slice
from headwater.model.state import Run
from headwater.model.work import WholeView

ONE = Extract(("k", "m"), (("k > 1",),))
SHARED = Shared("t", ONE, (WHOLE,), ("v", "w"), 100)
NEEDS = {"t": Extract(("k",), (("k > 1", "m = 2"),))}


def run(version: int, *shared: Shared) -> Run:
    return Run(Started(0, version, "v", (), (), WholeView(), "", shared=shared or (SHARED,)))


class Makes:
    """Makes scans, and remembers which."""

    def __init__(self, there: bool = True) -> None:
        self.numbers: list[int] = []
        self.removed: list[int] = []
        self.there = there
        self.scans = Scans(self.removed.append)

    def __call__(self, shared: Shared, number: int) -> KeptScan | None:
        self.numbers.append(number)
        return KeptScan(number, Part.of(shared.slices), shared.extract.columns, "file:/m", 7) if self.there else None

    def take(self, taker: Run, seen: int = 1, needs=None) -> list[int]:
        self.scans.take(taker, {"t": seen}, NEEDS if needs is None else needs, self)
        return [scan.number for scan in self.scans.read(taker).values()]


@pytest.fixture
def makes() -> Makes:
    return Makes()


def test_the_first_makes_it_and_the_others_read_it(makes):
    assert makes.take(run(1)) == makes.take(run(2)) == [-1] == makes.numbers


def test_it_goes_with_the_last_that_held_it(makes):
    makes.take(run(1))
    makes.take(run(2))
    makes.scans.release(1)
    assert makes.removed == [] and makes.scans.read(run(1)) == {}
    makes.scans.release(2)
    makes.scans.release(2)
    assert makes.removed == [-1]
    assert makes.take(run(3)) == [-2], "and is made anew"


def test_of_a_table_that_changed_there_is_another_one(makes):
    assert makes.take(run(1), seen=1) == [-1]
    assert makes.take(run(2), seen=2) == [-2]


@pytest.mark.parametrize("needs", [{}, {"t": Extract(("z",), (("k > 1",),))}, {"t": Extract(("k",), ((),))}])
def test_who_needs_more_than_was_scanned_reads_the_table(makes, needs):
    assert makes.take(run(1), needs=needs) == [] == makes.numbers
    makes.take(run(2))
    assert makes.take(run(3), needs=needs) == []


def test_a_plan_that_asks_for_another_one_takes_what_there_is(makes):
    makes.take(run(1))
    less = evolve(SHARED, extract=NEEDS["t"], readers=("w", "x"))
    assert makes.take(run(2, less)) == [-1]


def test_one_that_cannot_be_made_is_not_tried_by_all():
    makes = Makes(there=False)
    assert makes.take(run(1)) == makes.take(run(2)) == [] and makes.numbers == [-1]


def test_others_wait_while_it_is_made_and_go_on_when_that_fails(makes):
    making, going = Event(), Event()
    found = []

    def fail(shared: Shared, number: int) -> KeptScan | None:
        making.set()
        assert going.wait(10)
        raise ValueError("no luck")

    def first() -> None:
        with pytest.raises(ValueError):
            makes.scans.take(run(1), {"t": 1}, NEEDS, fail)

    threads = [Thread(target=first), Thread(target=lambda: found.append(makes.take(run(2))))]
    threads[0].start()
    assert making.wait(10)
    threads[1].start()
    going.set()
    for each in threads:
        each.join(10)
    assert found == [[]] and makes.numbers == []


def test_a_table_whose_scan_could_not_be_read_is_shared_no_more(makes):
    makes.take(run(1))
    assert set(makes.scans.refuse(run(1))) == {"t"} and makes.scans.read(run(1)) == {}
    assert makes.take(run(2)) == [] and makes.numbers == [-1]


def test_what_the_shim_is_told():
    part = Part.of((Slice.of({"a": "1"}), Slice.of({"a": None})))
    told = KeptScan(-1, part, ("k",), "file:/m", 7).encoded
    null = "__HIVE_DEFAULT_PARTITION__"
    assert told["without"] == [{"a": "1"}, {"a": null}] and not told["whole"]
    assert (told["scan"], told["columns"], told["bytes"], told["with"]) == ("file:/m", ["k"], 7, [])
    held = KeptScan(-1, Part.of((WHOLE,)), ("k",), "", 7).encoded
    assert held == {"whole": True, "without": [], "with": [], "bytes": 0, "held": -1}
