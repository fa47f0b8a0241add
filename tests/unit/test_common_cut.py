"""A refresh reads the newest versions of its sources that show one state of every table, or waits for them."""

from __future__ import annotations

import cases
from cases import A1, A2, change, end, machine, sound, start

from headwater.engine.decide.readiness import ready, starts
from headwater.engine.requests.common_cut import common_cut
from headwater.engine.requests.limits import AGREES_WITHIN, PATIENCE, SETTLE, back_off
from headwater.engine.requests.prefix import with_older
from headwater.engine.requests.spans import older
from headwater.engine.tell import report
from headwater.engine.tell.cuts import cuts, readings
from headwater.engine.tell.refreshes import refreshes
from headwater.engine.tell.why_it_waits import why_it_waits
from headwater.engine.waits.agreement import LEAST, agrees_within, is_in_vain
from headwater.model.costs import Took
from headwater.model.event import Altered, Failed, Hurried, Skipped, Started, Suspended
from headwater.model.index import Apart
from headwater.model.partition import WHOLE, Slice
from headwater.model.reason import Code, Reason


def view(name, by, *sources, consistency="strict", **others):
    return cases.view(name, by, *sources, consistency=consistency, **others)


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


def apart(state, name):
    """Why a view waits that could run as far as its inputs are concerned."""
    found = starts(state, name)
    return None if found is None else found.apart


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


def test_an_older_version_lacks_changes_of_tables_that_no_other_source_shows():
    """A refresh of ``v`` has the changes of ``t`` and ``s``, and ``w`` has not run for ``s`` yet. The version of ``v``
    before agrees with ``w``, and lacks both. Who reads that one for the change of ``t`` never shows it."""
    views = (
        view("v", "a", "s", "t", format="delta"),
        view("w", "a", "s", format="delta"),
        view("d", "a", "v", "w", format="delta"),
    )
    made = machine({"s": "a", "t": "a"}, *views, lakes=("s", "t"))
    change(made, "t", A1, 11)
    change(made, "s", A2, 12)
    run(made, "v")
    assert not start(made, "d"), "it would read the version of v before, and complete the change of t"
    run(made, "w")
    run(made, "d")
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
    """The slow view never ends; after a while the newest versions are read, and the view has no cut."""
    made = diamond("parquet")
    overtaken(made)
    begin(made, "v2")
    at = starts(made.state, "d")
    oldest = min(each.at for each in made.state.origins.values())
    assert at is not None and at.at == oldest + LEAST
    made.now = at.at
    assert start(made, "d")
    end(made, "d")
    assert [each.version for each in cuts(made.state, "d")] == [None]
    end(made, "v2")
    sound(made)


def in_vain():
    """``s`` changes a third time while ``v2`` runs for the second change: ``v1`` is about to be ahead of it again."""
    made = diamond("parquet")
    overtaken(made)
    begin(made, "v2")
    assert not starts(made.state, "d").at <= made.now, "the run of v2 makes an end of it, if s stays as it is"
    change(made, "s", WHOLE, 13)
    return made


def test_it_waits_no_longer_than_its_patience_where_waiting_does_not_help():
    made = in_vain()
    oldest = min(each.at for each in made.state.origins.values())
    assert starts(made.state, "d").at == max(oldest + PATIENCE, made.state.views["d"].retry_at) <= made.now
    assert start(made, "d")
    begun = next(each for each in reversed(made.journal) if isinstance(each, Started))
    assert begun.let_go == Reason(
        Code.CUT_LET_GO, "without one state of every table: v2 lacks a change of s that v1 shows"
    )
    assert begun.let_go.coded in "\n".join(report.explain(made.state, "d", made.now))
    end(made, "d")
    [row, *_] = refreshes(reversed(made.journal), 1)
    assert row.reason.endswith(begun.let_go.text) and row.codes == "source.changed, cut.let_go"
    assert [each.version for each in cuts(made.state, "d")] == [None]
    end(made, "v2")
    sound(made)


def test_it_waits_for_a_source_that_is_late_while_all_others_have_nothing_to_do():
    """``v2`` runs for the second change, and its next refresh takes the third one."""
    made = in_vain()
    run(made, "v1")
    assert starts(made.state, "d").at > made.now
    assert not start(made, "d")


def test_it_waits_for_refreshes_that_make_its_sources_agree():
    """Two sources run for the change that the third one has already."""
    sources = [view(each, "", "s", format="parquet") for each in ("v1", "v2", "v3")]
    made = machine({"s": ""}, *sources, view("d", "", "v1", "v2", "v3", format="delta"), lakes="s")
    change(made, "s", WHOLE, 11)
    for each in ("v1", "v2", "v3"):
        run(made, each)
    made.now += PATIENCE
    change(made, "s", WHOLE, 12)
    run(made, "v1")
    begin(made, "v2")
    begin(made, "v3")
    assert starts(made.state, "d").at > made.now


def test_lake_sources_that_run_at_other_times_are_not_waited_for():
    """Their runs under way are for other states of ``s``, and so are the versions that they have."""
    made = diamond()
    change(made, "s", WHOLE, 11)
    begin(made, "v1")
    change(made, "s", WHOLE, 12)
    begin(made, "v2")
    change(made, "s", WHOLE, 13)
    for name, other in (("v1", "v2"), ("v2", "v1"), ("v1", "v2"), ("v2", "v1")):
        end(made, name)
        made.now += SETTLE
        change(made, "s", WHOLE, 14 + made.now % 5)
        begin(made, name)
        assert other in made.state.running
    split = common_cut(made.state, "d")
    assert isinstance(split, Apart) and is_in_vain(made.state, "d", split)


def test_who_asks_for_a_refresh_waits_for_no_newer_change():
    """Both sources have what was asked for, and one of them runs for a change that came soon after."""
    made = diamond()
    change(made, "s", WHOLE, 11)
    run(made, "v1")
    run(made, "v2")
    change(made, "s", WHOLE, 12)
    begin(made, "v1")
    assert starts(made.state, "d") is None
    asked = made.state.tables["v2"].highest
    made.record(lambda _: Hurried(made.now, asked, ("d",)))
    assert start(made, "d")
    end(made, "d")
    assert made.world.lake.held(cuts(made.state, "d")[0].snapshot) == {WHOLE: 11}


def test_what_stops_for_the_order_of_changes_goes_on_after_a_while():
    """``v`` took the newer change of ``a=2`` first, and runs for that of ``a=1`` for ever. ``t`` changes meanwhile."""
    sources = view("v", "a", "s", format="delta", consistency="eventual"), view("d", "a", "v", "t", format="delta")
    made = machine({"s": "a", "t": "a"}, *sources, lakes=("s", "t"))
    change(made, "s", A2, 11)
    first = made.now
    made.now += SETTLE - 100
    change(made, "s", A1, 12)
    change(made, "s", A2, 13)
    made.now = first + SETTLE
    assert start(made, "v")
    end(made, "v")
    begin(made, "v")
    change(made, "t", Slice.of(a="3"), 5)
    begin(made, "d")
    assert made.state.running["d"].slices == (Slice.of(a="3"),), "a=2 does not pass the older change of a=1"
    end(made, "d")
    at = starts(made.state, "d").at
    assert first + LEAST <= at <= first + LEAST + SETTLE
    made.now = at - SETTLE
    change(made, "t", Slice.of(a="3"), 6)
    begin(made, "d")
    begun = made.state.running["d"].started
    assert A2 in begun.slices and begun.let_go.code is Code.CUT_LET_GO
    end(made, "d")
    end(made, "v")
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


def test_a_view_waits_as_long_as_a_source_that_lags_behind_may_take():
    made = diamond("parquet")
    overtaken(made)
    split = apart(made.state, "d")
    assert split is not None
    for seconds, millis in ((1.0, LEAST), (60.0, 180_000 + SETTLE), (3_600.0, AGREES_WITHIN)):
        made.state.views["v2"].costs.took = Took(seconds, 0.0)
        assert agrees_within(made.state, split) == millis
    made.state.views["v2"].costs.took = None
    assert agrees_within(made.state, split) == AGREES_WITHIN


def test_a_state_that_is_gone_is_struck_from_the_record():
    """It is not tried ever again. After a failure for another reason it is tried once more."""
    for code, kept in ((Code.SOURCE_SNAPSHOT_EXPIRED, 0), (Code.RUN_SOURCE_REPLACED, 0), (Code.RUN_FAILED, 1)):
        made = diamond()
        overtaken(made)
        begin(made, "d")
        older = read(made, "d")["v1"]
        fail(made, "d", code)
        assert [older in made.state.tables["v1"].past, apart(made.state, "d") is None] == [kept, kept]
        if kept:
            made.now += back_off(1)
            begin(made, "d")
            fail(made, "d", code)
        assert older not in made.state.tables["v1"].past
        assert made.state.tables["v1"].highest in made.state.tables["v1"].past
        made.now += AGREES_WITHIN
        run(made, "v2")
        run(made, "d")
        sound(made)


def test_a_failure_for_another_reason_strikes_no_state_that_was_the_newest():
    """``d`` fails by itself again and again, and ``s`` changes meanwhile. Other readers go on from these states."""
    made = machine({"s": ""}, view("d", "", "s", format="delta"), lakes="s")
    change(made, "s", WHOLE, 11)
    for value in (12, 13, 14):
        begin(made, "d")
        newest = read(made, "d")["s"]
        change(made, "s", WHOLE, value)
        fail(made, "d", Code.RUN_FAILED)
        assert newest in made.state.tables["s"].past
        made.now += AGREES_WITHIN


def fail(made, name, code):
    version = made.state.running[name].version
    made.record(lambda _: Failed(made.now, version, name, Reason(code, "no luck"), 1.0))


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


def test_a_group_that_waits_for_a_newer_change_holds_nothing_up():
    """The change of ``a=1`` would wait for one that came soon after it. That of ``a=2`` came between, and both go."""
    made = machine({"s": "a"}, *(view(*each, format="delta") for each in (("v", "a", "s"), ("d", "a", "v"))), lakes="s")
    for partition in (A1, A2):
        change(made, "s", partition, 11)
        run(made, "v")
    change(made, "s", A1, 12)
    made.now += SETTLE
    [found] = [each for each in ready(made.state, made.now) if each.view == "d"]
    assert [len(origins) for _, origins in found.needs] == [1, 1]
    sound(made)


def test_a_run_of_some_partitions_holds_what_reaches_them():
    """It reads the newer change of another partition, too. So the version has a cut, the state before that."""
    made = machine({"s": "a"}, view("v", "a", "s", format="delta"), lakes="s")
    change(made, "s", A1, 11)
    between = made.state.tables["s"].highest
    made.now += SETTLE
    change(made, "s", A2, 12)
    [found] = ready(made.state, made.now)
    assert found.slices == (A1,) and start(made, "v")
    end(made, "v")
    assert made.state.views["v"].holds["s"] == between
    assert [each.version for each in cuts(made.state, "v")] == [between]
    sound(made)


def test_sources_that_never_meet_are_not_waited_for():
    """Both sources have versions of older states only, and never of the same. So their common cut stays as it is."""
    made = diamond()
    for name, other in (("v1", "v2"), ("v2", "v1"), ("v1", "v2")):
        change(made, "s", WHOLE, 11 + made.now % 7)
        begin(made, name)
        change(made, "s", WHOLE, 12 + made.now % 5)
        end(made, name)
        made.now += SETTLE
        assert made.state.views[other].pending
    split = common_cut(made.state, "d")
    assert isinstance(split, Apart) and split.table == "s"


def test_an_older_change_of_another_partition_starts_with_a_newer_one():
    made = machine({"s": "a"}, view("v", "a", "s", format="delta"), lakes="s")
    change(made, "s", A1, 11)
    change(made, "s", A2, 12)
    made.now += SETTLE
    [found] = ready(made.state, made.now)
    groups = [(need,) for need in found.needs]
    assert with_older(made.state, groups, [1]) == [1, 0]
    assert with_older(made.state, groups, [0]) == [0]


def test_a_run_is_for_the_changes_only_that_its_versions_show():
    """``v2`` takes the second and the third change together, which ``v1`` does not: their newest common state is the
    first one. Both sources have the second change, and no version with it is read."""
    made = diamond()
    changes = []
    for content, names in ((11, ("v1", "v2")), (12, ("v1",)), (13, ("v2",))):
        made.now += PATIENCE
        change(made, "s", WHOLE, content)
        changes.append(made.state.tables["s"].highest)
        for name in names:
            run(made, name)
    [found] = [each for each in ready(made.state, made.now + SETTLE) if each.view == "d"]
    assert found.origins == (changes[0],)
    run(made, "d")
    [cut] = cuts(made.state, "d")
    assert made.world.lake.held(cut.snapshot) == {WHOLE: 11}
    sound(made)


def test_a_version_that_is_not_on_record_any_more_is_not_searched():
    made = diamond()
    overtaken(made)
    [before, *_] = older(made.state, "v1").spans
    del made.state.tables["v1"].past[before.version]
    assert before.version not in [each.version for each in older(made.state, "v1").spans]
