"""Keys: the columns of a view that a changed row determines, and the states that a run by keys goes on from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve
from cases import A1, A2, change, costing, machine, view
from test_derive import COLUMNS, ORDERS, as_queried, description, relation

from headwater.algebra.derive.keys import derive_keys
from headwater.engine.methods import following
from headwater.engine.methods import keys as by_keys
from headwater.engine.methods.basis import not_kept
from headwater.engine.methods.choice import choose_method
from headwater.engine.methods.keys import BY_KEYS
from headwater.engine.requests.limits import SETTLE
from headwater.model import work
from headwater.model.costs import Loss, Narrow
from headwater.model.dependency import Keys, common
from headwater.model.event import Requested, Started
from headwater.model.partition import WHOLE, Slice
from headwater.model.reason import Code, Reason
from headwater.model.work import Mode

PLANS = Path(__file__).parents[1] / "golden/plans"
K = Keys(("k",), (("k",),))
UNKNOWN = "is out: the state that its missing partitions reflect is not on record [method.state_unknown]"


def keys(name: str) -> dict[str, Keys]:
    """The keys of a golden plan."""
    found = json.loads((PLANS / f"{name}.json").read_text())["description"]
    return derive_keys(found, (), as_queried(found))


def test_any_column_of_a_row_is_a_key_where_it_is_shown():
    found = derive_keys(description(relation(partition_columns=[])), (), COLUMNS)
    assert found == {"db.t": Keys(("v", "p"), (("CAST(CAST(`v` AS INT) AS INT)", "CAST(CAST(`p` AS DATE) AS DATE)"),))}


def test_a_partition_column_of_the_view_is_no_key():
    assert derive_keys(description(relation()), ["P"], COLUMNS)["db.t"].columns == ("v",)


def test_a_group_is_found_by_its_columns_and_not_by_its_aggregates():
    assert keys("aggregate_column")[ORDERS].columns == ("o_date",)


def test_a_nullable_side_is_found_by_the_column_that_it_is_joined_by():
    assert keys("left_join_by_the_nullable_key")["base.lines"].columns == ("o_id",)


def test_an_operator_without_a_rule_has_no_key_and_says_so():
    plan = {"op": "Mystery", "output": [0, 1], "children": [relation()], "expressions": [], "facts": []}
    found = derive_keys(description(plan), (), COLUMNS)["db.t"]
    assert not found.columns and "Mystery above it can make any row depend on any other" in found.reason.text


@pytest.mark.parametrize("type", ["DOUBLE", "ARRAY<INT>", "STRING COLLATE UTF8_LCASE", "CHAR(3)"])
def test_values_that_are_not_compared_in_one_way_are_no_keys(type):
    columns = [{"id": 0, "name": "v", "type": "INT"}, {"id": 1, "name": "p", "type": type}]
    found = derive_keys(description(relation(columns=columns), type), (), [("v", "INT"), ("p", type)])
    assert found["db.t"].columns == ("v",)


def test_a_table_that_is_read_as_it_once_was_has_no_keys():
    found = derive_keys(description(relation(aspect="snapshot")), (), COLUMNS)["db.t"]
    assert found == Keys(reason=Reason(Code.QUERY_ASPECT, "the query reads t otherwise than as it is"))


def test_common_columns_keep_their_order():
    assert common([Keys(("a", "b", "c")), Keys(("c", "a"))]) == ("a", "c")
    assert common([]) == ()


# --- what a run goes on from


def keyed(**properties):
    """``v`` over the lake table ``t``, by the partition column ``a``; the partitions 1 and 2 are filled."""
    definition = view("v", "a", "t", format="delta", **{"method": "keys, full", **properties})
    dependencies = tuple(evolve(each, keys=K) for each in definition.dependencies)
    return machine({"t": "a"}, evolve(definition, dependencies=dependencies), lakes=["t"])


def later(made, *partitions: Slice):
    for n, each in enumerate(partitions):
        change(made, "t", each, 50 + n + made.now % 7)
    made.now += 2 * SETTLE
    return made


def test_a_run_goes_on_from_the_snapshot_that_its_partition_reflects():
    made = keyed()
    before = made.state.tables["t"].snapshot
    later(made, A1)
    assert by_keys.keyed(made.state, "v", (A1,)) == work.ByKeys((("t", before),), 1)
    made.drain()
    assert started(made).work == work.ByKeys((("t", before),), 1)


def test_partitions_of_different_states_need_the_changes_since_each_of_them():
    made = keyed()
    first = made.state.tables["t"].snapshot
    later(made, A1).drain()
    second = made.state.tables["t"].snapshot
    later(made, A1, A2)
    found = by_keys.keyed(made.state, "v", (A1, A2))
    assert found == work.ByKeys((("t", first), ("t", second)), 3)


def started(made) -> Started:
    return next(each for each in reversed(made.journal) if isinstance(each, Started))


def why(made, *slices: Slice) -> str:
    return dict(choose_method(made.state, "v", slices).rejected)[BY_KEYS]


def test_a_new_partition_had_no_row_when_all_of_the_view_was_made():
    made, new = keyed(), Slice.of(a="3")
    first = made.state.tables["t"].snapshot
    later(made, A1).drain()
    second = made.state.tables["t"].snapshot
    later(made, A1, new)
    for slices in ((A1, new), (WHOLE,)):
        assert by_keys.keyed(made.state, "v", slices) == work.ByKeys((("t", first), ("t", second)), 3)
    made.drain()
    assert started(made).work.mode is Mode.KEYS and new in made.state.tables["v"].partitions


def test_what_is_not_known_exactly_is_computed_as_a_whole():
    made, new = keyed(), Slice.of(a="3")
    later(made, A1, new)
    made.state.views["v"].whole = None
    assert why(made, A1, new) == UNKNOWN
    assert why(made, WHOLE) == UNKNOWN
    made.state.views["v"].unsure = (A1,)
    assert why(made, A1) == "is out: a refresh that is on no record may have been published [method.state_unknown]"
    made.state.views["v"].unsure, made.state.views["v"].failures = (), 1
    assert why(made, A1) == "is out: the last refresh failed [method.after_failure]"


def test_a_source_that_is_read_as_it_is_at_that_moment_is_computed_as_a_whole():
    """A run would read a write of that moment for its keys only, and count it as followed."""
    definition = view("v", "a", "t", "u", format="delta", method="keys, full")
    dependencies = tuple(evolve(each, keys=K) for each in definition.dependencies)
    made = machine({"t": "a", "u": "a"}, evolve(definition, dependencies=dependencies), lakes=["t"])
    later(made, A1)
    assert why(made, A1) == "is out: u has no snapshots; a table USING delta or USING iceberg has [source.no_snapshots]"


def test_rows_that_somebody_asked_for_are_computed_as_a_whole():
    made = keyed()
    later(made, A1)
    made.record(lambda version: Requested(made.now, version, "v", (A1,), "asked"))
    assert why(made, A1) == "is out: a statement asked for all rows [view.requested]"


def test_a_table_that_cannot_be_compared_is_read_as_a_whole():
    made = keyed()
    later(made, A1)
    made.state.tables["t"].past.clear()
    assert why(made, A1) == f"is out: {not_kept('t').coded}"


def test_a_dearer_run_is_not_chosen_and_one_that_had_to_stop_is_not_tried_again(monkeypatch):
    made = keyed(method="auto")
    later(made, A1)
    known = made.state.views["v"]
    assert why(made, A1) == "is out: a refresh takes less than 3.0 s [method.small]"
    costing(known, 10.0)
    assert why(made, A1) == "is out: how much a refresh reads is not known yet [method.cost_unknown]"
    known.costs.reads = {"t": 0.5}
    assert why(made, A1) == "is out: a refresh reads less than 4 MB [method.small]", "its seconds are cold"
    with monkeypatch.context() as patched:
        patched.setattr(following, "SMALL", 0)
        assert why(made, A1) == "is out: too much changed [method.too_much_changed]"
    known.costs.reads = {"t": 1e8}
    assert choose_method(made.state, "v", (A1,)).method == BY_KEYS
    known.costs.narrow[Mode.KEYS] = Narrow(None, 1, lost=Loss(1, 12.0, None, 0.25, stopped=True))
    assert why(made, A1) == "is out: the last one had to compute whole partitions [method.last_run]"
    known.costs.narrow[Mode.KEYS] = Narrow(30.0, 1)
    assert why(made, A1) == "would take about 30.0 s"
    known.costs.narrow[Mode.KEYS] = Narrow(3.3, 1)
    assert choose_method(made.state, "v", (A1,)).method == BY_KEYS


def test_a_view_computes_whole_partitions_if_it_allows_nothing_else():
    made = keyed(method="full")
    later(made, A1)
    assert BY_KEYS not in dict(choose_method(made.state, "v", (A1,)).rejected)
