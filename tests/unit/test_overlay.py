"""What the shim is told of where outputs lie that are not where the catalog says."""

from __future__ import annotations

import json
from pathlib import Path

from headwater.model.partition import WHOLE, Slice
from headwater.model.state import Run
from headwater.spark.overlay import Output, Overlays
from headwater.spark.sql import NULL_PARTITION

GOLDEN = Path(__file__).parents[1] / "golden/protocol/overlay.json"


def run(version: int, *slices: Slice, on: tuple[int, ...] = ()) -> Run:
    return Run(version, "d.v", slices, (), (), 0, "partition", "", on=frozenset(on))


def test_a_run_reads_the_runs_that_it_is_on_where_they_left_it():
    overlays = Overlays()
    march, null, gone = (Slice.of({"month": each}) for each in ("1996-03-01", None, "1996-04-01"))
    places = {march: "file:/memory/v7/data/month=1996-03-01", null: f"file:/memory/v7/data/month={NULL_PARTITION}"}
    overlays.add("shop.monthly_revenue", Output.of(run(1, march, null, gone), [march, gone], places))
    told = json.loads(overlays.told(run(2, on=(1,)), ["shop.monthly_revenue", "shop.orders"]))
    told["shop.monthly_revenue"]["without"].sort(key=str)
    assert told == json.loads(GOLDEN.read_text())


def test_all_others_read_what_is_published():
    overlays = Overlays()
    overlays.add("d.v", Output.of(run(1, WHOLE), [], {WHOLE: "file:/m"}))
    assert overlays.told(run(2), ["d.v"]) is None
    assert overlays.told(run(2, on=(1,)), ["d.t"]) is None
    assert json.loads(overlays.told(run(2, on=(1,)), ["d.v"]))["d.v"]["whole"]
    overlays.remove(1)
    assert overlays.told(run(2, on=(1,)), ["d.v"]) is None
