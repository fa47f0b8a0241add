"""When a run by changes leaves rows of its view as they are."""

from __future__ import annotations

import pytest
from attrs import evolve

from headwater.model.command import Launch
from headwater.model.dependency import Dependency, Keys
from headwater.model.event import Started
from headwater.model.partition import WHOLE, Slice
from headwater.model.state import PartitionRecord, Run
from headwater.model.view import Definition
from headwater.model.work import ByTotals, LeftTotals, Totals
from headwater.spark.tables.key_files import SMALL, may_stay

BEFORE, NOW = (("t", 5), ("u", 6)), (("t", 9), ("u", 6))
KEYED = Keys(("k",), (("k",),))
WORK = ByTotals(Totals(7, BEFORE, LeftTotals("digest")), (("t", "5@x"),), 1)
RUN = Run(Started(0, 9, "v", ((WHOLE, ()),), NOW, WORK, ""))
VIEW = Definition("v", "", (), format="delta", dependencies=(Dependency("t", keys=KEYED), Dependency("u", keys=KEYED)))
KNOWN = {Slice(): PartitionRecord(7, "v7", 3, BEFORE)}
LAUNCH = Launch(RUN, VIEW, KNOWN, SMALL, as_totals=True)


def test_rows_of_the_state_of_the_totals_stay():
    assert may_stay(LAUNCH, WORK)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"unsure": True}, "other rows may have been published"),
        ({"size": SMALL - 1}, "a small view is written sooner than its files are searched"),
        ({"definition": evolve(VIEW, format="parquet")}, "the files of a view of files belong to one version"),
        ({"as_totals": False}, "a partition is of another state"),
        ({"run": evolve(RUN, inputs=(("t", 9), ("u", 8)))}, "u changed, and nobody follows it"),
        ({"definition": evolve(VIEW, dependencies=(Dependency("t"), Dependency("u")))}, "t reaches rows by no key"),
    ],
)
def test_other_rows_do_not(change, why):
    assert not may_stay(evolve(LAUNCH, **change), WORK), why


def test_a_run_that_follows_nothing_leaves_no_rows():
    assert not may_stay(LAUNCH, evolve(WORK, since=()))
