"""What the state says, as rows that a person can read."""

from __future__ import annotations

from attrs import evolve
from cases import A1, A2, change, end, machine, start, view, warehouse, written

from headwater.engine.decide.readiness import Choice, ready
from headwater.engine.decide.starting import decided
from headwater.engine.decide.urgency import MANY
from headwater.engine.methods.all_methods import methods_of
from headwater.engine.methods.basis import ONE_PARTITION, without_snapshots
from headwater.engine.requests.limits import SETTLE
from headwater.engine.tell import report
from headwater.engine.tell.refreshes import REFRESHES, refreshes
from headwater.model.costs import Loss, Narrow
from headwater.model.dependency import Dependency, Foremost, Frames, Keys, Neighbours, Occurrence
from headwater.model.event import Broken, EngineLost, Failed, Made, Published, Requested, Reworked, Started, Suspended
from headwater.model.partition import WHOLE, Slice
from headwater.model.reason import Code, Reason
from headwater.model.view import Column, Definition
from headwater.model.work import ByKeys, LeftTotals, Mode, Totals, WholePartitions, WholeView

HISTORY = [
    Started(
        1_000,
        10,
        "mart.m",
        ((A1, (5,)), (A2, (5, 6))),
        (("base.t", 6),),
        WholePartitions(),
        Reason(Code.SOURCE_CHANGED, "base.t was written"),
    ),
    Published(3_000, 10, "mart.m", (Made(A1, 1_204, "f"),), (A2,), 2.0),
    Started(
        4_000,
        11,
        "mart.m",
        ((WHOLE, (7,)),),
        (("base.t", 7),),
        WholeView(),
        Reason(Code.SOURCE_CHANGED, "mart.m was redefined"),
    ),
    Failed(5_000, 11, "mart.m", Reason(Code.RUN_FAILED, "no space left"), 1.0),
    Started(
        6_000, 12, "mart.n", ((WHOLE, (7,)),), (), WholeView(), Reason(Code.SOURCE_CHANGED, "mart.m was redefined")
    ),
    Failed(7_000, 12, "mart.n", Reason(Code.RUN_FAILED, "cancelled by somebody"), 1.0, cancelled=True),
    Started(
        8_000,
        13,
        "mart.n",
        ((A1, (8,)),),
        (),
        WholePartitions(),
        Reason(Code.SOURCE_CHANGED, "base.t[a=1] was written"),
    ),
]


def rows_of(events, limit=None) -> list[list]:
    return [each.row for each in refreshes(reversed(events), limit)]


def test_what_an_engine_left_running_is_not_running():
    """Another one has taken over; what the run was for is pending again."""
    rows = rows_of([*HISTORY, EngineLost(9_000, 0)])
    assert [(row[0], row[12], row[13]) for row in rows][:1] == [(13, "cancelled", "its engine ended")]
    assert "running" not in {row[12] for row in rows}


def test_show_refreshes():
    assert [dict(zip(REFRESHES, row, strict=True)) for row in rows_of(HISTORY, 1)] == [
        {
            "run_id": 13,
            "view": "mart.n",
            "partition": "a=1",
            "mode": "partition",
            "reason": "base.t[a=1] was written",
            "version": 13,
            "rows": None,
            "started_at": 8_000,
            "seconds": None,
            "foreseen": None,
            "core_seconds": None,
            "foreseen_core_seconds": None,
            "status": "running",
            "error": None,
            "codes": "source.changed",
        }
    ]
    shown = [[row[0], row[1], row[2], row[6], row[8], row[12], row[13]] for row in rows_of(HISTORY)]
    assert [row[14] for row in rows_of(HISTORY)][1:3] == ["source.changed, run.failed"] * 2
    assert shown == [
        [13, "mart.n", "a=1", None, None, "running", None],
        [12, "mart.n", "()", None, 1.0, "cancelled", "cancelled by somebody"],
        [11, "mart.m", "()", None, 1.0, "failed", "no space left"],
        [10, "mart.m", "a=1", 1_204, 2.0, "published", None],
        [10, "mart.m", "a=2", 0, 2.0, "published", None],
    ]


def test_a_run_by_keys_that_computed_whole_partitions_is_shown_as_such():
    because = Reason(Code.SOURCE_CHANGED, "t was written")
    changed = Reason(Code.SOURCE_COLUMNS_CHANGED, "the columns of t changed")
    events = [
        Started(1_000, 10, "v", ((A1, (5,)),), (), ByKeys((("t", "3"),), 1), because),
        Reworked(1_500, 10, "v", WholePartitions(), changed),
        Published(2_000, 10, "v", (Made(A1, 1, "f"),), (), 1.0),
        Started(3_000, 11, "v", ((WHOLE, (6,)),), (), ByKeys((("t", "4"),), 1), because),
        Reworked(3_500, 11, "v", WholeView(), changed),
        Published(4_000, 11, "v", (Made(WHOLE, 1, "f"),), (), 1.0),
        Started(5_000, 12, "v", ((A1, (7,)),), (), ByKeys((("t", "5"),), 1), because),
        Published(6_000, 12, "v", (Made(A1, 1, "f"),), (), 1.0),
    ]
    why = "t was written; not by keys, as the columns of t changed"
    shown = [(row[3], row[4]) for row in rows_of(events)]
    assert shown == [("keys", "t was written"), ("full", why), ("partition", why)]


def test_a_limit_counts_rows():
    assert len(rows_of(HISTORY, 4)) == 4
    assert refreshes([], 4) == []


def two():
    return machine(
        {"base.t": "a", "base.u": "a"}, view("mart.v", "a", "base.u"), view("mart.w", "a", "mart.v", "base.t")
    )


def test_the_place_of_a_refresh_and_the_reason():
    made = machine({"base.t": "a"}, view("mart.v", "a", "base.t", priority="10"), view("mart.w", "a", "base.t"))
    change(made, "base.t", A1)
    made.now += 2_000
    first, second = (
        [line for line in report.explain(made.state, name, made.now) if "place" in line]
        for name in ("mart.v", "mart.w")
    )
    assert first == ["  place 1 of 2 refreshes that may start"]
    assert second[0].startswith("  place 2 of 2 refreshes that may start; mart.v comes before it: it removes ")


def test_a_refresh_that_is_not_among_the_most_urgent_has_no_place():
    names = [f"mart.v{n:03}" for n in range(MANY + 1)]
    made = machine({"base.t": "a"}, *(view(each, "a", "base.t") for each in names))
    change(made, "base.t", A1)
    made.now += SETTLE
    places = [line for each in names for line in report.explain(made.state, each, made.now) if "urgent" in line]
    assert places == [f"  comes after the {MANY} most urgent refreshes that may start"]


def rows(made):
    return [[row[1], row[2], row[3], row[4], row[10]] for row in report.views(made.state, made.now)]


def test_a_view_says_how_stale_it_is_and_how_late():
    made = machine({"base.t": "a"}, view("mart.v", "a", "base.t", freshness="30 seconds"))
    assert [row[5:7] for row in report.views(made.state, made.now)] == [[0.0, 30.0]]
    change(made, "base.t", A1)
    [row] = report.views(made.state, made.now + 12_300)
    assert row[5:7] == [12.3, 30.0] and "late" not in row[10]
    [row] = report.views(made.state, made.now + 42_500)
    assert row[5] == 42.5 and row[10].startswith("late by 12.5 s; ")


def test_show_materialized_views_from_fresh_to_failing():
    made = two()
    assert rows(made) == [["v", "fresh", 2, 0, ""], ["w", "fresh", 2, 0, ""]]

    change(made, "base.u", A1)
    assert rows(made) == [
        ["v", "behind", 2, 1, "starts in 1.0 s; further changes may join until then"],
        ["w", "behind", 2, 1, "waits for mart.v, so that one refresh takes all changes"],
    ]

    made.now += SETTLE
    assert rows(made)[0] == ["v", "behind", 2, 1, "ready, waits for a free track"]

    assert start(made, "mart.v")
    assert rows(made)[0] == ["v", "running", 2, 1, ""]

    made.fail(made.flights["mart.v"])
    assert rows(made)[0] == ["v", "failing", 2, 1, "no luck"]
    assert report.waits(made.state, "mart.v", made.now) == (
        "the last refresh failed; the next one starts in 5 s: no luck"
    )


def test_show_materialized_views_that_are_not_kept():
    made = two()
    made.record(lambda _: Suspended(made.now, "mart.v"))
    made.record(lambda _: Broken(made.now, "mart.w", Reason(Code.QUERY_NOT_ANALYSED, "there is no column x")))
    assert rows(made) == [
        ["v", "suspended", 2, 0, "ALTER MATERIALIZED VIEW … SUSPEND stopped it"],
        ["w", "broken", 2, 0, "there is no column x"],
    ]


def test_explain_refresh():
    made = two()
    assert report.explain(made.state, "mart.v", made.now) == [
        "mart.v: nothing to do, 2 of 2 partitions are fresh",
        "  depends on base.u by a = a",
    ]
    change(made, "base.u", A1)
    _, _, *following = methods_of(made.state.views["mart.w"].definition)
    assert report.explain(made.state, "mart.w", made.now) == [
        "mart.w: 1 of 2 partitions behind, refresh by partition, about 0.1 s",
        "  a=1: base.u[a=1] was written [source.changed]",
        "  waits for mart.v, so that one refresh takes all changes [wait.upstream]",
        "  depends on mart.v by a = a",
        "  depends on base.t by a = a",
        "  method: by partition, 1 of 2 partitions, about 0.1 s",
        "    in full would take about 0.1 s",
        *(f"    {each.said} is out: {without_snapshots('mart.v').coded}" for each in following),
    ]


def test_a_run_is_explained_for_what_it_is_for_alone():
    """What still waits for a view upstream, or came while the run goes on, is left to the next one."""
    made = two()
    change(made, "base.t", A1)
    change(made, "base.u", A2)
    header, *lines = report.explain(made.state, "mart.w", made.now)
    one = "  method: by partition, 1 of 2 partitions, about 0.1 s"
    assert header == "mart.w: 2 of 2 partitions behind, refresh by partition, about 0.1 s"
    assert "  starts in 1.0 s; further changes may join until then [wait.more_changes]" in lines and one in lines
    made.now += SETTLE
    assert start(made, "mart.w")
    header, *lines = report.explain(made.state, "mart.w", made.now)
    assert header.startswith("mart.w: 2 of 2 partitions behind, refresh by partition, running as version ")
    assert one in lines and "    in full would take about 0.1 s" in lines
    assert "  waits for mart.v, so that one refresh takes all changes [wait.upstream]" in lines
    assert start(made, "mart.v")
    end(made, "mart.v")
    assert "  waits for the refresh that runs [wait.run]" in report.explain(made.state, "mart.w", made.now)


def started_by_keys():
    """A machine on which a run by keys started, and the run."""
    made = two()
    change(made, "base.u", A1)
    made.now += SETTLE
    assert start(made, "mart.v")
    [run] = made.state.running.values()
    return made, evolve(run, started=evolve(run.started, work=ByKeys((("base.u", "3"),), 1)))


def test_a_run_that_goes_on_with_other_work_is_explained_as_it_is():
    made, run = started_by_keys()
    made.state.running["mart.v"] = evolve(run, instead=Reason(Code.SOURCE_COLUMNS_CHANGED, "its columns changed"))
    lines = report.explain(made.state, "mart.v", made.now)
    assert "refresh by partition, running as version" in lines[0]
    assert lines[-1] == "    by keys is out: its columns changed [source.columns_changed]"


def test_a_run_that_follows_frames_says_so():
    made, run = started_by_keys()
    made.state.running["mart.v"] = evolve(run, work=run.started.work)
    columns, places = ("symbol", "day"), (("`symbol`", "`day`"),)
    definition = made.state.views["mart.v"].definition
    one, *others = (each for each in definition.dependencies if each.source == "base.u")
    said = {
        Frames(columns, places): "the rows in whose frames of day a row changed",
        Neighbours(columns, places, 1): "the rows next to a changed one by day",
        Foremost(columns, places, 1, 3): "those with a changed row among the first 3 by day",
        None: None,
    }
    for through, rows in said.items():
        dependency = evolve(one, keys=Keys(("symbol",), (("`symbol`",),), through=through))
        made.state.views["mart.v"].definition = evolve(definition, dependencies=(dependency, *others))
        told = [each for each in report.explain(made.state, "mart.v", made.now) if "of the keys" in each]
        assert told == ([] if rows is None else [f"    of the keys (symbol), {rows}"])


def test_explain_a_refresh_of_everything_that_also_has_single_changes():
    made = two()
    change(made, "base.u", A1)
    made.record(lambda version: Requested(made.now, version, "mart.v", (WHOLE,), "was to be refreshed"))
    lines = report.explain(made.state, "mart.v", made.now)
    assert lines[:3] == [
        "mart.v: everything behind, refresh in full, about 0.1 s",
        "  everything: mart.v was to be refreshed [view.requested]",
        "  a=1: base.u[a=1] was written [source.changed]",
    ]
    assert rows(made)[0][3] == 1


UNKNOWN = Reason(Code.QUERY_NOT_PARTITIONED_BY, "its column a is not a partition column")


def test_describe():
    definition = Definition(
        "mart.v",
        "SELECT a, sum(x) AS s FROM base.t GROUP BY a",
        (Column("s", "bigint", "the sum"), Column("a", "string")),
        ("a",),
        properties={"headwater.freshness": "10 minutes"},
        root="/w/v",
        dependencies=(Dependency("base.t", (Occurrence((), UNKNOWN),)),),
    )
    made = machine({"base.t": ""}, definition)
    short = report.describe(made.state, "mart.v", False, made.now)
    assert short[:2] == [["s", "bigint", "the sum"], ["a", "string", None]]
    assert ["# view", "mart.v", "fresh"] in short and ["partitioned by", "a", None] in short
    extended = report.describe(made.state, "mart.v", True, made.now)
    assert ["headwater.freshness", "10 minutes", "property"] in extended
    listed = "files, changes come from a listing"
    extended = report.describe(made.state, "mart.v", True, made.now, {"base.t": "files"})
    assert ["base.t", f"as a whole: {UNKNOWN.coded}", listed] in extended
    made.state.tables["base.t"].pinned, made.state.tables["base.t"].snapshot = True, "7@x"
    pinned = report.describe(made.state, "mart.v", True, made.now, {"base.t": "delta"})
    assert "delta, snapshot 7@x, changes come from its log" in [note for *_, note in pinned]
    version = made.state.tables["mart.v"].highest
    partition = next(iter(made.world.content["mart.v"]))
    source = made.state.tables["base.t"].highest
    assert [str(partition), str(version), f"base.t {source}"] in extended


def test_each_partition_tells_how_stale_it_is():
    """Two changes came one after the other; the staleness of a partition counts from its oldest one."""
    made = machine({"base.t": "a"}, view("mart.v", "a", "base.t", freshness="1 hour"))
    change(made, "base.t", A1)
    made.drain()
    change(made, "base.t", A1, 1)
    made.now += 40_000
    change(made, "base.t", A2, 2)
    made.now += 2_500
    change(made, "base.t", A1, 3)
    told = {name: note for name, _, note in report.describe(made.state, "mart.v", True, made.now)}
    assert told["a=1"].startswith("stale for 42.5 s; ") and told["a=2"].startswith("stale for 2.5 s; ")


def test_what_a_refresh_costs_and_how_often_sources_change_is_told():
    state = warehouse({"v": (("t",), {}, 4.12)})
    for at in (0, 20_000, 40_000):
        state = written(state, "t", at)
    state.views["v"].costs.narrow[Mode.CHANGES] = Narrow(1.2, 1_500_000, lost=Loss(20_000_000, 6.0, None, 0.5))
    told = report.describe(state, "v", True, 40_000)
    said = (
        "4.1 s as whole partitions; 1.2 s by changes after 1.5 MB of changed files; "
        "6.0 s by changes after 20.0 MB, more than whole partitions"
    )
    assert ["a refresh", said, "lately"] in told
    assert ["t", f"as a whole: {ONE_PARTITION.coded}", "changes come from a listing, every 20 s lately"] in told


def test_what_totals_take_is_told():
    state = warehouse({"v": (("t",), {}, 4.0)})
    state.views["v"].costs.size = 5e6
    assert "totals" not in [name for name, *_ in report.describe(state, "v", True, 0)]
    state.views["v"].totals = Totals(3, (), LeftTotals("digest", 1_200_000, 0.42), 1.4)
    told = ["totals", "1.2 MB, 0.24 times the view", "0.4 s of the 1.4 s of the refresh that left them"]
    assert told in report.describe(state, "v", True, 0)
    state.views["v"].totals = Totals(3, (), LeftTotals("digest", 1_200, 0.42), 1.4)
    assert "1.2 KB, 0.00024 times the view" in [value for _, value, _ in report.describe(state, "v", True, 0)]


def test_many_partitions_are_told_in_a_few_lines():
    made = machine({"base.t": "a"}, view("mart.v", "a", "base.t"))
    for n in range(30):
        change(made, "base.t", Slice.of(a=f"{n:02}"))
    lines = report.explain(made.state, "mart.v", made.now)
    assert lines[0] == "mart.v: 30 of 30 partitions behind, refresh by partition, about 0.1 s"
    assert "  … and 10 more" in lines and len([line for line in lines if line.startswith("  a=")]) == 20


def test_a_run_for_many_changes_names_three():
    made = machine({"base.t": "a"}, view("mart.v", "a", "base.t"))
    for n in range(5):
        change(made, "base.t", Slice.of(a=str(n)))
    made.now += SETTLE
    assert start(made, "mart.v")
    said = "base.t[a=0] was written; base.t[a=1] was written; base.t[a=2] was written; and 2 more"
    assert made.state.running["mart.v"].started.reason == Reason(Code.SOURCE_CHANGED, said)
    end(made, "mart.v")


def test_what_is_computed_and_not_published_says_what_it_waits_for():
    made = machine({"t": "a"}, view("v", "a", "t"))
    change(made, "t", A1)
    made.now += SETTLE
    made.record(
        lambda version: decided(made.state, Choice(ready(made.state, made.now)[0], True), version, made.now).event
    )
    version = made.state.running["v"].version
    assert report.explain(made.state, "v", made.now)[0].endswith(f"running as version {version}")
    while not made.state.running["v"].prepared:
        made.advance(made.flights["v"])
    assert report.explain(made.state, "v", made.now)[0].endswith(
        f"computed as version {version}; its copy to the warehouse is under way"
    )
