"""What the recipes of all methods share: the queries of a run, and the rows that a recipe gives back.

``methods/`` has a recipe for each method. ``methods/recipes.py`` lists them by the work of a run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from attrs import Factory, frozen
from pyspark.sql import DataFrame, SparkSession

from headwater.algebra.derive.relation import short
from headwater.model.command import Launch
from headwater.model.error import RefreshCancelled, RefreshFailed
from headwater.model.name import PathName, anywhere, named
from headwater.model.reason import Code
from headwater.model.seen import ChangedRows
from headwater.model.view import Definition, Job, Query
from headwater.model.work import FollowsChanges, LeftTotals
from headwater.spark.defining import jobs
from headwater.spark.defining.jobs import Jobs
from headwater.spark.jvm.shim import Shim
from headwater.spark.refreshing.near_rows import NearRows
from headwater.spark.tables.key_files import KeyFiles
from headwater.spark.tables.registry import Formats
from headwater.spark.tables.rows_by_keys import Reach
from headwater.spark.tables.view_rows import shaped, within


@frozen
class Rows:
    """The rows of a run.

    Attributes:
        frame: the rows, planned anew by each call.
        files: those that the rows take the place of; ``None``: all of the run's slices.
        totals: those that the run leaves; ``None`` if it leaves none.
        reads_itself: whether rows of the view are among them.
    """

    frame: Callable[[], DataFrame]
    files: KeyFiles | None = None
    totals: LeftTotals | None = None
    reads_itself: bool = False


class Queries:
    """The queries and jobs of views, as runs compute them.

    Args:
        is_meant: whether the ordinary views and functions that an analysis found are those of a definition.
    """

    def __init__(self, shim: Shim, jobs: Jobs, is_meant: Callable[[Definition, str], bool]) -> None:
        self._shim, self._jobs, self._is_meant = shim, jobs, is_meant
        self._strange: dict[str, str] = {}  # by view: what its last run found in place of what is on record

    def analysed(self, session: SparkSession, launch: Launch) -> DataFrame:
        """The rows that a view's query or job makes, of tables as they were when they were last renewed."""
        definition = launch.definition
        match definition.made_by:
            case Job() as job:
                made = jobs.frame(session, definition, self._jobs.on_record(job, definition), launch.run)
                self._jobs.on_record(job, definition)  # the function may have imported something meanwhile
                return made
            case Query(text):
                rows = session.sql(text)
                # Somebody may redefine one of these and put it back between two looks: no look tells of that.
                if _looked_through(definition):
                    self._refuse_another_meaning(definition, self._shim.meant(rows))
                return rows

    def renew(self, session: SparkSession, launch: Launch) -> None:
        """Lets the next queries see tables as they are now."""
        run, definition = launch.run, launch.definition
        itself = (definition.view,) if definition.earlier or isinstance(run.work, FollowsChanges) else ()
        self._shim.renew(session, (*definition.sources, *definition.through, *itself))

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
        others = _looked_through(definition)
        uses = f"{view} uses {', '.join(map(short, others))}, and one of these "
        if self._strange.get(view) == meant:
            said = f"{uses}is not what is on record; CREATE OR REPLACE MATERIALIZED VIEW {anywhere(view)}"
            raise RefreshFailed(said, code=Code.RUN_REDEFINED, look_at=others)
        self._strange[view] = meant
        said = f"{uses}means something else now; the refresh runs again"
        # A redefinition that stays is on record then.
        raise RefreshCancelled(said, code=Code.RUN_REDEFINED, look_at=others)


def _looked_through(definition: Definition) -> tuple[str, ...]:
    """What a definition uses of which the catalog does not say all: ordinary views, functions, and paths, whose columns
    Spark takes from the files."""
    return (*definition.through, *(each for each in definition.sources if isinstance(named(each), PathName)))


@frozen
class Ingredients:
    """What a recipe makes the rows of one run of.

    Attributes:
        held: what is closed when the rows are written.
        near: changed rows that other runs read.
        read: the changed rows of sources, as the run read them, by source and snapshot.
    """

    shim: Shim
    formats: Formats
    queries: Queries
    session: SparkSession
    launch: Launch
    held: contextlib.ExitStack
    near: NearRows
    read: dict[tuple[str, str], ChangedRows] = Factory(dict)

    def analysed(self) -> DataFrame:
        """The rows of the query, with the pins that the session has at this moment."""
        return self.queries.analysed(self.session, self.launch)

    def whole(self) -> DataFrame:
        """All rows of the run's slices, of tables as they are now."""
        self.queries.renew(self.session, self.launch)
        return self.cut(self.analysed())

    def cut(self, rows: DataFrame) -> DataFrame:
        """Rows with the columns of the view, in the slices of the run."""
        return within(shaped(rows, self.launch.definition), self.launch.definition, self.launch.run.slices)

    def files(self, reach: Reach) -> KeyFiles | None:
        """The files of the view that hold some keys; ``None`` if whole partitions are as well written."""
        files = self.formats.of_view(self.launch.definition).key_files(self.session, self.launch, reach)
        if files is not None:
            self.held.callback(files.close)
        return files


Recipe = Callable[[Ingredients, Any], Rows]
"""Makes the rows of a run by its work. It raises ``ChangesUnknown`` where the run cannot follow changes."""
