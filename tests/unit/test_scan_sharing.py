"""Which scans runs share, by what they read the last time."""

from __future__ import annotations

import pytest
from attrs import evolve
from cases import A1, A2, change, machine, view

from headwater.cli.explain import say_plan
from headwater.engine.decide.readiness import ready
from headwater.engine.decide.schedule import pending_views
from headwater.engine.methods.costs import learn_pace, learn_scanned
from headwater.engine.requests.limits import SETTLE
from headwater.memory.planning.arrange import ByPlan, pending_plan
from headwater.memory.planning.means import Costs, Means, encode_means
from headwater.model.costs import Reading, Took
from headwater.model.event import Published
from headwater.model.extract import Extract
from headwater.model.measure import Measured, Moved, Place, Scanned
from headwater.model.partition import WHOLE
from headwater.model.state import TableRecord

COSTS = Costs(written=0.0, read=0.3, copied=0.1)
MEANS = Means(COSTS, 10_000_000, 1)
ONE, TWO = Extract(("k",), (("k > 1",),)), Extract(("m",), (("m > 1",),))


def scan(extract: Extract, micros: float = 1_000_000, share: float = 0.1) -> Reading:
    return Reading(extract, 4_000_000, share, micros)


def pending(partitioned: bool = False, reader=lambda name: view(name, "", "t"), others=()):
    """Two views that are to be refreshed, and read a second of a table each; and others."""
    made = machine({"t": "a" if partitioned else ""}, reader("v"), reader("w"), *others)
    for name, extract in (("v", ONE), ("w", TWO)):
        made.state.views[name].costs.took, made.state.views[name].costs.readings = Took(2.0, 0.0), {"t": scan(extract)}
    change(made, "t", A1 if partitioned else WHOLE)
    made.now += SETTLE
    return made


def shared(made, means: Means = MEANS):
    schedule = ByPlan(means)
    planned = schedule.solve(schedule.question(made.state, None))
    return {each.ready.view: each.shared for each in schedule.choose(made.state, ready(made.state, made.now), planned)}


def plan_of(made, means: Means = MEANS):
    return pending_plan(made.state, pending_views(made.state), means)[0]


def test_what_two_read_is_scanned_once():
    found = shared(pending())
    [each] = found["v"]
    assert found["w"] == (each,) and each.table == "t" and each.readers == ("v", "w")
    assert each.extract == ONE | TWO and each.slices == (WHOLE,) and each.size == 800_000


def test_the_plan_shows_it_as_a_task_of_its_own():
    made = pending()
    plan = plan_of(made)
    assert [task.name for task in plan.problem.tasks] == ["scan of t", "v", "w"]
    assert plan.timeline.peak == 800_000


def test_a_scan_counts_as_no_output(capsys):
    say_plan(pending().state, encode_means(MEANS), None, False)
    assert "; making 1 scan for several readers saves " in capsys.readouterr().out
    made = pending(others=(view("x", "", "w"),))
    made.state.views["w"].costs.size = 2_000_000
    say_plan(made.state, encode_means(MEANS), None, False)
    assert "; keeping 1 of 3 outputs and making 1 scan for several readers saves " in capsys.readouterr().out


def test_one_that_is_not_made_is_not_shown():
    made = pending()
    plan = plan_of(made, evolve(MEANS, memory=700_000))
    assert [task.name for task in plan.problem.tasks] == ["v", "w"] and not plan.flagged


def test_nothing_is_shared_that_one_alone_reads():
    made = pending()
    made.state.views["w"].costs.readings = {}
    assert shared(made) == {"v": (), "w": ()}


def test_nothing_is_shared_that_would_take_longer_than_it_saves():
    """The first time as long as the longer of both, and then as long as it took."""
    made = pending()
    made.state.views["v"].costs.readings["t"] = scan(ONE, micros=30_000)
    assert shared(made) == {"v": (), "w": ()}
    made = pending()
    made.state.tables["t"].scanned = Scanned("t", ONE | TWO, 500_000, 3_000_000)
    assert shared(made) == {"v": (), "w": ()}
    made.state.tables["t"].scanned = Scanned("t", ONE | TWO, 500_000, 300_000)
    assert [each.size for each in shared(made)["v"]] == [500_000]


def test_who_reads_a_scan_no_faster_reads_the_table():
    made = pending(reader=lambda name: view(name, "", "t"))
    made.state.views["v"].costs.readings["t"] = evolve(scan(ONE), near=2_000_000)
    assert shared(made) == {"v": (), "w": ()}


def test_of_partitions_those_are_scanned_that_changed():
    made = pending(True, lambda name: view(name, "a", "t"))
    change(made, "t", A2)
    made.now += SETTLE
    [each] = shared(made)["v"]
    assert each.slices == (A1, A2)
    made = pending(True)
    assert [each.slices for each in shared(made)["v"]] == [(WHOLE,)], "their readers read all of it"


def test_what_the_run_makes_is_scanned_if_it_cannot_be_kept():
    """Otherwise it is kept itself."""
    views = view("s", "", "t"), view("v", "", "s"), view("w", "", "s")
    made = machine({"t": ""}, *views)
    for name, state in made.state.views.items():
        state.costs.took, state.costs.size = Took(2.0, 0.0), 4_000_000
        if name != "s":
            state.costs.readings = {"s": scan(ONE)}
    change(made, "t", WHOLE)
    for memory, names in ((10_000_000, ["s", "v", "w"]), (3_000_000, ["s", "scan of s", "v", "w"])):
        plan = plan_of(made, Means(COSTS, memory, 1))
        assert [task.name for task in plan.problem.tasks] == names


@pytest.mark.parametrize("place", [Place.WAREHOUSE, Place.VOLUME])
def test_what_runs_need_of_a_table_is_learned_where_it_is_read_from_the_warehouse(place: Place):
    made = pending()
    state = made.state.views["v"]
    learn_pace(state, Published(0, 1, "v", (), (), 1.0, Measured(10, (Moved("u", place, 100, 50, TWO, 0.5),))))
    assert ("u" in state.costs.readings) == (place is Place.WAREHOUSE)
    learn_pace(
        state, Published(0, 1, "v", (), (), 1.0, Measured(10, (Moved("t", place, 8_000_000, 3_000_000, TWO, 0.5),)))
    )
    if place is Place.WAREHOUSE:
        assert state.costs.readings["t"] == Reading(TWO, 5_000_000, 0.2, 1_500_000)


def test_what_a_scan_saved_is_learned_by_those_who_read_it():
    made = pending()
    state = made.state.views["v"]
    learn_pace(state, Published(0, 1, "v", (), (), 1.0, Measured(10, (Moved("t", Place.SCAN, 100, 200_000),))))
    assert state.costs.readings["t"].near == 200_000 and state.costs.pace == {}
    assert state.costs.unaided == 1_800_000, "it would have taken a second to read, instead of 0.2 s"


def test_what_a_scan_took_is_learned_by_all():
    record = TableRecord()
    learn_scanned(record, Scanned("t", ONE, 100, 1000))
    learn_scanned(record, Scanned("t", ONE, 300, 2000))
    assert record.scanned == Scanned("t", ONE, 300, 1250)


def test_one_that_did_not_fit_is_not_made_again_unless_something_else_is_needed():
    made = pending()
    made.state.tables["t"].scanned = Scanned("t", ONE | TWO, MEANS.memory + 1, 1000)
    assert shared(made) == {"v": (), "w": ()}
    made.state.views["v"].costs.readings["t"] = scan(TWO)
    assert [each.size for each in shared(made)["v"]] == [800_000]


def test_conditions_mean_the_same_only_with_the_same_settings():
    def zoned(name: str):
        zones = {"v": "UTC", "w": "CET", "x": "UTC"}
        return evolve(view(name, "", "t"), settings={"spark.sql.session.timeZone": zones[name]})

    made = machine({"t": ""}, *map(zoned, "vwx"))
    for state in made.state.views.values():
        state.costs.took, state.costs.readings = Took(2.0, 0.0), {"t": scan(ONE)}
    change(made, "t", WHOLE)
    made.now += SETTLE
    assert {name: [each.readers for each in some] for name, some in shared(made).items()} == {
        "v": [("v", "x")],
        "w": [],
        "x": [("v", "x")],
    }
