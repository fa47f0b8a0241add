"""How a view depends on a source: the data of a partition map ([Xu23] §2.2).

A view reads a source in one or more *occurrences* (a self-join reads it twice, each branch of a
union once). For each occurrence, each partition column of the view is either computed from the
source's partition columns or free.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve, frozen

from headwater.model.calendar import Window
from headwater.model.reason import Code, Reason


@frozen
class Same:
    """A view column that is a source's partition column, unchanged."""

    column: str


@frozen
class Computed:
    """A view column computed by a deterministic SQL expression over a source's partition columns.

    ``sql`` names the columns as they are called in the source, quoted with backticks, each cast
    to its type, and yields the partition value as the catalog would spell it. The core never
    evaluates it: values come from a memo that the runtime fills. ``under`` identifies the session
    settings (time zone, ANSI mode) that give the expression its meaning. ``texts`` are the inputs whose null
    partition has rows with an empty text as well (``NAMELESS``), which the expression may tell from NULL.
    """

    sql: str
    inputs: tuple[str, ...]
    under: str = ""
    texts: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What the memo knows the expression by."""
        return f"{self.under}:{self.sql}" if self.under else self.sql


@frozen
class Windowed:
    """A view column of calendar periods, each computed from a window of a source column's periods.

    ``spelled`` is the view column's type, which says how the catalog spells its periods. ``nulls`` says that the view
    column is null in rows made from the source's null partition. ``alike`` says that the view column spells periods as
    the source's does: where this has another text than ``spelled`` says, nothing is known of the view column.
    """

    column: str
    window: Window
    spelled: str = "date"
    nulls: bool = False
    alike: bool = False


Expression = Same | Computed | Windowed


@frozen
class Occurrence:
    """One place where the query reads the source.

    ``columns`` holds the view's partition columns that are known from the source's; the others
    are free. ``reason`` says why some or all are free (``None`` when none is).
    """

    columns: tuple[tuple[str, Expression], ...] = ()
    reason: Reason | None = None


@frozen
class Frames:
    """The rows of a view that a changed row of a source reaches through a window function: those that agree with it on
    the columns of ``PARTITION BY``, and whose frame has the changed row's value of ``ORDER BY``.

    Attributes:
        columns: of the view: those of ``PARTITION BY``, and as the last one that of ``ORDER BY``.
        places: for each place where the query reads the source, an SQL expression for each of the columns, over the
            columns of the source.
    """

    columns: tuple[str, ...]
    places: tuple[tuple[str, ...], ...]


@frozen
class Neighbours:
    """The rows of a view that a changed row of a source reaches through a window function: those that agree with it on
    the columns of ``PARTITION BY``, and are few places before or after it.

    Attributes:
        columns: of the view: those of ``PARTITION BY``, then those of ``ORDER BY``.
        places: as ``Frames`` has them.
        grouped: so many of the columns are those of ``PARTITION BY``.
    """

    columns: tuple[str, ...]
    places: tuple[tuple[str, ...], ...]
    grouped: int


@frozen
class Foremost:
    """The rows of a view that a changed row of a source reaches, where the view has the first rows of each partition of
    a window: those of its partition, if it is no later than the last row that the view has of it.

    Attributes:
        columns: of the view: those of ``PARTITION BY``, then those of ``ORDER BY``.
        places: as ``Frames`` has them.
        grouped: so many of the columns are those of ``PARTITION BY``.
        most: so many rows of a partition are the first ones.
    """

    columns: tuple[str, ...]
    places: tuple[tuple[str, ...], ...]
    grouped: int
    most: int


Through = Frames | Neighbours | Foremost
"""What a window function leaves of the rows that share a changed row's keys."""


@frozen
class Keys:
    """The rows of a view that a changed row of a source reaches: those that agree with it on some columns.

    Attributes:
        columns: of the view; none if no column is known.
        places: for each place where the query reads the source, an SQL expression for each of the columns, over the
            columns of the source.
        reason: why no column is known.
        through: which of these rows it reaches at most, where a window function is all that reaches several.
    """

    columns: tuple[str, ...] = ()
    places: tuple[tuple[str, ...], ...] = ()
    reason: Reason | None = None
    through: Through | None = None


@frozen
class Adding:
    """Whether the totals of a view's aggregate can follow the changed rows of a source (``algebra.derive.totals``).
    Of a view without an aggregate: whether it is known which rows of the view come and go with those of the source.

    Attributes:
        reason: why they cannot; ``None`` if they can.
        below: the aggregate reads the source. If it does not, its totals do not depend on it.
        rows: the view has no aggregate.
        takes: rows of such a view may go though no row of the source went. A customer's first order takes the row away
            that a LEFT JOIN has for customers without one.
    """

    reason: Reason | None = Reason(Code.QUERY_NOT_DERIVED, "its aggregate is not known")
    below: bool = False
    rows: bool = False
    takes: bool = False

    @property
    def possible(self) -> bool:
        return self.reason is None


def common(keys: Iterable[Keys]) -> tuple[str, ...]:
    """The columns that all these keys have."""
    found = [each.columns for each in keys]
    return tuple(each for each in found[0] if all(each in other for other in found)) if found else ()


def through_windows(keys: Iterable[Keys]) -> Through | None:
    """Which rows changes of several sources reach through a window, without the sources' own expressions; ``None`` if
    one of them reaches more."""
    found = {None if each.through is None else evolve(each.through, places=()) for each in keys}
    return found.pop() if len(found) == 1 else None


@frozen
class Dependency:
    """Everything a view takes from one source. ``stated`` is true when a property gave the map of partitions."""

    source: str
    occurrences: tuple[Occurrence, ...] = (Occurrence(),)
    stated: bool = False
    keys: Keys = Keys()
    adding: Adding = Adding()
