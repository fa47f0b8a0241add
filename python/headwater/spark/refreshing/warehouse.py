"""Computes and publishes refreshes with Spark: the warehouse port over tables of any format."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial

from attrs import evolve
from pyspark.sql import SparkSession

from headwater.model.command import Launch, Replaced, Written
from headwater.model.error import AnalysisFailed, ChangesUnknown, DefinitionError, NotNow, RefreshFailed
from headwater.model.measure import Edge
from headwater.model.partition import Version
from headwater.model.reason import Code
from headwater.model.state import Run
from headwater.model.view import Definition
from headwater.runtime.execute import guarded
from headwater.spark.defining.analyse import Analyst
from headwater.spark.defining.jobs import Jobs
from headwater.spark.jvm.facts import Pin
from headwater.spark.jvm.failures import translated, translating
from headwater.spark.jvm.job_groups import JobGroups, group
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import SPARK_ERRORS, Shim
from headwater.spark.refreshing import trailing_edge
from headwater.spark.refreshing.changed_rows import pinned, refuse_drift
from headwater.spark.refreshing.memory import Memory
from headwater.spark.refreshing.methods import recipes
from headwater.spark.refreshing.near_rows import NearRows
from headwater.spark.refreshing.recipe import Ingredients, Queries
from headwater.spark.refreshing.replicas import Replicas, shown
from headwater.spark.tables.registry import Formats
from headwater.spark.tables.writer import Writer


class SparkWarehouse:
    """The views of one Spark application. Each run writes rows that no reader sees, and publishes them at once.

    Args:
        formats: of the tables that are read, and of the views' own.
        memory: the rows and scans that stay there for other runs.
        jobs: those that may be imported.
        analyst: knows what queries mean; without it, nobody redefines anything.
    """

    def __init__(
        self,
        base: SparkSession,
        shim: Shim,
        sessions: Sessions,
        formats: Formats,
        memory: Memory,
        writer: Writer,
        groups: JobGroups,
        jobs: Jobs | None = None,
        analyst: Analyst | None = None,
    ) -> None:
        self._base, self._shim, self._sessions, self._formats = base, shim, sessions, formats
        self._memory, self._writer, self._groups, self._analyst = memory, writer, groups, analyst
        self._queries = Queries(shim, jobs or Jobs(), self._is_meant)
        self._near, self._replicas = NearRows(shim), Replicas(shim, formats)

    def compute(self, launch: Launch, sees: Mapping[str, Version]) -> Written:
        run, definition = launch.run, launch.definition
        with translating(run, self._shim):
            session = self._sessions.of_run(definition)
            context = session.sparkContext
            self._groups.take_up(context, run, "refresh")
            self._formats.of_view(definition).require(definition)
            if definition.policy.replica and (standing := self._replicas.standing(session, launch)) is not None:
                return standing
            with self._pinned(session, run) as pins:
                with self._memory.overlaid(context, run):
                    edge = self._edge(session, launch)
                with trailing_edge.up_to(session, pins, definition, edge), self._near.trusted():
                    written = self._computed(launch, session, sees, edge)
        if not definition.keeps_versions:
            self._memory.offer(launch, written)
        return written

    def bring(self, launch: Launch, written: Written) -> Written:
        if not self._memory.holds(written):
            return written
        with translating(launch.run, self._shim):
            session = self._sessions.of(launch.definition)
            self._groups.take_up(session.sparkContext, launch.run, "bring")
            return self._memory.bring(session, launch, written)

    def release(self, version: Version) -> None:
        self._memory.release(version)

    def publish(self, launch: Launch, written: Written) -> Replaced:
        with translating(launch.run, self._shim):
            self._groups.take_up(
                self._base.sparkContext, launch.run, "publish"
            )  # this thread may be of a cancelled run's
            launch = self._replicas.upon(launch)
            replaced = shown(written) or self._formats.of_view(launch.definition).publish(launch, written)
        guarded(partial(self._shim.recache, launch.run.view), f"CACHE TABLE may hold old rows of {launch.run.view}")
        self._memory.published(launch.run.version)
        if replaced.reshaped:
            self._formats.forget(launch.run.view)
        return replaced

    def cancel(self, view: str, version: Version) -> None:
        # Also jobs that its thread is still to start: a run that was given up may come back from a long step.
        self._base.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(group(view, version))
        self._shim.stop_copy(group(view, version))

    # --- inside

    @contextlib.contextmanager
    def _pinned(self, session: SparkSession, run: Run) -> Iterator[dict[str, Pin]]:
        """Lets the queries of a run's session read each pinned table at the snapshot of the run. One that cannot be
        read any more is looked at, so that the next run reads a newer one."""
        pins = self._formats.pins(dict(run.snapshots))
        if not run.snapshots:
            yield pins
            return
        if loose := dict(run.snapshots).keys() - pins.keys() - {run.view}:
            said = f"{', '.join(sorted(loose))} cannot be read at the snapshot on record any more; it is tried again"
            raise RefreshFailed(said, code=Code.SOURCE_SNAPSHOT_EXPIRED, look_at=loose)
        with pinned(session, pins):
            try:
                yield pins
            except SPARK_ERRORS as error:
                raise translated(run, error, self._shim, pins) from error

    def _edge(self, session: SparkSession, launch: Launch) -> Edge | None:
        """The times of events in the sources, as the run reads them."""
        if not launch.definition.event_times:
            return None
        self._shim.renew(session, launch.definition.sources)
        return trailing_edge.measured(session, launch)

    def _computed(
        self, launch: Launch, session: SparkSession, sees: Mapping[str, Version], edge: Edge | None
    ) -> Written:
        """A run's rows, in memory if they are to be kept and fit there, else in the warehouse. Scans that it shares
        are taken first, so that the rows are computed from them."""
        run = launch.run
        memory, context = self._memory, session.sparkContext
        with contextlib.ExitStack() as held:
            made = recipes.rows(
                Ingredients(self._shim, self._formats, self._queries, session, launch, held, self._near)
            )
            with memory.overlaid(context, run):
                scanned = memory.share(run, made.frame, sees, partial(self._stop, run))
            with memory.overlaid(context, run):
                written, counted = memory.keep(launch, made.frame, partial(self._stop, run)) or self._writer.write(
                    launch, made.frame(), "", made.files
                )
                moved = memory.transfers(counted.spent(), run, written)
        if made.reads_itself and made.files is None:
            self._refuse_late_drift(launch)
        effort = self._shim.effort(session, group(run.view, run.version))
        measured = evolve(written.measured, moved=moved, scanned=scanned, effort=effort, edge=edge)
        return evolve(written, measured=measured, totals=made.totals)

    def _refuse_late_drift(self, launch: Launch) -> None:
        """Refuses rows that were read from a view after another program wrote there. The publication, which replaces
        all that was there, would make them the run's own."""
        try:
            refuse_drift(self._formats, launch)
        except ChangesUnknown as unknown:
            said = f"{unknown} while it was refreshed; the refresh is tried again"
            raise RefreshFailed(said, code=Code.VIEW_WRITTEN_OUTSIDE) from unknown

    def _stop(self, run: Run) -> None:
        """Ends what a run does now, and no more: where its rows do not fit in memory, it goes on in the warehouse."""
        self._base.sparkContext._jsc.sc().cancelJobGroup(group(run.view, run.version))
        self._shim.stop_copy(group(run.view, run.version))

    def _is_meant(self, definition: Definition, meant: str) -> bool:
        """Whether views and functions that a run found are those of its view."""
        if self._analyst is None:
            return True
        with contextlib.suppress(AnalysisFailed, DefinitionError, NotNow):
            return self._analyst.is_meant(definition, meant)
        return False
