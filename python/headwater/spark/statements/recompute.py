"""Statements that recompute one view: ``REFRESH`` and ``VERIFY``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from attrs import frozen

from headwater.algebra.notation import as_text
from headwater.engine.methods.basis import basis, inputs
from headwater.engine.tell.columns import Columns, ColumnType
from headwater.engine.tell.refreshes import Refresh
from headwater.engine.tell.waiting import cannot_run, lacks
from headwater.model.error import StatementError
from headwater.model.event import FRESH, Requested
from headwater.model.measure import Edge
from headwater.model.name import anywhere
from headwater.model.partition import Inputs, Slice, Version
from headwater.model.state import State, Status
from headwater.model.view import Definition, Pairs
from headwater.runtime.recorder import Recorder
from headwater.runtime.wait import Waiting
from headwater.spark.jvm import sql
from headwater.spark.jvm.wire import Row
from headwater.spark.observing.observer import Observer
from headwater.spark.refreshing.verify import Comparison, Difference, Sample
from headwater.spark.statements import syntax

COMPARISON: Columns = {
    "view": ColumnType.STRING,
    "result": ColumnType.STRING,
    "missing": ColumnType.BIGINT,
    "surplus": ColumnType.BIGINT,
    "example": ColumnType.STRING,
}
"""The columns of ``VERIFY MATERIALIZED VIEW``."""

_Versions = tuple[Definition, Inputs, Version]

COMPARISONS = 5
"""How often ``VERIFY`` compares a view while programs write its sources."""


class Verifier:
    """Compares views of one engine with their queries, while programs go on to write their sources."""

    def __init__(self, recorder: Recorder, observer: Observer, comparison: Comparison) -> None:
        self._recorder, self._observer, self._comparison = recorder, observer, comparison

    def compared(self, view: str, rows: Sequence[Slice] | Sample) -> Difference | None:
        """The difference of a view from its query; ``None`` if the view was behind or gone, or became so meanwhile.

        Raises:
            StatementError: the view cannot be compared.
        """
        as_of = self._recorder.read(partial(_comparable, view=view))
        if as_of is None:
            return None
        found = self._comparison.difference(as_of.definition, rows, as_of.snapshots, as_of.edge)
        if found == Difference():
            return found
        self._observer.check(view)
        return found if as_of.versions == self._recorder.read(partial(_versions, view=view)) else None


class Recomputing:
    """Recomputes views of one engine, and waits for the result."""

    def __init__(self, recorder: Recorder, observer: Observer, waiting: Waiting, verifier: Verifier) -> None:
        self._recorder, self._observer, self._waiting, self._verifier = recorder, observer, waiting, verifier

    def refresh(self, view: str, statement: syntax.RefreshStatement, token: int) -> Sequence[Row]:
        """``REFRESH MATERIALIZED VIEW``; ``token`` is the number of the statement."""
        since = self._recorder.seq
        asked = self._asked(self._checked(view), statement.partition)
        version = FRESH
        if statement.full:
            version = request(self._recorder, view, [asked], "was to be refreshed, by REFRESH MATERIALIZED VIEW")
        return [each.row for each in self._until_fresh(view, since, token, version)]

    def verify(self, view: str, statement: syntax.Verify, token: int) -> Sequence[Row]:
        """``VERIFY MATERIALIZED VIEW``. A difference counts if nothing was written while it was found."""
        for _ in range(COMPARISONS):
            since = self._recorder.seq
            asked = self._asked(self._checked(view), statement.partition)
            self._until_fresh(view, since, token)
            found = self._verifier.compared(view, [asked])
            if found == Difference():
                return [[view, "equal", 0, 0, None]]
            if found is not None:
                break
        else:
            raise StatementError(f"{view} changed {COMPARISONS} times while it was compared; verify it when that ends")
        if statement.repair:
            since = self._recorder.seq
            version = request(self._recorder, view, [asked], "differed from its query, by VERIFY MATERIALIZED VIEW")
            self._until_fresh(view, since, token, version)
        result = "repaired" if statement.repair else "differs"
        return [[view, result, found.missing, found.surplus, found.example]]

    # --- inside

    def _checked(self, view: str) -> Definition:
        """A view whose sources were looked at, and that can be refreshed."""
        self._observer.check(view)
        return self._recorder.read(partial(_refreshable, view=view))

    def _until_fresh(self, view: str, since: int, token: int, up_to: Version = FRESH) -> list[Refresh]:
        version = self._waiting.hurry(lambda _: (view,), up_to)
        ran = self._waiting.until_view_fresh(view, version, since=since, token=token)
        self._recorder.read(partial(_require_not_stopped, view=view, version=version))
        return ran

    def _asked(self, definition: Definition, partition: Sequence[tuple[str, str | None]]) -> Slice:
        by_name = {name.lower(): name for name in definition.partitioned_by}
        for name, _ in partition:
            if name.lower() not in by_name:
                columns = ", ".join(definition.partitioned_by) or "nothing"
                raise StatementError(
                    f"{definition.view} has no partition column {name}; it is partitioned by {columns}"
                )
        types = {column.name: column.type for column in definition.columns}
        bound = {}
        for name, value in partition:
            own = by_name[name.lower()]
            expression = as_text(types[own]) % f"TRY_CAST({sql.identifier(own)} AS {types[own]})"
            [canonical] = self._recorder.evaluator.evaluate(definition, expression, [(value,)], [own])
            if canonical is None and not sql.is_null_partition(value, types[own]):
                raise StatementError(
                    f"'{value}' is not a value of {definition.view}'s partition column {own} ({types[own]})"
                )
            bound[own] = canonical
        return Slice.of(bound)


def request(recorder: Recorder, view: str, slices: Sequence[Slice], why: str) -> Version:
    """Asks that slices of a view be recomputed, changed or not; ``why`` says what it did or was to be done with it.
    Returns the version of the request."""
    return recorder.record(lambda _: Requested(recorder.clock.now(), FRESH, view, tuple(slices), why)).version


@frozen
class _Comparable:
    """What a fresh view is compared with its query by."""

    definition: Definition
    snapshots: Pairs
    edge: Edge | None
    versions: _Versions | None


def _comparable(state: State, view: str) -> _Comparable | None:
    """``None`` if the view is gone, or behind."""
    known = state.views.get(view)
    if known is None or known.pending or view in state.running:
        return None
    return _Comparable(known.definition, basis(state, known.definition).snapshots, known.edge, _versions(state, view))


def _refreshable(state: State, view: str) -> Definition:
    known = state.views[view]
    if known.status is Status.SUSPENDED:
        raise StatementError(f"{view} is suspended; ALTER MATERIALIZED VIEW {anywhere(view)} RESUME first")
    if why := cannot_run(view, known):
        raise StatementError(why)
    return known.definition


def _require_not_stopped(state: State, view: str, version: Version) -> None:
    """Refuses a view that lacks a change up to a version, as it was suspended, or cannot run any more."""
    if lacks(state, view, version):
        _refreshable(state, view)


def _versions(state: State, view: str) -> _Versions | None:
    """All that a comparison of a view depends on; ``None`` if it is gone."""
    if view not in state.views:
        return None
    definition = state.views[view].definition
    return definition, inputs(state, definition), state.tables[view].highest
