"""The engine process: one for each Spark application, started by the shim.

It pulls messages from the driver over an authenticated loopback gateway, and ends when the pipe from
the driver closes, however the driver ended.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NoReturn, TypeVar

from pyspark.sql import SparkSession

from headwater.logger import log
from headwater.memory.buffers import wiring
from headwater.memory.buffers.memory import SparkMemory
from headwater.memory.planning.means import decode_means, encode_means
from headwater.model.error import HeadwaterError, JournalError, StoreError
from headwater.model.event import Budgeted
from headwater.model.state import Budget, State
from headwater.model.view import Definition
from headwater.runtime.loop import Loop
from headwater.runtime.recorder import Recorder, SystemClock
from headwater.spark.defining.analyse import Analyst
from headwater.spark.defining.jobs import Jobs
from headwater.spark.jvm import wire
from headwater.spark.jvm.connection import is_broken
from headwater.spark.jvm.evaluator import SparkEvaluator
from headwater.spark.jvm.job_groups import JobGroups
from headwater.spark.jvm.sessions import Sessions, in_memory
from headwater.spark.jvm.settings import Settings
from headwater.spark.jvm.shim import Shim
from headwater.spark.observing.adopt import adopt, highest_written
from headwater.spark.observing.observer import Observer
from headwater.spark.observing.run_looks import RunLooks
from headwater.spark.process import store_location
from headwater.spark.process.attach import attach
from headwater.spark.process.compacting import Compactor
from headwater.spark.process.orders import Orders
from headwater.spark.process.sampling import Sampler
from headwater.spark.process.sweep import Sweeper
from headwater.spark.refreshing.group_commits import GroupCommits
from headwater.spark.refreshing.verify import Comparison
from headwater.spark.refreshing.warehouse import SparkWarehouse
from headwater.spark.statements.dispatch import Statements
from headwater.spark.statements.recompute import Verifier
from headwater.spark.tables import registry
from headwater.spark.tables.writer import Writer

POLL = 500  # ms
HEARTBEAT = 1.0  # s between two words to the store that this engine is alive, at most
DEBOUNCE = 0.02  # s between two of them, at least
UNSHOWN = 60.0  # s between two attempts to have a catalog show a group, at most
STATEMENTS = 64  # that may wait at the same time
REFUSED = 3  # the exit status with which an engine refuses to start; EngineProcess.scala shows what it said last
DAMAGED = "move it away: a new one is made and the views are adopted from the catalog"

Result = TypeVar("Result")


class EngineProcess:
    """Everything of one engine process, wired together."""

    def __init__(self, session: SparkSession) -> None:
        conf = dict(session.sparkContext.getConf().getAll())
        settings = Settings.of(conf)
        self._check, self._join, self._jobs = settings.check, settings.join, settings.jobs
        cores = float(session.sparkContext.defaultParallelism)
        self._budget = None if settings.budget is None else Budget(settings.budget, cores)
        self.shim = Shim(session)
        self.sessions = Sessions(session)
        self._where = store_location.store_place(session, conf)
        self._in_memory = in_memory(session)
        self._temporary = self._in_memory and "spark.headwater.store" not in conf
        self._said_in_memory = False
        self.store = store_location.opened(self._where, store_location.catalog_identity(session))
        self.formats = registry.opened(self.shim, self.sessions)
        writer = Writer(self.shim, self.formats, settings.bandwidth)
        buffer = wiring.buffer(session, self.shim, settings)
        self.memory = SparkMemory(buffer, self.shim, writer)
        self.recorder = self._restored()
        jobs = Jobs(settings.jobs, self.shim.registered)
        self.analyst = Analyst(self.shim, self.sessions, self._keeping_pays, self._definition, jobs)
        self.observer = Observer(self.recorder, self.shim, self.formats, self.analyst, self.sessions)
        groups = JobGroups()
        self.warehouse = SparkWarehouse(
            session, self.shim, self.sessions, self.formats, self.memory, writer, groups, jobs, self.analyst
        )
        means = wiring.means(session, self.shim, buffer, settings)
        application = session.sparkContext.applicationId
        looks = RunLooks(session.sparkContext, self.shim, self.recorder, self.observer, groups)
        self.loop = Loop(
            self.recorder,
            self.warehouse,
            looks,
            f"{socket.gethostname()}:{os.getpid()}:{application}",
            tracks=settings.tracks,
            schedule=wiring.scheduled(means),
            acts=settings.role == "auto",
            history=settings.history,
        )
        if self.loop.acts:
            self.store.note("means", encode_means(means))
        self.commits = GroupCommits(self.recorder, self.formats, self.shim)
        verifier = Verifier(self.recorder, self.observer, Comparison(self.shim, self.sessions, self.formats))
        self.statements = Statements(
            self.recorder,
            self.loop,
            self.store,
            self.observer,
            self.analyst,
            self.sessions,
            self.shim,
            verifier,
            self.formats.pins,
            self.commits,
            jobs,
        )
        self.orders = Orders(self.recorder, self.loop, self.store)
        self.sweeper = Sweeper(self.recorder, self.loop, self.store, self.formats, self.shim)
        self.compactor = Compactor(self.recorder, self.loop, self.formats, looks, self.shim)
        self.sampler = Sampler(self.recorder, self.loop, self.store, verifier, self.shim)
        self._end_the_lost(application)
        known = self.recorder.read(lambda state: state.definitions)
        self.store.raise_version(highest_written(self.formats, known.values()))
        self._asked = ThreadPoolExecutor(STATEMENTS, "headwater-statement")
        self._ready = threading.Event()
        self._away = self._back = False  # the store does not answer; it answers again

    def run(self) -> None:
        """Serves until the driver is gone."""
        for work in (self._watch, self._observe, self._sweep, self._sample, self._show_groups):
            threading.Thread(target=work, daemon=True, name=f"headwater-{work.__name__}").start()
        while True:
            message = self.shim.poll(POLL)
            if message is None:
                continue
            match message:
                case wire.Hint():
                    self.observer.hints.notice(message)
                case wire.Abandoned(number):
                    self.statements.waiting.abandon(number)
                case _:
                    self._asked.submit(self._answer, message)

    def leave(self) -> None:
        """Lets others take over at once, as far as that is still possible."""
        self.loop.close()
        self.memory.close()
        if self._temporary:
            store_location.remove(Path(self._where))

    def _keeping_pays(self) -> bool:
        """Whether the engine that acts, which may be another, keeps what runs make."""
        means = decode_means(self.store.noted("means") or "null")
        return means is not None and means.pays

    def _definition(self, name: str) -> Definition | None:
        return self.recorder.read(lambda state: state.definition(name))

    def _restored(self) -> Recorder:
        """The state as the journal tells it."""
        try:
            return Recorder(self.store, SparkEvaluator(self.sessions, self.shim), SystemClock())
        except JournalError as error:
            raise StoreError(f"the store {self.store.name} is damaged ({error}); {DAMAGED}") from error
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise StoreError(
                f"the store {self.store.name} is damaged (its journal does not fit together: "
                f"{type(error).__name__} {error}); {DAMAGED}"
            ) from error

    def _end_the_lost(self, application: str) -> None:
        """An engine of this application, or one on this machine, that is gone is not waited for; the jobs that lost
        engines left running are stopped."""
        for each in self.store.engines():
            if each.alive and _is_gone(each.name, application):
                self.store.expire(each.number)
        alive = {each.number for each in self.store.engines() if each.alive}
        for run in self.recorder.read(lambda state: [*state.running.values()]):
            if run.engine not in alive:
                self.warehouse.cancel(run.view, run.version)

    def _answer(self, message: wire.Question) -> None:
        try:
            self._ready.wait()
            Settings.of(message.session.settings)
            answer: wire.Answer = self.statements.answer(message)
            if self._in_memory and isinstance(message, wire.Create):
                self._say_in_memory()
        except HeadwaterError as error:
            answer = wire.Refused(str(error))
        except Exception as error:  # the user's statement must get an answer, whatever went wrong
            log.exception("a statement failed")
            said = f"Headwater failed at this statement ({type(error).__name__}: {error})"
            answer = wire.Refused(said.splitlines()[0])
        if message.id is not None:
            self._guarded(partial(self.shim.reply, message.id, answer))

    def _say_in_memory(self) -> None:
        if not self._said_in_memory:
            self._said_in_memory = True
            log.warning("this application's catalog is in memory, so its views end with it")

    def _watch(self) -> None:
        """The heartbeat: a word to the store, the journal, time, orders from the command line. A record of another
        thread is followed at once, or a moment later where this one has just looked."""
        while True:
            wake = self._guarded(self._step)
            self._guarded(self.orders.obey)
            self._guarded(self._keep_to_budget)
            pause = HEARTBEAT if wake is None else (wake - self.recorder.clock.now()) / 1000
            time.sleep(DEBOUNCE)
            self.loop.rest(min(max(0, pause), HEARTBEAT))

    def _step(self) -> int | None:
        wake = self.loop.step()
        if self._away:
            self._away, self._back = False, True
            self.observer.hints.noticed.set()
        return wake

    def _keep_to_budget(self) -> None:
        """Records this application's budget when it is the one that refreshes."""
        mine = self._budget

        def event(state: State) -> Budgeted | None:
            if state.budget == mine:
                return None
            now = self.recorder.clock.now()
            return Budgeted(now, None) if mine is None else Budgeted(now, mine.core_seconds, mine.cores)

        if self.loop.leads and self.recorder.read(lambda state: state.budget) != mine:
            self.recorder.record(event)

    def _observe(self) -> None:
        """Looks where hints point, and at everything at the start and every so often."""
        adopted = self._guarded(self._adopt)
        for module in self._jobs:
            self._guarded(partial(self.statements.declare_jobs, module))
        self._ready.set()
        self._guarded(self.statements.looks.now)
        checked = time.monotonic()
        while True:
            if self.observer.hints.noticed.wait(HEARTBEAT):
                # Looking at once would cost a user's series of small writes a third more; one look serves them all.
                time.sleep(self._join)
                self._guarded(self.observer.hinted)
            if self._back or time.monotonic() - checked > self._check:
                self._back = False
                adopted = adopted or self._guarded(self._adopt)
                self._guarded(self.statements.looks.now)
                checked = time.monotonic()

    def _sweep(self) -> None:
        """Removes what nobody needs any more, and puts small files together. That takes minutes for many lake views,
        so no look waits for it. One follows the other: a clean-up with a short retention would delete files before
        their commit."""
        self._ready.wait()
        while True:
            time.sleep(self._check)
            self._guarded(self.sweeper.sweep)
            self._guarded(self.compactor.compact)

    def _sample(self) -> None:
        """Compares samples of views with their queries. That takes as long as a query, so nothing waits for it."""
        self._ready.wait()
        while True:
            self._guarded(self.sampler.sample)
            time.sleep(self._check)

    def _show_groups(self) -> None:
        """Has catalogs show what readers of groups see from now on. A catalog may take long, so no run waits for it."""
        self._ready.wait()
        looked, seq, pause = 0.0, 0, HEARTBEAT
        while True:
            seq = self.recorder.await_newer(seq, HEARTBEAT)
            if not self.loop.leads:
                continue
            afresh = time.monotonic() - looked > self._check
            if self._guarded(partial(self.commits.settle, afresh)):
                looked, pause = time.monotonic() if afresh else looked, HEARTBEAT
            else:
                time.sleep(pause)
                pause = min(2 * pause, UNSHOWN)

    def _adopt(self) -> bool:
        return adopt(self.recorder, self.shim, self.formats, self.analyst, self.observer)

    def _guarded(self, work: Callable[[], Result]) -> Result | None:
        """Background work must go on after a failure; what failed is found again by the next check. While the engine
        ends, its work fails and nobody needs to know."""
        try:
            return work()
        except HeadwaterError as error:
            self._away = self._away or isinstance(error, StoreError)
            if not _ending.locked():
                log.warning("%s", str(error).strip().splitlines()[0])
        except Exception as error:
            if self.shim.is_gone(error):
                _end(self)
            if not _ending.locked():
                log.exception("background work failed; it is tried again")
        return None


def _is_gone(holder: str, application: str) -> bool:
    """Whether an engine was one on this machine, and has ended. An application has one
    engine at a time, so another engine of this one is gone in any case."""
    try:
        host, pid, of = holder.rsplit(":", 2)
        if host != socket.gethostname():
            return False
        if of != application:
            os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (ValueError, OSError):
        return False
    return of == application


_ending = threading.Lock()


def _end(engine: EngineProcess | None, status: int = 0) -> NoReturn:
    """Ends this process, whatever its threads do. It leaves the store first, if that goes quickly,
    so that the next engine need not wait until it runs out."""
    with _ending:
        if engine is not None:
            leaving = threading.Thread(target=_leave, args=(engine,), daemon=True)
            leaving.start()
            leaving.join(2)
        os._exit(status)


def _leave(engine: EngineProcess) -> None:
    with contextlib.suppress(HeadwaterError):
        engine.leave()


def _end_with_driver(engines: list[EngineProcess]) -> None:
    """Ends this process when the driver's end of the pipe closes, even after ``kill -9``."""

    def wait() -> None:
        while sys.stdin.buffer.read(1):
            pass
        _end(engines[0] if engines else None)

    threading.Thread(target=wait, daemon=True, name="headwater-pipe").start()


def main() -> None:
    engines: list[EngineProcess] = []
    # Ctrl-C in the terminal is for the driver; this process ends with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: _end(engines[0] if engines else None))
    _end_with_driver(engines)
    logging.basicConfig(level=logging.WARNING, format="headwater: %(message)s", stream=sys.stderr)
    try:
        engines.append(EngineProcess(attach()))
        engines[0].run()
    except HeadwaterError as error:
        print(f"headwater: {str(error).strip()}", file=sys.stderr)
        _end(None, REFUSED)
    except Exception as error:
        if not is_broken(error) or (engines and not engines[0].shim.is_gone(error)):
            log.exception("the engine failed")
            _end(engines[0] if engines else None, 1)
    _end(engines[0] if engines else None)


if __name__ == "__main__":
    main()
