"""Jobs in a Spark application: found by name, checked when they are declared, and run."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Collection, Iterator

from attrs import evolve
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headwater.algebra.derive import Zones
from headwater.editions import Editions, LoadedModule
from headwater.jobs import JobFunction, module_of
from headwater.model.dependency import Windowed
from headwater.model.error import AnalysisFailed, DefinitionError, RefreshFailed
from headwater.model.name import split
from headwater.model.partition import Slice
from headwater.model.reason import Code
from headwater.model.state import Run
from headwater.model.view import Column, Definition, Job
from headwater.spark.defining.job_maps import Describe, mapped, partition_texts, read_earlier
from headwater.spark.defining.resolving import meant, resolved
from headwater.spark.jvm.connection import is_broken
from headwater.spark.jvm.wire import Create, Session


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


def messages(job: JobFunction, session: Session) -> Iterator[Create]:
    """For each output the message that declares it, as ``CREATE OR REPLACE MATERIALIZED VIEW`` sends one in a
    session."""
    for output in job.outputs:
        yield Create(
            None,
            session,
            resolved(split(output), session).parts,
            "",
            partitioning=tuple(column for column, _ in job.partition),
            properties=dict(job.properties),
            or_replace=True,
            job=job.name,
            fingerprint=job.fingerprint,
        )


def analysed(definition: Definition, job: JobFunction, session: Session, describe: Describe, zone: Zones) -> Definition:
    """The definition of a job's output, with columns, fingerprint and dependencies as declared.

    Args:
        session: the one in which the function runs, and which gives the names of its sources their meaning.
        zone: the time zone in which a lake table's partition values are spelled, by the table's key.

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
    deps = [evolve(each, source=meant(each.source, session)) for each in job.deps]
    others = tuple(
        mapped(definition, job, each, by_name, partition_texts(view, each.source, describe, zone))
        for each in deps
        if each.source != view
    )
    own = [occurrence for each in deps if each.source == view for occurrence in each.occurrences]
    earlier = tuple(read_earlier(view, job, each, by_name, others) for each in own)
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
