"""What a view asks for: its properties ``headwater.<name>``, as typed values.

The fields of ``Policy`` are the one list of these properties. Each has its type, the reading of its text, its default
and the question that it answers. The checks of ``CREATE`` and the table in ``docs/properties.md`` follow this list.
Durations are as a person writes them: ``'10 minutes'``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any

from attrs import field, fields, frozen

from headwater.model.error import StatementError
from headwater.model.name import loosely
from headwater.model.timetable import Timetable, timetable
from headwater.model.work import ASKED, Mode

UNITS = {"millisecond": 1, "second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000, "week": 604_800_000}
"""Milliseconds of each unit."""

LONGEST = 1_000 * 365 * UNITS["day"]
"""A thousand years. Times from longer ones do not fit into the numbers of a database, nor of a clock."""


def pause(text: str) -> int:
    """The same, or 0 for none: ``'0 seconds'``.

    Raises:
        StatementError: not a number and a unit.
    """
    none = re.fullmatch(r"\s*0+(?:\.0+)?\s*([a-z]+?)s?\s*", text.lower())
    return 0 if none is not None and none[1] in UNITS else duration(text)


@lru_cache(maxsize=4096)
def duration(text: str) -> int:
    """``'10 minutes'`` in milliseconds.

    Raises:
        StatementError: not a positive number and a unit, or longer than ``LONGEST``.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*", text.lower())
    if not match or match[2] not in UNITS or float(match[1]) <= 0:
        raise StatementError(f"'{text}' is not a duration; write a positive number and a unit, such as '10 minutes'")
    millis = float(match[1]) * UNITS[match[2]]
    if millis > LONGEST:
        raise StatementError(f"'{text}' is longer than a thousand years; write a shorter time, such as '365000 days'")
    return round(millis)


PREFIX = "headwater."
"""With this the name of each property of a view begins."""

DEPENDENCY = "dependency."
"""``headwater.dependency.<table>`` has a table in its name. Its text means something beside the query only, so it is
no field of a policy (see ``spark.defining.options``)."""


class Propagate(Enum):
    """The changes of its sources that refresh a view: every one, none, or only those that somebody asked for."""

    ALL = "all"
    NONE = "none"
    MARKED = "marked"


class Overrun(Enum):
    """Where a change goes that comes during a refresh: to the next run; to a run that replaces this one, which is
    cancelled; or to the next change."""

    QUEUE = "queue"
    PREEMPT = "preempt"
    SKIP = "skip"


class Upstream(Enum):
    """Whether a view goes on without a source view that fails, or waits for it."""

    RELEASE = "release"
    HOLD = "hold"


class FloatingPoint(Enum):
    """What sums of floating-point numbers are: those that Spark adds up in the order of the rows, or the exact ones."""

    COMPUTED = "computed"
    EXACT = "exact"


class Consistency(Enum):
    """Whether a view waits until its sources show one state of each table, or reads the newest of each."""

    STRICT = "strict"
    EVENTUAL = "eventual"


class GroupCommit(Enum):
    """Whether a catalog shows a member of a group alone, or together with the other ones."""

    ALONE = "alone"
    TOGETHER = "together"


class Fill(Enum):
    """Whether ``CREATE`` waits for the rows."""

    NOW = "now"
    LATER = "later"


@frozen
class Learned:
    """A time that Headwater finds out itself."""


LEARNED = "learned"
AUTO = "auto"
SWITCH = {"on": True, "off": False}

Read = Callable[[str], Any]
"""From the text of a property to its value; a ``StatementError`` says why the text is none."""


def _one_of(words: Mapping[str, object] | type[Enum]) -> Read:
    known = words if isinstance(words, Mapping) else {each.value: each for each in words}

    def read(text: str) -> object:
        if text.lower() not in known:
            raise StatementError(f"'{text}' is not one of {', '.join(known)}")
        return known[text.lower()]

    return read


def _or_learned(text: str) -> int | Learned:
    if text.lower() == LEARNED:
        return Learned()
    try:
        return duration(text)
    except StatementError as error:
        raise StatementError(f"{error}, or '{LEARNED}'") from error


def _promise(text: str) -> int | None:
    """A time, or ``None`` for ``'0 seconds'``: no refresh takes no time, so that asks for as soon as possible."""
    return pause(text) or None


def _methods(text: str) -> tuple[Mode, ...] | None:
    """Some methods, the preferred one first; ``None`` for ``auto``."""
    if text.strip().lower() == AUTO:
        return None
    read = _one_of({each.value: each for each in ASKED})
    try:
        found = tuple(dict.fromkeys(read(each.strip()) for each in text.split(",")))
    except StatementError as error:
        raise StatementError(f"{error}; or write '{AUTO}'") from error
    return found


def _positive(text: str) -> float:
    """A number above 0."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise StatementError(f"'{text}' is not a number above 0, such as 10")
    return found


def _name(text: str) -> str:
    """A name, in which case makes no difference, as in names of tables."""
    found = loosely(text.strip())
    if not found:
        raise StatementError(f"'{text}' is not a name; write one, such as revenue")
    return found


def _event_time(text: str) -> tuple[tuple[str, str], ...]:
    """Columns, each with the table that it belongs to; an empty name stands for all that have the column."""
    found = []
    for each in text.split(","):
        table, _, column = each.strip().rpartition(".")
        if not column:
            raise StatementError(f"'{text}' names no column; write one, such as ts, or orders.ordered_at, clicks.ts")
        found.append((table, column.strip("`")))
    return tuple(found)


@frozen
class Property:
    """One property of a view.

    Attributes:
        name: what follows ``headwater.``.
        field: of ``Policy``.
        question: the question that it answers.
        default: the text of the default, or words for it.
        read: from a text to the value; raises ``StatementError``.
    """

    name: str
    field: str
    question: str
    default: str
    read: Read


def _asks(question: str, read: Read, default: str = "", otherwise: str = "", name: str | None = None) -> Any:
    """A field of ``Policy``, with the text of its default, or with words for a default that has no text. ``name``: that
    of the property, where it is not that of the field."""
    known = {"question": question, "read": read, "default": default or otherwise}
    return field(
        default=read(default) if default else None, metadata=known if name is None else {**known, "name": name}
    )


@frozen
class Policy:
    """What a view asks for. Times are in milliseconds; ``None`` where nothing is asked for."""

    freshness: int | None = _asks("How old may the rows be?", _promise, otherwise="as fresh as possible")
    settle: int = _asks("How long does a change wait for the next one?", pause, "1 second")
    cadence: int | Learned | None = _asks("Which sources are written together?", _or_learned, otherwise="none")
    schedule: Timetable | None = _asks("At which times is it refreshed?", timetable, otherwise="at any")
    gap: int | None = _asks("How much time lies between two refreshes?", duration, otherwise="as little as possible")
    propagate: Propagate = _asks("Does a change of a source refresh the view?", _one_of(Propagate), "all")
    cutoff: bool = _asks("Does a refresh compare its rows with the old ones?", _one_of(SWITCH), "on")
    upstream: Upstream = _asks("Does the view wait for a source view that fails?", _one_of(Upstream), "release")
    consistency: Consistency = _asks("Do its sources show one state of each table?", _one_of(Consistency), "strict")
    group: str | None = _asks("With which views is it read at one moment?", _name, otherwise="none")
    publish: Timetable | None = _asks(
        "When do readers of its group get a newer epoch?", timetable, otherwise="at once", name="group.publish"
    )
    commit: GroupCommit = _asks(
        "Does one commit show all members of its group?", _one_of(GroupCommit), "alone", name="group.commit"
    )
    overrun: Overrun = _asks("Where does a change go that comes during a refresh?", _one_of(Overrun), "queue")
    priority: float = _asks("How much does a second of its staleness count?", _positive, "1")
    event_time: tuple[tuple[str, str], ...] | None = _asks(
        "Which column of the sources has the times of events?", _event_time, otherwise="none"
    )
    lateness: int | None = _asks("How late may a row come?", pause, otherwise="rows come in the order of their times")
    trailing_edge: bool = _asks(
        "Does a refresh stop at the time that all sources have reached?", _one_of(SWITCH), "off"
    )
    timeout: int | None = _asks("How long may a refresh take?", duration, otherwise="as long as it needs")
    fill: Fill = _asks("Does `CREATE` wait for the rows?", _one_of(Fill), "now")
    method: tuple[Mode, ...] | None = _asks("How are changes followed?", _methods, "auto")
    floating_point: FloatingPoint = _asks(
        "What are sums of floating-point numbers?", _one_of(FloatingPoint), "computed"
    )
    verify: int | None = _asks("How often is a sample compared with the query?", duration, otherwise="never")
    replica: bool = _asks("Is it a copy that other stores may keep, too?", _one_of(SWITCH), "off")
    compaction: bool = _asks("Are small files put together?", _one_of(SWITCH), "off")
    retain: int = _asks("How long do replaced rows stay on disk?", duration, "1 hour")

    @property
    def is_timed(self) -> bool:
        """Whether a refresh starts at certain times only."""
        return self.schedule is not None or self.gap is not None

    @classmethod
    def of(cls, properties: Iterable[tuple[str, str]]) -> Policy:
        """What all properties of a view ask for together.

        A malformed text was written into the catalog past Headwater. It counts as not stated, so that one view
        does not stop all others.
        """
        stated: dict[str, Any] = {}
        for key, text in properties:
            found = PROPERTIES.get(key.removeprefix(PREFIX)) if key.startswith(PREFIX) else None
            try:
                stated |= {found.field: found.read(text)} if found is not None else {}
            except StatementError:
                continue
        return cls(**stated)


PROPERTIES: Mapping[str, Property] = {
    each.name: each
    for each in (Property(**{"name": known.name, "field": known.name, **known.metadata}) for known in fields(Policy))
}
"""The properties by their names."""
