"""The maps of partitions that ``'headwater.dependency.<table>'`` properties state.

Examples: ``all``; ``month = trunc(day, 'MM')``; ``DAY - 1 .. DAY``; ``month = MONTH.weeks() OF week``.

The value is ``all``, or rules ``view column = expression`` with semicolons between them. A view column without one may
have any value. An expression is SQL over the source's partition columns, or a window (``algebra.notation``). ``OF
column`` names the source's column if there are several. A window alone belongs to the view's only partition column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from headwater.algebra.derive import Derivation, PartitionText, ReadTable
from headwater.algebra.derive.image import TWICE, Image
from headwater.algebra.notation import as_text, is_window, parse_window
from headwater.algebra.stated_windows import fitted, refuse_misread
from headwater.model.calendar import Unit
from headwater.model.dependency import Computed, Dependency, Expression, Occurrence
from headwater.model.error import DefinitionError
from headwater.model.name import loosely, short
from headwater.model.policy import DEPENDENCY, PREFIX
from headwater.model.reason import Code, Reason, together
from headwater.model.view import Column, Definition
from headwater.spark.defining.rule_text import assigned, rules, with_values

_WITH_COLUMN = re.compile(r"(.*?)(?:\s+OF\s+(?:`([^`]+)`|(\w+)))?", re.IGNORECASE | re.DOTALL)
"""A window, and the column after ``OF``."""
_UNIT = re.compile("|".join(each.value for each in Unit))


def stated(definition: Definition, columns: Sequence[Column], derivation: Derivation) -> dict[str, Dependency]:
    """The dependencies that properties state, by their sources.

    Raises:
        DefinitionError: the query does not read the named table, or several have the name; a named column does not
            exist, or has two rules; a rule does not say what its text means; or the value has another form.
    """
    found: dict[str, Dependency] = {}
    for key, value in definition.properties:
        if not key.startswith(f"{PREFIX}{DEPENDENCY}"):
            continue
        read = _read(definition, key.removeprefix(f"{PREFIX}{DEPENDENCY}"), derivation.reads)
        try:
            if read.source in found:
                told = f"another property states the same of {read.source}; leave one of them out"
                raise DefinitionError("PROPERTY", told)
            found[read.source] = _dependency(definition, value, read, columns)
        except DefinitionError as error:
            raise DefinitionError(error.code, f"'{key}': {error.fault}", definition.view) from error
    return found


def _read(definition: Definition, table: str, reads: Iterable[ReadTable]) -> ReadTable:
    """The table that a property names, by its own name or with its database."""
    by_source = {each.source: each for each in reads}
    fits = [
        [each for each in by_source if table == each],
        [each for each in by_source if loosely(table) == loosely(each)],
        [each for each in by_source if loosely(table) == loosely(short(each))],
    ]
    found = next((each for each in fits if each), [])
    if len(found) > 1:
        told = f"states a dependency on {table}, and reads several; name it {' or '.join(found)}"
    elif not found:
        told = f"states a dependency on {table}, but does not read it; it reads {', '.join(by_source)}"
    else:
        return by_source[found[0]]
    raise DefinitionError("PROPERTY", f"{definition.view} {told}")


def _dependency(definition: Definition, value: str, read: ReadTable, columns: Sequence[Column]) -> Dependency:
    if value.strip().lower() == "all":
        why = Reason(Code.VIEW_DEPENDENCY_ALL, "the property says all")
        return Dependency(read.source, (Occurrence((), why),), stated=True)
    bound: dict[str, Expression] = {}
    free: list[Reason] = []
    seen: set[str] = set()
    for column, text, alone in _rules(definition, value, columns):
        if column.name in seen:
            ranges = "a window such as MONTH .. MONTH + 1"
            raise DefinitionError("PROPERTY", f"{column.name} has two rules; write one that has both, {ranges}")
        seen.add(column.name)
        match _expression(definition, text, column, read, alone):
            case Reason() as why:
                free.append(why)
            case expression:
                bound[column.name] = expression
    return Dependency(read.source, (Occurrence(tuple(bound.items()), together(free)),), stated=True)


def _rules(definition: Definition, value: str, columns: Sequence[Column]) -> list[tuple[Column, str, bool]]:
    """The columns with their expressions, each with whether it stands alone, without the name of its column."""
    types = {column.name.lower(): column for column in columns}
    partition = [types[name.lower()] for name in definition.partitioned_by]
    if len(partition) == 1 and is_window(value) and assigned(value) is None:
        return [(partition[0], value, True)]
    found = []
    for rule in rules(value):
        name, expression = assigned(rule) or ("", "")
        column = types.get(name.lower())
        if column not in partition:
            told = f"it is not 'all' or 'partition column = expression; …': {rule}"
            raise DefinitionError("PROPERTY", told)
        found.append((column, expression, False))
    return found


def _expression(definition: Definition, text: str, column: Column, read: ReadTable, alone: bool) -> Expression | Reason:
    by_name = {each.name.lower(): each for each in read.partitioned_by}
    if is_window(text):
        return _windowed(definition, text, column, by_name, read, alone)
    return _computed(text, column, by_name, read)


def _windowed(
    definition: Definition,
    text: str,
    column: Column,
    by_name: Mapping[str, PartitionText],
    read: ReadTable,
    alone: bool,
) -> Expression | Reason:
    match = _WITH_COLUMN.fullmatch(text.strip())
    assert match is not None, "each text is a window, so far"
    named = match[2] or match[3]
    unit = _UNIT.search(match[1])
    if unit is not None and unit[0].lower() in by_name and not named and not alone and "." not in match[1]:
        # YEAR + 1 may be an expression as well.
        own = by_name[unit[0].lower()].name
        told = f"{unit[0]} is a unit, and {own} a column of {short(read.source)}; write `{own}` in backticks for the "
        raise DefinitionError("PROPERTY", f"{told}column, or {match[1]} OF `{own}` for the window")
    sources = [each for name, each in by_name.items() if named is None or name == named.lower()]
    if len(sources) != 1:
        known = ", ".join(each.name for each in by_name.values()) or "none"
        told = f"the window needs one partition column of the source; add OF and one of {known}"
        raise DefinitionError("PROPERTY", told)
    [source] = sources
    return fitted(
        parse_window(match[1]),
        source,
        column,
        definition.zone,
        source=short(read.source),
        names_zone="'" in match[1],  # a quote stands in a window for a zone only
    )


def _computed(text: str, column: Column, by_name: Mapping[str, PartitionText], read: ReadTable) -> Expression:
    """SQL in which the value of its text stands for each column of the source."""
    known = {name: each.value.sql for name, each in by_name.items() if isinstance(each.value, Image)}
    body, used = with_values(text, {name: known.get(name, "NULL") for name in by_name})
    for name in used:
        refuse_misread(by_name[name], column.name, short(read.source))
    images = [each.value for each in map(by_name.__getitem__, used) if isinstance(each.value, Image)]
    if len(images) == 1 and body.strip() == images[0].sql:
        return _taken_over(images[0], by_name[used[0]].type, column)
    told = tuple(sorted({name for each in images for name in each.texts}))
    made = as_text(column.type) % f"CAST({body} AS {column.type})"
    return Computed(made, tuple(sorted({name for each in images for name in each.inputs})), texts=told)


def _taken_over(image: Image, type: str, column: Column) -> Expression:
    """The map of a rule that is a column alone, of this type."""
    found = image.to(type, column.type)
    if found is None:
        told = f"{column.name} is a {column.type} of a moment, {TWICE}; leave out the rule of {column.name}"
        raise DefinitionError(TWICE.code.value, told)
    return found
