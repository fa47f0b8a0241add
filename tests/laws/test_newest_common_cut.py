"""The newest common cut is what a slow search through all versions of all sources finds."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise, product
from math import inf, prod

import cases
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Graph, Step, chains, examples, graphs, machine, of_lakes, play, scripts
from test_law_9_no_state_that_never_was import strict

from headwater.engine.requests.ahead import prepared_by
from headwater.engine.requests.common_cut import above, common_cut, loose, shared
from headwater.engine.requests.coverage import unresolved
from headwater.engine.requests.spans import Walk, older
from headwater.model.index import Apart, StateSpan
from headwater.model.state import Past, State, TableRecord, ViewState

COUNTED: Counter[str] = Counter()

SLOW = 20_000
"""So many choices of versions are tried one by one."""


def spans(state, name: str, source: str, tables) -> list[StateSpan]:
    """The versions of a source that a view can read, by the record, the newest first."""
    record, view = state.tables.get(source), state.views.get(source)
    if record is None or (view is None and source not in tables):
        return [StateSpan()]
    if view is None:
        known = [*(each for each in record.past if each < record.highest), record.highest]
        return [
            StateSpan(each, {source: each}, {source: after} if after else {})
            for each, after in zip(known, [*known[1:], 0], strict=True)
        ][::-1]
    mine = {each for each in tables if each in above(state, source)} - loose(state, source, tables).keys()
    if not mine:
        return [StateSpan()]
    lacks = {origin for some in unresolved(state, source).values() for origin in some}
    missing = [(each.table, each.version) for each in map(state.origins.get, lacks) if each and not each.asked]
    by_itself = [table for table, _ in missing if table in state.views]
    missing += [(table, 0) for each in by_itself for table in above(state, each)]
    found = [StateSpan(record.highest, view.holds, least(missing))]
    for each in sorted((each for each in record.past if each < record.highest), reverse=True):
        after = min(version for version in record.past if version > each)
        missing += record.past[after].first
        unknown = any(table in state.views for table, _ in missing) or not record.past[each].holds
        if not record.pinned or unknown:
            break
        found.append(StateSpan(each, dict(record.past[each].holds), least(missing)))
    return [StateSpan(each.version, only(each.holds, mine), only(each.until, mine)) for each in found]


def least(missing) -> dict[str, int]:
    return {table: min(version for other, version in missing if other == table) for table, _ in missing}


def only(changes, tables) -> dict[str, int]:
    return {table: version for table, version in changes.items() if table in tables}


def meets(chosen) -> bool:
    """Whether there is a state of each table that all versions show."""
    tables = {table for each in chosen for table in each.holds}
    return all(
        max(each.holds.get(table, 0) for each in chosen) < min(each.until.get(table, inf) for each in chosen)
        for table in tables
    )


def slowly(state, name: str) -> dict[str, StateSpan] | None:
    """The versions that agree, of which no other ones that do are newer in any source; ``None`` if none agree."""
    view, tables = state.views[name], shared(state, name)
    own = StateSpan(0, only(view.holds, tables), {})
    sources = [*dict.fromkeys(view.definition.sources)]
    ways = [allowed(state, view, each, spans(state, name, each, tables)) for each in sources]
    agreeing = [chosen for chosen in product(*ways) if meets((own, *chosen))]
    COUNTED["of many"] += len(agreeing) > 1
    if not agreeing:
        return None
    versions = [tuple(each.version for each in chosen) for chosen in agreeing]
    newest = tuple(map(max, zip(*versions, strict=True)))
    assert newest in versions, "the newest version of each source that is in any cut: together they are one"
    chosen = dict(zip(sources, agreeing[versions.index(newest)], strict=True))
    return None if stands_still(state, name, chosen, [each[0] for each in ways]) else chosen


def allowed(state, view: ViewState, source: str, ways: list[StateSpan]) -> list[StateSpan]:
    """Without versions that the view went past: they lack what it shows, or were replaced before it was defined."""
    pending = [state.origins[each] for each in set().union(*view.pending.values())]
    defined = max((each.version for each in pending if each.definition), default=0)
    found = ways[:1]
    for newer, each in pairwise(ways):
        lacks = least([*each.until.items(), *later(state, source, each.version).items()])
        if newer.version < defined or any(change <= view.holds.get(table, 0) for table, change in lacks.items()):
            break
        found.append(each)
    return found


def later(state, source: str, version: int) -> dict[str, int]:
    """The oldest change of each table that only newer versions of a view hold."""
    record = state.tables[source]
    if source not in state.views or version in (0, record.highest):
        return {}
    return least([pair for each, past in record.past.items() if each > version for pair in past.first])


def stands_still(state, name: str, chosen: dict[str, StateSpan], newest) -> bool:
    """Whether the newest versions show changes of some table that are pending, and those chosen show none of it."""
    origins = [state.origins[each] for each in set().union(*state.views[name].pending.values())]
    pending = [(each.table, each.version) for each in origins if not each.asked]
    shown = {table for table, change in pending if all(change < each.until.get(table, inf) for each in newest)}
    gone = [each.until for each in chosen.values()]
    gone += [later(state, source, each.version) for source, each in chosen.items() if source in state.tables]
    going = {table for table, change in pending if all(change < each.get(table, inf) for each in gone)}
    return bool(shown - going)


def compare(made) -> None:
    state = made.state
    for name, view in state.views.items():
        if not shared(state, name) or any(prepared_by(state, each) for each in view.definition.sources):
            continue
        if prod(len(state.tables[each].past) + 1 for each in view.definition.sources if each in state.tables) > SLOW:
            continue
        found, slow = common_cut(state, name), slowly(state, name)
        COUNTED["apart" if isinstance(found, Apart) else "common"] += 1
        versions = slow and {source: each.version for source, each in slow.items() if each.holds or each.until}
        assert versions == (None if isinstance(found, Apart) else found.versions), name


def over_lakes(graph: Graph) -> Graph:
    """The same graph over lake tables. Views in files have no older versions, and agree less often."""
    return evolve(graph, lakes=frozenset(graph.bases))


def diamond(format: str) -> Graph:
    """A view over two views of one table, which are at its states at different times."""
    first, second = (cases.view(f"mart.v{n}", "a", "base.t0", format=format) for n in range(2))
    views = first, second, cases.view("mart.v2", "a", "mart.v0", "mart.v1", format="delta")
    return strict(Graph({"base.t0": ("a",)}, views, lakes=frozenset({"base.t0"})))


def steady(steps: int) -> list[Step]:
    """Writes and runs without an end."""
    r = random.Random(1)
    kinds = ("write", "write", "start", "start", "advance", "finish", "time")
    return [(r.choice(kinds), r.randrange(1000), r.randrange(1000)) for _ in range(steps)]


def compared(graph: Graph, script: list[Step], seconds: int) -> None:
    """Plays a script, in which each run takes some seconds, and compares after every event."""
    made = machine(graph)

    def watch(each, step):
        if step == "wrote":
            each.now += seconds * 1000
        if step.startswith("recorded"):
            compare(each)

    made.watch = watch
    play(made, graph, script)


def test_it_is_the_newest_one():
    """Random graphs may agree nearly always. So two diamonds under steady writes are among the cases."""
    lakes, others = of_lakes(graphs(most=4)), st.one_of(graphs(most=4), chains(past=False)).map(over_lakes)

    @examples(90)
    @given(
        graph=st.one_of(lakes, others).map(strict),
        script=scripts(30, without=("make anew", "images")),
        seconds=st.sampled_from((0, 20, 70)),
    )
    def holds(graph, script, seconds):
        compared(graph, script, seconds)

    COUNTED.clear()
    compared(diamond("delta"), steady(400), 70)
    compared(diamond("parquet"), steady(200), 70)
    holds()
    assert min(COUNTED["of many"], COUNTED["apart"], COUNTED["common"]) > settings.default.max_examples / 2, COUNTED


@given(held=st.lists(st.integers(0, 9), min_size=1, max_size=9), stop=st.integers(1, 9))
def test_the_way_back_is_halved_where_older_versions_hold_less(held: list[int], stop: int):
    """A version of all partitions may hold less than the one before it, as it began anew."""
    record = TableRecord(highest=99, pinned=True)
    record.past = {n: Past("", 0, holds=(("s", each),), first=(("s", 1),)) for n, each in enumerate(held)}
    state = State(views={"v": ViewState(cases.view("v", "", "s"))}, tables={"v": record})
    walk = Walk("v", StateSpan(99, {"s": 9}), older(state, "v"), ("s",))
    found = walk.back("s", stop)
    lower = [n for n, each in enumerate(held) if each < stop]
    assert (walk.chosen.version if found else None) == max(lower, default=None)
