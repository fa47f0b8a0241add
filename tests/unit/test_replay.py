"""The core on a scenario: what a journal may hold, and staleness against its definition."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from attrs import evolve
from cases import A1, A2, view
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from benchmarks.papers.workload import Workload, generated
from headwater.model.event import (
    Changed,
    Declared,
    Dropped,
    Event,
    Made,
    Observed,
    Published,
    Renamed,
    Resumed,
    Started,
    Suspended,
)
from headwater.model.reason import Code, Reason
from headwater.model.state import State
from headwater.model.work import WholePartitions
from headwater.simulate.accounts import Accounts
from headwater.simulate.naive import Triggering
from headwater.simulate.replay import Override, Replay
from headwater.simulate.scenario import RunTimes, Scenario, recorded
from headwater.simulate.staleness import Staleness

V, W = view("v", "a", "t"), view("w", "a", "v")
RECORDED = Override("recorded")
SMALL = Workload(views=6, hours=1, appends=12, corrections=6, backfills=0.5, backfill_days=4)


def played(scenario: Scenario, chosen: Override = RECORDED, tracks: int = 2) -> Replay:
    replay = Replay(scenario, chosen, tracks, 0)
    while replay.step():
        pass
    return replay


def counts(accounts: Accounts) -> dict[str, tuple[int, int]]:
    return {name: (each.runs, each.partitions) for name, each in accounts.views.items()}


def staleness(replay: Replay, name: str) -> Staleness:
    return replay.accounts.views[name].meter.staleness


# --- what else a journal may hold


def events(*made: Event) -> Scenario:
    """A scenario in which every run takes a second."""
    end = max(event.at for event in made)
    return Scenario(made, made[0].at, end, {}, RunTimes(1.0, 0.0))


def changed(at: int, table: str = "t", partition=A1) -> Changed:
    return Changed(at, 0, table, (Observed(partition, str(at)),), "", 0, "changed")


def declared(at: int, definition, fill: bool = False) -> Declared:
    return Declared(at, 0, definition, "was created", fill)


def test_who_reads_a_suspended_view_is_as_stale_as_it_through_any_number_of_views():
    views = [declared(0, each) for each in (V, W, view("x", "a", "w"))]
    scenario = events(*views, Suspended(1_000, "v"), changed(5_000), Resumed(20_000, "v"), changed(30_000))
    replay = played(evolve(scenario, end=29_000))
    assert not replay.pending
    # v runs for a second when it is resumed; that is a change to w, which waits a second for others and runs.
    assert staleness(replay, "v").rises == ((0, 16_000),)
    assert staleness(replay, "w").rises == ((0, 18_000),)
    assert staleness(replay, "x").rises == ((0, 19_000),)


def test_a_view_that_stays_suspended_is_still_behind_at_the_end():
    replay = played(events(declared(0, V), declared(0, W), Suspended(1, "v"), changed(5_000), changed(9_000)))
    assert replay.pending == ["v"] and counts(replay.accounts) == {"v": (0, 0), "w": (0, 0)}
    assert staleness(replay, "w").most == 4_000


def test_a_renamed_view_keeps_its_account_and_its_run_times():
    journal = [
        declared(0, V),
        Started(10, 11, "v", ((A1, (1,)),), (("t", 1),), WholePartitions(), Reason(Code.SOURCE_CHANGED, "x")),
        Published(20, 11, "v", (Made(A1, 1, "x"),), (), 7.0),
        Renamed(100, 12, "v", "x", evolve(V, view="x")),
        changed(5_000),
    ]
    scenario = recorded(journal)
    assert scenario.time("x").draw(1, Random(0)) == 7_000 and scenario.partitions["x"] == {A1: 0}
    replay = played(scenario)
    assert counts(replay.accounts) == {"x": (1, 1)} and staleness(replay, "x").span == 5_000


def test_a_preempted_run_ends_at_once_and_costs_what_it_took():
    replay = played(events(declared(0, view("v", "a", "t", overrun="preempt")), changed(5_000), changed(6_500)))
    replay.accounts.views["v"].meter.stop(replay.now)
    # It settles until 6,000; the run of then ends at 6,500, and that for both changes takes a second.
    assert counts(replay.accounts) == {"v": (2, 1)} and replay.accounts.views["v"].seconds == 1.5
    assert replay.now == 7_500 and not replay.pending


def test_a_dropped_view_stops_counting():
    replay = played(events(declared(0, V), changed(1_000), Dropped(2_500, "v"), declared(3_000, W), changed(9_000)))
    assert staleness(replay, "v") == Staleness(1_000, ((0, 1_500),))
    # Its run ended after it was gone: it cost its time and made nothing.
    assert counts(replay.accounts)["v"] == (1, 0) and not replay.pending


def test_a_whole_view_is_made_of_the_partitions_that_it_had():
    scenario = evolve(events(declared(0, V, fill=True)), partitions={"v": {A1: 0, A2: 500}}, end=9_000)
    assert counts(played(scenario).accounts) == {"v": (1, 1)}
    later = evolve(scenario, events=(declared(600, V, fill=True),), begin=600)
    assert counts(played(later).accounts) == {"v": (1, 2)}


def test_writes_into_a_view_are_not_played_again():
    replay = played(events(declared(0, V), changed(5_000, "v"), changed(5_000)))
    assert counts(replay.accounts) == {"v": (1, 1)}
    triggering = Triggering(events(declared(0, V), changed(5_000, "v")))
    for event in triggering.scenario.events:
        triggering.happen(event)
    assert not triggering.runs


def test_a_journal_whose_times_fall_is_read_in_its_order():
    scenario = recorded([declared(1_000, V), changed(400), changed(2_000)])
    assert [event.at for event in scenario.events] == [1_000, 1_000, 2_000]
    assert (scenario.begin, scenario.end) == (1_000, 2_000)


# --- what must always hold


class Journaled(Accounts):
    """Accounts that keep every event, and when it happened."""

    def count(self, event: Event, state: State) -> None:
        self.__dict__.setdefault("journal", []).append(event)
        super().count(event, state)


def journaled(seed: int, chosen: Override, tracks: int, workload: Workload = SMALL) -> Replay:
    scenario = generated(workload, Random(seed))
    replay = Replay(scenario, chosen, tracks, seed)
    replay.accounts = Journaled(scenario.end)
    while replay.step():
        pass
    return replay


policies = st.sampled_from(
    [
        RECORDED,
        Override("settled", {"headwater.settle": "1 minute"}),
        Override("promised", {"headwater.freshness": "5 minutes"}),
        Override("late", {"headwater.freshness": "30 minutes", "headwater.settle": "10 seconds"}),
    ]
)
seeds = st.integers(0, 1_000)


@given(seeds, policies, st.integers(1, 3))
@examples(10)
def test_it_converges_within_its_tracks_and_is_the_same_each_time(seed, chosen, tracks):
    replay = journaled(seed, chosen, tracks)
    assert replay.pending == [] and not replay.state.origins
    assert journaled(seed, chosen, tracks).accounts == replay.accounts
    side_by_side = 0
    for event in vars(replay.accounts)["journal"]:
        side_by_side += isinstance(event, Started) - isinstance(event, Published)
        assert side_by_side <= tracks


@given(seeds, policies, st.integers(1, 3))
@examples(10)
def test_staleness_is_what_its_definition_says(seed, chosen, tracks):
    replay = journaled(seed, chosen, tracks)
    expected = defined(replay.history, vars(replay.accounts)["journal"])
    for name, rises in expected.items():
        found = staleness(replay, name)
        assert sorted(found.rises) == sorted(rises), name
        assert found.span == replay.history.end - replay.history.begin


def defined(scenario: Scenario, journal: Iterable[Event]) -> dict[str, list[tuple[int, int]]]:
    """Each view's rises of staleness, from which changes truly are in every partition.

    A change is in a partition if it was in all inputs that it reaches when the run that made it began.
    """
    views = {event.definition.view: event.definition for event in scenario.events if isinstance(event, Declared)}
    owed: dict[tuple[str, str], dict[int, int]] = {}
    holds: dict[tuple[str, str], set[int]] = {}
    reading: dict[int, dict[str, set[int]]] = {}
    since: dict[str, tuple[int, int | None]] = dict.fromkeys(views, (scenario.begin, None))
    rises: dict[str, list[tuple[int, int]]] = {name: [] for name in views}

    def inputs(name: str, part: str) -> list[tuple[str, str]]:
        return [key for source in views[name].sources for key in owed if key[0] == source and key[1].startswith(part)]

    def reach(table: str, part: str, number: int, at: int) -> None:
        owed.setdefault((table, part), {})[number] = at
        if table not in views:
            holds.setdefault((table, part), set()).add(number)
        for name, definition in views.items():
            if table in definition.sources:
                reach(name, part[:7] if definition.partitioned_by == ("month",) else part, number, at)

    def look(now: int) -> None:
        for name in views:
            lacking = [
                at
                for key, changes in owed.items()
                if key[0] == name
                for number, at in changes.items()
                if number not in holds.get(key, ())
            ]
            began, oldest = since[name]
            if min(lacking, default=None) != oldest:
                until = min(now, scenario.end)
                if oldest is not None and until > began:
                    rises[name].append((began - oldest, until - oldest))
                since[name] = (until, min(lacking, default=None))

    for number, event in enumerate(journal):
        match event:
            case Changed(at=at, table=table, partitions=[seen]):
                reach(table, seen.slice.bound[0][1], number, at)
            case Started(version=version, view=name, slices=slices):
                read = reading[version] = {}
                for part in (each.bound[0][1] for each in slices):
                    lacks = {n for key in inputs(name, part) for n in owed[key].keys() - holds.get(key, set())}
                    read[part] = owed[name, part].keys() - lacks
            case Published(version=version, view=name):
                for part, changes in reading[version].items():
                    holds.setdefault((name, part), set()).update(changes)
        look(event.at)
    look(10 * scenario.end)
    return rises
