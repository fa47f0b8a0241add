"""Views without an aggregate: the states that a run goes on from which adds rows to one, or takes rows from it."""

from __future__ import annotations

import pytest
from attrs import evolve
from cases import A1, A2, change, machine, view
from test_derive import description, relation

from headwater.algebra.derive.totals import derive_totals
from headwater.engine.methods.bags import BY_ROWS, by_rows
from headwater.engine.methods.basis import not_kept
from headwater.engine.methods.choice import choose_method
from headwater.engine.methods.totals import leaves_totals
from headwater.engine.methods.whole import BY_PARTITION
from headwater.engine.record.transition import transition
from headwater.engine.requests.limits import SETTLE
from headwater.model.dependency import Adding
from headwater.model.event import Made, Published, Requested, Reworked, Started
from headwater.model.measure import Measured
from headwater.model.partition import Slice
from headwater.model.reason import Code, Reason
from headwater.model.work import ByKeys, ByRows, ByTotals, LeftTotals, Totals, WholePartitions

ROWS = Adding(None, True, rows=True)


def copied(*sources: str, asked: str = "incremental, full"):
    """``v`` over lake tables, by the partition column ``a``; the partitions 1 and 2 are filled with the value 3."""
    sources = sources or ("t",)
    definition = view("v", "a", *sources, format="delta", method=asked)
    dependencies = tuple(evolve(each, adding=ROWS) for each in definition.dependencies)
    made = machine(dict.fromkeys(sources, "a"), evolve(definition, dependencies=dependencies), lakes=sources)
    for source in sources:
        change(made, source, A1)
        change(made, source, A2)
    return settled(made)


def settled(made):
    made.now += 2 * SETTLE
    made.drain()
    return made


def came(made, partition: Slice, source: str = "t"):
    """Rows come: of a value that grows, none went (``lake.grew``)."""
    change(made, source, partition, made.world.content[source][partition] + 1)
    made.now += 2 * SETTLE
    return made


def why(made, *slices: Slice) -> str:
    return dict(choose_method(made.state, "v", slices).rejected)[BY_ROWS]


ADDS, TAKES = ByRows((), 0), ByRows((), 0, takes=True)
KEYED, SUMMED = ByKeys((), 0), ByTotals(Totals(1, (), LeftTotals("d")), (), 0)


def started(made) -> Started:
    return next(each for each in reversed(made.journal) if isinstance(each, Started))


def test_rows_that_came_are_added():
    made = copied()
    before, runs = made.state.tables["t"].snapshot, made.world.appended
    came(made, A1)
    assert by_rows(made.state, "v", (A1,)) == ByRows((("t", before),), 1)
    made.drain()
    assert started(made).work == ByRows((("t", before),), 1)
    assert made.world.appended == runs + 1 and not leaves_totals(made.state, "v")


def test_rows_that_went_are_taken_from_the_view():
    made = copied()
    before = made.state.tables["t"].snapshot
    change(made, "t", A1, 1)
    work = by_rows(made.state, "v", (A1,))
    assert isinstance(work, ByRows) and (work.since, work.takes) == ((("t", before),), True)
    made.world.write("t", A1, None)
    made.look("t")
    assert by_rows(made.state, "v", (A1,)).takes
    settled(made)
    assert started(made).work.takes


def test_rows_that_came_take_rows_away_through_an_operator_that_takes_several_together():
    made = copied("t", "u")
    known = made.state.views["v"]
    adding = {"t": ROWS, "u": evolve(ROWS, takes=True)}
    dependencies = tuple(evolve(each, adding=adding[each.source]) for each in known.definition.dependencies)
    known.definition = evolve(known.definition, dependencies=dependencies)
    assert not by_rows(came(made, A1).state, "v", (A1,)).takes
    assert by_rows(came(made, A1, "u").state, "v", (A1,)).takes


def test_partitions_that_reflect_two_states_are_computed_as_a_whole():
    made = copied()
    came(made, A1).drain()
    came(came(made, A1), A2)
    assert choose_method(made.state, "v", (A1,)).method == BY_ROWS
    assert why(made, A1, A2) == "is out: its partitions reflect 2 states of its sources [method.many_states]"


def test_a_new_partition_had_no_row_when_all_of_the_view_was_made():
    made, new = copied(), Slice.of(a="3")
    change(made, "t", new)
    made.drain()
    assert isinstance(started(made).work, ByRows) and made.state.tables["v"].partitions[new].rows == 1


def test_a_new_partition_and_one_that_was_renewed_since_are_computed_as_a_whole():
    made, new = copied(), Slice.of(a="3")
    came(made, A1).drain()
    change(made, "t", new)
    came(made, A1)
    assert why(made, A1, new) == "is out: its partitions reflect 2 states of its sources [method.many_states]"
    made.state.views["v"].whole = None
    assert why(made, A1, new) == (
        "is out: the state that its missing partitions reflect is not on record [method.state_unknown]"
    )


def test_several_sources_are_followed_at_once():
    made = copied("t", "u")
    came(came(made, A1), A1, "u").drain()
    work = started(made).work
    assert isinstance(work, ByRows) and [source for source, _ in work.since] == ["t", "u"]


def test_a_source_whose_rows_depend_on_each_other_is_not_followed():
    made = copied("t", "u")
    known = made.state.views["v"]
    adding = {"t": ROWS, "u": Adding(Reason(Code.QUERY_JOIN_TYPE, "u is on a side of a LEFT OUTER JOIN"), rows=True)}
    dependencies = tuple(evolve(each, adding=adding[each.source]) for each in known.definition.dependencies)
    known.definition = evolve(known.definition, dependencies=dependencies)
    came(made, A1, "u")
    assert why(made, A1) == "is out: u is on a side of a LEFT OUTER JOIN [query.join_type]"
    came(made.drain() or made, A1)
    assert choose_method(made.state, "v", (A1,)).method == BY_ROWS


def test_other_reasons_than_new_rows_make_whole_partitions():
    made = came(copied(), A1)
    made.record(lambda version: Requested(made.now, version, "v", (A1,), "asked"))
    assert why(made, A1) == "is out: a statement asked for all rows [view.requested]"
    made = came(copied(), A1)
    change(made, "v", A1, 99)
    assert why(made, A1) == "is out: it was written past Headwater [view.written_outside]"
    made = came(copied(), A1)
    made.state.views["v"].unsure = (A1,)
    assert why(made, A1) == "is out: a refresh that is on no record may have been published [method.state_unknown]"
    made = came(copied(), A1)
    made.state.tables["t"].past.clear()
    assert why(made, A1) == f"is out: {not_kept('t').coded}"


LOST = Reason(Code.SOURCE_ROWS_REMOVED, "rows of t went or changed")


def publish(made, begun: Started, instead: Reason | None):
    transition(made.state, begun)
    if instead:
        transition(made.state, Reworked(made.now, begun.version, "v", WholePartitions(), instead))
    rows = (Made(A1, 1, "f"),)
    transition(made.state, Published(made.now, begun.version, "v", rows, (), 1.0, measured=Measured(7), snapshot="s"))


@pytest.mark.parametrize(
    ("work", "instead", "went"),
    [(ADDS, None, 0), (TAKES, None, 7), (KEYED, None, 7), (SUMMED, None, 7), (ADDS, LOST, 7)],
)
def test_a_publication_tells_the_readers_whether_rows_went(work, instead, went):
    made = copied()
    before, version = list(made.state.tables["v"].past.values())[-1], made.state.highest + 1
    begun = Started(made.now, version, "v", ((A1, ()),), (), work, Reason(Code.SOURCE_CHANGED, "because"))
    publish(made, begun, instead)
    last = list(made.state.tables["v"].past.values())[-1]
    assert (last.churn - before.churn, last.went - before.went) == (7 + went, went)


@pytest.mark.parametrize(
    ("work", "instead", "learned"),
    [(ADDS, None, False), (KEYED, None, False), (SUMMED, None, False), (KEYED, LOST, True)],
)
def test_the_size_of_a_view_is_learned_from_runs_that_write_whole_partitions(work, instead, learned):
    made = copied()
    version = made.state.highest + 1
    made.state.views["v"].costs.size = 1000.0
    begun = Started(made.now, version, "v", ((A1, ()),), (), work, Reason(Code.SOURCE_CHANGED, "because"))
    publish(made, begun, instead)
    assert (made.state.views["v"].costs.size != 1000.0) == learned


def test_a_view_that_does_not_ask_is_followed_when_its_refreshes_take_long():
    made = came(copied(asked="auto"), A1)
    chosen = choose_method(made.state, "v", (A1,))
    assert chosen.method == BY_PARTITION and why(made, A1) == "is out: a refresh takes less than 1.0 s [method.small]"


def test_a_query_without_an_aggregate_makes_rows_of_rows():
    found = derive_totals(description(relation(kind="delta")))["db.t"]
    assert found == ROWS


def test_rows_that_depend_on_others_are_not_followed():
    limited = {"op": "GlobalLimit", "output": [0, 1], "children": [relation(kind="delta")]}
    found = derive_totals(description(limited))["db.t"]
    assert not found.possible and found.reason.text == "GlobalLimit takes several rows of t together"
    alone = {"op": "Join", "type": "LEFT ANTI", "output": [0, 1], "children": [relation(table="db.u"), limited]}
    found = derive_totals(description(alone))["db.t"]
    assert found.reason.text == "no equality ties t to the other side of a LEFT ANTI JOIN"


def test_a_distinct_on_the_way_takes_rows_away():
    once = {"op": "Distinct", "output": [0, 1], "children": [relation(kind="delta")]}
    joined = {"op": "Join", "type": "INNER", "output": [0, 1], "children": [once, relation(table="db.u", kind="delta")]}
    found = derive_totals(description(joined))
    assert found == {"db.t": evolve(ROWS, takes=True), "db.u": ROWS}
