"""The shim's functions, as Python functions of values (docs/protocol.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from typing import Any, cast

from attrs import evolve
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater.model.costs import Estimate
from headwater.model.extract import Extract
from headwater.model.measure import Effort
from headwater.model.seen import ChangedRows
from headwater.spark.jvm import wire
from headwater.spark.jvm.connection import answers, is_broken
from headwater.spark.jvm.counted import Counted
from headwater.spark.jvm.facts import Asked, CatalogView, Fact, Pin, RunProgress
from headwater.spark.jvm.neighbourhood import Neighbourhood
from headwater.spark.jvm.query_totals import QueryTotals
from headwater.spark.jvm.row_changes import BYTES, MOST, RowChanges
from headwater.spark.jvm.wire import Failure, FailureKind

SPARK_ERRORS = (PySparkException, Py4JError)
"""What a call of Spark raises: Spark's own errors, and those of the way to the driver."""


def _left(rows: ChangedRows, left: JavaObject | None) -> ChangedRows:
    """Changed rows without those that came and went, if the shim compared them."""
    if left is None:
        return evolve(rows, few=False)
    session = (rows.removed if rows.added is None else rows.added).sparkSession
    came, went = (None if each is None else DataFrame(each, session) for each in (left.added(), left.removed()))
    # A row that came and went in between is in both, and so in neither now.
    found = ChangedRows(came, went, few=left.areFew(), netted=True)
    return found if found.few else evolve(found, close=left.forget)


class _Late:
    """An object that is made for its first call."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Any:
        return self._make()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


class Shim:
    """Calls into the driver's JVM; ``session`` arguments are the sessions they act in."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._jvm = cast(Any, session._jvm)
        self._package = self._jvm.io.headwater.spark
        self._functions: dict[str, Callable[..., Any]] = {}

    def _call(self, name: str, *arguments: Any) -> Any:
        """Calls a function, or the constructor, of one of the shim's objects. Each is looked up once, which takes py4j
        two calls to the JVM."""
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = reduce(getattr, name.split("."), self._package)
        return function(*arguments)

    def is_gone(self, error: BaseException) -> bool:
        """Whether an error says that there is no driver to talk to any more."""
        return is_broken(error) and not answers(self._jvm)

    def poll(self, millis: int) -> wire.Message | None:
        """The next message from the driver; ``None`` when none came in time."""
        text = self._call("Bridge.poll", millis)
        return wire.decode(text, wire.Message) if text else None

    def reply(self, message_id: int, answer: wire.Answer) -> None:
        self._call("Bridge.reply", message_id, wire.encode(answer))

    def registered(self) -> list[str]:
        """The modules whose jobs programs of this application registered."""
        return wire.decode(self._call("Bridge.registered"), list[str])

    def facts(self, session: SparkSession) -> wire.Session:
        """All that gives a statement its meaning in a session."""
        return wire.decode(self._call("Captured.told", session._jsparkSession), wire.Session)

    def observe(self, asked: Sequence[Asked]) -> list[Fact]:
        """The state of tables, partitions or paths."""
        told = self._call("Tables.observe", self._session._jsparkSession, wire.encode(asked))
        return wire.decode(told, list[Fact])

    def views(self) -> list[CatalogView]:
        """The materialized views that the catalogs hold."""
        return wire.decode(self._call("CatalogViews.all", self._session._jsparkSession), list[CatalogView])

    def mark(self, table: str, owner: str) -> None:
        """Names the owner of a Delta table in the metastore's entry, too."""
        self._call("CatalogViews.mark", self._session._jsparkSession, table, owner)

    def format(self, table: str) -> str:
        """The name of a table's format; empty when there is no such table."""
        return self._call("TableFormats.name", self._session._jsparkSession, table)

    def has(self, format: str) -> bool:
        """Whether the application can read tables of a lake format."""
        return self._call("LakeTables.has", format)

    def calls(self, format: str) -> Any:
        """What the driver does with a format's own classes (``Compiled.scala``)."""
        return _Late(lambda: self._call("Compiled.calls", format))

    def table(self, session: SparkSession, key: str) -> JavaObject | None:
        """The catalog's own object of a table as it is now; ``None`` if there is none of that name."""
        return self._call("LakeTables.loaded", session._jsparkSession, key)

    def lake_formats(self, session: SparkSession, catalog: str) -> list[str]:
        """The lake formats that tables of a catalog can have."""
        return wire.decode(self._call("Catalogs.formats", session._jsparkSession, catalog), list[str])

    def owner(self, table: str) -> str | None:
        """Who owns a table: empty for one that is no view's; ``None`` when there is none of that name."""
        return self._call("Tables.owner", self._session._jsparkSession, table)

    def home(self, database: str) -> str:
        """Where the tables of a database of the session catalog lie."""
        return self._call("Tables.home", self._session._jsparkSession, database)

    def rename(self, table: str, to: str) -> None:
        """Gives a table another name in its database."""
        self._call("Tables.rename", self._session._jsparkSession, table, to)

    def exchange(self, view: str, filled: str) -> str | None:
        """Lets a view's table and the one that is filled to replace it change their places, in one step for readers.

        Returns where the view's table lay, if its catalog owns those files, or else an empty string; ``None``: the
        catalog cannot do this, and nothing has changed.
        """
        return self._call("Exchange.exchange", self._session._jsparkSession, view, filled)

    def meant(self, frame: DataFrame) -> str:
        """The ordinary views and functions of a query, as its analysis found them."""
        return self._call("Meant.of", frame._jdf)

    def is_correlated(self, frame: DataFrame) -> bool:
        """Whether a query has a subquery that names columns of the query around it."""
        return self._call("Correlated.is", frame._jdf)

    def renew(self, session: SparkSession, tables: Sequence[str]) -> None:
        """Lets the next queries of a session see tables and paths as they are now."""
        self._call("Tables.renew", session._jsparkSession, wire.encode(tables))

    def recache(self, table: str) -> None:
        """Lets all sessions read anew what they cached of a table."""
        self._call("Tables.recache", self._session._jsparkSession, table)

    def publish(self, request: wire.Publication) -> wire.PublicationAnswer:
        """Moves a view's pointers, or tells why they stay."""
        told = self._call("Publication.publish", self._session._jsparkSession, wire.encode(request))
        return wire.decode(told, wire.PublicationAnswer)

    def counted(
        self, frame: DataFrame, columns: Sequence[str], hashed: bool, exact: bool = False, weight: str = ""
    ) -> Counted:
        """The same rows, counted while they are written. Unless they are ``exact``, partition columns have the values
        that directories give back: NULL for the empty string. With a column ``weight``, the count is a difference: of
        rows that come (1), stay (0) or go (-1). Those that go are not written, nor is the column."""
        counted = self._call("Counted", frame._jdf, list(columns), hashed, exact, weight)
        frame = DataFrame(counted.counted(), frame.sparkSession)
        return Counted(
            frame, lambda: wire.decode(counted.sums(), list[wire.Sum]), lambda: wire.decode(counted.spent(), wire.Spent)
        )

    def apart(self, frame: DataFrame) -> DataFrame:
        """The same rows, for a write into a table of another catalog than Spark's own."""
        return DataFrame(self._call("Counted.apart", frame._jdf), frame.sparkSession)

    def progress(self) -> list[RunProgress]:
        """The refreshes of which a Spark job runs, or whose output is copied."""
        return wire.decode(self._call("Progress.of", self._session._jsparkSession), list[RunProgress])

    def effort(self, session: SparkSession, group: str) -> Effort | None:
        """What the tasks of a job group took so far."""
        return wire.decode(self._call("Progress.effort", session._jsparkSession, group), Effort | None)

    def written(self, root: str, columns: int) -> list[wire.Directory]:
        """The partition directories below ``root``, ``columns`` levels deep."""
        told = self._call("Files.written", self._session._jsparkSession, root, columns)
        return wire.decode(told, list[wire.Directory])

    def names(self, root: str) -> list[str]:
        return wire.decode(self._call("Files.names", self._session._jsparkSession, root), list[str])

    def text(self, path: str) -> str | None:
        """The content of a file; ``None`` if there is none."""
        return self._call("TotalsFiles.text", self._session._jsparkSession, path)

    def save(self, path: str, text: str) -> None:
        """Writes a file, which is there as a whole or not at all."""
        self._call("TotalsFiles.save", self._session._jsparkSession, path, text)

    def listed(self, root: str) -> dict[str, dict[str, int]]:
        """The files of the directories below ``root``: of each directory, the bytes of each file."""
        told = self._call("TotalsFiles.listed", self._session._jsparkSession, root)
        return wire.decode(told, dict[str, dict[str, int]])

    def are_there(self, files: Mapping[str, int]) -> bool:
        """Whether files are there, each with so many bytes."""
        told = [f"{length} {path}" for path, length in files.items()]
        return self._call("TotalsFiles.areThere", self._session._jsparkSession, told)

    def make(self, path: str) -> None:
        """Makes a directory, and those above it."""
        self._call("Files.make", self._session._jsparkSession, path)

    def copy(self, name: str, source: str, target: str, rate: int) -> None:
        """Copies the files below a directory to below another one, ``rate`` bytes a second at most; 0: no limit."""
        self._call("Copies.copy", self._session._jsparkSession, name, source, target, rate)

    def stop_copy(self, name: str) -> None:
        """Lets the copy of that name fail, if there is one."""
        self._call("Copies.stop", name)

    def hold(self, frame: DataFrame, version: int, level: str) -> None:
        """Computes rows and holds them in Spark's memory, at a storage level."""
        self._call("Blocks.hold", frame._jdf, version, level)

    def held(self, session: SparkSession, version: int) -> DataFrame:
        """The rows that are held of a version."""
        return DataFrame(self._call("Blocks.frame", session._jsparkSession, version), session)

    def held_size(self, version: int) -> int:
        """The bytes that are held of a version so far."""
        return self._call("Blocks.size", version)

    def held_room(self) -> int:
        """The bytes that Spark can hold in memory."""
        return self._call("Blocks.room", self._session._jsparkSession)

    def release_held(self, version: int) -> None:
        self._call("Blocks.release", version)

    def release_all_held(self) -> None:
        self._call("Blocks.releaseAll")

    def read_conditions(self, query: DataFrame) -> JavaObject:
        """The conditions on the tables that a query reads, as Spark gives them to Iceberg, in the driver."""
        return self._call("ReadConditions.of", query._jdf)

    def totals(self, query: DataFrame) -> QueryTotals:
        """The totals of a query."""
        return QueryTotals(self._call("Totals", query._jdf), query.sparkSession)

    def added_rows(self, query: DataFrame) -> list[DataFrame]:
        """The rows that a query makes of new rows, for each place where it reads a table that changed."""
        return [DataFrame(each, query.sparkSession) for each in self._call("ViewRows.added", query._jdf)]

    def changed_rows(self, query: DataFrame) -> list[DataFrame]:
        """The rows of a query that come and go with changed rows, for each place where it reads a table that changed.
        The last column is 1 or -1."""
        return [DataFrame(each, query.sparkSession) for each in self._call("ViewRows.changed", query._jdf)]

    def row_changes(self, terms: Sequence[DataFrame]) -> RowChanges | None:
        """How often each row comes to a view or goes from it, by all terms; ``None`` if they have many rows."""
        found = self._call("RowChanges.of", [each._jdf for each in terms], MOST, BYTES)
        return None if found is None else RowChanges(found, terms[0].sparkSession)

    def framed_keys(self, query: DataFrame, changed: DataFrame) -> DataFrame | None:
        """The keys of the rows of a query in whose frames changed rows are; ``None`` if the query itself is better.

        Args:
            changed: the values of these rows in ``PARTITION BY`` and ``ORDER BY``.
        """
        framed = self._call("Framed", query._jdf)
        found = framed.reached(changed._jdf) if framed.isExact() else None
        return None if found is None else DataFrame(found, query.sparkSession)

    def framed(self, query: DataFrame, keys: DataFrame) -> DataFrame:
        """The rows of a query, of which those with these keys are all there."""
        return DataFrame(self._call("Framed", query._jdf).rows(keys._jdf), query.sparkSession)

    def neighbourhood(self, query: DataFrame, changed: DataFrame) -> Neighbourhood | None:
        """The rows of a query that are few places before or after changed rows; ``None`` if they are many, or if two of
        them have the same place.

        Args:
            changed: the values of these rows in ``PARTITION BY`` and ``ORDER BY``.
        """
        found = self._call("Neighbours", query._jdf).reached(changed._jdf)
        return None if found is None else Neighbourhood(found, query.sparkSession)

    def foremost(self, query: DataFrame, changed: DataFrame, there: DataFrame, most: int) -> DataFrame | None:
        """The partitions of a query's window in which changed rows are among the first ones; ``None`` if they are many.

        Args:
            changed: the values of these rows in ``PARTITION BY`` and ``ORDER BY``.
            there: those of the first rows of each partition, before the changes.
            most: so many rows are the first ones.
        """
        found = self._call("Foremost", query._jdf).reached(changed._jdf, there._jdf, most)
        return None if found is None else DataFrame(found, query.sparkSession)

    def stand_in(self, name: str, changed: ChangedRows, now: Pin, before: Pin) -> None:
        """Names changed rows of a table, which queries read in its places one after the other (``Pin``).

        Args:
            now: how the other places read the table as it is now.
            before: how they read it as it was.
        """
        sides = (None if rows is None else rows._jdf for rows in (changed.added, changed.removed))
        self._call("StandIns.put", name, *sides, changed.lasting, wire.encode(now), wire.encode(before))

    def stands_in(self, name: str) -> bool:
        """Whether a query was found to read the table of these rows."""
        return bool(self._call("StandIns.isPlaced", name))

    def stand_out(self, name: str) -> None:
        """Forgets them."""
        self._call("StandIns.remove", name)

    def few_rows(self, changed: Sequence[ChangedRows]) -> list[ChangedRows]:
        """The rows of each table without those that came and went, in the memory of the driver if they are few."""
        sides = [None if each is None else each._jdf for rows in changed for each in (rows.added, rows.removed)]
        return [_left(*each) for each in zip(changed, self._call("FewRows.of", sides), strict=True)]

    def rows_in(self, session: SparkSession, rows: ChangedRows) -> ChangedRows:
        """Rows that another session read and compared, as frames of this one."""
        sides = [None if each is None else each._jdf for each in (rows.added, rows.removed)]
        added, removed = (
            None if each is None else DataFrame(self._call("FewRows.in", session._jsparkSession, each), session)
            for each in sides
        )
        return evolve(rows, added=added, removed=removed)

    def key_values(self, keys: Sequence[DataFrame], most: int) -> JavaObject | None:
        """The different rows of some queries as keys (``KeyValues.scala``); ``None`` if they are more than ``most``."""
        return self._call("KeyValues.of", [each._jdf for each in keys], most)

    def added_files(self, session: SparkSession, table: str, since: str, until: str) -> DataFrame | None:
        """The rows of the files that came between two snapshots of a table; ``None`` if nobody can say."""
        rows = self._call("FileSnapshots.added", session._jsparkSession, table, since, until)
        return None if rows is None else DataFrame(rows, session)

    def version_rows(self, session: SparkSession, view: str, root: str, version: str, other: str) -> DataFrame | None:
        """The rows of those partitions of a version of a view that another version has in other files; ``None`` if one
        of them is gone."""
        rows = self._call("FileVersions.rows", session._jsparkSession, view, root, version, other)
        return None if rows is None else DataFrame(rows, session)

    def needs(self, frame: DataFrame) -> dict[str, Extract]:
        """The part that a query needs of each table that it reads, by the table's name, as far as that is known."""
        return wire.decode(self._call("Scans.needs", frame._jdf), dict[str, Extract])

    def estimate(self, session: SparkSession, query: str, known: Mapping[str, int]) -> Estimate | None:
        """What a query makes and reads by Spark's statistics, and by the bytes that are ``known`` of tables; ``None``
        where they say nothing."""
        told = self._call("Sizes.estimate", session._jsparkSession, query, wire.encode(known))
        return wire.decode(told, Estimate | None)

    def probe(self, directory: str, size: int, streams: int) -> wire.Probe:
        """µs that so many bytes take to be written and read there, by so many streams side by side."""
        told = self._call("Files.probe", self._session._jsparkSession, directory, size, streams)
        return wire.decode(told, wire.Probe)

    def claim(self, root: str, owner: str) -> bool:
        """Takes a directory that does not exist or is empty, for an owner; whether it could be taken."""
        return self._call("Roots.claim", self._session._jsparkSession, root, owner)

    def within(self, table: str) -> list[str]:
        """The tables that lie in the directory of a table, and that its catalog deletes with it."""
        return wire.decode(self._call("Catalogs.within", self._session._jsparkSession, table), list[str])

    def release(self, root: str, owner: str) -> None:
        """Removes what an owner wrote into the directory that it had claimed; none was claimed for a lake table."""
        if root:
            self._call("Roots.release", self._session._jsparkSession, root, owner)

    def delete_versions(self, root: str, owner: str, paths: Sequence[str]) -> None:
        """Removes versions, or parts of them, from the directory that an owner claimed."""
        self._call("Roots.delete", self._session._jsparkSession, root, owner, wire.encode(paths))

    def delete(self, path: str) -> None:
        """Removes a file, or a directory with all that is in it."""
        self._call("Files.delete", self._session._jsparkSession, path)

    def run_quietly(self, session: SparkSession, statement: str) -> None:
        """Runs a statement that would print into the driver's output, which is a user's."""
        self._call("Internal.runQuietly", session._jsparkSession, statement)

    def failure(self, error: Exception) -> Failure:
        """Of which kind an error is that Spark raised."""
        java = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
        if java is None:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            return Failure(FailureKind.OTHER, lines[0])
        return wire.decode(self._call("Failures.of", self._session.sparkContext._jsc.sc(), java), Failure)

    def describe(self, session: SparkSession, query: str) -> wire.Described:
        """The analysed plan of a query; raises what Spark's analysis raises."""
        return wire.decode_plan(*self._call("PlanJson.analysed", session._jsparkSession, query))
