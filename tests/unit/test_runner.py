"""Runs that read what others made before it is published: with real threads, a real store, and a world that waits."""

from __future__ import annotations

from threading import Event
from time import sleep

import pytest
from attrs import evolve
from cases import A1, A2, view
from reference import recomputed
from test_runtime import Bench, evict, until

from headwater.engine.decide.readiness import Choice
from headwater.model.error import RefreshFailed
from headwater.model.event import Dropped, Failed, Prepared, Published, Resumed, Started, Suspended
from headwater.model.extract import Extract, Shared
from headwater.model.partition import WHOLE
from headwater.model.view import Job
from headwater.store.sql_store import SqlStore

V, W, X = view("v", "a", "t"), view("w", "a", "v"), view("x", "", "w")


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path / "store.db")
    yield made
    for each in made.engines:
        each.close()


@pytest.fixture
def engine(bench):
    """An engine that keeps what ``v`` makes, on a graph ``t -> v -> w -> x`` that is up to date."""
    made = bench.engine("one", tracks=2)
    bench.declare(made, V, W, X)
    bench.drain(made)
    made.choose(lambda state, found: [Choice(each, each.view == "v") for each in found])
    return made


def published(bench) -> list[str]:
    return [event.view for event in bench.of(Published)][3:]


def test_readers_run_while_what_they_read_is_brought_to_the_warehouse(bench, engine):
    arrived, going = bench.hold("bring")
    seen = bench.world.read("x")
    bench.write(engine, A1, 5)
    engine.step()
    assert arrived.wait(20)
    until(lambda: (engine.step(), len(bench.of(Prepared)) == 3)[1])
    assert bench.world.read("x") == seen and published(bench) == []
    assert [run.prepared for run in engine.state.running.values()] == [True] * 3
    going.set()
    bench.drain(engine)
    assert published(bench) == ["v", "w", "x"]
    assert bench.world.kept == {}


def test_only_what_was_kept_has_a_copy_that_took_time(bench, engine):
    """What is made of it is prepared, too, but lies in the warehouse already."""
    bench.world.pause = lambda step, launch: setattr(bench.clock, "at", bench.clock.at + 7) if step == "bring" else None
    bench.write(engine, A1, 5)
    bench.drain(engine)
    copying = {event.view: event.measured.copying for event in bench.of(Published)[3:]}
    assert copying.keys() == {"v", "w", "x"} and copying["v"] >= 7000
    assert copying["w"] == copying["x"] == 0


def test_what_was_read_and_not_published_takes_its_readers_along(bench, engine):
    going = Event()

    def full(step, launch):
        if step == "bring" and not going.is_set():
            assert going.wait(20)
            raise RefreshFailed("there is no space left")

    bench.world.pause = full
    bench.write(engine, A1, 5)
    until(lambda: (engine.step(), len(bench.of(Prepared)) == 3)[1])
    going.set()
    until(lambda: (engine.step(), len(bench.of(Failed)) == 3)[1])
    assert published(bench) == []
    assert {event.view for event in bench.of(Failed)} == {"v", "w", "x"}
    assert [event.view for event in bench.of(Failed) if not event.cancelled] == ["v"]
    bench.clock.at += 600_000
    bench.drain(engine)
    assert bench.world.read("x") == recomputed(X, bench.world.content)
    assert bench.world.kept == {}


def test_an_engine_that_takes_over_starts_anew(bench, engine):
    arrived, going = bench.hold("bring")
    bench.write(engine, A1, 5)
    engine.step()
    assert arrived.wait(20)
    until(lambda: (engine.step(), len(bench.of(Prepared)) == 3)[1])
    other = bench.engine("two")

    def taken_over() -> bool:
        """The other engine may have been heard of at the end of a run."""
        bench.clock.at += 60_000
        other.step()
        return other.leads

    until(taken_over)
    bench.world.pause = lambda step, launch: None
    going.set()
    until(lambda: not engine.mine)
    bench.drain(other)
    assert published(bench) == ["v", "w", "x"]
    assert len({event.version for event in bench.of(Started)}) == 9


def test_what_a_run_leaves_is_removed_when_it_has_ended_although_the_lease_was_lost_meanwhile(
    bench, engine, monkeypatch
):
    arrived, going = bench.hold("compute")
    bench.write(engine, A1, 5)
    engine.step()
    assert arrived.wait(20)
    [version] = engine.mine
    bench.clock.at += 60_000
    other = SqlStore(bench.path, clock=bench.clock.now)
    evict(other, "two", bench.clock.now())
    engine.step()
    assert not engine.leads
    other.leave("two")
    other.close()
    released = []
    monkeypatch.setattr(bench.world, "release", released.append)
    engine.step()
    engine.step()
    assert engine.leads and version in engine.mine and not released
    going.set()
    bench.drain(engine)
    until(lambda: (engine.step(), version in released)[1])


def test_a_clock_that_goes_back_makes_no_time_negative(bench, engine):
    bench.world.pause = lambda step, launch: setattr(bench.clock, "at", bench.clock.at - 7) if step == "bring" else None
    bench.write(engine, A1, 5)
    until(lambda: (engine.step(), "v" in published(bench))[1])
    bench.clock.at += 60_000
    bench.drain(engine)
    found = bench.of(Published)[3:]
    assert {event.view for event in found} == {"v", "w", "x"}
    assert all(event.measured.copying == 0 and event.seconds >= 0 for event in found)


def test_nothing_is_prepared_that_may_prove_to_be_unchanged(bench, engine):
    """Its readers wait for the publication, which tells whether they have to run."""
    bench.write(engine, A2, 7)
    bench.drain(engine)
    before, prepared = len(bench.of(Started)), len(bench.of(Prepared))
    bench.write(engine, A2, 7)
    bench.drain(engine)
    assert [event.view for event in bench.of(Started)[before:]] == ["v"]
    assert len(bench.of(Prepared)) == prepared + 1


def test_what_is_kept_is_kept_for_readers_that_can_run(bench, engine):
    """The others read the warehouse when they can."""
    engine.record(lambda _: Suspended(bench.clock.now(), "w"))
    bench.write(engine, A1, 5)
    until(lambda: (engine.step(), "v" in published(bench))[1])
    until(lambda: (engine.step(), bench.world.kept == {})[1])
    engine.record(lambda _: Resumed(bench.clock.now(), "w"))
    until(lambda: (engine.step(), "w" in published(bench))[1])
    bench.clock.at += 5_000
    bench.drain(engine)


def test_a_job_waits_for_what_it_reads_to_be_published(bench):
    engine = bench.engine("one", tracks=2)
    bench.declare(engine, V, evolve(W, made_by=Job("module:w")))
    bench.drain(engine)
    engine.choose(lambda state, found: [Choice(each, each.view == "v") for each in found])
    arrived, going = bench.hold("bring")
    bench.write(engine, A1, 5)
    engine.step()
    assert arrived.wait(20)
    assert engine.state.running["v"].prepared and engine.step() is None and "w" not in engine.state.running
    going.set()
    bench.drain(engine)
    assert all(not event.kept for event in bench.of(Started) if event.view == "w")
    assert [event.view for event in bench.of(Prepared)] == ["v"]


def test_what_is_shared_is_held_until_its_last_reader_is_done(bench):
    engine = bench.engine("one", tracks=1)
    bench.declare(engine, V, view("y", "a", "t"))
    bench.drain(engine)
    fills, released = len(bench.of(Published)), {}
    shared = Shared("t", Extract(("a",), ((),)), (WHOLE,), ("v", "y"), 1)
    engine.choose(lambda state, found: [Choice(each, shared=(shared,)) for each in found])
    bench.world.release = lambda version: released.update({version: bench.of(Published)[fills:]})
    bench.write(engine, A1, 5)
    bench.drain(engine)
    until(lambda: (engine.step(), len(released) == 2)[1])
    for seen in released.values():
        assert {event.view for event in seen} == {"v", "y"}


def test_what_was_dropped_is_not_brought_to_the_warehouse(bench, engine):
    brought = []
    bring = bench.world.bring
    bench.world.bring = lambda launch, written: (brought.append(launch.run.view), bring(launch, written))[1]
    arrived, going = bench.hold("compute")
    bench.write(engine, A1, 5)
    engine.step()
    assert arrived.wait(20)
    for name in ("x", "w", "v"):
        engine.record(lambda _, name=name: Dropped(bench.clock.now(), name))
    going.set()
    until(lambda: (engine.step(), bench.of(Failed))[1])
    assert not brought and {event.view for event in bench.of(Failed)} == {"v"}


def test_what_a_run_took_has_whole_milliseconds(bench, engine):
    """… as the clock has, though it is the sum of steps: 0.1 and 0.2 seconds are 0.3."""
    takes = {"compute": 100, "bring": 200, "publish": 400}
    bench.world.pause = lambda step, launch: setattr(bench.clock, "at", bench.clock.at + takes.get(step, 0))
    bench.write(engine, A1, 5)
    bench.drain(engine)
    found = bench.of(Published)[3:]
    assert {event.view for event in found} == {"v", "w", "x"}
    assert all(event.seconds == round(event.seconds, 3) > 0 for event in found)


def test_one_copy_to_the_warehouse_goes_on_at_a_time(bench):
    """It takes the way to the warehouse from what runs beside."""
    engine = bench.engine("one", tracks=4)
    bench.declare(
        engine, V, view("y", "a", "t"), view("z", "a", "t"), *(view(f"r{n}", "", each) for n, each in enumerate("vyz"))
    )
    bench.drain(engine)
    engine.choose(lambda state, found: [Choice(each, each.view in ("v", "y", "z")) for each in found])
    under_way, most = [], []

    def pause(step, launch):
        if step == "bring":
            under_way.append(launch.run.view)
            most.append(len(under_way))
            sleep(0.05)
            under_way.remove(launch.run.view)

    bench.world.pause = pause
    bench.write(engine, A1, 5)
    bench.drain(engine)
    assert len(most) == 3 and max(most) == 1
