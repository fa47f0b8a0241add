"""The loop with real threads and a real store: leases, takeovers, and what must survive a failing store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import pytest
from attrs import evolve
from cases import A1, A2, view
from reference import computed, recomputed, replayed
from test_store_contract import put_back
from world import World

from headwater.engine.decide.readiness import Choice, Ready, ready, wake_at
from headwater.engine.decide.schedule import InOrder, Question, pending_of
from headwater.engine.decide.starting import decided
from headwater.engine.record.changes import differences
from headwater.engine.requests.limits import GRACE
from headwater.engine.tell.status import summary
from headwater.model.command import Launch
from headwater.model.dependency import Dependency, Occurrence
from headwater.model.error import (
    JournalError,
    PlanError,
    RefreshCancelled,
    RefreshFailed,
    StatementError,
    StoreError,
    TakenOver,
)
from headwater.model.event import (
    FRESH,
    CancelAsked,
    Changed,
    Declared,
    Dropped,
    EngineLost,
    Event,
    Failed,
    Hurried,
    Published,
    Resumed,
    Started,
    Suspended,
)
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.runtime import summaries
from headwater.runtime.loop import ALIVE, Loop
from headwater.runtime.recorder import Recorder
from headwater.runtime.summaries import PAUSE
from headwater.store.board import Kept
from headwater.store.sql_store import SqlStore

V, W = view("v", "a", "t"), view("w", "a", "v")


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.at = 1_000_000

    def now(self) -> int:
        return self.at


class Engine:
    """A recorder and a loop, as programs put them together."""

    def __init__(self, store: SqlStore, bench: Bench, name: str, **options) -> None:
        self.store, self.name, self._released = store, name, []
        self.recorder = Recorder(store, bench.world, bench.clock)
        self.loop = Loop(self.recorder, bench.world, bench.world, name, **options)
        self.record, self.sync = self.recorder.record, self.recorder.sync
        self.step, self.close = self.loop.step, self.loop.close

    @property
    def state(self) -> State:
        return self.recorder.state

    @property
    def seq(self) -> int:
        return self.recorder.seq

    @property
    def leads(self) -> bool:
        return self.loop.leads

    def choose(self, choices: Callable[[State, Sequence[Ready]], list[Choice]]) -> None:
        """Lets this engine start runs in another way."""
        schedule = InOrder()
        schedule.choose = lambda state, ready, plan: choices(state, ready)
        self.loop.capacity = evolve(self.loop.capacity, schedule=schedule)

    @property
    def mine(self) -> set[int]:
        """The runs of which it carries out a step."""
        return {flight.version for flight in self.loop.mine.flights.values() if flight.busy}


class Bench:
    """One world and one store file, with any number of engines."""

    def __init__(self, path) -> None:
        self.path, self.clock, self.world = path, Clock(), World({"t": ("a",), "u": ("a",)})
        self.engines: list[Engine] = []
        for table in ("t", "u"):
            self.world.write(table, A1, 1)

    def engine(self, name: str, store: type[SqlStore] = SqlStore, **options) -> Engine:
        made = Engine(store(self.path, clock=self.clock.now), self, name, **options)
        self.engines.append(made)
        return made

    def declare(self, engine: Engine, *definitions) -> None:
        for definition in definitions:
            for source in definition.sources:
                if source not in engine.state.tables:
                    self.look(engine, source)
            engine.record(lambda _, d=definition: Declared(self.clock.now(), FRESH, d, "was declared"))

    def look(self, engine: Engine, table: str) -> Event | None:
        def build(state):
            record = state.tables.get(table)
            changed = differences(record, self.world.found(table))
            return Changed(self.clock.now(), FRESH, table, changed, "", 1, "x", record is None) if changed else None

        return engine.record(build)

    def write(self, engine: Engine, partition, content: int, table: str = "t") -> None:
        self.world.write(table, partition, content)
        self.look(engine, table)
        engine.record(lambda _: Hurried(self.clock.now(), FRESH))

    def events(self) -> list[Event]:
        return [entry.event for entry in SqlStore(self.path).read()]

    def of(self, kind: type) -> list:
        return [event for event in self.events() if isinstance(event, kind)]

    def drained(self, *engines: Engine) -> bool:
        for each in engines:
            each.step()
        state = engines[0].state
        return not state.running and not any(view.pending for view in state.views.values())

    def drain(self, *engines: Engine) -> None:
        until(lambda: self.drained(*engines))
        for name, known in engines[0].state.views.items():
            assert self.world.read(name) == recomputed(known.definition, self.world.content)

    def hold(self, step: str, once: bool = False) -> tuple[threading.Event, threading.Event]:
        """Makes runs wait at a step, or the first one: the events that one arrived, and that it may go on."""
        arrived, going = threading.Event(), threading.Event()

        def pause(at: str, launch: Launch) -> None:
            if at == step and not (arrived if once else going).is_set():
                arrived.set()
                assert going.wait(20)

        self.world.pause = pause
        return arrived, going


def evict(store: SqlStore, name: str, now: int) -> None:
    """An engine of this name takes over from the one whose time is up."""
    beat = store.beat(name, ALIVE)
    assert beat.leads
    store.append(lambda _: EngineLost(now, *beat.overdue), beat.last, beat.number, *beat.overdue)


def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.002)


@pytest.fixture
def bench(tmp_path) -> Iterator[Bench]:
    made = Bench(tmp_path / "store.db")
    yield made
    for each in made.engines:
        each.close()
        each.store.close()


def test_refreshes_go_on_where_no_plan_can_be_made(bench):
    class Fails(InOrder):
        def question(self, state, plan):
            return Question(pending_of(state)) if plan is None else None

        def solve(self, question):
            raise PlanError("the run of v is -1; it cannot be negative")

    one = bench.engine("one", schedule=Fails())
    bench.declare(one, V, W)
    bench.write(one, A1, 2)
    bench.drain(one)


def test_the_state_is_what_the_journal_says(bench):
    one = bench.engine("one")
    bench.declare(one, V, W)
    bench.drain(one)
    bench.write(one, A2, 3)
    bench.drain(one)
    assert replayed(bench.events()) == one.state == bench.engine("later", acts=False).state


def test_two_engines_refresh_nothing_twice(bench):
    one, two = bench.engine("one"), bench.engine("two")
    bench.declare(one, V, W)

    def steps(engine: Engine) -> None:
        for _ in range(100):
            engine.step()
            time.sleep(0.001)

    steppers = [threading.Thread(target=steps, args=(each,)) for each in (one, two)]
    for each in steppers:
        each.start()
    for content in (3, 5, 8):
        bench.write(two, A1, content)
    for each in steppers:
        each.join()
    bench.drain(one, two)
    for origin in {event.version for event in bench.of(Changed)}:
        for name in ("v", "w"):
            runs = [e for e in bench.of(Started) if e.view == name and any(origin in origins for _, origins in e.needs)]
            assert len(runs) <= 1
    assert len(bench.of(Published)) == len(bench.of(Started)) and not bench.of(EngineLost)
    assert {event.engine for event in bench.of(Started)} <= {one.loop.mine.number, two.loop.mine.number}
    two.sync()
    assert one.state == two.state == replayed(bench.events())


def test_a_change_that_another_engine_records_preempts_a_run(bench, monkeypatch):
    cancelled = []
    monkeypatch.setattr(bench.world, "cancel", lambda view, version: cancelled.append(view))
    one, two = bench.engine("one"), bench.engine("two", acts=False)
    bench.declare(one, view("v", "a", "t", overrun="preempt"))
    bench.drain(one)
    arrived, going = bench.hold("read")
    bench.write(two, A1, 3)
    one.step()
    assert arrived.wait(20) and not cancelled
    bench.write(two, A1, 5)
    one.step()
    until(lambda: cancelled == ["v"])
    going.set()
    bench.drain(one)
    [ended] = bench.of(Failed)
    assert ended.cancelled and "both run together" in ended.error.text
    assert len(bench.of(Published)) == 2


def test_who_asks_to_cancel_need_not_know_whose_run_it_is(bench, monkeypatch):
    cancelled = []
    monkeypatch.setattr(bench.world, "cancel", lambda view, version: cancelled.append(view))
    one, two = bench.engine("one"), bench.engine("two")
    one.step()
    bench.declare(two, V)
    arrived, going = bench.hold("read")
    two.step()
    assert arrived.wait(20) and one.leads and not two.leads
    one.record(lambda _: CancelAsked(bench.clock.now(), "v"))
    two.step()
    until(lambda: cancelled == ["v"])
    going.set()
    until(lambda: bool(bench.of(Failed)))
    two.sync()
    [ended] = bench.of(Failed)
    assert ended.cancelled and "headwater cancel" in ended.error.text and two.state.views["v"].pending
    bench.clock.at += 5_000
    bench.drain(one, two)


def test_an_engine_that_ends_records_its_runs_as_cancelled(bench):
    arrived, going = bench.hold("read")
    one = bench.engine("one")
    bench.declare(one, V)
    one.step()
    assert arrived.wait(20)
    number = one.loop.mine.number
    one.close()
    assert [each.engine for each in bench.of(EngineLost)] == [number]
    assert not one.state.running and one.state.views["v"].pending
    assert number not in {each.number for each in one.store.engines()}
    going.set()
    two = bench.engine("two")
    bench.drain(two)
    assert len(bench.of(Published)) == 1


def test_a_refresh_that_hangs_is_cancelled_counts_as_failed_and_runs_again(bench, monkeypatch):
    hangs, cancelled = threading.Event(), threading.Event()

    def pause(step, launch):
        if step == "read" and not hangs.is_set():
            hangs.set()
            assert cancelled.wait(20)
            raise RefreshCancelled("the job was cancelled")

    monkeypatch.setattr(bench.world, "cancel", lambda view, version: cancelled.set())
    bench.world.pause = pause
    one = bench.engine("one")
    bench.declare(one, view("v", "a", "t", timeout="10 seconds"))
    one.step()
    assert hangs.wait(20) and not cancelled.is_set()
    begun = bench.of(Started)[0]
    assert wake_at(one.state, begun.at) == begun.at + 10_000
    bench.clock.at = begun.at + 10_000
    one.step()
    until(lambda: bool(bench.of(Failed)))
    one.sync()
    [ended] = bench.of(Failed)
    assert "took longer than 10 s, its headwater.timeout" in ended.error.text and not ended.cancelled
    assert one.state.views["v"].failures == 1
    bench.clock.at += 5_000
    bench.drain(one)
    assert len(bench.of(Published)) == 1


def test_a_run_that_began_under_a_fast_clock_has_its_timeout_from_when_the_clock_is_right(bench):
    hangs, going = bench.hold("read", once=True)
    one = bench.engine("one")
    bench.declare(one, view("v", "a", "t", timeout="10 seconds"))
    one.step()
    assert hangs.wait(20)
    bench.clock.at -= 7_200_000
    now = bench.clock.at
    one.step()
    assert wake_at(one.state, now) == now + 10_000
    bench.clock.at = now + 9_999 + GRACE
    assert one.loop.mine.flights and not bench.of(Failed)
    one.step()
    assert not bench.of(Failed), "it is cancelled first, and may end by itself"
    bench.clock.at = now + 10_000 + GRACE
    one.step()
    [ended] = bench.of(Failed)
    assert "took longer than 10 s" in ended.error.text
    bench.clock.at += 5_000
    bench.drain(one)
    going.set()


def test_a_view_that_is_dropped_while_it_is_explained_is_named(bench):
    one = bench.engine("one")
    bench.declare(one, V)
    one.record(lambda _: Changed(bench.clock.now(), FRESH, "t", (), "", 0, "x"))
    one.choose(lambda state, ready: [])
    schedule = one.loop.capacity.schedule
    schedule.question = lambda state, plan: one.record(lambda _: Dropped(bench.clock.now(), "v")) and None
    with pytest.raises(StatementError, match="no materialized view v; it was dropped"):
        one.loop.explained("v")


def test_a_run_whose_tasks_go_on_after_its_timeout_is_given_up_and_takes_no_track(bench):
    hangs, going = bench.hold("read", once=True)
    one = bench.engine("one", tracks=1)
    bench.declare(one, view("v", "a", "t", timeout="10 seconds"))
    one.step()
    assert hangs.wait(20)
    begun = bench.of(Started)[0]
    bench.clock.at = begun.at + 10_000
    one.step()
    assert not bench.of(Failed), "it may end by itself"
    assert wake_at(one.state, bench.clock.at) == begun.at + 10_000 + GRACE
    bench.clock.at += GRACE
    one.step()
    [ended] = bench.of(Failed)
    assert "headwater.timeout" in ended.error.text and "never published" in ended.error.text and not ended.cancelled
    bench.clock.at += 5_000
    bench.drain(one)
    [published] = bench.of(Published)
    assert published.version > begun.version
    going.set()
    until(lambda: not one.loop.mine.readable and not one.mine)
    bench.drain(one)
    assert bench.of(Published) == [published], "the rows of the first run come to nothing"


def test_a_view_that_is_redefined_while_its_column_is_evaluated_is_followed_as_it_is_then(bench):
    half, flag = (
        Definition("w", "q", (), ("a",), dependencies=(Dependency("t", (Occurrence((("a", each),)),)),), fingerprint=n)
        for n, each in (("1", computed("half", "a")), ("2", computed("flag", "a")))
    )
    one = bench.engine("one")
    bench.declare(one, half)
    bench.drain(one)
    evaluate, asked = one.recorder.evaluate, []

    def redefined(wanted):
        if not asked:
            asked.append(wanted)
            bench.declare(one, flag)
        return evaluate(wanted)

    bench.world.write("t", A2, 8)
    one.recorder.evaluate = redefined
    assert bench.look(one, "t") is not None and asked
    bench.clock.at += 60_000
    bench.drain(one)


def test_a_run_of_an_engine_that_the_store_does_not_know_is_taken_over(bench):
    one = bench.engine("one")
    bench.declare(one, V)
    one.record(lambda state: evolve(decided(state, Choice(ready(state, 10**13)[0]), FRESH, 0).event, engine=99))
    assert one.state.running["v"].engine == 99
    bench.drain(one)
    assert [event.engine for event in bench.of(EngineLost)] == [99]


def test_refreshes_go_on_where_the_planner_breaks(bench):
    class Breaks(InOrder):
        def question(self, state, plan):
            return Question(pending_of(state)) if plan is None else None

        def solve(self, question):
            raise ZeroDivisionError

    one = bench.engine("one", schedule=Breaks())
    bench.declare(one, V)
    bench.drain(one)


def test_both_engines_see_a_change_and_it_is_recorded_once(bench):
    one, two = bench.engine("one"), bench.engine("two")
    bench.declare(one, V)
    bench.drain(one)
    bench.world.write("t", A2, 3)
    assert bench.look(one, "t") is not None
    assert bench.look(two, "t") is None


def test_another_engine_takes_a_run_over_when_its_engine_was_not_heard_of(bench):
    one, two = bench.engine("one"), bench.engine("two")
    bench.declare(one, V)
    arrived, going = bench.hold("compute")
    one.step()
    assert arrived.wait(20)
    two.step()
    number = one.loop.mine.number
    assert one.leads and not two.leads and two.state.running["v"].engine == number
    bench.clock.at += ALIVE - 1
    two.step()
    assert two.state.running["v"].engine == number
    bench.clock.at += 1
    bench.world.pause = lambda step, launch: None
    two.step()
    assert two.leads and two.state.running["v"].engine == two.loop.mine.number
    bench.drain(two)
    going.set()
    until(lambda: not one.mine)
    assert len(bench.of(Published)) == 1 and [event.engine for event in bench.of(EngineLost)] == [number]
    one.step()
    assert not one.leads and one.loop.mine.number > two.loop.mine.number


def test_a_partition_that_a_lost_engine_published_and_nobody_recorded_goes_with_its_source(bench):
    one, two = bench.engine("one", Fails), bench.engine("two")
    bench.declare(one, V)
    bench.drain(one)
    one.store.kinds, shown = (Published,), len(bench.world.publications)
    bench.write(one, A2, 8)
    one.step()
    until(lambda: len(bench.world.publications) > shown)
    one.close()
    assert A2 in bench.world.read("v") and len(bench.of(Published)) == 1
    bench.write(two, A2, None)
    bench.drain(two)
    assert A2 not in bench.world.read("v")


def test_an_engine_asks_the_store_before_it_publishes(bench):
    one, two = bench.engine("one"), bench.engine("two")
    bench.declare(one, V)
    arrived, going = bench.hold("compute")
    one.step()
    assert arrived.wait(20)
    one.choose(lambda state, found: [])
    bench.clock.at += ALIVE
    evict(two.store, "two", bench.clock.now())
    going.set()
    until(lambda: not one.mine)
    assert not bench.world.publications
    bench.drain(two)


def test_only_the_runs_of_the_lost_engine_are_put_back(bench):
    one, two = bench.engine("one", tracks=1), bench.engine("two", tracks=1)
    bench.declare(one, V, view("x", "a", "u"))
    arrived, going = bench.hold("compute")
    one.step()
    two.step()
    running = {name: run.engine for name, run in two.state.running.items()}
    assert sorted(running.values()) == [one.loop.mine.number, two.loop.mine.number]
    bench.clock.at += ALIVE
    two.step()
    assert {name: run.engine for name, run in two.state.running.items()} == {
        name: engine for name, engine in running.items() if engine == two.loop.mine.number
    }
    going.set()
    bench.drain(two)


def test_what_one_engine_prepared_another_reads_when_it_is_published(bench):
    one, two = bench.engine("one", tracks=1), bench.engine("two", tracks=1)
    bench.declare(one, V, W)
    bench.drain(one)
    one.choose(lambda state, found: [Choice(each, True) for each in found if each.view == "v"])
    arrived, going = bench.hold("bring")
    bench.write(one, A1, 5)
    one.step()
    assert arrived.wait(20)
    two.step()
    assert two.state.running["v"].prepared and "w" not in two.state.running
    going.set()
    until(lambda: (two.step(), "w" in {event.view for event in bench.of(Published)[2:]})[1])
    [run] = [event for event in bench.of(Started)[2:] if event.view == "w"]
    assert run.engine == two.loop.mine.number


@pytest.mark.parametrize("step", ["compute", "publish"])
def test_a_paused_holder_cannot_publish(bench, step):
    """Whether it was paused before it asked the store or after, a newer version stays."""
    one, two = bench.engine("one"), bench.engine("two")
    bench.declare(one, V)
    arrived, going = bench.hold(step)
    one.step()
    assert arrived.wait(20)
    bench.clock.at += ALIVE
    bench.world.pause = lambda step, launch: None
    bench.write(two, A1, 5)
    bench.drain(two)
    seen = bench.world.read("v")
    going.set()
    until(lambda: not one.mine)
    assert bench.world.read("v") == seen
    two.sync()
    assert two.state == replayed(bench.events()) and not two.state.running


class FailsAtSecondStart(SqlStore):
    starts, error = 0, TakenOver("another engine took over this store")

    def append(self, build, after, by=None, evicting=None):
        def counted(version):
            event = build(version)
            if isinstance(event, Started):
                self.starts += 1
                if self.starts == 2:
                    raise self.error
            return event

        return super().append(counted, after, by, evicting)


def test_a_run_that_began_before_its_engine_was_given_up_is_not_published(bench):
    one, two = bench.engine("one", FailsAtSecondStart), bench.engine("two")
    bench.declare(one, V, view("x", "a", "u"))
    original = one.store.append

    def append(build, after, by=None, evicting=None):
        try:
            return original(build, after, by, evicting)
        except TakenOver:
            bench.clock.at += ALIVE
            evict(two.store, "two", bench.clock.now())
            raise

    one.store.append = append
    one.step()
    assert one.loop.mine.number is None
    until(lambda: not one.mine)
    assert not bench.world.publications and len(bench.of(Started)) == 1
    bench.drain(two)


def test_a_run_whose_start_is_on_record_goes_on_when_the_store_takes_no_second(bench):
    one = bench.engine("one", FailsAtSecondStart)
    one.store.error = StoreError("the disk is full")
    bench.declare(one, V, view("x", "a", "u"))
    arrived, going = bench.hold("compute")
    with pytest.raises(StoreError):
        one.step()
    assert arrived.wait(20) and [event.view for event in bench.of(Started)][:1] == ["v"]
    going.set()
    bench.drain(one)
    assert len(bench.of(Started)) == len(bench.of(Published)) == 2


class Fails(SqlStore):
    """A store that does not take one kind of entry, once."""

    kinds: tuple[type, ...] = ()
    discards = True

    def append(self, build, after, by=None, evicting=None):
        def checked(version):
            event = build(version)
            if isinstance(event, self.kinds):
                self.kinds = ()
                raise StoreError("the disk is full")
            return event

        return super().append(checked, after, by, evicting)

    def discard(self, view, paths, now):
        if not self.discards:
            raise StoreError("the disk is full")
        super().discard(view, paths, now)


def test_a_takeover_that_was_not_recorded_is_recorded_later(bench):
    one, two = bench.engine("one"), bench.engine("two", Fails)
    bench.declare(one, V)
    arrived, going = bench.hold("compute")
    one.step()
    assert arrived.wait(20)
    bench.clock.at += ALIVE
    two.store.kinds = (EngineLost,)
    with pytest.raises(StoreError):
        two.step()
    assert two.state.running["v"].engine == one.loop.mine.number
    bench.world.pause = lambda step, launch: None
    bench.drain(two)
    going.set()


def test_a_run_whose_start_was_recorded_while_the_answer_was_lost_is_taken_up(bench):
    class Breaks(SqlStore):
        broken = False

        def append(self, build, after, by=None, evicting=None):
            entry = super().append(build, after, by, evicting)
            if isinstance(entry.event, Started) and not self.broken:
                self.broken = True
                raise StoreError("the connection broke")
            return entry

    one = bench.engine("one", Breaks)
    bench.declare(one, V)
    with pytest.raises(StoreError):
        one.step()
    assert not one.loop.mine.flights
    bench.drain(one)
    assert len(bench.of(Started)) == len(bench.of(Published)) == 1


def test_the_end_of_a_run_that_the_store_did_not_take_is_recorded_later(bench):
    one = bench.engine("one", Fails)
    bench.declare(one, V)
    one.store.kinds = (Published,)
    bench.drain(one)
    assert len(bench.world.publications) == len(bench.of(Published)) == 1


def test_a_refresh_is_published_although_its_garbage_cannot_be_noted(bench):
    one = bench.engine("one", Fails)
    bench.declare(one, V)
    one.store.discards = False
    bench.drain(one)
    assert not bench.of(Failed)


@pytest.mark.parametrize("happens", ["dropped", "redefined"])
def test_a_run_whose_view_was_dropped_or_redefined_publishes_nothing(bench, happens):
    one = bench.engine("one")
    bench.declare(one, V)
    arrived, going = bench.hold("compute")
    one.step()
    assert arrived.wait(20)
    if happens == "dropped":
        one.record(lambda _: Dropped(bench.clock.now(), "v"))
    else:
        bench.declare(one, view("v", "a", "t", fingerprint="2"))
    [run] = bench.of(Started)
    going.set()
    until(lambda: run.version not in one.mine)
    assert run.version not in {each.version for each in bench.world.publications}
    bench.drain(one)


def test_a_refresh_that_the_warehouse_fences_fails_and_is_tried_again(bench):
    one = bench.engine("one")
    bench.declare(one, V)
    bench.world.newest["v"] = 10**15  # by an engine on another store
    one.step()
    until(lambda: bool(bench.of(Failed)))
    bench.world.newest.clear()
    bench.clock.at += 5_000
    bench.drain(one)


def test_a_closed_engine_acts_no_more(bench):
    one, two = bench.engine("one"), bench.engine("two")
    bench.declare(one, V)
    arrived, going = bench.hold("compute")
    one.step()
    assert arrived.wait(20)
    one.close()
    going.set()
    until(lambda: not one.mine)
    assert not bench.world.publications
    bench.drain(two)
    assert two.leads


def test_a_refresh_that_the_warehouse_cancels_is_no_failure(bench):
    one = bench.engine("one")
    bench.declare(one, V)

    def cancels(step, launch):
        raise RefreshCancelled("a write came in between")

    bench.world.pause = cancels
    one.step()
    until(lambda: bool(bench.of(Failed)))
    one.sync()
    [ended] = bench.of(Failed)
    assert ended.cancelled and one.state.views["v"].failures == 0
    bench.world.pause = lambda step, launch: None
    bench.clock.at += 5_000
    bench.drain(one)


def test_a_failed_refresh_is_tried_again_with_the_reason_shown(bench):
    one = bench.engine("one")
    bench.declare(one, V)

    def fails(step, launch):
        raise RefreshFailed("no space left")

    bench.world.pause = fails
    one.step()
    until(lambda: bool(bench.of(Failed)))
    one.sync()
    assert one.state.views["v"].reason.text == "no space left"
    bench.world.pause = lambda step, launch: None
    bench.clock.at += 5_000
    bench.drain(one)


def test_superseded_files_are_kept_for_their_readers(bench):
    """Law 6: what a reader opened stays for the retention time after it was replaced."""
    one = bench.engine("one")
    bench.declare(one, V)
    bench.drain(one)
    bench.clock.at += 1_000
    replaced = bench.clock.now()
    publish = bench.world.publish
    bench.world.publish = lambda launch, written: evolve(publish(launch, written), locations=["v/old"])
    bench.write(one, A1, 5)
    bench.drain(one)
    assert one.store.discarded("v", before=replaced) == []
    assert "v/old" in one.store.discarded("v", before=replaced + 1)


def test_no_entry_is_applied_twice_when_one_after_it_cannot_be_read(bench):
    one, two = bench.engine("one"), bench.engine("two")
    bench.declare(one, V)
    bench.write(one, A1, 5)
    bench.write(one, A1, 6)
    read, applied = two.store.read, []

    def halfway(after):
        for entry in read(after):
            if len(applied) == 1:
                applied.append(None)
                raise JournalError(entry.seq, "is unreadable")
            applied.append(entry.seq)
            yield entry

    two.store.read = halfway
    with pytest.raises(JournalError):
        two.sync()
    two.sync()
    seen = [each for each in applied if each is not None]
    assert seen == sorted(set(seen)) and two.state == one.state


def kept(engine: Engine) -> Kept | None:
    """What readers find as of the journal's last entry."""
    return engine.store.summary(engine.store.last(), detailed=True)


def test_the_engine_that_acts_keeps_the_summary(bench):
    one, two = bench.engine("one"), bench.engine("two")
    bench.declare(one, V, W)
    bench.drain(one, two)
    bench.clock.at += PAUSE
    one.step()
    assert kept(one).summary == summary(one.state, 2)
    assert '"a=1"' in kept(one).detail
    bench.write(two, A2, 3)
    bench.clock.at += PAUSE
    two.step()
    assert kept(two) is None, "the other does not act"
    bench.drain(one, two)
    bench.clock.at += PAUSE
    one.step()
    assert kept(two).summary == summary(one.state, 2)


def test_a_summary_is_made_at_most_once_a_second_and_seldom_when_it_takes_long(bench):
    one = bench.engine("one")
    bench.declare(one, V)
    one.record(lambda _: Suspended(bench.clock.now(), "v"))
    one.step()
    assert kept(one) is not None
    takes, summarise = 200, one.store.summarise

    def slowly(*arguments):
        bench.clock.at += takes
        summarise(*arguments)

    one.store.summarise = slowly
    made = []
    for _ in range(20):
        one.record(lambda _: Resumed(bench.clock.now(), "v"))
        one.record(lambda _: Suspended(bench.clock.now(), "v"))
        bench.clock.at += 500
        one.step()
        if kept(one) is not None:
            made.append(bench.clock.at)
    assert len(made) == 3 and all(later - earlier >= 4_000 for earlier, later in pairwise(made))


def test_an_engine_goes_on_when_its_summary_cannot_be_kept(bench):
    one = bench.engine("one")
    bench.declare(one, V)
    summarise = one.store.summarise

    def full(*arguments):
        raise StoreError("the disk is full")

    one.store.summarise = full
    bench.drain(one)
    assert kept(one) is None
    one.store.summarise = summarise
    bench.clock.at += PAUSE
    one.step()
    assert kept(one).summary == summary(one.state, 2)


@pytest.mark.parametrize("longer", [0, 1])
def test_an_engine_knows_an_older_copy_of_the_store_that_has_grown(bench, longer):
    """A standby took the store's place, and another engine recorded as much there as was lost."""
    one = bench.engine("one")
    bench.declare(one, V)
    bench.drain(one)
    known = one.seq
    one.record(lambda _: Hurried(bench.clock.now(), FRESH))
    put_back(one.store, known)
    two = bench.engine("two", acts=False)
    for _ in range(1 + longer):
        two.record(lambda _: Suspended(bench.clock.now(), "v"))
    for ask in (one.step, one.sync, lambda: one.record(lambda _: Hurried(bench.clock.now(), FRESH))):
        with pytest.raises(StoreError, match="an older copy took its place; start the application again"):
            ask()
    assert len(bench.of(Suspended)) == 1 + longer and not bench.of(Hurried)
    later = bench.engine("later")
    later.step()
    assert later.state == two.state


def test_the_summary_is_kept_after_the_clock_went_back(bench):
    one = bench.engine("one")
    bench.declare(one, V)
    bench.drain(one)
    bench.clock.at -= 600_000
    bench.write(one, A1, 5)
    bench.drain(one)
    bench.clock.at += PAUSE
    one.step()
    assert kept(one).summary == summary(one.state, 2)


def test_an_engine_that_was_overtaken_does_not_put_its_older_summary_back(bench):
    one, two = bench.engine("one"), bench.engine("two")
    bench.declare(one, V)
    bench.drain(one)
    seq, old = one.seq, summary(one.state)
    bench.clock.at += ALIVE
    bench.write(two, A1, 5)
    bench.drain(two)
    bench.clock.at += PAUSE
    two.step()
    new = kept(two)
    one.store.summarise(seq, old, "{}")
    assert kept(two) == new is not None


def test_an_engine_leaves_the_detail_to_the_reader_when_it_is_large(bench, monkeypatch):
    one = bench.engine("one")
    bench.declare(one, V, W, view("x", "a", "w"))
    bench.drain(one)
    one.record(lambda _: Suspended(bench.clock.now(), "v"))
    bench.write(one, A2, 3)
    # Three partitions; a request that v, w and x are behind by; and for it two, three and four tables.
    for most, kept_in_detail in ((3 + 3 + 9, True), (3 + 3 + 8, False)):
        monkeypatch.setattr(summaries, "DETAILED", most)
        one.record(lambda _: Hurried(bench.clock.now(), FRESH))
        bench.clock.at += PAUSE
        one.step()
        assert (kept(one).detail is not None) == kept_in_detail
