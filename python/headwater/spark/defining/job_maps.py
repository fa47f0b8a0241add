"""The maps of partitions that a job states, from its sources' partition columns and from its own past."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve

from headwater.algebra import calendar
from headwater.algebra.derive import PartitionText, Zones, derive
from headwater.algebra.derive.image import Image
from headwater.algebra.notation import spell_window
from headwater.algebra.stated_windows import fitted, is_label, refuse_misread
from headwater.jobs import JobFunction
from headwater.model.calendar import Shift, Unit, Window
from headwater.model.dependency import Computed, Dependency, Expression, Occurrence, Same, Windowed
from headwater.model.error import AnalysisFailed, DefinitionError
from headwater.model.name import short
from headwater.model.reason import Reason, together
from headwater.model.view import Column, Definition
from headwater.spark.jvm import sql
from headwater.spark.jvm.wire import Described

PARTITION = "partition"
"""In ``table(name, partition=window)``: the only partition column of the job, and of the source."""

Describe = Callable[[str], Described]
"""Describes the analysed plan of a query."""


def mapped(
    definition: Definition,
    job: JobFunction,
    stated: Dependency,
    columns: Mapping[str, Column],
    texts: Sequence[PartitionText],
) -> Dependency:
    """A dependency as a job states it, over the texts of the source's partition columns.

    Raises:
        DefinitionError: it names a column that is not there, or its units do not fit together.
    """
    source, available = stated.source, [each.name for each in texts]
    occurrences = []
    for occurrence in stated.occurrences:
        bound = [_bound(definition.view, job, source, *each, columns, available) for each in occurrence.columns]
        try:
            maps = [(name, _over(definition, columns[name.lower()], each, source, texts)) for name, each in bound]
        except DefinitionError as error:
            raise DefinitionError(error.code, error.fault, definition.view) from error
        known = tuple((name, each) for name, each in maps if not isinstance(each, Reason))
        why = together([each for _, each in maps if isinstance(each, Reason)])
        occurrences.append(evolve(occurrence, columns=known, reason=why))
    return evolve(stated, occurrences=tuple(occurrences))


def _over(
    definition: Definition, own: Column, expression: Expression, source: str, texts: Sequence[PartitionText]
) -> Expression | Reason:
    """The same map over the text that a source's column has, or why it says nothing of that text."""
    if isinstance(expression, Computed):
        return expression
    alike = [each for each in texts if each.name.lower() == expression.column.lower()]
    text = next((each for each in alike if each.name == expression.column), alike[0])
    match expression, text.value:
        case Windowed(window=window), _:
            zone, named = text.zone or definition.zone, window.zone != "UTC"
            return fitted(window, text, own, zone, source=short(source), names_zone=named, labelled=True)
        case _, Reason():
            refuse_misread(text, own.name, short(source))
        case Same(), Image(column=None) as moment:
            shown = moment.to(text.type, own.type.upper())
            assert shown is not None, "a moment of UTC is known"
            return shown
    return Same(text.name)


def partition_texts(view: str, source: str, describe: Describe, zone: Zones) -> list[PartitionText]:
    """The partition columns of a table, with what their texts say.

    Raises:
        AnalysisFailed: there is no such table.
        DefinitionError: its changes cannot be followed.
    """
    try:
        description = describe(f"SELECT * FROM {sql.with_catalog(source)}")
    except AnalysisFailed as error:
        raise AnalysisFailed(f"{view} depends on {source}, which cannot be read: {error}") from error
    found = derive(description.plan, (), (), zone)
    for problem in found.problems:
        raise DefinitionError(problem.code, f"{view} cannot depend on {source}: {problem.sentence}")
    if found.views:
        read = ", ".join(each.source for each in found.reads) or "no table"
        why = f"an ordinary view: it has no changes of its own; it reads {read}"
        raise DefinitionError("SOURCE", f"{view} cannot depend on {source}, {why}")
    return [text for each in found.reads for text in each.partitioned_by]


def read_earlier(
    view: str, job: JobFunction, stated: Occurrence, columns: Mapping[str, Column], others: Sequence[Dependency]
) -> Occurrence:
    """One place where a job reads earlier partitions of its own table.

    Raises:
        DefinitionError: it does not go strictly back in time, or another source does not say what time it is for.
    """
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
        _fits(view, own, units[name.lower()], expression)
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


def _fits(view: str, column: Column, unit: Unit | None, expression: Windowed) -> None:
    window = expression.window
    if window.of is not unit:
        said, own = spell_window(window), unit.value if unit else "no unit"
        raise DefinitionError(
            "UNITS", f"{column.name} is by {own}, but it depends on {said}, a window of {window.of.value}", view
        )
    if not is_label(column.type, unit):
        told = f"{column.name} is a {column.type}, which cannot have the text of each {unit.value}"
        raise DefinitionError("UNITS", f"{told}; make it a DATE or a STRING", view)
    if window.zone != "UTC" and not calendar.is_known(window.zone):
        told = f"{column.name} depends on {spell_window(window)}, and {window.zone} is no known time zone"
        raise DefinitionError("WINDOW", f"{told}; name one such as Europe/Berlin", view)
