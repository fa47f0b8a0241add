"""From a statement to a definition: analysis by Spark, derivation and refusal by Headwater."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from attrs import evolve
from pyspark.sql import SparkSession

from headwater.algebra.derive import Derivation, derive
from headwater.algebra.derive.copy import copied
from headwater.algebra.derive.keys import derive_keys
from headwater.algebra.derive.totals import derive_totals
from headwater.engine.methods.all_methods import methods_of
from headwater.engine.methods.basis import strict
from headwater.logger import log
from headwater.model.costs import Estimate
from headwater.model.dependency import Adding, Computed, Dependency, Keys, Occurrence
from headwater.model.error import AnalysisFailed, DefinitionError, NotNow
from headwater.model.format import Format
from headwater.model.name import TableName
from headwater.model.policy import FloatingPoint
from headwater.model.properties import check_properties
from headwater.model.reason import Code, Reason
from headwater.model.view import UTC, Column, Definition, Job, Query
from headwater.model.work import Mode
from headwater.spark.defining import jobs
from headwater.spark.defining.fingerprint import digest, fingerprint, paths_by_column
from headwater.spark.defining.jobs import Jobs
from headwater.spark.defining.options import event_times, format_of, require_copy, require_group, require_times
from headwater.spark.defining.resolving import canonical
from headwater.spark.defining.stated_maps import stated
from headwater.spark.defining.stated_rules import refuse_unlasting
from headwater.spark.jvm.failures import first_line
from headwater.spark.jvm.sessions import INFERENCE, LISTING, Sessions, having
from headwater.spark.jvm.shim import SPARK_ERRORS, Shim
from headwater.spark.jvm.wire import ColumnDef, Create, Described, FailureKind


class Analyst:
    """Analyses view queries in sessions like those that declared them.

    Args:
        estimates: whether anybody uses estimates of first refreshes now.
        view: the definition of the view that has a name, if any has.
        jobs: those that may be imported.
    """

    def __init__(
        self,
        shim: Shim,
        sessions: Sessions,
        estimates: Callable[[], bool] = lambda: False,
        view: Callable[[str], Definition | None] = lambda name: None,
        jobs: Jobs | None = None,
    ) -> None:
        self._shim, self._sessions, self._estimates, self._view = shim, sessions, estimates, view
        self._jobs = jobs or Jobs()
        self._meant: dict[str, set[str]] = {}  # by fingerprint, what queries of that found of views and functions

    def declared(self, message: Create) -> Definition:
        """The definition that a message asks for.

        Raises:
            DefinitionError: a view cannot have this definition.
            AnalysisFailed: Spark cannot analyse the query outside the user's session.
        """
        view = view_name(message)
        if message.temporary:
            raise DefinitionError(
                "TEMPORARY",
                f"{view} reads the temporary view {message.temporary[0]}, which ends with this session; "
                "make it a table or an ordinary view",
            )
        if message.temporary_functions:
            raise DefinitionError(
                "TEMPORARY",
                f"{view} calls the temporary function {message.temporary_functions[0]}, which ends with this session; "
                "make it a permanent function of another name, or drop it",
            )
        for name, needed in LISTING.items():
            if message.session.settings.get(name, needed).lower() != needed:
                raise DefinitionError(
                    "SETTING",
                    f"{view} cannot be declared where {name} is not {needed}: this session finds other files than "
                    f"refreshes do; SET {name} = {needed}",
                )
        chosen = self._format(view, message)
        check_properties(view, message.properties)
        session = message.session
        definition = Definition(
            view=view,
            made_by=Job(message.job) if message.job else Query(message.query),
            columns=(),
            declared=tuple(map(_column, message.columns)),
            partitioned_by=message.partitioning,
            format=chosen,
            comment=message.comment or "",
            catalog=session.catalog,
            database=session.database,
            settings={key: value for key, value in session.settings.items() if key.startswith("spark.sql.")},
            properties=message.properties,
        )
        try:
            analysed = self.analysed(definition)
        except AnalysisFailed as error:
            if isinstance(definition.made_by, Job):
                raise
            # The user's own session could analyse it, so it knows something that others do not.
            raise DefinitionError(
                "TEMPORARY",
                f"{error} A view is computed in a session of its own, which knows no session variables, temporary "
                "functions and catalogs of one session: write the value into the query, make the function a permanent "
                "one, and set a catalog for the application",
            ) from error
        if message.job is not None and message.fingerprint != analysed.fingerprint:
            raise DefinitionError(
                "JOB",
                f"the program has another edition of the job {message.job} than the files that the engine imports; "
                "import it again, with importlib.reload or by a new start, and register it then",
                view,
            )
        return require_times(require_group(require_followed(analysed)))

    def _format(self, view: str, message: Create) -> str:
        """The format of the view's table.

        Raises:
            DefinitionError: its catalog holds no tables of the format.
        """
        name = TableName.whole(message.name)
        try:
            held = self._shim.lake_formats(self._sessions.of_table(), name.catalog)
        except SPARK_ERRORS as error:
            raise self._refused(view, error) from error
        return format_of(view, name, message.format, held)

    def analysed(self, definition: Definition) -> Definition:
        """The same definition with columns, fingerprint and dependencies as Spark sees it now.

        Raises:
            DefinitionError: a view cannot have this query.
            AnalysisFailed: Spark cannot analyse the query any more.
            NotNow: Spark could not say.
        """
        session = self._fresh(definition)
        describe = partial(self._described, definition.view, session)
        match definition.made_by:
            case Job() as job:
                event_times(definition, {})
                facts = self._shim.facts(session)
                if definition.policy.replica:
                    require_copy(definition, None)
                analysed = jobs.analysed(definition, self._jobs.find(job), facts, describe, self._zone)
                under = digest(definition.settings)
                analysed = evolve(analysed, dependencies=tuple(_under(each, under) for each in analysed.dependencies))
            case Query(text):
                description = describe(text)
                self._refuse_other_types(definition, session, text, description)
                analysed = self._of_query(definition, description)
        refuse_unlasting(definition.view, analysed.dependencies, describe)
        return analysed

    def _refuse_other_types(
        self, definition: Definition, session: SparkSession, text: str, description: Described
    ) -> None:
        """Refuses a query of a path whose partition columns have other types than strings where the view was declared.
        Its refreshes read the directories ``day=01`` and ``day=1`` as two partitions, not as one number.

        Raises:
            DefinitionError: the query is one.
        """
        inferred = dict(definition.settings).get(INFERENCE, "true").lower() == "true"
        places = [place for place in paths_by_column(description.plan) if inferred]
        if not places:
            return
        with having(session, {INFERENCE: "true"}):
            other = self._described(definition.view, session, text)
        if fingerprint(other.plan) != fingerprint(description.plan):
            raise DefinitionError(
                "TYPES",
                f"{definition.view} cannot be a materialized view: it reads {', '.join(places)}, and Spark infers the "
                "types of partition columns from the names of directories there, which a view reads as strings; make a "
                f"table of the path, or SET {INFERENCE} = false and cast these columns in the query",
            )

    def _of_query(self, definition: Definition, description: Described) -> Definition:
        """The same definition with the facts of its query's analysed plan."""
        view = definition.view
        columns = _columns(definition, description.columns)
        partitioned = _partition_columns(view, definition.partitioned_by, columns)
        types = [(column.name, column.type) for column in columns]
        if definition.policy.replica:
            require_copy(definition, copied(description.plan))
        derivation = derive(description.plan, partitioned, types, self._zone)
        if derivation.problems:
            problem = derivation.problems[0]
            raise DefinitionError(problem.code, f"{view} cannot be a materialized view: {problem.sentence}")
        dependencies = _maintained(
            _with_stated(definition, columns, derivation),
            derive_keys(description.plan, partitioned, types),
            derive_totals(
                description.plan, description.joined, definition.policy.floating_point is FloatingPoint.EXACT
            ),
        )
        meaning = fingerprint(description.plan, self._zones(derivation))
        self._meant.setdefault(meaning, set()).add(description.meant)
        return evolve(
            definition,
            columns=columns,
            partitioned_by=partitioned,
            fingerprint=meaning,
            dependencies=_whole(dependencies) if definition.policy.trailing_edge else dependencies,
            event_times=event_times(definition, {each.source: dict(each.columns) for each in derivation.reads}),
            through=(*derivation.views, *description.functions),
        )

    def is_meant(self, definition: Definition, meant: str) -> bool:
        """Whether ordinary views and functions that an analysis of the query found are those of its fingerprint.

        Raises as ``analysed`` does.
        """
        if meant not in self._meant.get(definition.fingerprint, ()):
            self.analysed(definition)  # another text may mean the same, and an engine that starts knows none
        return meant in self._meant.get(definition.fingerprint, ())

    def _zone(self, table: str) -> str:
        """The zone in which timestamps among the partition values of a lake table are spelled."""
        view = self._view(table)
        return UTC if view is None else view.zone

    def _zones(self, derivation: Derivation) -> dict[str, str]:
        """The zones of the sources whose partitions they spell, but for UTC."""
        zoned = (each for each in derivation.reads if Format.of(each.kind).zoned)
        moments = (each.source for each in zoned if "TIMESTAMP" in dict(each.partition_columns).values())
        return {source: zone for source in moments if (zone := self._zone(source)) != UTC}

    def _fresh(self, definition: Definition) -> SparkSession:
        try:
            return self._sessions.fresh(definition)
        except SPARK_ERRORS as error:
            raise self._refused(definition.view, error) from error

    def _described(self, view: str, session: SparkSession, query: str) -> Described:
        try:
            return self._shim.describe(session, query)
        except SPARK_ERRORS as error:
            raise self._refused(view, error) from error

    def _refused(self, view: str, error: Exception) -> AnalysisFailed | NotNow:
        """Only what Spark's analysis refuses is a fault of the query."""
        if self._shim.is_gone(error):
            return NotNow(f"{view}: the application cannot be reached")
        failure = self._shim.failure(error)
        if failure.kind is FailureKind.ANALYSIS:
            return AnalysisFailed(failure.text, view)
        return NotNow(f"{view}: Spark could not analyse the query now ({failure.text}); try again")

    def estimate(self, definition: Definition, unfilled: Mapping[str, int | None]) -> Estimate | None:
        """What Spark's statistics foresee of a view's first refresh; ``None`` if they foresee nothing, or if nobody
        uses that.

        Args:
            unfilled: bytes of those of its sources that are still to be filled; ``None`` where nobody can say.
        """
        known = {source: size for source, size in unfilled.items() if size is not None}
        if isinstance(definition.made_by, Job) or len(known) < len(unfilled) or not self._estimates():
            return None
        try:
            return self._shim.estimate(self._sessions.fresh(definition), definition.made_by.text, known)
        except SPARK_ERRORS as error:
            log.info("nothing is foreseen of the first refresh of %s: %s", definition.view, first_line(error))
            return None


def _column(entry: ColumnDef) -> Column:
    return Column(entry.name, entry.type, entry.comment or "")


def _columns(definition: Definition, found: Sequence[ColumnDef]) -> tuple[Column, ...]:
    """The query's columns, under the names, types and comments that the statement gave, if it did."""
    if definition.declared and len(definition.declared) != len(found):
        raise DefinitionError(
            "COLUMNS",
            f"{definition.view} names {len(definition.declared)} columns, but its query has {len(found)}; "
            "name each one",
        )
    columns = definition.declared or tuple(map(_column, found))
    seen: set[str] = set()
    for column in columns:
        if column.name.lower() in seen:
            raise DefinitionError(
                "COLUMNS", f"{definition.view} has two columns named {column.name}; give one another name with AS"
            )
        seen.add(column.name.lower())
    return columns


def _partition_columns(view: str, wanted: Sequence[str], columns: Sequence[Column]) -> tuple[str, ...]:
    by_name = {column.name.lower(): column for column in columns}
    for name in wanted:
        if name.lower() not in by_name:
            raise DefinitionError(
                "PARTITIONING",
                f"{view} is partitioned by {name}, which its query has no column for; "
                f"it has {', '.join(column.name for column in columns)}",
            )
        if by_name[name.lower()].type.upper() == "BINARY":
            raise DefinitionError(
                "PARTITIONING",
                f"{view} is partitioned by {name}, a BINARY; several values share one directory: use hex({name})",
            )
    if wanted and len(wanted) == len(columns):
        raise DefinitionError("PARTITIONING", f"{view} is partitioned by all its columns; leave at least one out")
    return tuple(by_name[name.lower()].name for name in wanted)


def _with_stated(definition: Definition, columns: Sequence[Column], derivation: Derivation) -> tuple[Dependency, ...]:
    """The derived dependencies, with those maps that properties state in place of derived ones."""
    overrides = stated(definition, columns, derivation)
    under = digest(definition.settings)
    return tuple(_under(overrides.get(each.source, each), under) for each in derivation.dependencies)


def _maintained(
    dependencies: Sequence[Dependency], keys: Mapping[str, Keys], adding: Mapping[str, Adding]
) -> tuple[Dependency, ...]:
    """The same dependencies, with the ways in which changed rows of the sources are followed."""
    return tuple(evolve(each, keys=keys[each.source], adding=adding[each.source]) for each in dependencies)


def _whole(dependencies: Sequence[Dependency]) -> tuple[Dependency, ...]:
    """The same dependencies of a view with a trailing edge: a change of one source may bring rows of all others that
    came before, anywhere in the view."""
    brings = "headwater.trailing_edge brings rows of other sources that came before"
    why = Reason(Code.VIEW_TRAILING_EDGE, brings)
    return tuple(
        Dependency(each.source, (Occurrence((), why),), keys=Keys(reason=why), adding=Adding(why))
        for each in dependencies
    )


def require_followed(definition: Definition) -> Definition:
    """The same definition, if the methods that it allows can follow a change of one source at least.

    Raises:
        DefinitionError: they cannot.
    """
    if not strict(definition):
        return definition
    asked, methods = definition.policy.method or (), {each.mode: each for each in methods_of(definition)}
    reasons = {methods[each].said: methods[each].barred(definition) for each in asked}
    if all(reasons.values()):
        told = "; ".join(f"{method} is out: {why}" for method, why in reasons.items())
        words = ", ".join(each.value for each in (*asked, Mode.FULL))
        raise DefinitionError(
            "METHOD",
            f"{definition.view} cannot be refreshed as 'headwater.method' says, for {told}; set it to '{words}', or "
            "leave it out",
        )
    return definition


def _under(dependency: Dependency, under: str) -> Dependency:
    """The same dependency with the settings under which its expressions are evaluated."""
    return evolve(
        dependency,
        occurrences=tuple(
            evolve(
                occurrence,
                columns=tuple(
                    (name, evolve(expression, under=under) if isinstance(expression, Computed) else expression)
                    for name, expression in occurrence.columns
                ),
            )
            for occurrence in dependency.occurrences
        ),
    )


def view_name(message: Create) -> str:
    """The key of the view that a message is about."""
    return canonical(TableName.whole(message.name), message.session)
