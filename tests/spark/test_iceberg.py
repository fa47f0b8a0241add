"""Of each kind of write to an Iceberg table, a look tells the partitions that changed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from attrs import field, frozen
from looks import look
from pyspark.sql import SparkSession
from support import database

from headwater.model.partition import Slice
from headwater.model.seen import Seen
from headwater.spark.iceberg import IcebergTables
from headwater.spark.sessions import Sessions
from headwater.spark.shim import Shim

A1, A2, B1, C1 = (
    Slice.of(p=p, ts_day=day)
    for p, day in (("a", "2024-01-01"), ("a", "2024-02-05"), ("b", "2024-01-01"), ("c", "2024-01-01"))
)
ALL = {A1, A2, B1}
ON_READ = ", ".join(f"'write.{each}.mode' = 'merge-on-read'" for each in ("delete", "update", "merge"))
MERGE = (
    "MERGE INTO t USING (SELECT * FROM VALUES (1, 'a'), (9, 'c') AS s(id, p)) AS s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET n = 7 "
    "WHEN NOT MATCHED THEN INSERT (id, n, ts, p) VALUES (s.id, 1, TIMESTAMP '2024-01-01 12:00:00', s.p)"
)


@frozen
class Case:
    """Statements, and the partitions that change by them.

    Attributes:
        before: statements that come before the first look.
        properties: of the table.
        lost: a part of the reason why all partitions count as changed.
    """

    name: str
    statements: Sequence[str] = field(converter=lambda given: [given] if isinstance(given, str) else given)
    changed: set[Slice]
    before: Sequence[str] = ()
    properties: str = ""
    lost: str = ""


OVERWRITE = "VALUES (9, 9, TIMESTAMP '2024-01-01 01:00:00', 'b')"
DATA = [
    Case("append", f"INSERT INTO t {OVERWRITE}", {B1}),
    Case("append of a new partition", "INSERT INTO t VALUES (9, 9, TIMESTAMP '2024-01-01 23:59:59', 'c')", {C1}),
    Case("append of nothing", "INSERT INTO t SELECT * FROM t WHERE id > 100", set()),
    Case(
        "dynamic overwrite",
        ["SET spark.sql.sources.partitionOverwriteMode = dynamic", f"INSERT OVERWRITE t {OVERWRITE}"],
        {B1},
    ),
    Case("static overwrite", "INSERT OVERWRITE t PARTITION (p = 'a') SELECT id, n, ts FROM t WHERE id = 1", {A1, A2}),
    Case("replace where", f"INSERT INTO t REPLACE WHERE p = 'b' {OVERWRITE}", {B1}),
    Case("whole overwrite", f"INSERT OVERWRITE t {OVERWRITE}", ALL),
    Case("truncate", "TRUNCATE TABLE t", ALL),
    Case("delete of a partition", "DELETE FROM t WHERE p = 'b'", {B1}),
    Case("delete of nothing", "DELETE FROM t WHERE id = 100", set()),
    *[
        Case(f"{name}, {how}", statement, changed, properties=properties)
        for how, properties in (
            ("copy on write", ""),
            ("position deletes", f"'format-version' = '2', {ON_READ}"),
            ("deletion vectors", f"'format-version' = '3', {ON_READ}"),
        )
        for name, statement, changed in (
            ("delete", "DELETE FROM t WHERE id = 1", {A1}),
            ("update", "UPDATE t SET n = 7 WHERE id IN (1, 3)", {A1, A2}),
            ("update of a partition column", "UPDATE t SET p = 'c' WHERE id = 2", {B1, C1}),
            ("merge", MERGE, {A1, C1}),
        )
    ],
]


def call(procedure: str, *arguments: str) -> str:
    return f"CALL lake.system.{procedure}({', '.join(('table => $t', *arguments))})"


NOW = "older_than => TIMESTAMP '2100-01-01'"
TWICE = [f"INSERT INTO t {OVERWRITE}", "INSERT INTO t VALUES (8, 8, TIMESTAMP '2024-01-01 02:00:00', 'b')"]
ADMIN = [
    Case("compaction", call("rewrite_data_files", "options => map('rewrite-all', 'true')"), set(), TWICE),
    Case("rewrite of manifests", call("rewrite_manifests"), set(), TWICE),
    Case(
        "rewrite of deletes",
        call("rewrite_position_delete_files", "options => map('rewrite-all', 'true')"),
        set(),
        ["DELETE FROM t WHERE id = 1", "DELETE FROM t WHERE id = 4"],
        f"'format-version' = '2', {ON_READ}, 'write.delete.granularity' = 'file'",
    ),
    Case("expired snapshots of before", call("expire_snapshots", NOW), set(), TWICE),
    Case(
        "the snapshot on record expired",
        [f"INSERT INTO t {OVERWRITE}", call("expire_snapshots", NOW)],
        ALL,
        lost="expired",
    ),
    Case("a snapshot between expired", [*TWICE, "EXPIRE BETWEEN"], ALL, lost="not all there"),
    Case("a write and a compaction", [*TWICE, call("rewrite_data_files")], {B1}),
    Case("rollback", call("rollback_to_snapshot", "snapshot_id => $1"), {B1}, TWICE),
    Case(
        "rollback and another write",
        [call("rollback_to_snapshot", "snapshot_id => $1"), "DELETE FROM t WHERE id = 3"],
        {A2, B1},
        TWICE,
    ),
    Case(
        "set to a later snapshot",
        call("set_current_snapshot", "snapshot_id => $3"),
        {B1},
        [*TWICE, call("rollback_to_snapshot", "snapshot_id => $1")],
    ),
    Case("a branch", ["ALTER TABLE t CREATE BRANCH x", f"INSERT INTO $n.branch_x {OVERWRITE}"], set()),
    Case(
        "a branch that is taken over",
        call("fast_forward", "branch => 'main'", "to => 'x'"),
        {B1},
        ["ALTER TABLE t CREATE BRANCH x", f"INSERT INTO $n.branch_x {OVERWRITE}"],
    ),
    Case("a tag", "ALTER TABLE t CREATE TAG x", set()),
    Case(
        "a staged write",
        ["SET spark.wap.id = w", f"INSERT INTO t {OVERWRITE}", "RESET spark.wap.id"],
        set(),
        properties="'write.wap.enabled' = 'true'",
    ),
    Case(
        "a staged write that is published",
        call("publish_changes", "wap_id => 'w'"),
        {B1},
        ["SET spark.wap.id = w", f"INSERT INTO t {OVERWRITE}", "RESET spark.wap.id"],
        properties="'write.wap.enabled' = 'true'",
    ),
    Case("properties", "ALTER TABLE t SET TBLPROPERTIES ('x' = 'y')", set()),
]

COLUMNS = [
    Case("a column more", "ALTER TABLE t ADD COLUMN x INT", set()),
    Case("a column less", "ALTER TABLE t DROP COLUMN n", set()),
    Case("another name", "ALTER TABLE t RENAME COLUMN n TO x", set()),
    Case("another order", "ALTER TABLE t ALTER COLUMN n FIRST", set()),
    Case("a comment", "ALTER TABLE t ALTER COLUMN n COMMENT 'x'", set()),
    Case("a wider type", "ALTER TABLE t ALTER COLUMN n TYPE BIGINT", ALL, lost="n is a long now and was a int"),
    Case(
        "another column of the name",
        ["ALTER TABLE t DROP COLUMN n", "ALTER TABLE t ADD COLUMN n INT"],
        ALL,
        lost="n is another one than before",
    ),
    Case(
        "names in a circle",
        [
            "ALTER TABLE t RENAME COLUMN n TO x",
            "ALTER TABLE t RENAME COLUMN id TO n",
            "ALTER TABLE t RENAME COLUMN x TO id",
        ],
        ALL,
        lost="another one than before",
    ),
    Case(
        "a name that comes back",
        "ALTER TABLE t ADD COLUMN n INT",
        ALL,
        ["ALTER TABLE t DROP COLUMN n"],
        lost="n is another one than it once was",
    ),
]


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
            for n, snapshot in reversed(list(enumerate(self.snapshots(), 1))):
                each = each.replace(f"${n}", str(snapshot))
            self.spark.sql(each.replace("$t", f"'{self.key.removeprefix('lake.')}'").replace("$n", self.key))

    def snapshots(self) -> list[int]:
        found = self.spark.sql(f"SELECT snapshot_id FROM {self.key}.snapshots ORDER BY committed_at")
        return [row[0] for row in found.collect()]

    def look(self, since: str = "") -> Seen:
        return look(self.tables, self.key, since=since)


@pytest.fixture
def table(spark: SparkSession):
    place = f"lake.{database(spark)}"
    spark.sql(f"CREATE NAMESPACE {place}")
    spark.sql(f"USE {place}")
    yield Table(spark, place)
    spark.sql("USE spark_catalog.default")


@pytest.mark.parametrize("case", [*DATA, *ADMIN, *COLUMNS], ids=lambda case: case.name)
def test_a_look_tells_which_partitions_changed(table: Table, case: Case) -> None:
    table.make(case.properties)
    table.run(case.before)
    before = table.look()
    table.run(case.statements)
    after = table.look(before.snapshot)
    if case.lost:
        assert case.lost in after.lost and after.looked is None and after.partitions.keys() == case.changed
    else:
        assert not after.lost and set(after.looked) == after.partitions.keys() == case.changed
    assert set(after.partitions.values()) <= {after.snapshot}
    assert after.incarnation == before.incarnation and after.columns == {"p", "ts_day"}
