"""Histories of a few views as data: what they read, and what happens to them. A step is a line of text, so that a
person can read it, and a test can change it.

Every table is partitioned by ``a``, and has the partitions 1 and 2. A content that 7 divides is filtered out where a
view reads a table in one place; in a second place that is so for a content of 6 or 13.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, evolve, field, frozen
from cases import change, machine, run_now, start
from machine import Machine
from reference import lost, wrong
from strategies import kept, mark
from test_law_9_no_state_that_never_was import States, shown, untrue

from headwater.engine.decide.readiness import ready
from headwater.engine.requests.common_cut import is_strict
from headwater.engine.requests.coverage import upstream
from headwater.engine.requests.limits import ATTEMPTS
from headwater.model.event import Altered, Broken, Hurried, Published, Requested, Resumed, Started, Suspended
from headwater.model.partition import WHOLE, Slice
from headwater.model.reason import Code, Reason
from headwater.model.view import Definition


@frozen
class History:
    """What happens to some views.

    Attributes:
        views: in an order in which each reads only those before it. What else they read are base tables.
        steps: see ``STEPS``. A view that is created by a step is not there before.
        files: the base tables without snapshots.
    """

    views: tuple[Definition, ...]
    steps: tuple[str, ...]
    files: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        return [each.view for each in self.views]

    @property
    def bases(self) -> list[str]:
        return sorted({source for each in self.views for source in each.sources} - {*self.names})


def history(views: tuple[Definition, ...], *parts: str, files: str = "") -> History:
    """A history of steps that stand on lines or after semicolons."""
    steps = (step.strip() for part in parts for line in part.splitlines() for step in line.split(";"))
    return History(views, tuple(step for step in steps if step), frozenset(files.split()))


# --- the steps


@define
class Playing:
    """A machine, and the history that it plays. ``exact``: what is to run can run."""

    made: Machine
    of: History
    exact: bool

    def definition(self, name: str) -> Definition | None:
        return next((each for each in self.of.views if each.view == name), None)

    def take(self, step: str) -> None:
        """Takes a step; one that is impossible now does nothing."""
        kind, *words = step.split()
        about = words[0] if words else ""
        if kind in OF_A_VIEW and about not in self.made.state.views:
            return
        if kind in OF_A_TABLE and about not in self.of.bases:
            return
        STEPS[kind](self, *words)

    def change(self, table: str, partition: str, content: str) -> None:
        change(self.made, table, Slice.of(a=partition), int(content))

    def empty(self, table: str, partition: str) -> None:
        if table not in self.made.state.unreadable:
            self.made.world.write(table, Slice.of(a=partition), None)
            self.made.look(table, named=(Slice.of(a=partition),))

    def anew(self, table: str, format: str) -> None:
        self.made.world.make_anew(table, lake=format == "delta")
        self.made.look(table)

    def wait(self, seconds: str) -> None:
        self.made.now += round(float(seconds) * 1000)

    def run(self, name: str) -> None:
        ran = run_now(self.made, name)
        assert ran or not self.exact, f"{name} cannot run"

    def rest(self, *names: str) -> None:
        self.made.step()
        for each in self.of.names:
            if each not in names:
                run_now(self.made, each)

    def end(self, name: str) -> None:
        if name in self.made.flights:
            self.made.finish(self.made.flights[name])

    def fail(self, name: str, how: str = "once") -> None:
        for _ in range(ATTEMPTS if how == "for-good" else 1):
            self.made.now += 300_000 if how == "for-good" else 0
            if name in self.made.flights or start(self.made, name):
                self.made.fail(self.made.flights[name])

    def suspend(self, name: str) -> None:
        self.made.record(lambda _: Suspended(self.made.now, name))

    def resume(self, name: str) -> None:
        self.made.record(lambda _: Resumed(self.made.now, name))

    def breaks(self, name: str) -> None:
        self.made.record(lambda _: Broken(self.made.now, name, Reason(Code.QUERY_NOT_ANALYSED, "a column is gone")))

    def mend(self, name: str) -> None:
        self.made.declare(self.made.state.views[name].definition, "can be computed again")

    def create(self, name: str) -> None:
        definition = self.definition(name)
        there = {*self.of.bases, *self.made.state.views} - self.made.state.unreadable.keys()
        if definition is not None and name not in self.made.state.views and {*definition.sources} <= there:
            self.made.declare(definition, "was created")

    def redefine(self, name: str, fingerprint: str) -> None:
        self.made.declare(evolve(self.made.state.views[name].definition, fingerprint=fingerprint), "was redefined")

    def alter(self, name: str, key: str, value: str) -> None:
        properties = {**dict(self.made.state.views[name].definition.properties), f"headwater.{key}": value}
        self.made.record(lambda _: Altered(self.made.now, name, tuple(properties.items())))

    def ask(self, name: str, partition: str, how: str = "alone") -> None:
        asked, more = WHOLE if partition == "all" else Slice.of(a=partition), how == "downstream"
        self.made.record(lambda given: Requested(self.made.now, given, name, (asked,), "was asked", downstream=more))

    def hurry(self, name: str) -> None:
        some = upstream(self.made.state, name) & self.made.state.views.keys() | {name}
        self.made.record(lambda version: Hurried(self.made.now, version, tuple(sorted(some))))

    def look(self) -> None:
        self.made.step()
        ready(self.made.state, self.made.now)

    def settle(self) -> None:
        self.made.drain()
        self.made.settle()

    def clean(self, table: str) -> None:
        if table in self.made.world.lake:
            self.made.world.lake.logs[table].clean(told=False, read=True)


OF_A_TABLE: dict[str, Callable] = {
    "change": Playing.change,  # a partition of a table has another content
    "empty": Playing.empty,
    "anew": Playing.anew,  # a table is made anew in a format
    "clean": Playing.clean,
    "mark": lambda playing, table: mark(playing.made, table),
}
OF_A_VIEW: dict[str, Callable] = {
    "run": Playing.run,  # it can run, and does
    "try": lambda playing, name: run_now(playing.made, name),
    "start": lambda playing, name: start(playing.made, name),
    "end": Playing.end,
    "fail": Playing.fail,
    "suspend": Playing.suspend,
    "resume": Playing.resume,
    "break": Playing.breaks,
    "mend": Playing.mend,
    "redefine": Playing.redefine,
    "alter": Playing.alter,
    "ask": Playing.ask,
    "hurry": Playing.hurry,
}
STEPS: dict[str, Callable] = {
    **OF_A_TABLE,
    **OF_A_VIEW,
    "rest": Playing.rest,  # all views but these run if they can
    "create": Playing.create,
    "wait": Playing.wait,
    "look": Playing.look,
    "settle": Playing.settle,
    "crash": lambda playing: playing.made.crash(),
}


# --- the law


@define
class Mixed(States):
    """The states where some views are files, and some are eventual.

    Attributes:
        blurred: the runs that may have read files which were published meanwhile, or what such a run made.
        blurry: the views that show what such runs made, until they are what they are said to be.
    """

    blurred: set[int] = field(factory=set)
    blurry: set[str] = field(factory=set)

    def check(self) -> list[str]:
        """What breaks the law, now that something was recorded."""
        event, state = self.made.journal[-1], self.made.state
        false = {each.split()[0]: each for each in untrue(self.made)}
        self.blurry &= state.views.keys()
        if isinstance(event, Started):
            if any(version in self.blurred for _, version in event.inputs):
                self.blurred.add(event.version)
        elif isinstance(event, Published):
            name, version = event.view, event.version
            if version not in self.blurred and shown(self.made, name) and name not in false:
                self.blurry.discard(name)
            elif version in self.blurred or name in self.blurry:
                self.blurred.add(version)
                self.blurry.add(name)
            if not event.snapshot:
                runs = [state.running[each] for each in state.index.readers.get(name, ()) if each in state.running]
                self.blurred |= {run.version for run in runs if version not in run.on}
        return [*self.follow(), *(each for name, each in false.items() if name not in self.blurry), *lost(self.made)]

    def speaks_not_of(self, event: Published) -> bool:
        state = self.made.state
        above = upstream(state, event.view)
        if not all(state.tables[each].pinned for each in above - state.views.keys()):
            self.astray.add(event.view)
            return True
        # Who reads what a run in files prepared began before that was published, and judged.
        files = {each for each in above & state.views.keys() if not state.tables[each].pinned}
        if not self.astray.isdisjoint(files):
            self.astray.add(event.view)
            return True
        return not self.blurry.isdisjoint(above) or super().speaks_not_of(event)

    def judged(self, name: str) -> list[str]:
        if is_strict(self.made.state.views[name]):
            return super().judged(name)
        if shown(self.made, name) is None:
            self.astray.add(name)
        return []


def law(of: History, exact: bool = False) -> None:
    """Plays a history. Every version of a strict view is of a state that was, and all is right in the end."""
    late = {step.split()[1] for step in of.steps if step.startswith("create ")}
    first = [each for each in of.views if not late & {each.view, *each.sources}]
    made = machine({each: "a" for each in of.bases}, *first, lakes={*of.bases} - of.files)
    playing, states, broken = Playing(made, of, exact), Mixed(made), list[str]()

    def watch(each: Machine, step: str) -> None:
        if step.startswith("recorded"):
            broken.extend(states.check())
            assert not broken, broken

    made.watch = watch
    for step in of.steps:
        playing.take(step)
    playing.settle()
    assert not wrong(made), wrong(made)
    kept(made)
    playing.settle()
    assert not wrong(made) and not untrue(made) and not made.state.origins
