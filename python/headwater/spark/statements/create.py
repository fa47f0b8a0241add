"""Carries out ``CREATE [OR REPLACE] MATERIALIZED VIEW``."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from functools import partial

from attrs import evolve, frozen
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from headwater.algebra import graph
from headwater.engine.record.runs import unfilled
from headwater.engine.requests.reasons import counted_rows
from headwater.engine.tell import report
from headwater.engine.tell.foresee import foresee
from headwater.engine.tell.refreshes import Outcome
from headwater.model.costs import Estimate
from headwater.model.error import DefinitionError, StatementError
from headwater.model.event import FRESH, Declared
from headwater.model.format import FORMATS, Format
from headwater.model.name import SESSION_CATALOG, TableName, loosely, named, split
from headwater.model.policy import Fill
from headwater.model.state import State
from headwater.model.view import Definition, Job, Query
from headwater.runtime.recorder import Recorder
from headwater.runtime.wait import Waiting
from headwater.spark.defining.analyse import Analyst, view_name
from headwater.spark.jvm.facts import Asked
from headwater.spark.jvm.sessions import Sessions, in_memory
from headwater.spark.jvm.shim import Shim
from headwater.spark.jvm.wire import Create, Row
from headwater.spark.observing.hints import Target
from headwater.spark.observing.observer import Observer
from headwater.spark.refreshing.group_commits import GroupCommits
from headwater.spark.statements import syntax
from headwater.spark.tables import catalog, zones


@frozen
class Declarations:
    """Declares views to one engine, and fills them."""

    recorder: Recorder
    observer: Observer
    analyst: Analyst
    sessions: Sessions
    shim: Shim
    waiting: Waiting
    commits: GroupCommits

    def create(self, message: Create, later: bool = False) -> Sequence[Row]:
        """Declares the view that a message asks for; one row says what was done. If it asks for an explanation, the
        rows say how the view would follow changes. ``later``: it is filled in the background, whatever its properties
        say.

        Raises:
            HeadwaterError: the declaration is refused, in words for the user.
        """
        view, replace = view_name(message), message.or_replace
        if replace and message.if_not_exists:
            raise StatementError("CREATE OR REPLACE and IF NOT EXISTS exclude each other; use one of them")
        if shown := catalog.replaced(view):
            raise StatementError(f"the name {view} is kept for a table that is to replace {shown}; choose another one")
        self.recorder.sync()  # another program may have declared it
        known = self._known(view)
        if known is not None and message.if_not_exists:
            return [[f"{view} exists already; nothing was done"]]
        if known is not None and not replace:
            raise DefinitionError(
                "EXISTS", f"the materialized view {view} exists already; use CREATE OR REPLACE to redefine it"
            )
        definition = self.analyst.declared(message)
        if known is None and self.shim.owner(view) is not None:
            raise DefinitionError(
                "EXISTS", f"{view} exists and is not a materialized view; choose another name or drop it first"
            )
        if known is None and (inner := self.shim.within(view)):
            raise DefinitionError(
                "EXISTS",
                f"{view} would lie in the directory of the namespace {view}, and its catalog would delete "
                f"{view}.{inner[0]} with it; choose another name",
            )
        if known is not None:
            self._refuse_format(known, definition)
            definition = evolve(definition, root=known.root, owner=known.owner)
        views = self.recorder.read(lambda state: state.definitions)
        self._refuse_other_case(definition, views)
        self.commits.require(definition)
        self.recorder.read(lambda state: graph.refuse_cycle(state.sources, view, definition.sources))
        same = known is not None and _same(known, definition)
        if not same:
            self._require_storable(definition)
        if known is not None and not same:
            _refuse_another_zone(known, definition)
            if definition.earlier and _shape(known) != _shape(definition):
                raise DefinitionError(
                    "COLUMNS", f"{view} reads earlier partitions of itself, so it keeps its columns; drop it first"
                )
        if message.explained:
            pinned = {each for each in definition.sources if self._is_pinned(each)}
            return [[line] for line in foresee(definition, pinned)]
        if known is None:
            return self._declare(definition, message, later)
        if same:
            return [[f"{view} has this definition already; nothing was done"]]
        return self._redeclare(definition, known, message, later)

    def _declare(self, definition: Definition, message: Create, later: bool) -> Sequence[Row]:
        empty = self.recorder.read(lambda state: unfilled(state, definition.sources))
        estimate = self.analyst.estimate(definition, empty)
        self.observer.baseline(definition)
        definition = self._placed(definition)
        try:
            if definition.root:
                self.shim.make(catalog.first_location(definition))
            catalog.create(self.sessions.of_table(definition.settings), self.shim, definition)
        except Exception as error:
            self.shim.release(definition.root, definition.owner)
            # Spark names the column and the type with a condition. What has none is a format's own error.
            own = isinstance(error, PySparkException | Py4JJavaError) and not _condition(error)
            if own and not self.shim.is_gone(error):
                raise _unstorable(definition, self.shim.failure(error).text) from error
            raise
        return self._fill(definition, "created", message, later, estimate)

    def _redeclare(self, definition: Definition, before: Definition, message: Create, later: bool) -> Sequence[Row]:
        session, view = self.sessions.of_table(definition.settings), definition.view
        self.observer.baseline(definition)
        definition = self._placed(definition)
        if definition.format != before.format:
            catalog.forget_replacement(session, self.shim, definition)
        catalog.store(session, definition, before)
        catalog.describe(session, definition, before)
        self.commits.altered(definition, before)
        if _same_data(before, definition):
            self._record(Declared(self._now(), FRESH, definition, "was redescribed", fill=False), before)
            self.observer.catch_up(definition)
            return [[f"{view} is redefined and keeps its data: its query means the same{_dropped(before, definition)}"]]
        [[said]] = self._fill(definition, "replaced", message, later, before=before)
        return [[f"{said}{_dropped(before, definition)}"]]

    def _require_storable(self, definition: Definition) -> None:
        """Refuses columns that the format would take and never store."""
        if why := self.observer.unstorable(definition):
            raise _unstorable(definition, why)

    def _refuse_other_case(self, definition: Definition, views: Mapping[str, Definition]) -> None:
        """Refuses a source that is the table of a view under a name in another case: it would be followed as a table
        that is no view.

        Raises:
            DefinitionError: there is one.
        """
        for source in definition.sources:
            alike = [each for each in views if each != source and loosely(each) == loosely(source)]
            owner = self.shim.owner(source) if alike and source not in views else None
            for view in alike:
                if owner == views[view].owner:
                    raise DefinitionError(
                        "NAME",
                        f"{definition.view} reads the materialized view {view} as {source}; "
                        f"its catalog has it as {view}: write its name so",
                    )

    def _is_pinned(self, source: str) -> bool:
        """Whether runs would read a table at snapshots."""
        if Format.of(self.shim.format(source)).snapshots:
            return True
        [fact] = self.shim.observe([Asked(source)])
        return fact.readable

    def _fill(
        self,
        definition: Definition,
        done: str,
        message: Create,
        later: bool,
        estimate: Estimate | None = None,
        before: Definition | None = None,
    ) -> Sequence[Row]:
        view, why = definition.view, "was created" if done == "created" else "was redefined"
        since = self.recorder.seq
        event = self._record(Declared(self._now(), FRESH, definition, why, estimate=estimate), before)
        self.observer.catch_up(definition)
        notes = f"{self._empty(definition)}{self._lasts(view)}"
        if later or definition.policy.fill is Fill.LATER:
            return [[f"{view} is declared; it is filled in the background{notes}"]]
        self.waiting.hurry(lambda _: (view,), event.version)
        ran = self.waiting.until_view_fresh(view, event.version, since=since, token=message.id)
        made = [each for each in ran if each.status is Outcome.PUBLISHED]
        total = sum(each.rows or 0 for each in made)
        if not ran and (because := self.recorder.read(partial(_waits, view=view, now=self._now()))) is not None:
            return [[f"{view} {done}, but not filled yet: {because}{notes}"]]
        filled = f"{len(made)} partition{'s' if len(made) != 1 else ''}, {counted_rows(total)}"
        return [[f"{view} {done}: {filled}{notes}"]]

    def _record(self, event: Declared, before: Definition | None) -> Declared:
        """Records a declaration, which the catalog has already, if the view is still as it was ``before``.

        Raises:
            HeadwaterError: another statement was faster. The catalog has what is on record then.
        """
        definition, view = event.definition, event.definition.view

        def build(state: State) -> Declared:
            known = state.definition(view)
            # Another engine may have found it in the catalog, and an analysis may have found more that it reads.
            fits = [each.statement for each in (before, definition) if each is not None]
            if known != before and (known is None or known.statement not in fits):
                raise StatementError(f"{view} was declared otherwise meanwhile; say it again")
            graph.refuse_cycle(state.sources, view, definition.sources)
            return event

        try:
            return self.recorder.record(build)
        except (StatementError, DefinitionError):
            self._put_back(definition)
            raise

    def _put_back(self, definition: Definition) -> None:
        """Lets the catalog have the view that is on record."""
        session, view = self.sessions.of_table(definition.settings), definition.view
        known = self.recorder.read(lambda state: state.definition(view))
        if known is not None:
            catalog.store(session, known, definition)
            catalog.describe(session, known, definition)
        elif self.shim.owner(view) == definition.owner:
            catalog.drop(session, self.shim, view)
            self.shim.release(definition.root, definition.owner)

    def _empty(self, definition: Definition) -> str:
        """Words for sources that have no directory: they count as empty until somebody writes."""
        return "".join(
            f"; {source} counts as empty at {places[0]}"
            + (f" and {len(places) - 1} more places" if len(places) > 1 else "")
            + ", where no directory is yet"
            for source, places in self.observer.findings.away(definition).items()
        )

    def _lasts(self, view: str) -> str:
        """Words for a view that ends with its application. A client of a server sees no log that says so."""
        match named(view):
            case TableName(catalog=name) if name == SESSION_CATALOG and in_memory(self.sessions.of_table()):
                return (
                    "; it ends with this application, whose catalog is in memory: "
                    "set spark.sql.catalogImplementation = hive at the start to keep it"
                )
        return ""

    def _known(self, view: str) -> Definition | None:
        """The view of this name, if its table is still there."""
        if self.recorder.read(lambda state: view in state.views):
            self.observer.look(Target({view: None}))
        return self.recorder.read(lambda state: state.definition(view))

    def _placed(self, definition: Definition) -> Definition:
        """The definition with an owner and, if it is to have files, a directory of its own. Where somebody's files lie,
        no view is put. The table of a lake view lies where its catalog puts it, or in a directory that it has."""
        owner = definition.owner or uuid.uuid4().hex
        if definition.root or definition.storage.commits:
            return evolve(definition, owner=owner)
        database, name = split(definition.view)
        base = self.shim.home(database)
        wanted = root = f"{base.rstrip('/')}/{name}"
        number = 2
        while not self.shim.claim(root, owner):
            root, number = f"{wanted}-{number}", number + 1  # no table has such a name
        return evolve(definition, root=root, owner=owner)

    def _refuse_format(self, known: Definition, asked: Definition) -> None:
        """Refuses a change of format in which readers would miss the view, or see old rows for long."""
        if asked.format == known.format or not (asked.storage.commits or known.storage.commits):
            return
        reason, (before, after) = "", (known.storage, asked.storage)
        if before.kept_by_sessions:
            reason = f"sessions that read {before.article} table keep it, and would go on reading its old rows"
        elif not after.one_step_exchange and not self._shares_metastore(asked):
            kept = f"its catalog keeps {after.title} tables elsewhere than files"
            reason = f"{kept}, so that one cannot take the other's place"
        elif not after.one_step_exchange and not _may_widen(known, asked):
            typed = " or ".join(each.title for each in FORMATS if each.columns_in_metastore)
            reason = f"the metastore takes it for one of {typed} whose first columns have the same types"
        if reason:
            raise DefinitionError(
                "FORMAT",
                f"{known.view} is stored USING {known.format} and keeps that: {reason}; to store it USING "
                f"{asked.format}, drop it first, or create another view",
            )

    def _shares_metastore(self, definition: Definition) -> bool:
        """Whether the session catalog keeps tables of its own format in the metastore that has its other tables."""
        conf, own = self.sessions.of_table(definition.settings).conf, "spark.sql.catalog.spark_catalog"
        is_hive = conf.get(f"{own}.type", "hive") == "hive" and not conf.get(f"{own}.catalog-impl", "")
        return is_hive and conf.get("spark.sql.catalogImplementation") == "hive"

    def _now(self) -> int:
        return self.recorder.clock.now()


def _waits(state: State, view: str, now: int) -> str | None:
    """Why a view is not filled yet; ``None`` if it is. One over empty tables is, and has no partition to show."""
    return report.waits(state, view, now) if view in state.views and report.behind(state, view) else None


def _may_widen(known: Definition, asked: Definition) -> bool:
    """Whether the metastore has the columns of a table of files, without those of its partitions, as the first ones of
    another table."""
    kept = [column.type for column in known.columns if column.name not in known.partitioned_by]
    return known.storage.columns_in_metastore and [column.type for column in asked.columns][: len(kept)] == kept


def _refuse_another_zone(known: Definition, asked: Definition) -> None:
    """The partitions of a lake view, and the maps of its readers, are spelled in the zone of its declaration."""
    if (
        (known.storage.zoned or asked.storage.zoned)
        and (zones.shows_moments(known) or zones.shows_moments(asked))
        and known.zone != asked.zone
    ):
        raise DefinitionError(
            "ZONE",
            f"{known.view} names its partitions by timestamps of {known.zone}, the time zone of its "
            f"declaration; redefine it after SET TIME ZONE '{known.zone}', or drop it first",
        )


def _same(known: Definition, asked: Definition) -> bool:
    """Whether a declaration says nothing new: it may differ in blanks, comments and the case of words."""

    def written(definition: Definition) -> tuple:
        match definition.made_by:
            case Query(text):
                return evolve(definition, made_by=Query(syntax.canonical(text))).statement
            case Job():
                return definition.statement

    return known.fingerprint == asked.fingerprint and written(known) == written(asked)


def _shape(definition: Definition) -> tuple:
    return [(column.name, column.type) for column in definition.columns], definition.partitioned_by, definition.format


def edged(definition: Definition) -> tuple:
    """The part of a definition that says up to which time a refresh reads its sources."""
    policy = definition.policy
    return definition.event_times, policy.lateness, policy.trailing_edge


def _dropped(before: Definition, definition: Definition) -> str:
    """The properties that a statement dropped because it does not state them."""
    kept = dict(definition.properties)
    gone = [f"{key} = {value}" for key, value in before.properties if key not in kept]
    return f"; dropped {', '.join(gone)}, which the statement does not state" if gone else ""


def _same_data(known: Definition, asked: Definition) -> bool:
    """Whether two definitions give the same files: they differ in comments and properties at most."""

    def data(definition: Definition) -> tuple:
        return (
            _shape(definition), definition.settings, definition.fingerprint, definition.dependencies, definition.earlier
        ), edged(definition)  # fmt: skip

    return data(known) == data(asked)


def _condition(error: Exception) -> str | None:
    return error.getCondition() if isinstance(error, PySparkException) else None


def _unstorable(definition: Definition, why: str) -> DefinitionError:
    return DefinitionError(
        "STORAGE",
        f"{definition.view} cannot be stored USING {definition.format}: {why.rstrip('.')}. "
        "Cast the column to a type that the format has, or choose another format",
    )
