"""Spelling values, names and slices in Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.model.name import split
from headwater.model.partition import Slice, Value


def quoted(key: str) -> str:
    """A table's name as SQL reads it in any session: each part in backticks."""
    return ".".join(map(identifier, split(key)))


def identifier(name: str) -> str:
    """One name part in backticks, dots and all."""
    return f"`{name.replace('`', '``')}`"


def string(value: Value) -> str:
    """A string literal, or ``NULL``."""
    if value is None:
        return "NULL"
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def spec(each: Slice) -> dict[str, str]:
    """A partition as the catalog knows it."""
    return {column: NULL_PARTITION if value is None else value for column, value in each.bound}


def typed(value: Value, type_: str) -> str:
    return f"CAST({string(value)} AS {type_})"


def predicate(slices: Sequence[Slice], types: Mapping[str, str]) -> str:
    """A condition over the view's columns that holds for exactly the rows in ``slices``.

    Slices that bind one column become ``IN`` lists, which Spark prunes partitions by.
    """
    single: dict[str, list[Value]] = {}
    terms = []
    for each in slices:
        if not each.bound:
            return "TRUE"
        if len(each.bound) == 1:
            single.setdefault(each.bound[0][0], []).append(each.bound[0][1])
        else:
            terms.append("(" + " AND ".join(_equal(c, v, types) for c, v in each.bound) + ")")
    for column, values in single.items():
        present = [typed(value, types[column]) for value in values if value is not None]
        if len(present) == 1:
            terms.append(f"{identifier(column)} = {present[0]}")
        elif present:
            terms.append(f"{identifier(column)} IN ({', '.join(present)})")
        if None in values:
            terms.append(f"{identifier(column)} IS NULL")
    return " OR ".join(terms)


def _equal(column: str, value: Value, types: Mapping[str, str]) -> str:
    if value is None:
        return f"{identifier(column)} IS NULL"
    return f"{identifier(column)} = {typed(value, types[column])}"
