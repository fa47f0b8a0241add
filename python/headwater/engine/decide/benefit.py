"""What a refresh is worth together with those that it lets run.

Example: a report of priority 100 reads a view of priority 0. The refresh of the view takes nothing off the weighted
staleness, but both together do. So the view is worth what both are, for the time of both.

Of all sets of tables downstream that hold, with each table, those between, the best one has the greatest benefit for
its time. On one track it is optimal to run such sets in that order, where each table has one source: W. A. Horn,
*Single-machine job sequencing with treelike precedence ordering and linear delay penalties* (1972).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Table = TypeVar("Table")


def benefit(
    table: Table, readers: Mapping[Table, Sequence[Table]], gain: Mapping[Table, float], takes: Mapping[Table, float]
) -> float:
    """What a second of work takes off the weighted staleness, if a table and the best downstream are refreshed.

    Args:
        readers: a tree of tables.
        gain: what the refresh of each table takes off.
        takes: the seconds of each refresh.
    """
    found, seconds = best(table, readers.__getitem__, lambda each: (gain[each], takes[each]))
    return found / seconds


def best(
    table: Table, readers: Callable[[Table], Sequence[Table]], figures: Callable[[Table], tuple[float, float]]
) -> tuple[float, float]:
    """What the best set takes off, and its seconds; ``figures`` are those of each table alone."""
    downwards = [table]
    for each in downwards:
        downwards += readers(each)
    sets: dict[Table, list[tuple[float, float]]] = {}
    for each in reversed(downwards):
        sets[each] = _sets(figures(each), [one for reader in readers(each) for one in sets.pop(reader)])
    return sets[table][0]


def _sets(own: tuple[float, float], below: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The sets in which a table and those downstream are refreshed at best, the one with the greatest benefit first.

    Args:
        own: what the table takes off, and its seconds.
        below: the sets of those that read it.
    """
    below.sort(key=lambda each: each[0] / each[1], reverse=True)
    (gain, takes), taken = own, 0
    for more, longer in below:
        if more * takes < gain * longer:
            break
        gain, takes, taken = gain + more, takes + longer, taken + 1
    return [(gain, takes), *below[taken:]]
