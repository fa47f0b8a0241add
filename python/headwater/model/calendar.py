"""Partition variables and the windows made of them ([Xu23] §2.2, Table 2): data only.

``algebra.calendar`` says which periods a window selects; ``algebra.notation`` reads and writes
windows as text.
"""

from __future__ import annotations

from enum import Enum

from attrs import evolve, frozen


class ReversedRange(ValueError):
    """The first period of a range comes after its last one, so it has none."""


class Unit(Enum):
    """A kind of period, from the finest to the coarsest. A week is an ISO week."""

    HOUR = "HOUR"
    DAY = "DAY"
    WEEK = "WEEK"
    MONTH = "MONTH"
    QUARTER = "QUARTER"
    YEAR = "YEAR"


@frozen
class Shift:
    """From a range of periods to the one that begins ``first`` periods after its first and ends ``last``
    periods after its last. ``None`` leaves that end open."""

    first: int | None = 0
    last: int | None = 0


@frozen
class Into:
    """From a range of periods to all periods of another unit that overlap it."""

    unit: Unit


Step = Shift | Into


@frozen
class Window:
    """The upstream periods that a downstream period is computed from.

    ``steps`` lead from the downstream period to a contiguous range of upstream ones. Where hours
    meet longer periods, an hour (counted in UTC) is of each day that a clock of ``zone`` shows in it.
    """

    of: Unit
    steps: tuple[Step, ...] = ()
    zone: str = "UTC"

    @property
    def upstream(self) -> Unit:
        """The unit of the selected periods."""
        return next((step.unit for step in reversed(self.steps) if isinstance(step, Into)), self.of)

    def __add__(self, periods: int) -> Window:
        return self._shifted(periods, periods)

    def __sub__(self, periods: int) -> Window:
        return self._shifted(-periods, -periods)

    def to(self, other: Window) -> Window:
        """From the first period of this window to the last of ``other``.

        Raises:
            ValueError: they do not differ in a last shift alone.
            ReversedRange: ``other`` ends before this window begins, as in ``DAY.to(DAY - 3)``.
        """
        mine, its = _parted(self), _parted(other)
        if evolve(self, steps=mine[0]) != evolve(other, steps=its[0]):
            raise ValueError(f"a range needs two ends of one kind, not {self} and {other}")
        first, last = mine[1].first, its[1].last
        if first is not None and last is not None and first > last:
            raise ReversedRange(f"a range goes from the earlier end to the later one, not from {self} to {other}")
        return evolve(self, steps=(*mine[0], Shift(first, last)))

    def and_earlier(self) -> Window:
        """This window and everything before it."""
        steps, last = _parted(self)
        return evolve(self, steps=(*steps, Shift(None, last.last)))

    def and_later(self) -> Window:
        """This window and everything after it."""
        steps, last = _parted(self)
        return evolve(self, steps=(*steps, Shift(last.first, None)))

    def into(self, unit: Unit, zone: str | None = None) -> Window:
        """All periods of another unit that overlap this window."""
        return evolve(self, steps=(*self.steps, Into(unit)), zone=zone or self.zone)

    def hours(self, zone: str | None = None) -> Window:
        return self.into(Unit.HOUR, zone)

    def days(self) -> Window:
        return self.into(Unit.DAY)

    def weeks(self) -> Window:
        return self.into(Unit.WEEK)

    def months(self) -> Window:
        return self.into(Unit.MONTH)

    def quarters(self) -> Window:
        return self.into(Unit.QUARTER)

    def years(self) -> Window:
        return self.into(Unit.YEAR)

    def _shifted(self, first: int, last: int) -> Window:
        steps, before = _parted(self)
        moved = Shift(_sum(before.first, first), _sum(before.last, last))
        return evolve(self, steps=steps if moved == Shift() else (*steps, moved))


def _parted(window: Window) -> tuple[tuple[Step, ...], Shift]:
    """The steps but for a shift at the end, and that shift."""
    if window.steps and isinstance(window.steps[-1], Shift):
        return window.steps[:-1], window.steps[-1]
    return window.steps, Shift()


def _sum(end: int | None, periods: int) -> int | None:
    return None if end is None else end + periods


HOUR, DAY, WEEK, MONTH, QUARTER, YEAR = (Window(unit) for unit in Unit)
