"""What a backfill asks for, and what it would cost. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from headwater.engine.requests.coverage import cover
from headwater.model.error import StatementError
from headwater.model.partition import WHOLE, Slice, sort_key
from headwater.model.state import State

SEPARATOR = ".."


@frozen
class ViewBackfill:
    """What one view would recompute. ``seconds`` is what its runs take lately; ``None`` before the first."""

    view: str
    slices: tuple[Slice, ...]
    seconds: float | None


def asked(state: State, table: str, conditions: Sequence[str]) -> tuple[Slice, ...]:
    """The known partitions of a table that meet all conditions, ``column=value`` or ``column=first..last``
    (both included, either may be missing). All of the table without any.

    Raises:
        StatementError: a condition is none, or no partition meets them all.
    """
    if not conditions:
        return (WHOLE,)
    record = state.tables.get(table)
    known = [each for each, found in record.partitions.items() if found.fingerprint is not None] if record else []
    for condition in conditions:
        column, equals, value = (each.strip() for each in condition.partition("="))
        if not equals or not column:
            raise StatementError(f"'{condition}' is not column=value or column=first{SEPARATOR}last")
        first, between, last = (each.strip() for each in value.partition(SEPARATOR))
        known = [each for each in known if _meets(each, column, first, last if between else first)]
    if not known:
        raise StatementError(f"{table} has no partition with {' and '.join(conditions)}")
    return tuple(sorted(known, key=sort_key))


def planned(state: State, table: str, slices: Sequence[Slice], downstream: bool) -> list[ViewBackfill]:
    """What a backfill would recompute, in the order in which it would run."""
    reached = {table: tuple(slices)} if table in state.views else {}
    if downstream:
        reached |= cover(state, table, slices, marked=True)
    return [ViewBackfill(view, found, _seconds(state, view)) for view, found in reached.items()]


def _meets(each: Slice, column: str, first: str, last: str) -> bool:
    values = {name.lower(): value for name, value in each.bound}
    if column.lower() not in values:
        raise StatementError(f"there is no partition column {column}; there are {', '.join(values) or 'none'}")
    value = values[column.lower()]
    if value is None:
        return first == last == "NULL"
    return (not first or _order(first) <= _order(value)) and (not last or _order(value) <= _order(last))


def _order(value: str) -> tuple[int, float, str]:
    """Numbers by their value and before text, text by itself; dates as the catalog spells them are in order."""
    try:
        return (0, float(value), "")
    except ValueError:
        return (1, 0.0, value)


def _seconds(state: State, view: str) -> float | None:
    took = state.views[view].costs.took
    return None if took is None else took.mean
