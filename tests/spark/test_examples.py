"""The examples in the documents run, and print the lines that the documents show."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import fetched
import pytest
import weekly_sales
from documents import examples, section
from processes import Home
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import assert_equals_query, database

import headwater
from headwater.demo.session import DELTA
from headwater.spark.jvm.jar import EXTENSION

SECONDS = re.compile(r"\d+\.\d{3}")
"""A duration; each run has another one."""

FUNCTION = re.compile(r"`([a-z_]+\([^`]*)`")
"""A call of a function in a document."""

TIMING = re.compile(r"(, )?(about [\d.]+ s( \([\d.]+ core-seconds\))?|running as version \d+)")
"""How long a refresh is about to take, or since when it runs."""


def assert_shown(shown: Sequence[str], printed: Iterable[Sequence[str]], statement: str) -> None:
    """Each line that a document shows is a row: its cells are in the row, in this order; others may be left out."""
    lines, rows = [each for each in shown if not is_due(each)], [each for each in printed if not is_due(each)]
    assert len(lines) == len(rows), f"{statement} printed {rows}"
    for line, row in zip(lines, rows, strict=True):
        left = iter(row)
        for cell in re.split(r"\s{2,}", line.strip()):
            assert any(is_same(cell, other.strip()) for other in left), f"{statement}: '{cell}' is not in {row}"


def is_same(shown: str, printed: str) -> bool:
    if SECONDS.fullmatch(shown):
        return re.fullmatch(r"\d+\.\d+", printed) is not None
    return TIMING.sub("", shown) == TIMING.sub("", printed)


def is_due(line: str | Sequence[str]) -> bool:
    """Whether a line of ``EXPLAIN REFRESH`` tells when the refresh starts, which it may have done by now."""
    return (line if isinstance(line, str) else line[0]).startswith("  starts in")


def play(
    page: str, run: Callable[[str], Iterable[Sequence[str]]], here: str = "default", without: str | None = None
) -> None:
    """Runs the examples of a page; ``without``: lines that start with it are not compared."""
    for example in examples(page):
        printed = [row for row in run(example.statement) if without is None or not row[0].startswith(without)]
        if example.shown is not None:
            shown = [line for line in example.shown if without is None or not line.startswith(without)]
            shown = [line.replace("default.", f"{here}.") for line in shown]
            assert_shown(shown, printed, example.statement)


@pytest.mark.thorough
def test_the_tour_of_the_readme(tmp_path: Path) -> None:
    with Home(tmp_path).session() as session:
        play("README.md", session.run)


@pytest.mark.long
def test_the_tour_of_the_readme_in_delta(tmp_path: Path) -> None:
    """… changes one word, and the line that starts it."""
    settings = {**dict(DELTA.settings), "spark.driver.extraClassPath": os.pathsep.join(map(str, fetched.delta()))}
    settings["spark.sql.extensions"] = f"{DELTA.extension},{EXTENSION}"
    with Home(tmp_path).session(settings) as session:
        # Why changes are not followed has another reason.
        def run(statement: str) -> Iterable[Sequence[str]]:
            return session.run(statement.replace("USING parquet", "USING delta"))

        play("README.md", run, without="    by ")
        shown = [[cell.strip() for cell in row] for row in session.run("DESCRIBE EXTENDED sales")]
        assert ["Provider", "delta"] in [row[:2] for row in shown]


LONG_PAGES = ("statements", "maintenance")


@pytest.mark.parametrize(
    "page", ["properties", "settings", *(pytest.param(each, marks=pytest.mark.thorough) for each in LONG_PAGES)]
)
def test_the_examples_of_a_page(spark: SparkSession, page: str) -> None:
    def run(statement: str) -> list[list[str]]:
        return [["NULL" if cell is None else str(cell) for cell in row] for row in spark.sql(statement).collect()]

    play(f"docs/{page}.md", run, database(spark))


def test_the_refused_functions_are_refused_and_their_substitutes_are_not(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE t (x STRING) USING parquet")
    rows = [row.split("|")[1:-1] for row in section("docs/guarantees.md", "Refused queries") if row.startswith("|")]
    calls = [[FUNCTION.findall(cell) for cell in row] for row in rows]
    refused, substitutes = ([call for row in calls for call in row[column]] for column in (0, 2))
    assert len(refused) > 10 and len(substitutes) > 1
    for call in refused:
        with pytest.raises(PySparkException, match="cannot be a materialized view"):
            spark.sql(f"CREATE MATERIALIZED VIEW v AS SELECT {call} AS value FROM t")
    for call in substitutes:
        spark.sql(f"CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT {call} AS value FROM t")


def test_the_job_of_the_documents(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE sales (amount DECIMAL(10,2), day DATE) USING parquet PARTITIONED BY (day)")
    spark.sql("INSERT INTO sales VALUES (10, DATE'2024-01-01'), (20, DATE'2024-01-09')")
    headwater.register(spark, weekly_sales.weekly)
    spark.sql("INSERT INTO sales VALUES (5, DATE'2024-01-10')")
    rows = spark.sql("REFRESH MATERIALIZED VIEWS").collect()
    assert [row["partition"] for row in rows] == ["week=2024-01-08"]
    weeks = "SELECT trunc(day, 'week') AS week, CAST(sum(amount) AS DECIMAL(20,2)) AS revenue FROM sales GROUP BY 1"
    assert_equals_query(spark, "weekly", weeks)
