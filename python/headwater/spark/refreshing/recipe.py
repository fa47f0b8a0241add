"""The rows of a run: those of its query, or of the changes of its sources."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from attrs import evolve, frozen
from pyspark.sql import DataFrame, SparkSession

from headwater.model.command import Launch
from headwater.model.error import RefreshCancelled, RefreshFailed, Untold
from headwater.model.partition import WHOLE
from headwater.model.reason import Code
from headwater.model.view import Definition, Job, Query
from headwater.model.work import ByAppending, ByKeys, ByTotals, FollowsChanges, WholePartitions, WholeView
from headwater.spark.defining import jobs
from headwater.spark.defining.jobs import Jobs
from headwater.spark.jvm.failures import fallen_back, telling
from headwater.spark.jvm.shim import Shim
from headwater.spark.refreshing.changed_rows import ChangeFollower
from headwater.spark.refreshing.methods import keys
from headwater.spark.refreshing.methods.appending import Appending
from headwater.spark.refreshing.methods.totals import TotalsKeeper
from headwater.spark.tables.formats import Formats
from headwater.spark.tables.key_files import KeyFiles, may_stay
from headwater.spark.tables.view_rows import shaped, within


@frozen
class Making:
    """How a run makes its rows.

    Attributes:
        launch: the run; one of whole partitions where changes could not be followed.
        frame: the rows, planned anew by each call.
        files: those that the rows take the place of; ``None``: all of the run's slices.
        totals: a digest of the totals that the run leaves; empty if it leaves none.
        reads_itself: whether rows of the view are among them.
        instead: why a run that was to follow changes computes whole partitions; empty if it does not.
    """

    launch: Launch
    frame: Callable[[], DataFrame]
    files: KeyFiles | None = None
    totals: str = ""
    reads_itself: bool = False
    instead: str = ""


class Maker:
    """Makes the rows of runs.

    Args:
        is_meant: whether the ordinary views and functions that an analysis found are those of a definition.
    """

    def __init__(self, shim: Shim, formats: Formats, jobs: Jobs, is_meant: Callable[[Definition, str], bool]) -> None:
        self._shim, self._formats, self._jobs, self._is_meant = shim, formats, jobs, is_meant
        self._strange: dict[str, str] = {}  # by view: what its last run found in place of what is on record
        following = ChangeFollower(shim, formats)
        self._totals, self._appending = TotalsKeeper(shim, formats, following), Appending(shim, formats, following)

    def making(self, held: contextlib.ExitStack, session: SparkSession, launch: Launch) -> Making:
        """How a run makes its rows. What it holds until these are written is closed with ``held``."""
        self._renew(session, launch)
        run, why = launch.run, ""
        match run.work:
            case ByAppending() as work:
                try:
                    return self._added(session, launch, work)
                except Untold as untold:
                    why = fallen_back(launch, str(untold))
                    whole = WholeView() if WHOLE in run.slices else WholePartitions()
                    launch = evolve(launch, run=evolve(run, started=evolve(run.started, work=whole)))
            case ByKeys() as work:
                try:
                    return self._keyed(held, session, launch, work)
                except Untold as untold:
                    why = fallen_back(launch, str(untold))
            case ByTotals() | WholeView(leaves_totals=True) | WholePartitions(leaves_totals=True):
                return self._totalled(held, session, launch)
        made = self._whole(session, launch)
        return evolve(made, instead=why) if why else made

    # --- inside

    def _added(self, session: SparkSession, launch: Launch, work: ByAppending) -> Making:
        """New rows of the view."""
        with telling(self._shim):
            rows = self._appending.rows(session, launch, work, lambda: self._analysed(session, launch))
        return Making(launch, lambda: rows, reads_itself=True)

    def _keyed(self, held: contextlib.ExitStack, session: SparkSession, launch: Launch, work: ByKeys) -> Making:
        """The rows that changes reach, and those that stay beside them."""
        with telling(self._shim):
            reach = held.enter_context(keys.reached(session, self._formats, launch, work.since))
        files = self._files(held, session, launch, reach)
        stay = None if files is None else files.rows

        def frame() -> DataFrame:
            return keys.frame(session, reach, launch, _cut(self._rows(session, launch), launch), stay)

        return Making(launch, frame, files, reads_itself=True)

    def _totalled(self, held: contextlib.ExitStack, session: SparkSession, launch: Launch) -> Making:
        """The rows by the totals that the run leaves; of a large view, those that changes reach."""
        left = self._totals.leave(session, launch, lambda: self._analysed(session, launch))
        if left is None:
            return self._whole(session, launch)

        def whole() -> DataFrame:
            return _cut(self._shim.finished(left.query, left.rows), launch)

        made = Making(launch, whole, totals=left.digest, instead=left.instead)
        reach = None if left.instead else self._reached(held, session, launch)
        files = None if reach is None else self._files(held, session, launch, reach)
        if reach is None or files is None:
            return made
        return evolve(made, frame=lambda: keys.frame(session, reach, launch, whole(), files.rows), files=files)

    def _whole(self, session: SparkSession, launch: Launch) -> Making:
        return Making(launch, lambda: _cut(self._rows(session, launch), launch))

    def _reached(self, held: contextlib.ExitStack, session: SparkSession, launch: Launch) -> keys.Reach | None:
        """The keys that the changes of a run by changes reach, if all rows of its view with other keys may stay."""
        work = launch.run.work
        if not isinstance(work, ByTotals) or not may_stay(launch, work):
            return None
        try:
            with telling(self._shim):
                return held.enter_context(keys.reached(session, self._formats, launch, work.since))
        except Untold:
            return None

    def _files(
        self, held: contextlib.ExitStack, session: SparkSession, launch: Launch, reach: keys.Reach
    ) -> KeyFiles | None:
        """The files of a view that hold some keys; ``None`` if whole partitions are as well written."""
        files = self._formats.of_view(launch.definition).key_files(session, launch, reach)
        if files is not None:
            held.callback(files.close)
        return files

    def _rows(self, session: SparkSession, launch: Launch) -> DataFrame:
        """The rows that the query or the job of a run makes, of tables as they are now."""
        self._renew(session, launch)
        return self._analysed(session, launch)

    def _analysed(self, session: SparkSession, launch: Launch) -> DataFrame:
        """The same rows, of tables as they were when they were last renewed."""
        definition = launch.definition
        match definition.made_by:
            case Job() as job:
                made = jobs.frame(session, definition, self._jobs.on_record(job, definition), launch.run)
                self._jobs.on_record(job, definition)  # the function may have imported something meanwhile
                return made
            case Query(text):
                rows = session.sql(text)
                # Somebody may redefine one of these and put it back between two looks: no look tells of that.
                if definition.through:
                    self._refuse_another_meaning(definition, self._shim.meant(rows))
                return rows

    def _refuse_another_meaning(self, definition: Definition, meant: str) -> None:
        """Refuses a query in which views or functions are others than on record.

        Raises:
            RefreshCancelled: they are; the next run may find those on record.
            RefreshFailed: the run before found just these, so it was no redefinition that passed.
        """
        view = definition.view
        if self._is_meant(definition, meant):
            self._strange.pop(view, None)
            return
        uses = f"{view} uses {', '.join(definition.through)}, and one of these "
        if self._strange.get(view) == meant:
            said = f"{uses}is not what is on record; CREATE OR REPLACE {view}"
            raise RefreshFailed(said, code=Code.RUN_REDEFINED, look_at=definition.through)
        self._strange[view] = meant
        said = f"{uses}was redefined while it was refreshed; the refresh runs again"
        # A redefinition that stays is on record then.
        raise RefreshCancelled(said, code=Code.RUN_REDEFINED, look_at=definition.through)

    def _renew(self, session: SparkSession, launch: Launch) -> None:
        """Lets the next queries see tables as they are now."""
        run, definition = launch.run, launch.definition
        itself = (definition.view,) if definition.earlier or isinstance(run.work, FollowsChanges) else ()
        self._shim.renew(session, (*definition.sources, *definition.through, *itself))


def _cut(rows: DataFrame, launch: Launch) -> DataFrame:
    """Rows with the columns of the view, in the slices of a run."""
    return within(shaped(rows, launch.definition), launch.definition, launch.run.slices)
