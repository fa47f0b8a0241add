"""Jobs in a Spark application: found by name, checked when they are declared, and run."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from attrs import evolve
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headwater.algebra.derive import derive
from headwater.algebra.notation import spell_window
from headwater.editions import Editions, LoadedModule
from headwater.jobs import JobFunction, module_of
from headwater.model.calendar import Shift, Unit, Window
from headwater.model.dependency import Computed, Dependency, Expression, Occurrence, Same, Windowed
from headwater.model.error import AnalysisFailed, DefinitionError, RefreshFailed
from headwater.model.name import SESSION_CATALOG, TableName, kept, split
from headwater.model.partition import Slice
from headwater.model.reason import Code
from headwater.model.state import Run
from headwater.model.view import Column, Definition, Job
from headwater.spark.jvm import sql
from headwater.spark.jvm.connection import is_broken
from headwater.spark.jvm.wire import Create, Described, Session

PARTITION = "partition"
"""In ``table(name, partition=window)``: the only partition column of the job, and of the source."""


class Jobs:
    """The jobs that this process may import. A view in the catalog names a function, and whoever may write the catalog
    may name any: only the application itself says from which modules functions are taken.

    Args:
        modules: those in ``spark.headwater.jobs``.
        registered: those whose jobs programs of this application registered.
    """

    def __init__(self, modules: Collection[str] = (), registered: Callable[[], Collection[str]] = tuple) -> None:
        self._modules, self._registered, self._editions = frozenset(modules), registered, Editions()

    def find(self, job: Job) -> JobFunction:
        """The decorated function of a job, as its file has it now.

        Raises:
            AnalysisFailed: it cannot be imported here.
        """
        module, _, function = job.function.partition(":")
        if module not in self._modules and module not in self._registered():
            raise AnalysisFailed(
                f"the job {job.function} is in a module that this application does not import; add {module} to "
                "spark.headwater.jobs, or register the job with headwater.register"
            )
        loaded = self._loaded(module, f"the job {job.function}")
        try:
            found: object = loaded.module
            for part in function.split("."):
                found = getattr(found, part)
        except AttributeError as error:
            raise AnalysisFailed(f"{loaded.module.__file__} has no job {function} ({error}); put it back") from error
        if not isinstance(found, JobFunction):
            raise AnalysisFailed(f"{job.function} is not a job; decorate it with @headwater.job")
        return evolve(found, edition=loaded.edition.digest)

    def on_record(self, job: Job, definition: Definition) -> JobFunction:
        """The function of a job, of the edition that is on record.

        Raises:
            RefreshFailed: it cannot be imported here, or its file has another edition.
        """
        try:
            found = self.find(job)
        except AnalysisFailed as error:
            raise RefreshFailed(str(error), definition.view, Code.RUN_JOB_FAILED) from error
        if found.fingerprint != definition.fingerprint:
            raise RefreshFailed(
                f"the files of the job {job.function} have another edition than the one that was registered, in "
                f"{module_of(job.function)} or in a module that it imports; register the job again, or put the files "
                "back",
                definition.view,
                Code.RUN_JOB_FAILED,
            )
        return found

    def of_module(self, module: str) -> list[JobFunction]:
        """The jobs that a module in ``spark.headwater.jobs`` defines.

        Raises:
            AnalysisFailed: it cannot be imported, or defines none.
        """
        loaded = self._loaded(module, f"spark.headwater.jobs: {module}")
        members = vars(loaded.module).values()
        found = [each for each in members if isinstance(each, JobFunction) and each.module == module]
        if not found:
            raise AnalysisFailed(f"spark.headwater.jobs: {module} has no function with @headwater.job")
        return [evolve(each, edition=loaded.edition.digest) for each in found]

    def _loaded(self, module: str, what: str) -> LoadedModule:
        try:
            loaded = self._editions.load(module)
        except Exception as error:  # whatever a module of a user's raises while it is imported
            raise AnalysisFailed(
                f"{what} cannot be imported ({type(error).__name__}: {error}); put its module on the PYTHONPATH of the "
                "driver"
            ) from error
        for name in loaded.edition.sources:
            # A Python worker keeps the modules that it imported, so functions go to it as they are here.
            if name in sys.modules:
                cloudpickle.register_pickle_by_value(sys.modules[name])
        return loaded


def messages(job: JobFunction, database: str) -> Iterator[Create]:
    """For each output the message that declares it, as ``CREATE OR REPLACE MATERIALIZED VIEW`` sends one in a session
    with this current database."""
    session = Session(SESSION_CATALOG, database, {})
    for output in job.outputs:
        name = split(output)
        yield Create(
            None,
            session,
            TableName.of((database, *name) if len(name) == 1 else name).parts,
            "",
            partitioning=tuple(column for column, _ in job.partition),
            properties=dict(job.properties),
            or_replace=True,
            job=job.name,
            fingerprint=job.fingerprint,
        )


Describe = Callable[[str], Described]
"""Describes the analysed plan of a query."""


def analysed(definition: Definition, job: JobFunction, describe: Describe) -> Definition:
    """The definition of a job's output, with columns, fingerprint and dependencies as declared.

    Raises:
        AnalysisFailed: a table that it depends on is not there.
        DefinitionError: it names a column that is not there, its units do not fit together, it depends on
            something else than a supported table, or it reads itself and does not go strictly back in time.
    """
    view = definition.view
    columns = _columns(view, job)
    by_name = {column.name.lower(): column for column in columns}
    for name, _ in job.partition:
        if name.lower() not in by_name:
            raise DefinitionError("PARTITIONING", f"{view} is partitioned by {name}, which is none of its columns")
        if by_name[name.lower()].type == "binary":
            raise DefinitionError(
                "PARTITIONING",
                f"{view} is partitioned by {name}, a BINARY; several values share one directory: use its hex text",
            )
    deps = [evolve(each, source=_full_name(definition, each.source)) for each in job.deps]
    others = tuple(_dependency(view, job, each, by_name, describe) for each in deps if each.source != view)
    own = [occurrence for each in deps if each.source == view for occurrence in each.occurrences]
    earlier = tuple(_earlier(view, job, each, by_name, others) for each in own)
    times = {name for each in earlier for name, expression in each.columns if isinstance(expression, Windowed)}
    if len(times) > 1:
        raise DefinitionError(
            "CYCLE", f"{view} reads itself by {' and by '.join(sorted(times))}; let it be one of them"
        )
    return evolve(
        definition,
        columns=columns,
        partitioned_by=tuple(by_name[name.lower()].name for name, _ in job.partition),
        fingerprint=job.fingerprint,
        dependencies=others,
        earlier=earlier,
    )


def frame(session: SparkSession, definition: Definition, job: JobFunction, run: Run) -> DataFrame:
    """What the function returns for a run.

    Raises:
        RefreshFailed: it raised, with its traceback; or returned something else than a frame of the columns.
        ConnectionError, Py4JError: the driver is gone.
    """
    partitions = [dict(each.bound) for each in run.slices if each != Slice()] or [{}]
    told = {"output": definition.view} if len(job.outputs) > 1 else {}
    try:
        made = job.function(session, partitions, dict(run.inputs), **told)
    except Exception as error:  # a job may raise anything; what it was for stays pending
        if is_broken(error):
            session.sparkContext._jsc.sc().isStopped()  # raises as well if it is the driver that cannot be reached
        said = f"the job {job.name} raised\n{_trace(error)}"
        raise RefreshFailed(said, run.view, Code.RUN_JOB_FAILED) from error
    if not isinstance(made, DataFrame):
        said = f"the job {job.name} returned {type(made).__name__}, not a DataFrame"
        raise RefreshFailed(said, run.view, Code.RUN_JOB_FAILED)
    missing = {each.name.lower() for each in definition.columns} - {each.lower() for each in made.columns}
    if missing:
        said = f"the job {job.name} returned no column {', '.join(sorted(missing))}"
        raise RefreshFailed(said, run.view, Code.RUN_JOB_FAILED)
    return made.select(*(made[each.name] for each in definition.columns))


def _trace(error: Exception) -> str:
    """The traceback from the job's own code on."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    return "".join([*traceback.format_list(frames), *traceback.format_exception_only(error)]).strip()


def _columns(view: str, job: JobFunction) -> tuple[Column, ...]:
    try:
        schema = StructType.fromDDL(job.columns)
    except PySparkException as error:
        raise DefinitionError("COLUMNS", f"'{job.columns}' are no columns as in CREATE TABLE", view) from error
    assert isinstance(schema, StructType), "columns of a table are a struct"
    return tuple(Column(each.name, each.dataType.simpleString()) for each in schema.fields)


def _full_name(definition: Definition, source: str) -> str:
    parts = split(source)
    name = TableName.of((definition.database, *parts) if len(parts) == 1 else parts)
    return kept(name, folds=True)


def _dependency(
    view: str, job: JobFunction, stated: Dependency, columns: Mapping[str, Column], describe: Describe
) -> Dependency:
    source = stated.source
    available = _partition_columns(view, source, describe)
    occurrences = []
    for occurrence in stated.occurrences:
        bound = [_bound(view, job, source, *each, columns, available) for each in occurrence.columns]
        occurrences.append(evolve(occurrence, columns=tuple(bound)))
    return evolve(stated, occurrences=tuple(occurrences))


def _partition_columns(view: str, source: str, describe: Describe) -> list[str]:
    """The partition columns of a table.

    Raises:
        AnalysisFailed: there is no such table.
        DefinitionError: its changes cannot be followed.
    """
    try:
        description = describe(f"SELECT * FROM {sql.quoted(source)}")
    except AnalysisFailed as error:
        raise AnalysisFailed(f"{view} depends on {source}, which cannot be read: {error}") from error
    found = derive(description.plan, (), ())
    for problem in found.problems:
        raise DefinitionError(problem.code, f"{view} cannot depend on {source}: {problem.sentence}")
    if found.views:
        read = ", ".join(each.source for each in found.reads) or "no table"
        why = f"an ordinary view: it has no changes of its own; it reads {read}"
        raise DefinitionError("SOURCE", f"{view} cannot depend on {source}, {why}")
    return [name for each in found.reads for name, _ in each.partition_columns]


def _earlier(
    view: str, job: JobFunction, stated: Occurrence, columns: Mapping[str, Column], others: Sequence[Dependency]
) -> Occurrence:
    """One place where a job reads earlier partitions of its own table."""
    own = [name for name, _ in job.partition]
    bound = [_bound(view, job, view, *each, columns, own) for each in stated.columns]
    windows = [(name, each.window) for name, each in bound if isinstance(each, Windowed)]
    if (
        len(windows) != 1
        or not _goes_back(windows[0][1])
        or any(isinstance(each, Computed) or name != each.column for name, each in bound)
    ):
        said = ", ".join(f"{name} = {spell_window(window)}" for name, window in windows) or "no window"
        raise DefinitionError(
            "CYCLE",
            f"{view} reads itself by {said}, which does not go strictly back in time; let it read earlier periods of "
            "one column only, as partition=DAY - 1 does",
        )
    time = windows[0][0]
    for each in others:
        if not all(isinstance(dict(place.columns).get(time), Same | Windowed) for place in each.occurrences):
            raise DefinitionError(
                "CYCLE",
                f"{view} reads itself by {time}, and {each.source} does not say which {time} a change of it is for; "
                f"map {time} to a column of {each.source}, or to a window over one",
            )
    return evolve(stated, columns=tuple(bound))


def _goes_back(window: Window) -> bool:
    match window.steps:
        case (Shift(last=int(last)),):
            return last < 0
        case _:
            return False


def _bound(
    view: str,
    job: JobFunction,
    source: str,
    name: str,
    expression: Expression,
    columns: Mapping[str, Column],
    available: Sequence[str],
) -> tuple[str, Expression]:
    """One column of a map, with the names that a table alone left open."""
    units = {column.lower(): unit for column, unit in job.partition}
    if name == PARTITION and PARTITION not in units and not isinstance(expression, Computed):
        name = _only(view, "its partition columns", list(units))
        expression = evolve(expression, column=_only(view, f"the partition columns of {source}", available))
    if name.lower() not in units:
        raise DefinitionError("COLUMNS", f"{view} maps {source} to {name}, which it is not partitioned by")
    own = columns[name.lower()]
    if isinstance(expression, Windowed):
        _fits(view, name, units[name.lower()], expression)
        expression = evolve(expression, spelled=own.type)
    for read in expression.inputs if isinstance(expression, Computed) else (expression.column,):
        if read.lower() not in [each.lower() for each in available]:
            raise DefinitionError(
                "COLUMNS",
                f"{view} depends on {source} by {read}; its partition columns are {', '.join(available) or 'none'}",
            )
    return own.name, expression


def _only(view: str, what: str, names: Sequence[str]) -> str:
    if len(names) != 1:
        raise DefinitionError(
            "COLUMNS", f"'partition' needs one column, and {what} are {', '.join(names) or 'none'}", view
        )
    return names[0]


def _fits(view: str, column: str, unit: Unit | None, expression: Windowed) -> None:
    if expression.window.of is not unit:
        said, own = spell_window(expression.window), unit.value if unit else "no unit"
        raise DefinitionError(
            "UNITS", f"{column} is by {own}, but it depends on {said}, a window of {expression.window.of.value}", view
        )
