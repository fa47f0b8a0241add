"""What the shim is told of where outputs lie that are not where the catalog says."""

from __future__ import annotations

import json

from cases import A1, A2

from headwater.model.partition import WHOLE, Slice
from headwater.model.state import Run
from headwater.spark.overlay import Output, Overlays


def run(version: int, *slices: Slice, on: tuple[int, ...] = ()) -> Run:
    return Run(version, "d.v", slices, (), (), 0, "partition", "", on=frozenset(on))


def test_a_run_reads_the_runs_that_it_is_on_where_they_left_it():
    overlays = Overlays()
    null = Slice.of({"a": None})
    overlays.add("d.v", Output.of(run(1, A1, A2, null), [A1, A2], {A1: "file:/m/a=1", null: "file:/m/null"}))
    told = json.loads(overlays.told(run(2, on=(1,)), ["d.v", "d.t"]))["d.v"]
    assert not told["whole"]
    assert sorted(each["a"] for each in told["without"]) == ["1", "2", "__HIVE_DEFAULT_PARTITION__"]
    assert told["with"] == [
        {"spec": {"a": "1"}, "location": "file:/m/a=1"},
        {"spec": {"a": "__HIVE_DEFAULT_PARTITION__"}, "location": "file:/m/null"},
    ]


def test_all_others_read_what_is_published():
    overlays = Overlays()
    overlays.add("d.v", Output.of(run(1, WHOLE), [], {WHOLE: "file:/m"}))
    assert overlays.told(run(2), ["d.v"]) is None
    assert overlays.told(run(2, on=(1,)), ["d.t"]) is None
    assert json.loads(overlays.told(run(2, on=(1,)), ["d.v"]))["d.v"]["whole"]
    overlays.remove(1)
    assert overlays.told(run(2, on=(1,)), ["d.v"]) is None
