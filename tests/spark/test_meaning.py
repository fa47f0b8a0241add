"""What a query means: calls that differ only beside their arguments are different calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.spark.fingerprint import fingerprint
from headwater.spark.shim import Shim

PAIRS = {
    "patterns": ("a LIKE ANY ('x%', 'y%')", "a LIKE ANY ('x%', 'z%')"),
    "no patterns": ("a NOT LIKE ALL ('x%')", "a NOT LIKE ALL ('y%')"),
    "options": (
        "from_json(a, 'd DATE', map('dateFormat', 'dd/MM/yyyy'))",
        "from_json(a, 'd DATE', map('dateFormat', 'MM/dd/yyyy'))",
    ),
    "options of CSV": ("from_csv(a, 'd INT', map('sep', ';'))", "from_csv(a, 'd INT', map('sep', ','))"),
    "schema": ("from_json(a, 'd INT')", "from_json(a, 'd BIGINT')"),
    "direction": (
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY n)",
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY n DESC)",
    ),
    "accuracy": ("approx_count_distinct(n, 0.05)", "approx_count_distinct(n, 0.2)"),
    "nulls": ("lag(n) IGNORE NULLS OVER (ORDER BY n)", "lag(n) OVER (ORDER BY n)"),
    "nulls of an aggregate": ("first(n) IGNORE NULLS OVER (ORDER BY n)", "first(n) OVER (ORDER BY n)"),
    "failure": ("try_cast(a AS INT)", "CAST(a AS INT)"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_calls_that_differ_beside_their_arguments(plain_spark: SparkSession, name: str) -> None:
    shim = Shim(plain_spark)

    def digest(call: str) -> str:
        return fingerprint(shim.describe(plain_spark, f"SELECT {call} AS x FROM VALUES ('x', 1) AS t(a, n)").plan)

    one, other = PAIRS[name]
    assert digest(one) != digest(other)
    assert digest(one) == digest(one)


TWICE = "TIMESTAMP '2024-11-03 01:30:00 -04:00'", "TIMESTAMP '2024-11-03 01:30:00 -05:00'"
"""Two moments that a clock in New York shows alike."""

QUERIES = (
    "SELECT {} AS t",
    "SELECT * FROM VALUES ({}) AS v(t)",
    "SELECT id FROM range(9) WHERE timestamp_seconds(id) > {}",
    "SELECT array({}) AS t",
    "SELECT CASE WHEN timestamp_seconds(id) > {} THEN 'x' ELSE 'y' END AS t FROM range(9)",
    "SELECT struct(s.*) FROM (SELECT * FROM range(9) WHERE timestamp_seconds(id) IN (SELECT {})) AS s",
)


def test_moments_that_a_clock_shows_alike(plain_spark: SparkSession) -> None:
    """They are two literals, and each is read back as it was."""
    session = plain_spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    shim = Shim(session)
    for query in QUERIES:
        one, other = (shim.describe(session, query.format(each)).plan for each in TWICE)
        assert fingerprint(one) != fingerprint(other), query
        texts = [[*literals(each["plan"])] for each in (one, other)]
        read = [[session.sql(f"SELECT unix_seconds({text})").first()[0] for text in each] for each in texts]
        assert read in ([[1730611800], [1730615400]], [[], []]), (query, texts)


def literals(part: object) -> Iterator[str]:
    """The literals in a plan that are moments."""
    match part:
        case {"lit": str() as text, "type": "TIMESTAMP"}:
            yield text
        case {"value": str() as text, "type": "TIMESTAMP"}:
            yield text
        case dict() | list():
            for each in part.values() if isinstance(part, dict) else part:
                yield from literals(each)


@pytest.mark.parametrize("key", ["spark.sql.jsonGenerator.ignoreNullFields", "spark.sql.function.concatBinaryAsString"])
def test_settings_of_functions_are_kept(plain_spark: SparkSession, key: str) -> None:
    session = plain_spark.newSession()
    session.conf.set(key, "false")
    facts = session._jvm.io.headwater.spark.Captured.of(session._jsparkSession)
    assert facts.settings().contains(key)


def test_each_setting_of_spark_is_kept_or_listed(plain_spark: SparkSession) -> None:
    """A new setting of Spark that a view does not keep fails here. It joins the list if no result needs it."""
    jvm = plain_spark._jvm
    getattr(getattr(jvm.org.apache.spark.sql.hive, "HiveUtils$"), "MODULE$")  # its settings join Spark's when it loads
    internal = jvm.org.apache.spark.sql.internal
    entries = getattr(getattr(internal, "SQLConf$"), "MODULE$").getConfigEntries().toArray()
    conf = internal.SQLConf()
    names = (entry.key() for entry in entries)
    keys = [key for key in names if key.startswith("spark.sql.") and conf.isModifiable(key)]
    lost = {key for key in keys if not jvm.io.headwater.spark.Captured.keeps(key)}
    listed = (Path(__file__).parents[1] / "golden/settings.txt").read_text(encoding="utf-8").split()
    assert len(keys) > 500
    assert sorted(lost - set(listed)) == []
