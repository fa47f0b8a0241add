"""The files of runs before their publication. Each run writes them among those of its view's table, and no commit names
them; so no reader sees them, and ``VACUUM`` deletes them after the table's retention time."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from attrs import evolve, frozen
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from headwater.model.command import Launch, Written
from headwater.model.event import Made
from headwater.model.measure import Measured
from headwater.model.partition import WHOLE, Slice, Version
from headwater.model.state import Run
from headwater.model.view import Definition
from headwater.model.work import only_adds
from headwater.spark.jvm import sql
from headwater.spark.jvm.counted import Counted, altered
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.delta.calls import Staged, active
from headwater.spark.tables.delta.log import Log, Logs, NotDelta
from headwater.spark.tables.delta.looks import DeltaLooks
from headwater.spark.tables.key_files import KeyFiles
from headwater.spark.tables.rows_by_keys import WEIGHT
from headwater.spark.tables.view_tables import emptied, filled, gone


@frozen
class Files:
    """The handle of a run's output.

    Attributes:
        table: the name of the table that they are for: the view's own, or its replacement.
        staged: the actions that add them, in the driver.
        begun: when the first file may have been written (ms).
        instead: the names of the files whose place they take, which may be none. ``None``: they take that of all files
            in the run's region.
    """

    table: str
    staged: Staged
    begun: int
    instead: tuple[str, ...] | None = None

    @property
    def partly(self) -> bool:
        """Whether files in the run's region stay."""
        return self.instead is not None

    @property
    def appended(self) -> bool:
        """Whether all of them stay."""
        return self.instead == ()


class Staging:
    """Writes the files of runs, and has those that are not published yet."""

    def __init__(self, logs: Logs, shim: Shim, sessions: Sessions, looks: DeltaLooks) -> None:
        self._logs, self._shim, self._sessions, self._looks = logs, shim, sessions, looks
        self._staged: dict[str, tuple[Version, Files]] = {}

    def write(self, launch: Launch, frame: DataFrame, hashed: bool, key_files: KeyFiles | None) -> Counted:
        run, definition = launch.run, launch.definition
        instead = () if only_adds(run.work) else None if key_files is None else key_files.files
        name, log = self._opened(definition)
        if log is None:
            raise gone(run.view)
        if definition.partitioned_by:
            frame = frame.hint("rebalance", *[F.col(sql.identifier(column)) for column in definition.partitioned_by])
        weight = "" if key_files is None else WEIGHT
        counted = self._shim.counted(frame, definition.partitioned_by, hashed, weight=weight)
        begun = int(time.time() * 1000)
        with active(self._logs.calls, counted.frame.sparkSession):
            schema = self._reshaped(log, definition) if WHOLE in run.slices and instead is None else None
            staged = log.opened.write(counted.frame._jdf, schema, definition.partitioned_by)
        self._staged[run.view] = run.version, Files(name, staged, begun, instead)
        return counted

    def written(self, launch: Launch, known: Mapping[Slice, Made]) -> Written:
        run = launch.run
        _, files = self._staged[run.view]
        known = altered(launch, known) if files.partly else known
        made = tuple(evolve(each, fingerprint=f"v{run.version}") for each in known.values())
        removed = emptied(launch, known, lambda looks: [self._looks.look(each) for each in looks])
        return Written(made, removed, files, measured=Measured(files.staged.bytes()))

    def holds(self, view: str) -> bool:
        """Whether files of a view wait for their publication."""
        return view in self._staged

    def over(self, run: Run) -> None:
        """A run was published."""
        if self._staged.get(run.view, (0, None))[0] <= run.version:
            self._staged.pop(run.view, None)

    # --- inside

    def _opened(self, definition: Definition) -> tuple[str, Log | None]:
        """The table that a run writes."""
        try:
            return definition.view, self._logs.open(definition.view)
        except NotDelta:
            name = filled(self._shim, definition)
            return name, self._logs.open(name)

    def _reshaped(self, log: Log, definition: Definition) -> str | None:
        """The columns of a view's definition, if its table has others."""
        wanted = self._schema(definition)
        return None if log.layout.is_shaped(json.loads(wanted)["fields"], definition.partitioned_by) else wanted

    def unstorable(self, definition: Definition) -> str:
        """Why Delta takes a table of these columns and refuses each write: nested values need a type."""
        schema = StructType.fromJson(json.loads(self._schema(definition)))
        empty = self._sessions.of_table().createDataFrame([], schema)
        try:
            stored = self._logs.calls.stored(empty._jdf)
        except (PySparkException, Py4JError) as error:
            if self._shim.is_gone(error):
                raise
            return self._shim.failure(error).text
        hollow = [each.name for each in StructType.fromJson(json.loads(stored)) if _is_hollow(each.dataType)]
        return f"the column {hollow[0]} is a STRUCT of which it stores no field" if hollow else ""

    def _schema(self, definition: Definition) -> str:
        """The columns of a definition as Spark writes a schema in JSON."""
        columns = ", ".join(
            f"{sql.identifier(each.name)} {each.type}"
            + (f" COMMENT {sql.literal(each.comment)}" if each.comment else "")
            for each in definition.columns
        )
        return self._logs.calls.schema(columns)


def _is_hollow(type: DataType) -> bool:
    """Whether a type has a struct in it without fields."""
    match type:
        case StructType(fields=fields):
            return not fields or any(_is_hollow(each.dataType) for each in fields)
        case ArrayType(elementType=element):
            return _is_hollow(element)
        case MapType(keyType=key, valueType=value):
            return _is_hollow(key) or _is_hollow(value)
        case _:
            return False
