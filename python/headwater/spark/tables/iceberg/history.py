"""What happened between two snapshots of an Iceberg table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from attrs import frozen
from py4j.java_gateway import JavaObject

from headwater.spark.tables.iceberg.calls import Calls


@frozen
class Passed:
    """A snapshot: its number, and what its commit did."""

    number: int
    operation: str
    summary: Mapping[str, str]

    @property
    def is_rearranged(self) -> bool:
        """Whether it holds the rows of before in other files: ``rewrite_data_files`` and its like."""
        return self.operation == "replace"

    @property
    def only_adds(self) -> bool:
        """Whether rows came, and none went."""
        return self.is_rearranged or self.operation == "append"


@frozen
class Between:
    """The snapshots to be undone and done to get from one snapshot to another.

    Attributes:
        snapshots: the newest one first.
        lost: why nobody can say; then there are no snapshots.
        undone: some are to be undone.
    """

    snapshots: tuple[Passed, ...] = ()
    lost: str = ""
    undone: bool = False

    @property
    def only_adds(self) -> bool:
        """Whether rows came, and none went."""
        return not self.undone and all(each.only_adds for each in self.snapshots)

    def spans(self, since: int) -> list[tuple[int, int]]:
        """The steps from a snapshot to the last one, without those that only put rows into other files: each from a
        snapshot to one of its descendants."""
        found, start = list[tuple[int, int]](), since
        end = start
        for each in reversed(self.snapshots):
            if each.is_rearranged:
                found += [(start, end)] if start != end else []
                start = each.number
            end = each.number
        return [*found, (start, end)] if start != end else found


class History:
    """The snapshots of tables, and which follow from which."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def between(self, table: JavaObject, since: int, now: int) -> Between:
        """What lies between two snapshots. After a rollback these are the snapshots that it took back."""
        if since == now:
            return Between()
        if table.snapshot(since) is None:
            return Between(lost=f"its snapshot {since} expired or was removed")
        told = self._calls.between(table, since, now)
        if told is None:
            return Between(lost=f"its snapshots since {since} are not all there, or the table was replaced")
        undone, snapshots = json.loads(told)
        return Between(tuple(Passed(**each) for each in snapshots), undone=undone)


def churn(snapshots: Iterable[Passed]) -> int | None:
    """Bytes of the files that came and went in some snapshots; ``None`` if one does not say."""
    told = [each.summary for each in snapshots if not each.is_rearranged]
    if any("total-files-size" not in each for each in told):
        return None
    return sum(int(each.get(name, 0)) for each in told for name in ("added-files-size", "removed-files-size"))
