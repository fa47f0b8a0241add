"""An Iceberg table with three partitions, for the tests of its adapter."""

from __future__ import annotations

import re
from collections.abc import Sequence

from found import look
from pyspark.sql import SparkSession

from headwater.model.partition import Slice
from headwater.model.seen import Seen
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.iceberg import IcebergTables

A1, A2, B1, C1 = (
    Slice.of(p=p, ts_day=day)
    for p, day in (("a", "2024-01-01"), ("a", "2024-02-05"), ("b", "2024-01-01"), ("c", "2024-01-01"))
)
ALL = {A1, A2, B1}
"""The partitions that the table has at first."""


def call(procedure: str, *arguments: str) -> str:
    return f"CALL lake.system.{procedure}({', '.join(('table => $t', *arguments))})"


class Table:
    """An Iceberg table ``t`` with three partitions, and the looks at it."""

    def __init__(self, spark: SparkSession, place: str) -> None:
        self.spark, self.key = spark, f"{place}.t"
        self.tables = IcebergTables(Shim(spark), Sessions(spark))

    def make(self, properties: str = "", partitioned_by: str = "p, days(ts)") -> None:
        told = f"TBLPROPERTIES ({properties})" if properties else ""
        self.spark.sql(
            "CREATE TABLE t (id INT, n INT, ts TIMESTAMP, p STRING) "
            f"USING iceberg PARTITIONED BY ({partitioned_by}) {told}"
        )
        self.spark.sql(
            "INSERT INTO t VALUES (1, 1, TIMESTAMP '2024-01-01', 'a'), (2, 2, TIMESTAMP '2024-01-01', 'b'), "
            "(3, 3, TIMESTAMP '2024-02-05', 'a'), (4, 4, TIMESTAMP '2024-01-01 01:00:00', 'a')"
        )

    def run(self, statements: Sequence[str]) -> None:
        """Runs statements; ``$t`` and ``$n`` are the table's name, and ``$2`` is its second snapshot."""
        for each in statements:
            if each == "EXPIRE BETWEEN":
                [middle] = self.snapshots()[1:-1]
                each = call("expire_snapshots", f"snapshot_ids => array({middle})")
            each = re.sub(r"\$(\d)", lambda found: str(self.snapshots()[int(found[1]) - 1]), each)
            self.spark.sql(each.replace("$t", f"'{self.key.removeprefix('lake.')}'").replace("$n", self.key))

    def snapshots(self) -> list[int]:
        found = self.spark.sql(f"SELECT snapshot_id FROM {self.key}.snapshots ORDER BY committed_at")
        return [row[0] for row in found.collect()]

    def look(self, since: str = "") -> Seen:
        return look(self.tables, self.key, since=since)
