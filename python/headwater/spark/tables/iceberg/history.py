"""What happened between two snapshots of an Iceberg table."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen
from py4j.java_gateway import JavaObject

from headwater.spark.tables.iceberg.java import Java

REPLACE = "replace"
"""The operation of snapshots that hold the rows of before in other files: ``rewrite_data_files`` and its like."""

APPEND = "append"
"""The operation of snapshots that add files, and nothing else."""


@frozen
class Between:
    """The snapshots to be undone and done to get from one snapshot to another.

    Attributes:
        lost: why nobody can say; then there are no snapshots.
        undone: some are to be undone.
    """

    snapshots: tuple[JavaObject, ...] = ()
    lost: str = ""
    undone: bool = False

    @property
    def only_adds(self) -> bool:
        """Whether rows came, and none went."""
        return not self.undone and all(is_rearranged(each) or each.operation() == APPEND for each in self.snapshots)


class History:
    """The snapshots of tables, and which follow from which."""

    def __init__(self, java: Java) -> None:
        self._java = java

    def between(self, table: JavaObject, since: int, now: int) -> Between:
        """What lies between two snapshots. After a rollback these are the snapshots that it took back."""
        if since == now:
            return Between()
        if table.snapshot(since) is None:
            return Between(lost=f"its snapshot {since} expired or was removed")
        follows = self._java("iceberg.util.SnapshotUtil.isAncestorOf", table, now, since)
        if follows:
            numbers = self._java("iceberg.util.SnapshotUtil.snapshotIdsBetween", table, since, now)
        else:
            numbers = self._across(table, since, now)
        if numbers is None:
            return Between(lost=f"its snapshots since {since} are not all there, or the table was replaced")
        return Between(tuple(table.snapshot(each) for each in numbers), undone=not follows)

    def _across(self, table: JavaObject, since: int, now: int) -> list[int] | None:
        """The snapshots on both ways from the newest common ancestor; ``None`` if there is none."""
        undone = _ancestors(table, since)
        done = _ancestors(table, now)
        shared = next((each for each in done if each in undone), None)
        if shared is None:
            return None
        back, on = list(undone), list(done)
        return [*back[: back.index(shared)], *on[: on.index(shared)]]


def is_rearranged(snapshot: JavaObject) -> bool:
    """Whether a snapshot holds the same rows as the one before."""
    return snapshot.operation() == REPLACE


def churn(snapshots: Iterable[JavaObject]) -> int | None:
    """Bytes of the files that came and went in some snapshots; ``None`` if one does not say."""
    told = [dict(each.summary()) for each in snapshots if not is_rearranged(each)]
    if any("total-files-size" not in each for each in told):
        return None
    return sum(int(each.get(name, 0)) for each in told for name in ("added-files-size", "removed-files-size"))


def _ancestors(table: JavaObject, snapshot: int) -> dict[int, None]:
    """A snapshot and those before it that are still there, newest first."""
    found: dict[int, None] = {}
    at: int | None = snapshot
    while at is not None and (known := table.snapshot(at)) is not None:
        found[at] = None
        at = known.parentId()
    return found
