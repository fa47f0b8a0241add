"""A table's recurring refresh, as rules of order see it.

Example: data of ``events`` come every 100 s, a refresh takes 1 s and 0.1 s more for each second of data. For 100 s of
data it takes 11 s, and so 11 % of a track.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import field, frozen


@frozen
class Task:
    """A table's recurring refresh, the update job of [Golab11] §2.4.

    Attributes:
        name: of the table.
        priority: how much a second of its staleness counts.
        period: seconds between its changes.
        fixed: seconds that a refresh takes for no data: α of the paper.
        rate: seconds that it takes for each second of data: β.
        sources: the tables, among the tasks, that it reads; none of a table that programs write.
    """

    name: str
    priority: float = 1.0
    period: float = 100.0
    fixed: float = 1.0
    rate: float = 0.1
    sources: tuple[str, ...] = field(default=(), converter=tuple)

    def takes(self, data: float) -> float:
        """Seconds for so many seconds of data: α + β·n."""
        return self.fixed + self.rate * data

    @property
    def load(self) -> float:
        """The part of a track that it needs, if each change is refreshed alone: the utilization of [Golab11] §3.2.1."""
        return self.takes(self.period) / self.period


def downstream(tasks: Sequence[Task]) -> dict[str, list[str]]:
    """The tables that read each table, directly or not, and itself; each once."""
    readers: dict[str, list[str]] = {each.name: [] for each in tasks}
    for each in tasks:
        for source in each.sources:
            readers[source].append(each.name)
    found: dict[str, list[str]] = {}

    def below(name: str) -> list[str]:
        if name not in found:
            found[name] = list(dict.fromkeys([name, *(each for one in readers[name] for each in below(one))]))
        return found[name]

    for each in tasks:
        below(each.name)
    return found
