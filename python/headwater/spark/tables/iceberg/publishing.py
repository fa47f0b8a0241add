"""Publications: files that no commit names, and the one commit that names them.

A run writes its files as Iceberg's own compaction does: into a table object that Spark finds under a key, whose files
are fetched when they are written. The commit compares the metadata that it was made for with the table's (as every
commit of Iceberg's does), so a check of what that metadata says holds until the moment of the commit.
"""

from __future__ import annotations

import json
import time

from attrs import frozen
from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame

from headwater.model.command import Launch
from headwater.model.error import RefreshFailed, ViewGone
from headwater.model.partition import WHOLE
from headwater.model.reason import Code
from headwater.model.view import Definition
from headwater.model.work import only_adds
from headwater.spark.tables import catalog
from headwater.spark.tables.iceberg.at import VERSION, At, Metadata
from headwater.spark.tables.iceberg.calls import Calls
from headwater.spark.tables.iceberg.data_files import DataFiles, chosen
from headwater.spark.tables.iceberg.regions import region
from headwater.spark.tables.iceberg.shape import Shapes, columns
from headwater.spark.tables.key_files import KeyFiles
from headwater.spark.tables.view_tables import other_files, outrun, require_upon

OWNER = catalog.OWNER
SOURCES = "headwater.sources"
COMPLETE = "headwater.complete"
"""Whether all rows are made from these sources, also those that the publication left."""
TRIES = 8
"""The number of commits of other programs that a publication gives way to."""


@frozen
class Staged:
    """Files that a run wrote.

    Attributes:
        table: the object that they were written for.
        reshapes: whether the view's table gets other columns or another partitioning with them.
        instead: the files whose place they take, which may be none. ``None``: they take that of all files in the run's
            region.
    """

    table: JavaObject
    files: JavaObject
    reshapes: bool
    instead: DataFiles | None = None

    @property
    def partly(self) -> bool:
        """Whether files in the run's region stay."""
        return self.instead is not None

    @property
    def appended(self) -> bool:
        """Whether all of them stay."""
        return self.instead is not None and not self.instead.names


@frozen
class Committed:
    """A publication.

    Attributes:
        base: the snapshot that it replaced; 0: none.
        again: whether the same version was published before, and nothing was done.
    """

    base: int
    at: At
    again: bool = False


class Publishing:
    """Writes and commits the files of runs."""

    def __init__(self, calls: Calls, shapes: Shapes) -> None:
        self._calls, self._shapes = calls, shapes

    def stage(
        self, table: JavaObject, launch: Launch, frame: DataFrame, key: str, key_files: KeyFiles | None
    ) -> Staged:
        """Writes rows into files of a view's table that no commit names. A redefinition always renews everything."""
        definition = launch.definition
        found = None if key_files is None else key_files.files or DataFiles()
        instead = DataFiles() if only_adds(launch.run.work) else found
        reshapes = WHOLE in launch.run.slices and not self._shapes.fits(table, definition)
        if reshapes and instead is not None:
            said = f"{definition.view} has other columns than its table; the refresh is tried again"
            raise RefreshFailed(said, code=Code.RUN_TABLE_CHANGED)
        target = self._replacement(table, definition).table() if reshapes else table
        self._calls.open(target, key)
        try:
            # The rows come in the partitioning that they are counted in, so that a task counts the rows of its files.
            frame.write.format("iceberg").option("distribution-mode", "none").mode("append").save(key)
            return Staged(target, self._calls.written(target, key), reshapes, instead)
        finally:
            self._calls.close(target, key)

    def commit(self, table: JavaObject, launch: Launch, staged: Staged, zone: str) -> Committed:
        """Puts the staged files in the place of the rows of a run's region, or beside them.

        Raises:
            TakenOver: a higher version is published already.
            Overtaken: another store published a replica first.
            ViewGone: the table was dropped meanwhile.
        """
        for attempt in range(TRIES):
            transaction = self._transaction(table, launch.definition, staged)
            before = Metadata.read(self._calls.before(transaction))
            if before.version > launch.run.version:
                raise outrun(launch, before.version)
            if before.version == launch.run.version:
                return Committed(before.snapshot, before.at, again=True)
            require_upon(launch, str(before.at), before.version)
            self._replace(table, transaction, launch, staged, zone)
            if not self._calls.commit(transaction):
                time.sleep(0.02 * 2**attempt)
                continue
            if self._calls.isTakenBack(transaction):
                raise ViewGone(f"{launch.run.view} was dropped while its refresh ended")
            return Committed(before.snapshot, Metadata.read(self._calls.after(transaction)).at)
        said = f"other programs commit to {launch.run.view} all the time; the refresh is tried again"
        raise RefreshFailed(said, code=Code.RUN_TABLE_CHANGED)

    # --- inside

    def _transaction(self, table: JavaObject, definition: Definition, staged: Staged) -> JavaObject:
        if not staged.reshapes:
            return self._calls.transaction(table)
        transaction = self._replacement(table, definition)
        if not self._calls.fits(staged.table, transaction.table()):
            said = f"{definition.view} got other columns while it was refreshed; the refresh is tried again"
            raise RefreshFailed(said, code=Code.RUN_TABLE_CHANGED)
        return transaction

    def _replacement(self, table: JavaObject, definition: Definition) -> JavaObject:
        """A transaction that gives a view's table the shape of its definition and no rows."""
        properties = catalog.properties(definition)
        return self._calls.replacement(table, columns(definition), definition.partitioned_by, properties)

    def _replace(self, table: JavaObject, transaction: JavaObject, launch: Launch, staged: Staged, zone: str) -> None:
        run, files = launch.run, staged.files
        if staged.appended:
            update = self._calls.append(transaction, files)
        elif staged.instead is not None:
            update = self._calls.rewrite(transaction, self._tasks(table, transaction, launch, staged.instead), files)
        else:
            everything = WHOLE in run.slices or staged.reshapes
            filter = everything or region(run.slices, self._shapes.types(transaction.table()), zone)
            update = self._calls.overwrite(transaction, json.dumps(filter), files)
        sources = {table: snapshot for table, snapshot in run.snapshots if table != run.view}
        told = {VERSION: str(run.version), OWNER: launch.definition.owner, SOURCES: json.dumps(sources)}
        told |= {COMPLETE: "true"} if launch.complete else {}
        self._calls.include(transaction, update, told, VERSION)

    def _tasks(self, table: JavaObject, transaction: JavaObject, launch: Launch, instead: DataFiles) -> JavaObject:
        """Those that read the files whose place others take. Iceberg removes no file that is not there, and does not
        say so.

        Raises:
            FilesReplaced: another commit removed a file, as a compaction does, or rows of it.
        """
        now = transaction.table().currentSnapshot()
        there: DataFiles | None = instead
        if now is None or now.snapshotId() != instead.snapshot:
            there = None if now is None else chosen(self._calls, table, now.snapshotId(), instead.names)
        if there is None:
            raise other_files(launch.run.view)
        return there.tasks
