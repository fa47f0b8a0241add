"""A refresh reads the newest versions of its sources that show one state of every table, or waits for them."""

from __future__ import annotations

from cases import A1, A2, change, end, machine, sound, start, view

from headwater.engine.decide.readiness import apart, ready, starts
from headwater.engine.requests.common_cut import Common, common_cut
from headwater.engine.requests.limits import AGREES_WITHIN, PATIENCE, SETTLE
from headwater.engine.requests.prefix import with_older
from headwater.engine.tell import report
from headwater.engine.tell.cuts import cuts, readings
from headwater.engine.tell.why_it_waits import why_it_waits
from headwater.model.event import Altered, Failed, Skipped, Started, Suspended
from headwater.model.index import Apart
from headwater.model.partition import WHOLE
from headwater.model.reason import Code


def diamond(format="delta", by="", lakes=("s",), **properties):
    """``d`` reads ``s`` by two ways."""
    first, second = (view(each, by, "s", format=format) for each in ("v1", "v2"))
    return machine({"s": by}, first, second, view("d", by, "v1", "v2", format="delta", **properties), lakes=lakes)


def run(made, name, takes=SETTLE):
    """Starts the run of a view, which takes a while, and ends it."""
    begin(made, name)
    made.now += takes
    end(made, name)


def begin(made, name):
    made.now += SETTLE
    assert start(made, name), why_it_waits(made.state, name, made.now)


def overtaken(made):
    """``v2`` takes longer than any patience, and ``s`` changes again meanwhile; ``v1`` has both changes."""
    change(made, "s", WHOLE, 11)
    run(made, "v1")
    begin(made, "v2")
    made.now += PATIENCE + 10_000
    change(made, "s", WHOLE, 12)
    run(made, "v1")
    end(made, "v2")


def read(made, name):
    """What the last run of a view read of its sources."""
    return dict([each for each in made.journal if isinstance(each, Started) and each.view == name][-1].inputs)


def test_the_versions_that_agree_are_read_though_one_source_is_newer():
    """The schedule by which a view said 12 and 11."""
    made = diamond()
    overtaken(made)
    newest, between = [*made.state.tables["v1"].past][-1], [*made.state.tables["v1"].past][-2]
    run(made, "d")
    assert read(made, "d")["v1"] == between < newest
    [cut] = cuts(made.state, "d")
    assert made.world.lake.held(cut.snapshot) == {WHOLE: 11}
    assert made.state.views["d"].pending, "the second change follows when the other view has it"
    run(made, "v2")
    run(made, "d")
    assert read(made, "d")["v1"] == newest
    sound(made)


def test_a_base_table_is_read_as_it_was():
    """``d`` reads ``s`` itself, too."""
    views = view("v", "", "s", format="delta"), view("d", "", "s", "v", format="delta")
    made = machine({"s": ""}, *views, lakes=("s",))
    change(made, "s", WHOLE, 11)
    first = made.state.tables["s"].highest
    run(made, "v")
    made.now += PATIENCE
    change(made, "s", WHOLE, 12)
    run(made, "d")
    assert read(made, "d")["s"] == first < made.state.tables["s"].highest
    sound(made)


def test_without_older_versions_it_waits_until_the_newest_agree_and_says_for_what():
    made = diamond("parquet")
    overtaken(made)
    split = apart(made.state, "d")
    assert split is not None and (split.ahead, split.behind, split.table) == ("v1", "v2", "s")
    why = why_it_waits(made.state, "d", made.now)
    assert why is not None and why.code is Code.WAIT_COMMON_CUT
    assert why.text.startswith(
        "waits for v2, whose newest version lacks a change of s that v1 shows; starts at the lat"
    )
    assert why.coded in "\n".join(report.explain(made.state, "d", made.now))
    made.now += SETTLE
    assert not start(made, "d")
    run(made, "v2")
    assert apart(made.state, "d") is None
    run(made, "d")
    sound(made)


def test_it_does_not_wait_for_ever():
    """The slow view never ends; after ten minutes the newest versions are read, and the view has no cut."""
    made = diamond("parquet")
    overtaken(made)
    begin(made, "v2")
    at = starts(made.state, "d")
    oldest = min(each.at for each in made.state.origins.values())
    assert at is not None and at.at == oldest + AGREES_WITHIN
    made.now = at.at
    assert start(made, "d")
    end(made, "d")
    assert [each.version for each in cuts(made.state, "d")] == [None]
    end(made, "v2")
    sound(made)


def test_an_eventual_view_reads_the_newest_of_each():
    made = diamond(consistency="eventual")
    overtaken(made)
    run(made, "d")
    assert read(made, "d")["v1"] == made.state.tables["v1"].highest
    assert {each.reason.code for each in readings(made.state, "d")} == {Code.CUT_EVENTUAL}


def test_the_property_can_be_changed():
    made = diamond("parquet")
    overtaken(made)
    made.record(lambda _: Altered(made.now, "d", (("headwater.consistency", "eventual"),)))
    assert apart(made.state, "d") is None
    run(made, "d")


def test_nothing_waits_for_a_view_that_cannot_run():
    made = diamond("parquet")
    made.record(lambda _: Suspended(made.now, "v2"))
    change(made, "s", WHOLE, 11)
    run(made, "v1")
    run(made, "d")
    found = {each.source: each.reason for each in readings(made.state, "d")}
    assert found["v1"] is None and found["v2"].code is Code.CUT_RELEASED


def test_a_table_without_snapshots_is_no_reason_to_wait():
    made = diamond("parquet", lakes=())
    overtaken(made)
    assert apart(made.state, "d") is None
    assert {each.reason.code for each in readings(made.state, "d")} == {Code.SOURCE_NO_SNAPSHOTS}
    rows = {row[0]: row for row in report.describe(made.state, "d", True, made.now)}
    assert rows["v1"] == ["v1", str(made.state.tables["v1"].highest), f"may show another state: {NO_SNAPSHOTS}"]


NO_SNAPSHOTS = "s has no snapshots; a table USING delta or USING iceberg has [source.no_snapshots]"


def test_after_a_failure_no_older_version_is_read():
    made = diamond()
    overtaken(made)
    begin(made, "d")
    made.fail(made.flights["d"])
    assert any(isinstance(each, Failed) for each in made.journal)
    assert apart(made.state, "d") is not None
    run(made, "v2")
    assert isinstance(common_cut(made.state, "d"), Common)


def test_a_partition_does_not_pass_an_older_change_of_another_one():
    """``v2`` is late for the change of ``a=1``; that of ``a=2`` came later, and both sources have it."""
    made = diamond(by="a")
    change(made, "s", A1, 11)
    run(made, "v1")
    begin(made, "v2")
    made.now += PATIENCE
    change(made, "s", A2, 12)
    run(made, "v1")
    made.now += SETTLE
    assert not start(made, "d"), "nothing of it may run"
    end(made, "v2")
    run(made, "d")
    assert list(made.state.views["d"].pending) == [A2]
    sound(made)


def test_several_changes_that_came_out_unchanged_are_held():
    """Between them the view may have been another."""
    made = diamond()
    view_state = made.state.views["d"]
    before = dict(view_state.holds)
    made.world.sums = True
    change(made, "s", WHOLE, 11)
    change(made, "s", WHOLE, 1)
    made.drain()
    assert view_state.holds["s"] > before["s"]
    assert any(isinstance(each, Skipped) and each.view == "d" for each in made.journal)


def test_a_view_does_not_go_back():
    """It read the newest version of ``v1`` while it was eventual. The version that agrees with ``v2`` is older."""
    made = diamond(consistency="eventual")
    overtaken(made)
    run(made, "d")
    made.record(lambda _: Altered(made.now, "d", (("headwater.consistency", "strict"),)))
    split = common_cut(made.state, "d")
    assert isinstance(split, Apart) and (split.ahead, split.behind) == ("d", "v2")
    run(made, "v2")
    run(made, "d")
    sound(made)


def test_a_change_does_not_pass_an_older_one_that_waits_for_more():
    """The change of ``a=1`` waits for one that came soon after it. That of ``a=2`` came between both."""
    made = machine({"s": "a"}, *(view(*each, format="delta") for each in (("v", "a", "s"), ("d", "a", "v"))), lakes="s")
    for partition in (A1, A2):
        change(made, "s", partition, 11)
        run(made, "v")
    change(made, "s", A1, 12)
    made.now += SETTLE
    assert {len(each) for each in made.state.views["d"].pending.values()} == {1, 2}
    assert [each.view for each in ready(made.state, made.now)] == ["v"]
    sound(made)


def test_an_older_change_of_another_partition_starts_with_a_newer_one():
    made = machine({"s": "a"}, view("v", "a", "s", format="delta"), lakes="s")
    change(made, "s", A1, 11)
    change(made, "s", A2, 12)
    made.now += SETTLE
    [found] = ready(made.state, made.now)
    groups = [(need,) for need in found.needs]
    assert with_older(made.state, groups, groups[1:]) == [groups[1], groups[0]]
    assert with_older(made.state, groups, groups[:1]) == groups[:1]
