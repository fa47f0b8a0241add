"""No slow work under the lock: with a warehouse, a metastore and a planner that take ten seconds for each call, events
are recorded, the engine says that it is alive, and who only reads the state is answered at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from cases import A1, A2, view
from reference import computed
from test_runtime import Bench, Engine, until

from headwater.engine.decide.readiness import Choice
from headwater.engine.decide.schedule import InOrder, Planned, Question, pending_of
from headwater.engine.tell import report
from headwater.model.dependency import Dependency, Occurrence
from headwater.model.event import FRESH, Hurried, Suspended
from headwater.model.partition import Slice
from headwater.model.view import Definition
from headwater.runtime.loop import ALIVE

SLOW = 60.0
"""Seconds that a call takes, unless the test ends before."""


class Gate:
    """Whoever passes waits ``SLOW`` seconds, or until the test opens it; ``outlasted`` counts waits of that length."""

    outlasted = 0

    def __init__(self) -> None:
        self._open, self.waiting = threading.Event(), threading.Event()

    def wait(self, *_: object) -> None:
        if not self._open.is_set():
            self.waiting.set()
            if not self._open.wait(SLOW):
                Gate.outlasted += 1

    def open(self) -> None:
        self._open.set()


class SlowPlans(InOrder):
    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def question(self, state, last):
        return None if last is not None and last.covers(state) else Question(pending_of(state))

    def solve(self, question):
        self._gate.wait()
        return Planned(question.pending)


V = view("v", "a", "t")
HALF = Definition(
    "w", "query", (), ("a",), dependencies=(Dependency("t", (Occurrence((("a", computed("half", "a")),)),)),)
)


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.open()


@pytest.fixture
def bench(tmp_path, gate) -> Iterator[Bench]:
    made = Bench(tmp_path / "store.db")
    yield made
    gate.open()
    for each in made.engines:
        each.close()
        each.store.close()


def soon(work: Callable[[], object]) -> object:
    """What a call answers that does not wait for a slow one. How long else it takes is the machine's affair."""
    before = Gate.outlasted
    found = work()
    assert Gate.outlasted == before, "it waited for a slow call"
    return found


def goes_on(bench: Bench, engine: Engine) -> None:
    """Events are recorded, the engine renews its time, and readers of the state are answered, all at once."""

    def renewed() -> None:
        bench.clock.at += ALIVE // 2 + 1
        engine.step()
        assert [each.alive for each in engine.store.engines()] == [True]

    def told() -> None:
        with engine.recorder.lock:
            assert report.explain(engine.state, "v", bench.clock.now())

    soon(lambda: engine.record(lambda _: Hurried(bench.clock.now(), FRESH)))
    soon(renewed)
    soon(told)


def test_while_a_plan_is_made(bench, gate):
    one = bench.engine("one", schedule=SlowPlans(gate))
    bench.declare(one, V)
    soon(one.step)
    assert gate.waiting.wait(30)
    goes_on(bench, one)
    assert not one.state.running
    gate.open()
    bench.drain(one)


@pytest.mark.parametrize("step", ["look", "compute", "read", "bring", "publish", "published"])
def test_while_a_run_is_in_the_warehouse(bench, gate, step):
    one = bench.engine("one")
    bench.declare(one, V, view("x", "a", "v"))
    one.choose(lambda state, found: [])
    one.step()
    one.choose(lambda state, found: [Choice(each, each.view == "v") for each in found])
    bench.world.pause = lambda at, launch: gate.wait() if at == step else None
    soon(one.step)
    assert gate.waiting.wait(30)
    goes_on(bench, one)
    gate.open()
    bench.clock.at += 1_000_000
    bench.drain(one)


def test_while_a_run_is_cancelled_and_what_it_left_is_removed(bench, gate):
    one = bench.engine("one")
    bench.declare(one, view("v", "a", "t", overrun="preempt"))
    bench.drain(one)
    arrived, going = bench.hold("read")
    bench.write(one, A1, 3)
    one.step()
    assert arrived.wait(30)
    bench.world.cancel = gate.wait
    bench.write(one, A1, 5)
    soon(one.step)
    assert gate.waiting.wait(30)
    goes_on(bench, one)
    going.set()
    gate.open()
    bench.drain(one)


def test_while_a_partition_column_is_evaluated(bench, gate):
    one = bench.engine("one")
    bench.declare(one, V, HALF)
    bench.drain(one)
    evaluate = bench.world.evaluate
    bench.world.evaluate = lambda *asked: (gate.wait(), evaluate(*asked))[1]
    bench.world.write("t", A2, 8)
    changing = threading.Thread(target=lambda: bench.look(one, "t"))
    changing.start()
    assert gate.waiting.wait(30)
    goes_on(bench, one)
    assert Slice.of(a="2") not in one.state.tables["t"].partitions, "the change is recorded with its images"
    gate.open()
    changing.join(30)
    bench.clock.at += 60_000
    bench.drain(one)


def test_while_another_statement_waits_for_its_warehouse(bench, gate):
    """Two threads: one records what the other must not wait for."""
    one = bench.engine("one")
    bench.declare(one, V)
    bench.world.pause = lambda at, launch: gate.wait() if at == "compute" else None
    one.step()
    assert gate.waiting.wait(30)
    done = []
    other = threading.Thread(target=lambda: done.append(one.record(lambda _: Suspended(bench.clock.now(), "v"))))
    other.start()
    soon(other.join)
    assert done
    gate.open()
    until(lambda: not one.mine)
