"""The contract of refresh methods, for every method of the registry, and the choice between them."""

from __future__ import annotations

import pytest
from attrs import evolve
from cases import A1, A2, change, costing, machine, view
from hypothesis import given
from strategies import chains, examples, graphs, play, scripts
from strategies import machine as machine_of

from headwater.engine.decide.readiness import Choice, ready
from headwater.engine.decide.starting import decided
from headwater.engine.methods.all_methods import METHODS, methods_of
from headwater.engine.methods.basis import without_snapshots
from headwater.engine.methods.choice import Chosen, allowed, choose_method
from headwater.engine.methods.method import Cost
from headwater.engine.methods.whole import BY_PARTITION, IN_FULL
from headwater.engine.record.transition import transition
from headwater.engine.requests.limits import SETTLE
from headwater.engine.tell.report import explain
from headwater.model.costs import Estimate
from headwater.model.event import Published, Started
from headwater.model.measure import Effort, Measured
from headwater.model.partition import WHOLE, Region, Slice
from headwater.model.reason import Reason
from headwater.model.state import State

LONG = 10**9


def wanted(state: State, now: int):
    """Slices of views that a run could be for: those that are ready, and all that are pending."""
    yield from ((each.view, each.slices) for each in ready(state, now))
    yield from ((name, tuple(known.pending)) for name, known in state.views.items() if known.pending)


def covered(frame, slices) -> bool:
    return all(Region(frame).covers(each) for each in slices)


@pytest.mark.parametrize("graph", [graphs(), chains()], ids=["graphs", "successions"])
def test_every_method_keeps_its_contract_and_one_of_them_is_chosen(graph):
    @examples(20)
    @given(graph=graph, script=scripts(20))
    def kept(graph, script):
        made = machine_of(graph)
        play(made, graph, script)
        for name, slices in wanted(made.state, made.now + LONG):
            methods = methods_of(made.state.views[name].definition)
            assert [method.mode for method in methods] == [*dict.fromkeys(method.mode for method in METHODS)]
            offers = {method: method.offer(made.state, name, slices) for method in methods}
            for offer in offers.values():
                if isinstance(offer, Reason):
                    continue
                assert covered(offer.frame, slices) and offer.cost.partitions > 0
                cost = offer.cost
                assert all(each is None or each >= 0 for each in (cost.seconds, cost.read, cost.written))
            chosen = choose_method(made.state, name, slices)
            assert chosen.offer == offers[chosen.method] and not chosen.refused
            assert {method for method, _ in chosen.rejected} | {chosen.method} == {
                method for method in methods if method.mode in allowed(made.state, name, slices)
            }
            assert all(why for _, why in chosen.rejected)

    kept()


@examples(20)
@given(graph=graphs(), script=scripts(20))
def test_a_run_computes_the_frame_of_its_method_and_no_partition_that_is_fresh(graph, script):
    made = machine_of(graph)
    play(made, graph, script)
    for each in ready(made.state, made.now + LONG):
        event = decided(made.state, Choice(each), 10**12, made.now).event
        chosen = choose_method(made.state, each.view, each.slices)
        assert (event.work.mode, event.slices) == (chosen.method.mode, chosen.frame)
        assert covered(each.slices, event.slices)


def filled(partitions: int = 10, **properties):
    """``v`` with this many partitions, of which a run lately made 1 in 2 s."""
    made = machine({"t": "a"}, view("v", "a", "t", **properties))
    for n in range(partitions):
        change(made, "t", Slice.of(a=f"{n:02}"))
    made.now += 2 * SETTLE
    made.drain()
    known = made.state.views["v"]
    costing(known, 2.0)
    known.costs.size = 100.0
    return made


def against(chosen: Chosen) -> str:
    """Why the other one of the two methods that compute whole partitions is not the one."""
    return next(why for method, why in chosen.rejected if method in (BY_PARTITION, IN_FULL))


def test_the_cheaper_method_is_chosen_and_the_other_one_is_told():
    made = filled()
    existing = len(made.state.tables["v"].partitions)
    chosen = choose_method(made.state, "v", (A1, A2))
    assert (chosen.method, chosen.cost) == (BY_PARTITION, Cost(2, seconds=4.0, written=200))
    assert against(chosen) == f"would take about {2 * existing}.0 s"


def test_everything_is_renewed_in_full():
    chosen = choose_method(filled().state, "v", (WHOLE,))
    assert chosen.method == IN_FULL and against(chosen) == "is out: every partition is behind [method.all_behind]"
    made = machine({"t": "a"}, view("v", "", "t"))
    assert (
        against(choose_method(made.state, "v", (WHOLE,))) == "is out: the view has one partition [view.unpartitioned]"
    )


def test_a_view_over_its_own_past_is_never_renewed_in_full():
    made = filled()
    known = made.state.views["v"]
    known.definition = evolve(known.definition, earlier=(known.definition.dependencies[0].occurrences[0],))
    chosen = choose_method(made.state, "v", (A1,))
    assert chosen.method == BY_PARTITION and "reads earlier partitions of itself" in against(chosen)


def test_a_run_records_the_duration_that_was_foreseen():
    made = filled()
    change(made, "t", A1, 99)
    made.now += 2 * SETTLE
    made.drain()
    made.state.views["v"].costs.whole.clear()
    change(made, "t", A1, 98)
    made.now += 2 * SETTLE
    made.drain()
    assert [each.foreseen for each in made.journal if isinstance(each, Started)][-2:] == [2.0, None]


def test_new_partitions_count_for_both_methods():
    """Or a refresh of more new partitions than there are old ones would be in full."""
    made = filled(1)
    new = tuple(Slice.of(a=f"new {n}") for n in range(20))
    assert choose_method(made.state, "v", new).method == BY_PARTITION
    full, narrow = (method.offer(made.state, "v", new).cost for method in (IN_FULL, BY_PARTITION))
    assert full.partitions > narrow.partitions == 20


def test_a_first_refresh_costs_what_spark_foresees():
    made = filled()
    made.state.views["v"].costs.estimate = Estimate(size=5_000, read=12_000_000)
    cost = IN_FULL.offer(made.state, "v", (WHOLE,)).cost
    assert (cost.seconds, cost.read, cost.written, cost.said) == (None, 12_000_000, 5_000, "about 12.0 MB to read")


def test_without_any_run_the_narrower_frame_is_chosen():
    made = filled()
    made.state.views["v"].costs.whole.clear()
    chosen = choose_method(made.state, "v", (A1,))
    assert chosen.method == BY_PARTITION and chosen.cost.said == "of unknown duration"
    assert chosen.rejected[0][1].startswith("would write ")


def test_runs_teach_how_many_partitions_one_of_them_makes():
    made = machine({"t": "a"}, view("v", "a", "t"))
    before = made.state.views["v"].costs.partitions
    for _ in range(30):
        change(made, "t", A1, made.now)
        made.now += 2 * SETTLE
        made.drain()
    assert before == 2 and 1 <= made.state.views["v"].costs.partitions < 1.01


def test_explain_refresh_tells_the_method():
    made = filled()
    change(made, "t", A1, 99)
    change(made, "t", A2, 98)
    existing = len(made.state.tables["v"].partitions)
    _, _, *following = methods_of(made.state.views["v"].definition)
    assert explain(made.state, "v", made.now)[-2 - len(following) :] == [
        f"  method: by partition, 2 of {existing} partitions, about 4.0 s",
        f"    in full would take about {2 * existing}.0 s",
        *(f"    {each.said} is out: {without_snapshots('t').coded}" for each in following),
    ]


def test_a_method_tells_its_core_seconds():
    made = filled()
    known = made.state.views["v"]
    costing(known, 2.0, cores=6.0)
    chosen = choose_method(made.state, "v", (A1, A2))
    assert chosen.cost == Cost(2, seconds=4.0, written=200, cores=12.0)
    assert chosen.cost.told == "about 4.0 s (12.0 core-seconds)"


def test_core_seconds_are_learned_and_foretold():
    """Of 1 s its tasks were about for 0.6, and took 1.5 in all."""
    made = filled()
    effort, state = Measured(effort=Effort(500_000, 600_000, 1.0, 1_500_000)), State()
    for each in made.journal:
        costly = evolve(each, seconds=1.0, measured=effort) if isinstance(each, Published) else each
        transition(state, costly)
    assert [each.cores for each in state.views["v"].costs.whole.values()] == [pytest.approx(1.9)] * 2
    assert BY_PARTITION.offer(state, "v", (A1,)).cost.cores == pytest.approx(1.9)
