"""Changes that come together: waiting for those that are expected ([Xu23] §4.3.1).

Tables that are written in one go, each day or each hour, are one group for a view that states a window in
``headwater.cadence``: what comes within it belongs together. The paper waits for versions that do not exist yet;
here that is an expectation, which expires. A source is expected if something that it is made from changes again
and again, by its mean gap, and has not stopped to; it has come if that changed since a window before.

A window that is learned is half the mean gap of the table that changed: with the changes of another one, those
belong that come nearer to it than to the next. Then a source is expected only if it is due within the window.
"""

from __future__ import annotations

from math import inf

from headwater.engine.requests.coverage import upstream
from headwater.model.index import Expectation
from headwater.model.policy import Learned
from headwater.model.state import Origin, State, TableRecord
from headwater.model.view import Definition

STOPPED = 3
"""A table that has not changed for so many of its mean gaps is not expected any more."""


def expectation(state: State, definition: Definition, change: Origin) -> Expectation | None:
    """How long a change waits for those that come with it (ms), and for which sources; ``None`` if the view states
    no window, and none is learned. Of none that it still waits for, the time is that of the newest that came."""
    asked = definition.policy.cadence
    learns = isinstance(asked, Learned)
    window = _learned(state, change) if isinstance(asked, Learned) else asked
    if window is None:
        return None
    missing, newest = [], change.at
    for source in definition.sources:
        changing = [
            found for table in upstream(state, source) if (found := _changing(state, table, change)) is not None
        ]
        if not changing:
            continue
        last = max(at for _, at in changing)
        if last < change.at - window and not (learns and _due(changing) > change.at + window):
            missing.append(source)
        newest = max(newest, min(last, change.at + window))  # later ones do not extend the wait
    return Expectation(window if missing else newest - change.at, tuple(missing))


def _learned(state: State, change: Origin) -> int | None:
    """Half the mean gap (ms) between changes of the table that changed; ``None`` before its second change."""
    record = state.tables.get(change.table)
    return None if record is None or record.gap is None else round(500 * record.gap)


def _due(changing: list[tuple[TableRecord, int]]) -> float:
    """When the next change of these tables is expected (ms)."""
    return min((at + 1000 * record.gap for record, at in changing if record.gap is not None), default=inf)


def _changing(state: State, table: str, change: Origin) -> tuple[TableRecord, int] | None:
    """The record of a base table that changes again and again, or is the one that changed; and when it did (ms)."""
    record = state.tables.get(table) if table not in state.views else None
    if record is None or record.changed_at is None:
        return None
    if table == change.table:
        return record, record.changed_at
    since = (change.at - record.changed_at) / 1000
    goes_on = record.gap is not None and since <= STOPPED * record.gap
    return (record, record.changed_at) if goes_on else None
