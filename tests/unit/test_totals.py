"""Totals: the queries and changes that they can follow, and the states that a run by changes goes on from."""

from __future__ import annotations

import pytest
from attrs import evolve
from cases import A1, change, costing, end, machine, start, view
from test_derive import description, relation

from headwater.algebra.derive.totals import derive_totals
from headwater.engine.methods.basis import ALL_ROWS, not_kept, without_snapshots
from headwater.engine.methods.choice import choose_method
from headwater.engine.methods.keys import BY_KEYS
from headwater.engine.methods.totals import BY_TOTALS, added, give_up, leaves_totals
from headwater.engine.methods.whole import BY_PARTITION
from headwater.engine.record.runs import launched
from headwater.engine.requests.limits import SETTLE
from headwater.engine.tell.report import explain
from headwater.model.costs import Loss, Narrow
from headwater.model.dependency import Adding, Keys
from headwater.model.event import Declared, Published, Requested, Started
from headwater.model.partition import Slice
from headwater.model.reason import Code, Reason
from headwater.model.work import ByTotals, LeftTotals, Mode, Totals

FOLLOWED = Adding(None, True)


def totalled(asked: str = "incremental, full"):
    """``v`` over the lake table ``t``, by the partition column ``a``; the partitions 1 and 2 are filled."""
    definition = view("v", "a", "t", format="delta", method=asked)
    dependencies = tuple(evolve(each, adding=FOLLOWED) for each in definition.dependencies)
    return machine({"t": "a"}, evolve(definition, dependencies=dependencies), lakes=["t"])


def later(made, *partitions: Slice):
    for n, each in enumerate(partitions):
        change(made, "t", each, 50 + n + made.now % 7)
    made.now += 2 * SETTLE
    return made


def started(made) -> Started:
    return next(each for each in reversed(made.journal) if isinstance(each, Started))


def why(made) -> str:
    return dict(choose_method(made.state, "v", (A1,)).rejected)[BY_TOTALS]


def test_a_run_goes_on_from_the_snapshot_that_the_totals_reflect():
    made = totalled()
    before = made.state.tables["t"].snapshot
    assert started(made).work.leaves_totals and made.state.views["v"].totals.version == started(made).version
    later(made, A1)
    assert added(made.state, "v", (A1,)) == ByTotals(made.state.views["v"].totals, (("t", before),), 1)
    totals = made.state.views["v"].totals
    made.drain()
    assert started(made).work == ByTotals(totals, (("t", before),), 1)


def test_a_new_partition_and_one_that_was_written_past_headwater_follow_from_the_totals():
    made, new = totalled(), Slice.of(a="3")
    later(made, A1, new)
    change(made, "v", A1, 99)
    made.drain()
    assert started(made).work.mode is Mode.CHANGES


def test_rows_of_a_new_partition_stay_if_it_reflects_what_the_totals_do():
    """A run of one partition makes the totals of all: also of a new one that is behind, and has no rows yet."""
    made, new, newer = totalled(), Slice.of(a="3"), Slice.of(a="4")
    change(made, "t", A1, 50)
    made.now += SETTLE - 10
    change(made, "t", new, 51)
    made.now += 10
    assert start(made, "v") and started(made).slices == (A1,) and launched(made.state, "v").as_totals
    end(made, "v")
    change(made, "t", new, 52)
    made.now += 2 * SETTLE
    assert start(made, "v") and started(made).slices == (new,)
    assert isinstance(started(made).work, ByTotals) and not launched(made.state, "v").as_totals
    end(made, "v")
    later(made, newer)
    assert start(made, "v") and started(made).slices == (newer,) and launched(made.state, "v").as_totals
    end(made, "v")
    later(made, A1)
    assert start(made, "v") and not launched(made.state, "v").as_totals, "it is older than the totals"


def test_a_run_that_fails_is_followed_by_one_that_makes_the_totals_anew():
    made = totalled()
    later(made, A1)
    made.state.views["v"].failures = 1
    assert why(made) == "is out: the last refresh failed [method.after_failure]" and leaves_totals(made.state, "v")


def test_rows_that_somebody_asked_for_make_the_totals_anew():
    made = totalled()
    later(made, A1)
    made.record(lambda version: Requested(made.now, version, "v", (A1,), "asked"))
    assert why(made) == "is out: a statement asked for all rows [view.requested]" and leaves_totals(made.state, "v")


def test_rows_that_somebody_asked_for_leave_no_older_totals():
    """Who asks for all rows doubts those that there are, and the totals with them. A later run must not go on from
    totals that the repair did not make."""
    made = totalled()
    known = made.state.views["v"]
    known.definition = evolve(known.definition, properties=(("headwater.method", "auto"),))
    assert known.totals is not None and not leaves_totals(made.state, "v")
    later(made, A1).drain()
    assert known.totals is not None, "nobody doubts them"
    made.record(lambda version: Requested(made.now, version, "v", (A1,), "asked"))
    made.drain()
    assert not started(made).work.leaves_totals and made.state.views["v"].totals is None


def test_a_table_that_cannot_be_compared_is_read_as_a_whole():
    made = totalled()
    later(made, A1)
    made.state.tables["t"].past.clear()
    assert why(made) == f"is out: {not_kept('t').coded}"


def test_a_change_of_a_table_that_cannot_be_followed_makes_the_totals_anew():
    definition = view("v", "a", "t", "u", format="delta", method="incremental, full")
    adding = {"t": FOLLOWED, "u": Adding(Reason(Code.QUERY_SUBQUERY, "a subquery reads u"))}
    dependencies = tuple(evolve(each, adding=adding[each.source]) for each in definition.dependencies)
    made = machine({"t": "a", "u": "a"}, evolve(definition, dependencies=dependencies), lakes=["t", "u"])
    later(made, A1).drain()
    assert started(made).work.mode is Mode.CHANGES
    change(made, "u", A1, 3)
    made.now += 2 * SETTLE
    assert why(made) == "is out: a subquery reads u [query.subquery]"
    made.drain()
    assert started(made).work.leaves_totals


def test_a_source_that_is_read_as_it_is_at_that_moment_is_computed_as_a_whole():
    """Its rows of one moment would be joined with the changes of another."""
    definition = view("v", "a", "t", "u", format="delta", method="incremental, full")
    dependencies = tuple(evolve(each, adding=FOLLOWED) for each in definition.dependencies)
    made = machine({"t": "a", "u": "a"}, evolve(definition, dependencies=dependencies), lakes=["t"])
    assert why(later(made, A1)) == f"is out: {without_snapshots('u').coded}"


def test_a_new_definition_has_no_totals_yet():
    made = totalled()
    later(made, A1)
    definition = evolve(made.state.views["v"].definition, fingerprint="another")
    made.record(lambda version: Declared(made.now, version, definition, "was replaced", fill=False))
    assert why(made) == "is out: it has no totals yet [method.no_totals]"


def test_a_view_that_does_not_ask_has_totals_if_its_runs_take_long():
    made = totalled("full")
    later(made, A1)
    assert not leaves_totals(made.state, "v")
    assert BY_TOTALS not in dict(choose_method(made.state, "v", (A1,)).rejected)
    made = totalled("auto")
    later(made, A1)
    assert not leaves_totals(made.state, "v")
    assert why(made) == "is out: it has no totals yet [method.no_totals]"
    known = made.state.views["v"]
    costing(known, 2.0)
    assert not leaves_totals(made.state, "v")
    known.costs.reads = {"t": 1e8}
    assert leaves_totals(made.state, "v")
    costing(known, 1.1)
    assert not leaves_totals(made.state, "v")
    costing(known, 1.2)
    assert leaves_totals(made.state, "v")
    known.costs.narrow[Mode.CHANGES] = Narrow(4.0, 1)
    assert not leaves_totals(made.state, "v")


def test_a_large_change_that_was_dear_keeps_no_later_one_from_being_followed():
    made = totalled("auto")
    known = made.state.views["v"]
    costing(known, 2.0)
    known.costs.reads = {"t": 1e8}
    stopped = Narrow(None, 0, lost=Loss(0, 4.0, None, 0.25, stopped=True))
    for dear, leaves in ((Narrow(4.0, 10_000_000), True), (Narrow(4.0, 500_000), False), (stopped, False)):
        known.costs.narrow[Mode.CHANGES] = dear
        assert leaves_totals(made.state, "v") is leaves


def test_totals_that_are_larger_than_all_that_a_full_refresh_moves_are_given_up():
    made = totalled("auto")
    known = made.state.views["v"]

    def left(size: int) -> bool:
        """Whether totals of so many bytes stay on record."""
        costing(known, 9.0, partitions=2.0)
        known.costs.reads, known.costs.size = {"t": 3e6}, 1e6
        known.totals = Totals(1, (), LeftTotals("d", size))
        give_up(known)
        return known.totals is not None

    assert left(8_000_000) and leaves_totals(made.state, "v"), "two partitions, of each four megabytes"
    assert not left(8_000_001) and not leaves_totals(made.state, "v")
    later(made, A1)
    said = "is out: its totals took 8 MB, and a full refresh reads and writes 8 MB [method.totals_large]"
    assert why(made) == said
    known.costs.reads = {"t": 4e6}
    assert leaves_totals(made.state, "v"), "the source has grown"
    known.definition = evolve(known.definition, properties=(("headwater.method", "incremental, full"),))
    assert left(80_000_000) and leaves_totals(made.state, "v"), "its property asks for them"


def test_core_seconds_decide_where_all_are_known():
    """By changes has fewer seconds, but its tasks fill both cores."""
    made = totalled()
    known = made.state.views["v"]
    known.definition = evolve(known.definition, properties={})
    costing(known, 2.5)
    known.costs.reads = {"t": 1e8}
    known.costs.narrow[Mode.CHANGES] = Narrow(2.0, 1, cores=4.0)
    later(made, A1)
    assert choose_method(made.state, "v", (A1,)).method == BY_TOTALS and leaves_totals(made.state, "v")
    costing(known, 2.5, cores=3.0)
    assert choose_method(made.state, "v", (A1,)).method == BY_PARTITION and not leaves_totals(made.state, "v")


def test_a_run_by_keys_leaves_no_totals():
    """They would cost as much as the whole view, and count as the time of the keys."""
    made = totalled("auto")
    known = made.state.views["v"]
    keyed = tuple(evolve(each, keys=Keys(("a",), (("a",),))) for each in known.definition.dependencies)
    known.definition = evolve(known.definition, dependencies=keyed)
    costing(known, 12.0)
    known.costs.reads = {"t": 1e8}
    known.costs.narrow[Mode.CHANGES] = Narrow(None, 0, lost=Loss(0, 14.0, None, 0.25, stopped=True))
    later(made, A1)
    known.costs.narrow.clear()
    assert choose_method(made.state, "v", (A1,)).method == BY_KEYS and leaves_totals(made.state, "v")
    made.drain()
    assert started(made).work.mode is Mode.KEYS


def test_a_view_that_allows_nothing_else_fails_and_says_why():
    made = totalled("incremental")
    assert started(made).work.leaves_totals  # its first rows
    later(made, A1).drain()
    assert started(made).work.mode is Mode.CHANGES
    later(made, A1)
    made.state.tables["t"].past.clear()
    chosen = choose_method(made.state, "v", (A1,))
    assert chosen.refused == not_kept("t")
    assert chosen.method == BY_TOTALS and chosen.rejected == ()
    made.state.views["v"].failures = 1
    assert choose_method(made.state, "v", (A1,)).refused == chosen.refused  # and not that it failed before
    told = f"  method: 'headwater.method' allows none; by changes is out: {chosen.refused.coded}"
    assert explain(made.state, "v", made.now)[-1] == told


def test_a_view_that_allows_nothing_else_computes_all_rows_if_somebody_asks():
    made = totalled("incremental")
    later(made, A1)
    made.state.tables["t"].past.clear()
    made.record(lambda version: Requested(made.now, version, "v", (A1,), "asked"))
    chosen = choose_method(made.state, "v", (A1,))
    assert chosen.method == BY_PARTITION and not chosen.refused


def test_the_time_of_a_run_by_changes_says_nothing_of_others():
    made = totalled()
    took = made.state.views["v"].costs.took
    later(made, A1).drain()
    ended = next(each for each in reversed(made.journal) if isinstance(each, Published))
    assert (
        made.state.views["v"].costs.narrow[Mode.CHANGES] == Narrow(ended.seconds, 1)
        and made.state.views["v"].costs.took == took
    )


# --- what a query says


def aggregated(**facts):
    """``SELECT p, count(*) FROM t GROUP BY p``."""
    count = {
        "call": "Count",
        "name": "count",
        "kind": "aggregate",
        "sql": "count(`$0`)",
        "args": [{"lit": "1", "type": "INT"}],
        "type": "BIGINT",
        "deterministic": True,
    }
    below = facts.pop("below", relation(kind="delta"))
    return {
        "op": "Aggregate",
        "output": [1],
        "children": [below],
        "groupings": [{"attr": 1}],
        "projections": [{"attr": 1}, {"alias": "n", "id": 0, "child": {**count, **facts}}],
    }


def adding(plan) -> Adding:
    return derive_totals(description(plan))["db.t"]


def test_an_aggregate_follows_the_rows_below_it():
    assert adding(aggregated()) == FOLLOWED
    assert adding({"op": "Distinct", "output": [0, 1], "children": [relation(kind="delta")]}) == FOLLOWED
    assert adding(aggregated(below=relation(kind="file", partition_columns=[]))) == FOLLOWED, "new files tell new rows"


def test_functions_that_follow_from_counts_and_bits_are_followed():
    for call, *names in (("CountIf", "count_if"), ("BoolAnd", "every", "bool_and"), ("BoolOr", "any", "bool_or")):
        assert all(adding(aggregated(call=call, name=each)) == FOLLOWED for each in names)
    assert adding(aggregated(call="BitXorAgg", name="bit_xor")) == FOLLOWED
    whole = [{"lit": "1", "type": "BIGINT"}]
    assert "order" in adding(aggregated(call="Average", name="avg", args=whole)).reason.text
    for call, name in (("BitAndAgg", "bit_and"), ("Skewness", "skewness"), ("Sum", "try_sum")):
        assert adding(aggregated(call=call, name=name)).reason.code is Code.QUERY_AGGREGATE_NOT_ADDITIVE
    assert "order" in adding(aggregated(call="StddevSamp", name="stddev_samp")).reason.text


def test_a_view_asks_for_exact_sums_of_floating_point():
    def reason(call: str, name: str, type: str, exact: bool, distinct: bool = False) -> str:
        plan = aggregated(call=call, name=name, distinct=distinct, args=[{"lit": "1", "type": type}])
        return str(derive_totals(description(plan), exact=exact)["db.t"].reason or "")

    functions = (("Sum", "sum"), ("Average", "avg"), ("Min", "min"), ("Max", "max"), ("StddevSamp", "std"))
    for call, name in functions:
        assert reason(call, name, "DOUBLE", exact=True) == ""
        assert "'headwater.floating_point' = 'exact'" in reason(call, name, "DOUBLE", exact=False)
        if call not in ("Min", "Max"):
            assert reason(call, name, "DOUBLE", exact=True, distinct=True)
    assert reason("Average", "avg", "BIGINT", exact=True) == ""
    assert reason("Sum", "try_sum", "DOUBLE", exact=True) and reason("Min", "min", "MAP<INT, INT>", exact=True)


def test_values_that_count_once_are_told_apart_as_they_are_grouped():
    def counted(*types: str) -> Adding:
        return adding(aggregated(distinct=True, args=[{"lit": "x", "type": each} for each in types]))

    followed = ("INT", "STRING", "VARCHAR(3)", "DOUBLE", "FLOAT", "TIMESTAMP", "DECIMAL(10,2)", "BINARY")
    assert all(counted(each) == FOLLOWED for each in followed) and counted(*followed) == FOLLOWED
    for strange in ("STRING COLLATE UTF8_LCASE", "STRUCT<a: INT>", "ARRAY<INT>", "VARIANT"):
        assert counted("INT", strange).reason.code is Code.QUERY_INEXACT_TYPE
    lone = [{"lit": "x", "type": "DOUBLE"}]
    for call, name in (("Sum", "sum"), ("Average", "avg"), ("Min", "min")):
        assert adding(aggregated(call=call, name=name, distinct=True, args=lone)).reason.code is Code.QUERY_INEXACT_TYPE


def test_sums_that_may_be_too_large_for_one_value_are_not_followed_by_value():
    def summed(type: str, distinct: bool) -> Adding:
        made = aggregated(call="Sum", name="sum", args=[{"lit": "1", "type": type}])
        counted = aggregated(distinct=distinct)["projections"][1]
        return adding(made | {"projections": [*made["projections"], counted]})

    assert summed("DECIMAL(28,2)", True) == summed("DECIMAL(38,2)", False) == FOLLOWED
    assert summed("DECIMAL(29,2)", True).reason.code is Code.QUERY_INEXACT_TYPE


def test_rows_that_are_there_once_are_followed_where_copies_do_not_matter():
    alone = {"op": "Distinct", "output": [0, 1], "children": [relation(kind="delta")]}
    stated = {"op": "LocalRelation", "output": [0, 1], "children": [], "rows": []}
    once = {"op": "Union", "output": [0, 1], "children": [alone, stated], "expressions": [], "facts": []}
    least = {"call": "Min", "name": "min", "args": [{"lit": "1", "type": "INT"}]}
    assert adding(aggregated(below=once)) == FOLLOWED, "by keys"
    assert adding(aggregated(below=once, distinct=True)) == adding(aggregated(below=once, **least)) == FOLLOWED
    assert adding(aggregated(below=once, call="BoolAnd", name="every")) == FOLLOWED
    assert adding({"op": "Distinct", "output": [0, 1], "children": [once]}) == FOLLOWED
    by_v = aggregated(below=once, distinct=True)
    by_v |= {"output": [0], "groupings": [{"attr": 0}], "projections": [{"attr": 0}, by_v["projections"][1]]}
    for strange in ("DOUBLE", "STRING COLLATE UTF8_LCASE"):
        why = derive_totals(description(by_v, strange))["db.t"].reason
        assert why.text == f"rows are put together below its aggregate by a {strange}", "it takes one spelling"
    assert derive_totals(description(by_v, "STRING"))["db.t"] == FOLLOWED
    limited = {"op": "GlobalLimit", "output": [0, 1], "children": [once]}
    assert not adding(aggregated(below=limited, distinct=True)).possible
    beside = {"op": "GlobalLimit", "output": [0, 1], "children": [relation(kind="delta", table="db.u")]}
    joined = {"op": "Join", "type": "INNER", "output": [0, 1], "children": [relation(kind="delta"), beside]}
    each = {**once, "children": [{"op": "Distinct", "output": [0, 1], "children": [joined]}, stated]}
    for aggregate in (aggregated(below=each, distinct=True), aggregated(below=each), aggregated(below=joined)):
        assert adding(aggregate).reason.text == "GlobalLimit may make other rows when it is computed again"
    united = {"op": "Union", "output": [0, 1], "children": [relation(kind="delta"), beside]}
    assert adding(aggregated(below=united)) == FOLLOWED, "rows beside changed ones are not read"


def test_set_operations_that_leave_out_copies_are_aggregates():
    def compared(op: str, all: bool, *children):
        return {"op": op, "output": [0, 1], "children": [*children], "expressions": [], "facts": [all]}

    stated = {"op": "LocalRelation", "output": [0, 1], "children": [], "rows": []}
    read, limited = (
        relation(kind="delta"),
        {"op": "GlobalLimit", "output": [0, 1], "children": [relation(kind="delta")]},
    )
    union = {"op": "Union", "output": [0, 1], "children": [stated, read], "expressions": [], "facts": []}
    either = {"op": "Distinct", "output": [0, 1], "children": [union]}
    assert adding(compared("Except", False, stated, read)) == FOLLOWED
    assert adding(compared("Intersect", False, stated, compared("Except", False, stated, either))) == FOLLOWED
    assert adding(aggregated(below=compared("Intersect", False, stated, read))) == FOLLOWED
    several = "{} takes several rows of t together"
    assert adding(compared("Except", True, stated, read)) == Adding(None, True, rows=True, takes=True), "no aggregate"
    within = compared("Intersect", False, stated, compared("Except", True, stated, read))
    assert adding(within) == FOLLOWED, "by keys"
    assert adding(compared("Except", False, stated, limited)).reason.text == several.format("GlobalLimit")


def test_what_it_cannot_follow_has_a_reason():
    assert adding(aggregated(name="count_if")).reason.text == "count_if is computed from all rows of a group"
    partitioned = relation(kind="file", partition_columns=["p"])
    assert adding(aggregated(below=partitioned)).reason.text == "t has a format without a record of changed rows"
    assert "otherwise than as it is" in adding(aggregated(below=relation(kind="delta", aspect="snapshot"))).reason.text
    limited = {"op": "GlobalLimit", "output": [0, 1], "children": [relation(kind="delta")]}
    assert adding(aggregated(below=limited)).reason.text == "GlobalLimit takes several rows of t together"


def paired(left, right):
    """``SELECT p, count(*) FROM left, right GROUP BY p``."""
    output = [*left["output"], *right["output"]]
    return aggregated(below={"op": "Join", "type": "INNER", "output": output, "children": [left, right]})


def test_a_table_may_be_read_in_several_places_if_each_of_them_is_followed():
    place, limited = (
        relation(kind="delta"),
        {"op": "GlobalLimit", "output": [0, 1], "children": [relation(kind="delta")]},
    )
    assert adding(paired(place, place)) == FOLLOWED
    for sides in ((place, limited), (limited, place)):
        assert adding(paired(*sides)).reason.text.startswith("GlobalLimit")


def described(plan) -> Adding:
    """Whether ``t`` is followed in a plan whose relations have columns of their own, as Spark writes them."""
    return derive_totals(with_columns(plan))["db.t"]


def with_columns(*plans):
    """The description of the first of some plans, with the columns of all."""
    made, known = description(plans[0]), {0, 1}
    for each in (each for plan in plans for each in walked(plan)):
        for column in each.get("columns", ()):
            if column["id"] not in known:
                known.add(column["id"])
                made["attributes"].append(column)
    return made


def walked(plan):
    yield plan
    for each in plan["children"]:
        yield from walked(each)


def of_t(key: str = "DATE"):
    columns = [{"id": 3, "name": "v", "type": "INT"}, {"id": 4, "name": "q", "type": key}]
    return relation(kind="delta", columns=columns) | {"output": [3, 4]}


def optional(other, call: str = "EqualTo", kind: str = "LEFT OUTER", right=None):
    """``SELECT p, count(*) FROM other LEFT JOIN t ON p = q GROUP BY p``, with the name of the comparison."""
    args = [{"attr": 1}, {"attr": 4}]
    equal = {
        "call": call,
        "name": call,
        "kind": "scalar",
        "sql": "",
        "args": args,
        "type": "BOOLEAN",
        "deterministic": True,
    }
    facts = {"type": kind, "output": [0, 1, 3, 4], "condition": equal}
    return {"op": "Join", **facts, "children": [other, right or of_t()]}


def test_the_side_of_a_join_that_decides_is_followed_by_the_keys_that_it_compares():
    other = relation(kind="delta", table="db.u")
    for kind in ("LEFT OUTER", "LEFT SEMI", "LEFT ANTI", "EXISTENCE", "FULL OUTER"):
        assert described(aggregated(below=optional(other, kind=kind))) == FOLLOWED
    less = described(aggregated(below=optional(other, "LessThan")))
    assert less.reason.text == "no equality ties t to the other side of a LEFT OUTER JOIN"
    spelled = described(aggregated(below=optional(other, right=of_t("STRING COLLATE UTF8_LCASE"))))
    assert "no equality ties t" in spelled.reason.text
    within = optional(other, right=of_t())
    within["condition"] = within["condition"] | {"args": [{"attr": 4}, {"attr": 4}]}
    assert "no equality ties t" in described(aggregated(below=within)).reason.text, "both are of one side"


def test_values_that_not_in_compares_are_keys():
    def anti(known: str = "EqualTo", kind: str = "LEFT ANTI") -> Adding:
        made = optional(relation(kind="delta", table="db.u"), kind=kind)
        call = {each: made["condition"][each] for each in ("kind", "sql", "type", "deterministic")}
        again = optional(relation(kind="delta"), known)["condition"]
        unknown = {"call": "IsNull", "name": "isnull", "args": [again], **call}
        made["condition"] = {"call": "Or", "name": "or", "args": [made["condition"], unknown], **call}
        return described(aggregated(below=made))

    assert anti() == FOLLOWED
    assert "no equality" in anti(kind="LEFT SEMI").reason.text, "it is no NOT IN"
    assert "no equality" in anti("LessThan").reason.text, "other values decide, too"


def test_a_subquery_that_spark_makes_a_join_of_is_followed_by_its_keys():
    limited = {"op": "GlobalLimit", "output": [3, 4], "children": [of_t()]}

    def within(read, joined: dict) -> dict[str, Adding]:
        subquery = {"call": "Exists", "name": "exists", "kind": "subquery", "sql": "exists()", "args": [], "plan": read}
        condition = {**subquery, "type": "BOOLEAN", "deterministic": True}
        other = relation(kind="delta", table="db.u")
        plan = {"op": "Filter", "output": [0, 1], "children": [other], "condition": condition}
        return derive_totals(with_columns(aggregated(below=plan), read), with_columns(joined))

    alone = within(of_t(), limited)
    assert alone["db.t"].reason.text == "GlobalLimit takes several rows of t together" and alone["db.u"] == FOLLOWED
    other = relation(kind="delta", table="db.u")
    assert set(within(of_t(), optional(other, kind="LEFT SEMI")).values()) == {FOLLOWED}
    lost = within(of_t(), {"op": "GlobalLimit", "output": [0, 1], "children": [optional(other, kind="LEFT SEMI")]})
    assert lost["db.t"].reason.text == "a subquery reads t" and lost["db.u"] == FOLLOWED, "one plan serves both"


def test_rows_that_are_computed_again_are_the_same_to_the_last_digit():
    other = relation(kind="delta", table="db.u")

    def beside(left) -> str:
        return described(aggregated(below=optional(left))).reason.text

    limited = {"op": "GlobalLimit", "output": [0, 1], "children": [other]}
    assert beside(limited) == "GlobalLimit may make other rows when it is computed again"
    for function in ("first", "max_by"):
        assert (
            beside(aggregated(below=other, name=function))
            == f"{function} may have another value when it is computed again"
        )
    grouped = aggregated(below=other) | {"groupings": [{"lit": "1.0D", "type": "DOUBLE"}]}
    assert beside(grouped) == "rows are put together below its aggregate by a DOUBLE"
    assert described(aggregated(below=optional(aggregated(below=other)))) == FOLLOWED


def test_rows_below_an_aggregate_or_a_set_operation_are_followed_by_its_keys():
    stated = {"op": "LocalRelation", "output": [0, 1], "children": [], "rows": []}
    read = relation(kind="delta")
    for below in (
        aggregated(below=read),
        {"op": "Distinct", "output": [0, 1], "children": [read]},
        {"op": "Except", "output": [0, 1], "children": [stated, read], "expressions": [], "facts": [True]},
    ):
        assert adding(paired(below, stated)) == FOLLOWED
    alone = aggregated(below=read) | {"groupings": []}
    assert adding(paired(alone, stated)).reason.text == "Aggregate takes several rows of t together"


def test_an_optional_row_takes_another_one_from_a_view_without_an_aggregate():
    other = relation(kind="delta", table="db.u")
    found = described({"op": "Project", "output": [1], "projections": [{"attr": 1}], "children": [optional(other)]})
    assert found == Adding(None, True, rows=True, takes=True)


def test_a_column_of_a_fixed_length_is_not_read_as_it_is_stored():
    columns = [{"id": 0, "name": "v", "type": "CHAR(3)"}, {"id": 1, "name": "p", "type": "DATE"}]
    assert adding(aggregated(below=relation(kind="delta", columns=columns))).reason.text == "the query reads v of t"


@pytest.mark.parametrize("downstream", [True, False])
def test_who_asks_for_the_rows_of_a_view_doubts_its_totals(downstream: bool):
    made = totalled()
    made.record(lambda version: Requested(made.now, version, "v", (A1,), "was asked for", downstream))
    assert added(made.state, "v", (A1,)) == ALL_ROWS
