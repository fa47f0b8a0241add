"""The files of a Delta table that a query of some rows reads, as the driver finds them by their statistics. No file
with such a row is left out, whatever the values, and the same files are found as by Delta's own jobs."""

from __future__ import annotations

import posixpath
import random
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import frozen
from pyspark.sql import DataFrame, SparkSession
from spark_jobs import jobs_of_this_thread
from support import database

from headwater.spark.tables.delta.calls import active

PREFIX = "a prefix of more characters than statistics have "
VALUES = {
    "i INT": ["0", "-2147483648", "2147483647", "7", "8", "9"],
    "l BIGINT": ["0L", "9223372036854775807L", "9007199254740993L", "9007199254740992L", "-1L"],
    "n DECIMAL(38,18)": ["0BD", "12345678901234567890.123456789012345678BD", "-0.000000000000000001BD", "1.5BD"],
    "small DECIMAL(5,2)": ["0.07BD", "-999.99BD", "999.99BD"],
    "s STRING": [
        "''",
        "'a'",
        f"'{PREFIX}'",
        f"'{PREFIX}1'",
        f"'{PREFIX}2'",
        "repeat('\U0010ffff', 40)",
        "concat(repeat('\U0010ffff', 40), 'x')",
        "'\uffff'",
        "'b \"quoted\" ''twice'' \\\\'",
        "'é'",
    ],
    "day DATE": ["DATE'0001-01-01'", "DATE'1582-10-04'", "DATE'1582-10-10'", "DATE'1582-10-15'", "DATE'9999-12-31'"],
    "at TIMESTAMP": [
        "TIMESTAMP'2024-01-01 10:00:00.123456'",
        "TIMESTAMP'2024-01-01 10:00:00.123'",
        "TIMESTAMP'2024-01-01 10:00:00.123999'",
        "TIMESTAMP'1969-12-31 23:59:59.999999'",
        "TIMESTAMP'1883-11-18 12:00:00.5'",
        "TIMESTAMP'0001-01-01 00:00:00'",
        "TIMESTAMP'9999-12-31 23:59:59.999999'",
        "TIMESTAMP'2024-11-03 01:30:00.000001'",
    ],
    "plain TIMESTAMP_NTZ": [
        "TIMESTAMP_NTZ'2024-01-01 10:00:00.123456'",
        "TIMESTAMP_NTZ'1582-10-10 00:00:00.000001'",
        "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'",
    ],
    "x DOUBLE": ["0.0D", "-0.0D", "double('NaN')", "double('infinity')", "double('-infinity')", "1.5D", "4.9E-324D"],
    "f FLOAT": ["float('0.0')", "float('-0.0')", "float('NaN')", "float('1.1')", "float('infinity')"],
    "b BOOLEAN": ["true", "false"],
    "bytes BINARY": ["X''", "X'00FF'", "X'FF00FE'"],
    "`a.b c` INT": ["1", "2", "3"],
}
"""For each column its type and some values."""
TYPES = {column.rpartition(" ")[0]: column.rpartition(" ")[2] for column in VALUES}
POOL = {column.rpartition(" ")[0]: values for column, values in VALUES.items()}


@frozen
class Layout:
    """How a table keeps its rows.

    Attributes:
        by: the column of its partitions.
        after: statements once it has its rows.
        files: so many are written. The checksum of a commit lists at most 50.
    """

    properties: str = ""
    by: str = ""
    after: tuple[str, ...] = ()
    files: int = 12


AS_STRUCTS = """'delta.checkpointInterval' = '1', 'delta.checkpoint.writeStatsAsStruct' = 'true',
'delta.checkpoint.writeStatsAsJson' = 'false'"""
LAYOUTS = {
    "plain": Layout(),
    "column mapping": Layout(
        "'delta.columnMapping.mode' = 'name'",
        after=("ALTER TABLE {t} RENAME COLUMN i TO k", "ALTER TABLE {t} RENAME COLUMN l TO i"),
    ),
    "column mapping by numbers": Layout("'delta.columnMapping.mode' = 'id'"),
    "deletion vectors": Layout("'delta.enableDeletionVectors' = 'true'", after=("DELETE FROM {t} WHERE id % 3 = 0",)),
    "statistics of few columns": Layout("'delta.dataSkippingNumIndexedCols' = '4'"),
    "no statistics": Layout("'delta.dataSkippingNumIndexedCols' = '0'"),
    "partitions of times": Layout(by="at"),
    "partitions of texts": Layout(by="s"),
    "more files than a checksum lists": Layout(files=60),
    "statistics as structs": Layout(AS_STRUCTS, files=60, after=("DELETE FROM {t} WHERE id % 3 = 0",)),
}


def rows(chance: random.Random, count: int) -> list[str]:
    """Rows with values by chance. Those of a file are often alike, so that its statistics leave something out."""
    made = []
    for file in range(count):
        some = {column: chance.sample(values, chance.choice((1, 1, 2))) for column, values in POOL.items()}
        for n in range(chance.randint(1, 3)):
            cells = ["NULL" if chance.random() < 0.1 else chance.choice(values) for values in some.values()]
            made.append(f"({file}, {4 * file + n}, {', '.join(cells)})")
    return made


def conditions(chance: random.Random, names: dict[str, str]) -> Iterator[str]:
    """Conditions on one or two columns."""

    def one(column: str) -> str:
        values, name = POOL[column], names[column]
        a, b = chance.choice(values), chance.choice(values)
        forms = ["{n} <=> {a}", "{n} = {a}", "{n} IN ({a}, {b})", "{n} BETWEEN {a} AND {b}", "{n} > {a}", "{n} <= {a}"]
        forms += ["({n} IS NULL OR {n} IN ({a}, {b}))", "{n} IS NULL", "{n} IS NOT NULL", "NOT {n} = {a}"]
        return chance.choice(forms).format(n=name, a=a, b=b)

    for column in POOL:
        for _ in range(5):
            yield one(column)
        yield f"({one(column)} OR {one(chance.choice([*POOL]))})"
        yield f"({one(column)} AND {one(chance.choice([*POOL]))})"


@pytest.fixture(params=["UTC", "America/Los_Angeles"])
def zone(spark: SparkSession, request: pytest.FixtureRequest) -> None:
    """Before 1883, the time there differed from UTC by some minutes and seconds."""
    spark.conf.set("spark.sql.session.timeZone", request.param)


def made(spark: SparkSession, layout: Layout, chance: random.Random) -> str:
    table = f"{database(spark)}.t"
    columns = ", ".join(("id INT", *VALUES))
    by = f"PARTITIONED BY ({layout.by})" if layout.by else ""
    mapped = "'delta.columnMapping.mode' = 'name'" if "columnMapping" not in layout.properties else ""
    properties = ", ".join(filter(None, (mapped, layout.properties)))
    spark.sql(f"CREATE TABLE {table} ({columns}) USING delta {by} TBLPROPERTIES ({properties})")
    values = ", ".join(rows(chance, layout.files))
    named = ", ".join(("file", "id", *POOL))
    wanted = ", ".join(("id", *(f"CAST({each} AS {type}) AS {each}" for each, type in TYPES.items())))
    written = spark.sql(f"SELECT file, {wanted} FROM VALUES {values} AS t({named})")
    apart = written.repartitionByRange(layout.files, "file").drop("file")
    apart.write.format("delta").mode("append").saveAsTable(table)
    for each in layout.after:
        spark.sql(each.format(t=table))
    return table


def found(frame: DataFrame) -> set[str]:
    return {*map(posixpath.basename, frame.inputFiles())}


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*LAYOUTS])
def test_no_file_with_a_row_is_left_out(spark: SparkSession, zone: None, name: str) -> None:
    layout, chance = LAYOUTS[name], random.Random(name)
    table = made(spark, layout, chance)
    names = {column: column for column in POOL}
    if "RENAME" in "".join(layout.after):
        names |= {"i": "k", "l": "i"}
    asked = [*dict.fromkeys(conditions(chance, names))]
    files = spark.sql(
        f"SELECT _metadata.file_name AS file, {', '.join(f'coalesce(any({each}), false)' for each in asked)} "
        f"FROM {table} GROUP BY ALL"
    ).collect()

    calls: Any = spark._jvm.io.headwater.spark.Compiled.calls("delta")
    [[place]] = spark.sql(f"DESCRIBE DETAIL {table}").select("location").collect()
    left, by_jobs = 0, "AsJson" in layout.properties  # the driver does not read such statistics
    with active(calls, spark), jobs_of_this_thread(spark) as jobs:
        view = DataFrame(calls.at(spark._jsparkSession, place.removeprefix("file:")).table(spark._jsparkSession), spark)
        chosen = [found(view.where(each)) for each in asked]
    assert bool(jobs) == by_jobs
    for n, each in enumerate(asked):
        held = {row.file for row in files if row[n + 1]}
        assert held <= chosen[n], each
        left += len(files) - len(chosen[n])
    assert bool(left) == (name != "no statistics")
    for n, each in chance.sample([*enumerate(asked)], 10):
        assert chosen[n] == found(spark.table(table).where(each)), each
        assert view.where(each).count() == spark.table(table).where(each).count(), each
