"""Of each kind of write to an Iceberg table, a look tells the partitions that changed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from attrs import field, frozen
from found import look
from iceberg_table import A1, A2, ALL, B1, C1, Table, call

from headwater.model.partition import Slice

pytestmark = pytest.mark.long

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
        whole: whether the look is at the whole table though nothing was lost.
    """

    name: str
    statements: Sequence[str] = field(converter=lambda given: [given] if isinstance(given, str) else given)
    changed: set[Slice]
    before: Sequence[str] = ()
    properties: str = ""
    lost: str = ""
    whole: bool = False


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

REPLACED = "AS SELECT 1 AS id, 1 AS n, TIMESTAMP '2024-01-01' AS ts, 'c' AS p"
MADE_ANEW = [
    Case(
        "replaced",
        f"CREATE OR REPLACE TABLE t USING iceberg PARTITIONED BY (p, days(ts)) {REPLACED}",
        {C1},
        lost="replaced",
    ),
    Case(
        "replaced without rows",
        "CREATE OR REPLACE TABLE t (id INT, n INT, ts TIMESTAMP, p STRING) USING iceberg PARTITIONED BY (p, days(ts))",
        set(),
        whole=True,
    ),
    Case(
        "dropped and made again",
        ["DROP TABLE t", f"CREATE TABLE t USING iceberg PARTITIONED BY (p, days(ts)) {REPLACED}"],
        {C1},
        lost="expired or was removed",
    ),
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


@pytest.mark.parametrize("case", [*DATA, *ADMIN, *MADE_ANEW, *COLUMNS], ids=lambda case: case.name)
def test_a_look_tells_which_partitions_changed(iceberg: Table, case: Case) -> None:
    iceberg.make(case.properties)
    iceberg.run(case.before)
    before = iceberg.look()
    iceberg.run(case.statements)
    after = iceberg.look(before.snapshot)
    if case.lost or case.whole:
        assert case.lost in after.lost and after.looked is None and after.partitions.keys() == case.changed
    else:
        assert not after.lost and set(after.looked) == after.partitions.keys() == case.changed
    assert set(after.partitions.values()) <= {after.snapshot}
    assert (after.incarnation == before.incarnation) == ("dropped" not in case.name)
    assert after.columns == {"p", "ts_day"}


def test_a_partition_column_of_another_name_makes_other_partitions(iceberg: Table) -> None:
    iceberg.make()
    before = iceberg.look()
    iceberg.run(["ALTER TABLE t RENAME COLUMN p TO q"])
    after = iceberg.look(before.snapshot)
    assert "other names" in after.lost and after.columns == {"q", "ts_day"} and len(after.partitions) == 3


@frozen
class Partitioning:
    """Rows, and the partitions that they lie in.

    Attributes:
        partitioned_by: after ``PARTITIONED BY``; the columns are those of the test.
        values: rows as SQL, each with its partition.
    """

    partitioned_by: str
    values: Sequence[tuple[str, Slice]]


def rows(column: str, *values: tuple[str, str | None], spelled: str | None = None) -> Sequence[tuple[str, Slice]]:
    """Rows that differ in one column, each with the value that its partition has in the column ``spelled``."""
    return [(f"named_struct('{column}', {sql})", Slice.of({spelled or column: value})) for sql, value in values]


EVENING = "TIMESTAMP '2023-12-31 23:30:00'"
BEFORE_1970 = "TIMESTAMP '1969-12-31 23:30:00'"
PARTITIONINGS = [
    Partitioning("i", rows("i", ("5", "5"), ("NULL", None))),
    Partitioning("l", rows("l", ("5000000000", "5000000000"), ("-1", "-1"))),
    Partitioning("b", rows("b", ("true", "true"), ("NULL", None))),
    Partitioning("s", rows("s", ("'ä b/c=d%20'", "ä b/c=d%20"), ("''", None), ("NULL", None), ("'null'", "null"))),
    Partitioning("m", rows("m", ("1.50", "1.50"), ("-0.05", "-0.05"))),
    Partitioning("d", rows("d", ("DATE '2024-02-29'", "2024-02-29"))),
    Partitioning(
        "t",
        rows("t", (EVENING, "2023-12-31 23:30:00"), ("TIMESTAMP '2024-01-01 00:00:00.125'", "2024-01-01 00:00:00.125")),
    ),
    Partitioning("z", rows("z", ("TIMESTAMP_NTZ '2024-01-01 00:00:00'", "2024-01-01 00:00:00"))),
    Partitioning("years(d)", rows("d", ("DATE '2024-02-29'", "2024"), ("DATE '1969-01-01'", "1969"), spelled="d_year")),
    Partitioning("months(d)", rows("d", ("DATE '2024-02-29'", "2024-02"), ("NULL", None), spelled="d_month")),
    Partitioning("days(t)", rows("t", (EVENING, "2023-12-31"), (BEFORE_1970, "1969-12-31"), spelled="t_day")),
    Partitioning(
        "hours(t)", rows("t", (EVENING, "2023-12-31 23:00:00"), (BEFORE_1970, "1969-12-31 23:00:00"), spelled="t_hour")
    ),
    Partitioning("months(z)", rows("z", ("TIMESTAMP_NTZ '2024-02-01 00:00:00'", "2024-02"), spelled="z_month")),
    Partitioning("i, bucket(4, l)", rows("i", ("5", "5"), ("6", "6"))),
    Partitioning("truncate(2, s)", [("named_struct('s', 'abc')", Slice()), ("named_struct('s', 'xyz')", Slice())]),
    Partitioning("", [("named_struct('i', 1)", Slice())]),
]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_partitions_are_told_by_their_values(iceberg: Table, version: int) -> None:
    """All in one test: the JVM does the same for each, and the values are what matters."""
    columns = {
        "i": "INT",
        "l": "BIGINT",
        "b": "BOOLEAN",
        "s": "STRING",
        "m": "DECIMAL(5, 2)",
        "d": "DATE",
        "t": "TIMESTAMP",
        "z": "TIMESTAMP_NTZ",
    }
    for n, case in enumerate(PARTITIONINGS):
        key = f"{iceberg.key}{n}"
        by = f"PARTITIONED BY ({case.partitioned_by})" if case.partitioned_by else ""
        told = ", ".join(f"{name} {type}" for name, type in columns.items())
        iceberg.spark.sql(
            f"CREATE TABLE t{n} ({told}) USING iceberg {by} TBLPROPERTIES ('format-version' = '{version}')"
        )
        empty = look(iceberg.tables, key)
        union = " UNION ALL ".join(f"SELECT r.* FROM (SELECT {value} AS r)" for value, _ in case.values)
        iceberg.spark.sql(f"INSERT INTO t{n} BY NAME {union}")
        wanted = {each for _, each in case.values}
        whole, changes = look(iceberg.tables, key), look(iceberg.tables, key, since=empty.snapshot)
        assert empty.partitions.keys() == (wanted & {Slice()})
        assert whole.partitions.keys() == changes.partitions.keys() == wanted, case.partitioned_by
        assert whole.columns == {name for each in wanted for name in each.columns}
        iceberg.spark.sql(f"INSERT INTO t{n} BY NAME {union}")
        assert set(look(iceberg.tables, key, since=whole.snapshot).looked) == wanted, case.partitioned_by


EVOLUTIONS = [
    # the partitioning of two rows of 2024-01-01 and 2024-02-05, a later one, and the partitions of both rows then
    ("months(ts)", "ALTER TABLE t REPLACE PARTITION FIELD ts_month WITH days(ts)", None),
    (
        "days(ts)",
        "ALTER TABLE t REPLACE PARTITION FIELD ts_day WITH months(ts)",
        [{"ts_month": "2024-01"}, {"ts_month": "2024-02"}],
    ),
    ("ts", "ALTER TABLE t REPLACE PARTITION FIELD ts WITH years(ts)", [{"ts_year": "2024"}]),
    ("days(ts)", "ALTER TABLE t ADD PARTITION FIELD p", [{"ts_day": "2024-01-01"}, {"ts_day": "2024-02-05"}]),
    ("days(ts), p", "ALTER TABLE t DROP PARTITION FIELD p", [{"ts_day": "2024-01-01"}, {"ts_day": "2024-02-05"}]),
]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("partitioned_by", "statement", "slices"), EVOLUTIONS, ids=[each[1][14:] for each in EVOLUTIONS]
)
def test_files_of_an_older_partitioning_lie_in_partitions_of_the_new_one(
    iceberg: Table, version: int, partitioned_by: str, statement: str, slices
) -> None:
    iceberg.make(f"'format-version' = '{version}'", partitioned_by)
    before = iceberg.look()
    iceberg.run([statement])
    after = iceberg.look(before.snapshot)
    assert "partitioning changed" in after.lost and after.looked is None and after.schema != before.schema
    if slices is None:
        assert len(after.partitions) == 31 + 29 and Slice.of(ts_day="2024-02-29") in after.partitions
        return
    assert set(after.partitions) == set(map(Slice.of, slices))
    iceberg.run(["INSERT INTO t VALUES (8, 8, TIMESTAMP '2024-03-01', 'b')"])
    [added] = iceberg.look(after.snapshot).looked
    assert added.columns == after.columns
    iceberg.run(["DELETE FROM t WHERE ts = TIMESTAMP '2024-02-05'"])
    old = iceberg.look(after.snapshot)
    complete = set(after.columns) == set(slices[0])
    assert bool(old.lost) != complete
    assert complete or "older partitioning" in old.lost


@pytest.mark.parametrize("moved", [("NULL", "'null'"), ("'null'", "NULL")], ids=["to the text null", "to NULL"])
@pytest.mark.parametrize("properties", ["", f"'format-version' = '2', {ON_READ}"], ids=["copy on write", "on read"])
def test_null_and_the_text_null_are_two_partitions(iceberg: Table, moved: tuple[str, str], properties: str) -> None:
    """Iceberg's own count of the partitions that a snapshot changed takes them for one."""
    iceberg.make(properties, partitioned_by="p")
    before, after = moved
    iceberg.run([f"INSERT INTO t VALUES (9, 9, NULL, {before})"])
    since = iceberg.look().snapshot
    iceberg.run([f"UPDATE t SET p = {after} WHERE id = 9"])
    assert set(iceberg.look(since).looked) == {Slice.of(p=None), Slice.of(p="null")}
