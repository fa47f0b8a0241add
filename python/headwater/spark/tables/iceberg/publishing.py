"""Publications: files that no commit names, and the one commit that names them.

A run writes its files as Iceberg's own compaction does: into a table object that Spark finds under a key, whose files
are fetched when they are written. The commit compares the metadata that it was made for with the table's (as every
commit of Iceberg's does), so a check of what that metadata says holds until the moment of the commit.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from attrs import frozen
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame

from headwater.model.command import Launch
from headwater.model.error import RefreshFailed, TakenOver, ViewGone
from headwater.model.partition import WHOLE
from headwater.model.reason import Code
from headwater.model.view import Definition
from headwater.model.work import AddsRows
from headwater.spark.tables import catalog
from headwater.spark.tables.iceberg.at import At
from headwater.spark.tables.iceberg.chosen import Choosing, DataFiles
from headwater.spark.tables.iceberg.java import Java
from headwater.spark.tables.iceberg.loops import Loops
from headwater.spark.tables.iceberg.regions import region
from headwater.spark.tables.iceberg.shape import Shapes
from headwater.spark.tables.key_files import KeyFiles
from headwater.spark.tables.view_tables import OTHER_FILES

VERSION = "headwater.version"
OWNER = catalog.OWNER
SOURCES = "headwater.sources"
OVERWRITE, APPEND, FILE = "iceberg.OverwriteFiles", "iceberg.AppendFiles", "iceberg.DataFile"
DIRECTORIES = "iceberg.hadoop.HadoopTableOperations"
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

    def __init__(self, java: Java, shapes: Shapes) -> None:
        self._java, self._shapes, self._loops, self._choosing = java, shapes, Loops(java), Choosing(java)

    def stage(
        self, table: JavaObject, launch: Launch, frame: DataFrame, key: str, key_files: KeyFiles | None
    ) -> Staged:
        """Writes rows into files of a view's table that no commit names. A redefinition always renews everything."""
        definition = launch.definition
        chosen = None if key_files is None else key_files.files
        instead = DataFiles() if isinstance(launch.run.work, AddsRows) else chosen
        reshapes = WHOLE in launch.run.slices and not self._shapes.fits(table, definition)
        if reshapes and instead is not None:
            said = f"{definition.view} has other columns than its table; the refresh is tried again"
            raise RefreshFailed(said, code=Code.RUN_TABLE_CHANGED)
        target = self._replacement(table, definition)[0].table() if reshapes else table
        cache = self._java("iceberg.spark.SparkTableCache.get")
        coordinator = self._java("iceberg.spark.FileRewriteCoordinator.get")
        cache.add(key, target)
        try:
            # The rows come in the partitioning that they are counted in, so that a task counts the rows of its files.
            frame.write.format("iceberg").option("distribution-mode", "none").mode("append").save(key)
            return Staged(target, coordinator.fetchNewFiles(target, key), reshapes, instead)
        finally:
            cache.remove(key)
            coordinator.clearRewrite(target, key)

    def commit(self, table: JavaObject, launch: Launch, staged: Staged, zone: str) -> Committed:
        """Puts the staged files in the place of the rows of a run's region, or beside them.

        Raises:
            TakenOver: a higher version is published already.
            ViewGone: the table was dropped meanwhile.
        """
        for attempt in range(TRIES):
            table.refresh()
            transaction, begun = self._transaction(table, launch.definition, staged)
            base = transaction.startMetadata()
            if not base.equals(begun):
                continue  # a look of another thread brought the table up to date meanwhile
            was = base.currentSnapshot()
            number = 0 if was is None else was.snapshotId()
            published = version(base)
            if published > launch.run.version:
                raise TakenOver(f"version {published} of {launch.run.view} is already published")
            if published == launch.run.version:
                return Committed(number, At.now(base), again=True)
            self._replace(table, transaction, launch, staged, zone)
            try:
                transaction.underlyingOps().commit(base, transaction.currentMetadata())
            except Py4JJavaError as error:
                if not self._is_conflict(error):
                    raise
                time.sleep(0.02 * 2**attempt)
                continue
            self._require_there(transaction, base, launch.run.view)
            return Committed(number, At.now(transaction.currentMetadata()))
        said = f"other programs commit to {launch.run.view} all the time; the refresh is tried again"
        raise RefreshFailed(said, code=Code.RUN_TABLE_CHANGED)

    # --- inside

    def _require_there(self, transaction: JavaObject, base: JavaObject, view: str) -> None:
        """Takes a commit back that made a dropped table again. In a catalog of directories a table is there while
        metadata of it is; such a catalog does not notice that the metadata before is gone."""
        operations = transaction.underlyingOps()
        before, io = base.metadataFileLocation(), operations.io()
        if not self._java.is_a(operations, DIRECTORIES) or before is None or io.newInputFile(before).exists():
            return
        folder = f"{base.location()}/metadata"
        own = f"/v{int(before.rpartition('/v')[2].partition('.')[0]) + 1}."  # the directory numbers its commits
        found = [each.location() for each in _each(io.listPrefix(folder).iterator())]
        there = [each for each in found if each.endswith(".metadata.json")]
        for each in (*(each for each in there if own in each), f"{folder}/version-hint.text"):
            io.deleteFile(each)
        if all(own in each for each in there):  # else somebody made another table there
            io.deletePrefix(base.location())
        raise ViewGone(f"{view} was dropped while its refresh ended")

    def _transaction(self, table: JavaObject, definition: Definition, staged: Staged) -> tuple[JavaObject, JavaObject]:
        """A transaction, and the metadata that its changes are made to."""
        if not staged.reshapes:
            transaction = table.newTransaction()
            return transaction, transaction.currentMetadata()
        transaction, begun = self._replacement(table, definition)
        written, now = staged.table, transaction.table()
        same = written.schema().sameSchema(now.schema()) and written.spec().equals(now.spec())
        if not (same and written.uuid().equals(now.uuid())):
            said = f"{definition.view} got other columns while it was refreshed; the refresh is tried again"
            raise RefreshFailed(said, code=Code.RUN_TABLE_CHANGED)
        return transaction, begun

    def _replacement(self, table: JavaObject, definition: Definition) -> tuple[JavaObject, JavaObject]:
        """A transaction that gives a view's table the shape of its definition and no rows, and the metadata before."""
        operations = table.operations()
        schema, spec = self._shapes.of(definition)
        base = operations.refresh()
        unsorted = self._java("iceberg.SortOrder.unsorted")
        properties = catalog.properties(definition)
        replaced = base.buildReplacement(schema, spec, unsorted, base.location(), properties)
        return self._java("iceberg.Transactions.replaceTableTransaction", table.name(), operations, replaced), base

    def _replace(self, table: JavaObject, transaction: JavaObject, launch: Launch, staged: Staged, zone: str) -> None:
        run = launch.run
        if staged.appended:
            update = self._appended(transaction, staged)
        elif staged.instead is not None:
            update = self._rewritten(table, transaction, launch, staged, staged.instead)
        else:
            update = self._overwritten(transaction, launch, staged, zone)
        sources = {table: snapshot for table, snapshot in run.snapshots if table != run.view}
        told = {VERSION: str(run.version), OWNER: launch.definition.owner, SOURCES: json.dumps(sources)}
        for name, value in told.items():
            update.set(name, value)
        update.commit()
        transaction.updateProperties().set(VERSION, str(run.version)).commit()

    def _appended(self, transaction: JavaObject, staged: Staged) -> JavaObject:
        append = transaction.newAppend()
        self._loops.each(staged.files, self._loops.method(APPEND, "appendFile", APPEND, FILE).bindTo(append))
        return append

    def _rewritten(
        self, table: JavaObject, transaction: JavaObject, launch: Launch, staged: Staged, instead: DataFiles
    ) -> JavaObject:
        """Iceberg removes no file that is not there, and does not say so.

        Raises:
            RefreshFailed: another program removed a file, or rows of it.
        """
        now = transaction.table().currentSnapshot()
        there: DataFiles | None = instead
        if now is None or now.snapshotId() != instead.snapshot:
            there = None if now is None else self._choosing.of(table, now.snapshotId(), instead.names)
        if there is None:
            raise RefreshFailed(OTHER_FILES, launch.run.view, Code.RUN_TABLE_CHANGED)
        overwrite = transaction.newOverwrite()
        for each in there.tasks:
            overwrite.deleteFile(each.file())
        self._loops.each(staged.files, self._loops.method(OVERWRITE, "addFile", OVERWRITE, FILE).bindTo(overwrite))
        return overwrite

    def _overwritten(self, transaction: JavaObject, launch: Launch, staged: Staged, zone: str) -> JavaObject:
        table, slices = transaction.table(), launch.run.slices
        everything = WHOLE in slices or staged.reshapes
        filter = True if everything else region(slices, self._shapes.types(table), zone)
        overwrite = transaction.newOverwrite()
        overwrite.overwriteByRowFilter(
            self._java("iceberg.expressions.ExpressionParser.fromJson", json.dumps(filter), table.schema())
        )
        self._loops.each(staged.files, self._loops.method(OVERWRITE, "addFile", OVERWRITE, FILE).bindTo(overwrite))
        return overwrite

    def _is_conflict(self, error: Py4JJavaError) -> bool:
        """Whether another program's commit came first, or nobody knows which did: a look at the table tells."""
        names = ("CommitFailedException", "CommitStateUnknownException")
        return self._java.raised(error, *(f"iceberg.exceptions.{name}" for name in names))


def version(table: JavaObject) -> int:
    """The version that was published last in a table, or in its metadata."""
    return int(table.properties().get(VERSION) or "0")


def _each(iterator: JavaObject) -> Iterator[JavaObject]:
    while iterator.hasNext():
        yield iterator.next()
