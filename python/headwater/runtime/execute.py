"""Carries out one command of the kernel in the warehouse, and says how that went. It decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headwater.engine.decide import schedule as schedules
from headwater.engine.decide.schedule import Schedule
from headwater.logger import log
from headwater.model import command as commands
from headwater.model.error import (
    ChangesUnknown,
    DriverGone,
    FilesReplaced,
    HeadwaterError,
    Overtaken,
    PlanError,
    RefreshCancelled,
    RefreshEnded,
    ViewError,
    ViewGone,
)
from headwater.model.reason import Code, Reason
from headwater.model.work import FollowsChanges
from headwater.ports import Clock, RunObserver, Warehouse
from headwater.store.sql_store import SqlStore

Step = commands.Look | commands.Compute | commands.Bring | commands.Publish


def planned(command: commands.MakePlan, schedule: Schedule[Any]) -> commands.PlanMade:
    """A plan is advice: where none can be made, refreshes run without."""
    try:
        return commands.PlanMade(schedule.solve(command.question))
    except PlanError as error:
        log.warning("refreshes run unplanned, and nothing is kept: %s", error)
    except Exception:  # nothing starts before there is an answer
        log.exception("refreshes run unplanned, and nothing is kept")
    return commands.PlanMade(schedules.Planned(command.question.pending))


def performed(step: Step, warehouse: Warehouse, looks: RunObserver, store: SqlStore, clock: Clock) -> commands.Answer:
    """A step of a run; whatever goes wrong with it is the failure of this run, and is shown as such."""
    launch, began = step.launch, clock.now()
    version, view = launch.run.version, launch.run.view

    def seconds() -> float:
        return max(0, clock.now() - began) / 1000  # none, if the clock went back

    try:
        match step:
            case commands.Look(before=before):
                looks.look(launch, before)
                return commands.Looked(version, seconds())
            case commands.Compute(sees=sees):
                try:
                    return commands.RunComputed(version, warehouse.compute(launch, sees), seconds())
                except ChangesUnknown as error:
                    if not isinstance(launch.run.work, FollowsChanges):
                        raise  # whole partitions follow no changes, so computing them again would end the same
                    return commands.Unfollowable(version, error.reason, seconds())
            case commands.Bring(written=written):
                return commands.Brought(version, warehouse.bring(launch, written), seconds())
            case commands.Publish(written=written):
                replaced = warehouse.publish(launch, written)
                if replaced.reshaped:
                    looks.reshaped(view)
                at, took = clock.now(), seconds()
                _discard(store, launch, replaced.locations, at)
                return commands.Shown(version, replaced, at, took)
    except RefreshEnded as error:
        tables = (view,) if isinstance(error, ViewGone) else error.look_at
        if isinstance(error, Overtaken):
            store.raise_version(error.version)  # the clock of the other store may be ahead
        if tables:  # before it is answered, so that the next run, if there is one, knows
            guarded(lambda: looks.look_again(tables), f"the next check looks at {', '.join(tables)}")
        cancelled, unseen = isinstance(error, RefreshCancelled), isinstance(error, FilesReplaced)
        return commands.Stopped(version, error.reason, cancelled, seconds(), unseen)
    except DriverGone as error:
        log.warning("%s was not published: %s", view, error)
        return commands.Gone(version)
    except HeadwaterError as error:
        fault = error.fault if isinstance(error, ViewError) else str(error)  # what shows it names the view
        return commands.Stopped(version, Reason(Code.RUN_FAILED, fault), False, seconds())
    except Exception as error:
        log.exception("the refresh of %s failed", view)
        return commands.Stopped(version, Reason(Code.RUN_FAILED, f"{type(error).__name__}: {error}"), False, seconds())


def _discard(store: SqlStore, launch: commands.Launch, locations: Sequence[str], at: int) -> None:
    try:
        store.discard(launch.run.view, locations, at)
    except HeadwaterError as error:
        log.warning("the superseded files of %s are removed later, as orphans: %s", launch.run.view, error)


def guarded(work: Callable[[], object], about: str) -> None:
    """Work whose failure stops no refresh."""
    try:
        work()
    except HeadwaterError as error:
        log.warning("%s: %s", about, error)
    except Exception:
        log.exception(about)
