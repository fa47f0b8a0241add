"""What the shim is told of where outputs lie that are not where the catalog says."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from headwater.memory.buffers.overlay import Output, Overlays
from headwater.model.command import Written
from headwater.model.event import Made, Started
from headwater.model.measure import Measured, Place
from headwater.model.partition import WHOLE, Slice
from headwater.model.state import Run
from headwater.model.work import WholePartitions
from headwater.spark.jvm.sql import NULL_PARTITION

GOLDEN = Path(__file__).parents[1] / "golden/protocol/overlay.json"


def run(version: int, *slices: Slice, on: tuple[int, ...] = ()) -> Run:
    return Run(Started(0, version, "shop.monthly_revenue", (), (), WholePartitions(), ""), slices, on=frozenset(on))


def wrote(places: dict[Slice, str], size: int, place: Place = Place.VOLUME) -> Written:
    files = SimpleNamespace(places={location: each for each, location in places.items()})
    return Written(tuple(Made(each, 1, "") for each in places), (), files, place, Measured(size))


def test_a_run_reads_the_runs_that_it_is_on_where_they_left_it():
    overlays = Overlays()
    march, null, gone = (Slice.of({"month": each}) for each in ("1996-03-01", None, "1996-04-01"))
    places = {march: "file:/memory/v7/data/month=1996-03-01", null: f"file:/memory/v7/data/month={NULL_PARTITION}"}
    overlays.add(run(1, march, null, gone), Output.of(run(1, march, null, gone), [march, gone], wrote(places, 1815)))
    told = json.loads(overlays.encoded(run(2, on=(1,)), {}))
    told["shop.monthly_revenue"]["without"].sort(key=str)
    assert told == json.loads(GOLDEN.read_text())


def test_all_others_read_what_is_published():
    overlays = Overlays()
    overlays.add(run(1, WHOLE), Output.of(run(1, WHOLE), [], wrote({WHOLE: "file:/m"}, 10)))
    assert overlays.encoded(run(2), {}) is None
    assert json.loads(overlays.encoded(run(2, on=(1,)), {}))["shop.monthly_revenue"]["whole"]
    overlays.remove(1)
    assert overlays.encoded(run(2, on=(1,)), {}) is None


def test_a_run_that_came_to_nothing_does_not_hide_the_one_after_it():
    """It may end late: what was put back while it computes cannot be stopped at every moment."""
    overlays = Overlays()
    overlays.add(run(4, WHOLE), Output.of(run(4, WHOLE), [], wrote({WHOLE: "file:/v4"}, 10)))
    overlays.add(run(2, WHOLE), Output.of(run(2, WHOLE), [], wrote({WHOLE: "file:/v2"}, 10)))
    [place] = json.loads(overlays.encoded(run(5, on=(4,)), {}))["shop.monthly_revenue"]["with"]
    assert place["location"] == "file:/v4"


def test_what_is_gone_is_read_in_the_warehouse_if_it_is_there():
    overlays = Overlays()
    for version in (1, 2):
        overlays.add(run(version, WHOLE), Output.of(run(version, WHOLE), [], wrote({WHOLE: "file:/m"}, 10)))
    overlays.publish(1)
    overlays.forget([1, 2])
    assert overlays.encoded(run(5, on=(1,)), {}) is None
    assert overlays.encoded(run(5, on=(2,)), {}) is not None


def test_rows_that_spark_holds_are_told_by_the_version_that_made_them():
    overlays = Overlays()
    march, gone = Slice.of({"month": "1996-03-01"}), Slice.of({"month": "1996-04-01"})
    held = wrote({march: ""}, 0, Place.BLOCKS)
    overlays.add(run(7, march, gone), Output.of(run(7, march, gone), [march, gone], held))
    told = json.loads(overlays.encoded(run(8, on=(7,)), {}))["shop.monthly_revenue"]
    assert (told["held"], told["with"], told["bytes"]) == (7, [], 0)
    assert {each["month"] for each in told["without"]} == {"1996-03-01", "1996-04-01"}


@pytest.mark.parametrize(
    ("each", "place", "lying"),
    [
        (WHOLE, Place.VOLUME, Place.VOLUME),
        (Slice.of({"month": "1996-03-01"}), Place.BLOCKS, None),
        (Slice.of({"month": "1996-03-01"}), Place.WAREHOUSE, Place.WAREHOUSE),
    ],
)
def test_where_lies_what_a_run_reads(each: Slice, place: Place, lying: Place | None):
    """A part that is kept lies beside what is published of the rest."""
    overlays = Overlays()
    overlays.add(run(1, each), Output.of(run(1, each), [], wrote({each: "file:/m"}, 10, place)))
    assert overlays.places(run(2, on=(1,))) == {"shop.monthly_revenue": lying}
