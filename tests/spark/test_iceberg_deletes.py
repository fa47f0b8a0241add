"""Rows that files of deletes remove from Iceberg tables are followed: the rows of before, with those that came and
without those that went, are the rows of now."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from iceberg_table import Table, call
from iceberg_writer import Writer
from pyspark.sql import DataFrame
from support import Journal, assert_equals_query, drain
from test_by_keys import runs

from headwater.model.seen import ChangedRows
from headwater.model.work import Mode

ON_READ = ", ".join(f"'write.{each}.mode' = 'merge-on-read'" for each in ("delete", "update", "merge"))
VERSIONS = [pytest.param(2, marks=pytest.mark.thorough), 3]
"""Of the format. Version 2 has files of positions, and version 3 deletion vectors."""

COMPACT = call("rewrite_data_files", "options => map('rewrite-all', 'true')")
MERGE = """MERGE INTO $n USING (SELECT {n} AS id) AS s ON $n.id = s.id
WHEN MATCHED AND $n.n % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET n = $n.n + 1
WHEN NOT MATCHED THEN INSERT (id, n, ts, p) VALUES (s.id, 7, TIMESTAMP '2024-01-01', 'b')"""


def steps(version: int) -> list[str]:
    """Statements of which each deletes rows, brings some, or puts all into other files."""
    found = [
        "INSERT INTO $n VALUES ({n}, 2, TIMESTAMP '2024-01-01', 'a'), ({n}, 2, TIMESTAMP '2024-01-01', 'a')",
        "INSERT INTO $n SELECT id, id, TIMESTAMP '2024-02-05', 'b' FROM range({n} * 5)",
        "DELETE FROM $n WHERE id = {n}",
        "DELETE FROM $n WHERE n % 3 = {n} % 3",
        "DELETE FROM $n WHERE p = 'a'",
        "UPDATE $n SET n = n + 1 WHERE id % 4 = {n} % 4",
        "UPDATE $n SET p = 'b' WHERE id = {n}",
        MERGE,
        COMPACT,
        "TRUNCATE TABLE $n",
        "INSERT OVERWRITE $n SELECT * FROM $n WHERE n > {n}",
    ]
    return found + ([call("rewrite_position_delete_files")] if version == 2 else [])


def bag(rows: DataFrame | None) -> Counter[tuple[object, ...]]:
    return Counter() if rows is None else Counter(tuple(each) for each in rows.collect())


def changed(iceberg: Table, since: str, until: str) -> ChangedRows:
    return iceberg.tables.changed(iceberg.spark, iceberg.key, since, until)


State = tuple[str, Counter[tuple[object, ...]]]


def state(iceberg: Table) -> State:
    """The snapshot of a table, and its rows."""
    return iceberg.look().snapshot, bag(iceberg.spark.table(iceberg.key))


def assert_followed(iceberg: Table, states: list[State]) -> None:
    """From each state that is known to the last one."""
    now, there = states[-1]
    for since, before in states[:-1]:
        rows = changed(iceberg, since, now)
        came, went = bag(rows.added), bag(rows.removed)
        rows.close()
        assert before + came == there + went
        assert not rows.lasting or came <= there


@pytest.mark.thorough
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("seed", [1, 2])
def test_rows_that_are_deleted_on_read_are_followed(iceberg: Table, version: int, seed: int) -> None:
    follow(iceberg, version, seed, 8)


@pytest.mark.long
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("seed", range(100, 110))
def test_rows_that_are_deleted_on_read_are_followed_in_many_ways(iceberg: Table, version: int, seed: int) -> None:
    follow(iceberg, version, seed, 25)


def follow(iceberg: Table, version: int, seed: int, count: int) -> None:
    """Random statements; sometimes several lie between two looks."""
    chance = random.Random(seed)
    iceberg.make(f"'format-version' = '{version}', {ON_READ}", chance.choice(["p", "p, days(ts)", "bucket(2, id)"]))
    states = [state(iceberg)]
    for _ in range(count):
        iceberg.run([chance.choice(steps(version)).replace("{n}", str(chance.randrange(9)))])
        if chance.random() < 0.7:
            states.append(state(iceberg))
            assert_followed(iceberg, states[-4:])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda writer: writer.upsert([{"id": 3}], [{"id": 3, "n": 9, "p": "a"}], ["a"]), id="another row"),
        pytest.param(
            lambda writer: writer.upsert([{"id": 2}], partition=["b"]), id="a row goes", marks=pytest.mark.thorough
        ),
        pytest.param(
            lambda writer: writer.upsert([{"id": None}], partition=["b"]),
            id="a row without an id",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            lambda writer: writer.upsert([{"id": 77}], partition=["b"]), id="no row goes", marks=pytest.mark.thorough
        ),
    ],
)
def test_rows_that_are_deleted_by_their_values_are_followed(
    iceberg: Table, version: int, write: Callable[[Writer], None]
) -> None:
    iceberg.make(f"'format-version' = '{version}', {ON_READ}", "p")
    states = [state(iceberg)]
    for statement in ("INSERT INTO $n VALUES (NULL, 1, NULL, 'b')", "", "DELETE FROM $n WHERE id = 4", "", COMPACT):
        if statement:
            iceberg.run([statement])
        else:
            write(Writer(iceberg.spark, iceberg.key))
        states.append(state(iceberg))
        assert_followed(iceberg, states)


def test_a_compaction_alone_changes_no_row(iceberg: Table) -> None:
    iceberg.make(f"'format-version' = '2', {ON_READ}", "p")
    iceberg.run(["DELETE FROM $n WHERE id = 1"])
    since = iceberg.look().snapshot
    iceberg.run([COMPACT])
    rows = changed(iceberg, since, iceberg.look().snapshot)
    assert not bag(rows.added) and not bag(rows.removed)


def test_scans_are_given_back(iceberg: Table) -> None:
    """Iceberg keeps what is lent to it until then."""
    iceberg.make(f"'format-version' = '2', {ON_READ}", "p")
    since = iceberg.look().snapshot
    iceberg.run(["DELETE FROM $n WHERE id = 4"])
    rows = changed(iceberg, since, iceberg.look().snapshot)
    assert bag(rows.removed) > bag(rows.added)
    rows.close()
    with pytest.raises(Exception, match="(?i)task"):
        iceberg.spark.newSession().createDataFrame([], rows.removed.schema).union(rows.removed).collect()


@pytest.mark.thorough
def test_views_follow_a_commit_that_leaves_all_rows(iceberg: Table, journal: Journal) -> None:
    """No method computes everything for it."""
    iceberg.make("'format-version' = '2'", "p")
    views = {
        "keyed": ("keys", f"SELECT id, sum(n) AS s FROM {iceberg.key} GROUP BY id"),
        "total": ("incremental", f"SELECT p, sum(n) AS s FROM {iceberg.key} GROUP BY p"),
    }
    for name, (method, query) in views.items():
        asked = f"TBLPROPERTIES ('headwater.method' = '{method}, full')"
        iceberg.spark.sql(f"CREATE MATERIALIZED VIEW {name} USING iceberg {asked} AS {query}")
    journal.mark()
    for write in ("UPDATE $n SET n = n WHERE id = 1", "INSERT INTO $n SELECT * FROM $n LIMIT 0"):
        iceberg.run([write])
        drain(iceberg.spark)
    Writer(iceberg.spark, iceberg.key).upsert([{"id": 77}], partition=["b"])
    drain(iceberg.spark)
    place, events = iceberg.key.rpartition(".")[0], journal.events()
    for name, (method, query) in views.items():
        assert_equals_query(iceberg.spark, f"{place}.{name}", query)
        assert set(runs(events, f"{place}.{name}")) == {(Mode(method), "")}, name
