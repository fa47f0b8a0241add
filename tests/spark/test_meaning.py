"""What a query means: calls that differ only beside their arguments are different calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from support import assert_equals_query, database, drain

from headwater.model.name import SESSION_CATALOG
from headwater.model.view import ZONE
from headwater.spark.defining.fingerprint import fingerprint
from headwater.spark.jvm.sessions import INFERENCE, Sessions
from headwater.spark.jvm.shim import Shim

PAIRS = {
    "patterns": ("a LIKE ANY ('x%', 'y%')", "a LIKE ANY ('x%', 'z%')"),
    "no patterns": ("a NOT LIKE ALL ('x%')", "a NOT LIKE ALL ('y%')"),
    "options": (
        "from_json(a, 'd DATE', map('dateFormat', 'dd/MM/yyyy'))",
        "from_json(a, 'd DATE', map('dateFormat', 'MM/dd/yyyy'))",
    ),
    "options of CSV": ("from_csv(a, 'd INT', map('sep', ';'))", "from_csv(a, 'd INT', map('sep', ','))"),
    "comments in CSV": ("from_csv(a, 'd INT', map('comment', '#'))", "from_csv(a, 'd INT', map('comment', '!'))"),
    "numbers in options": ("from_csv(a, 'd INT', map('comment', '#1'))", "from_csv(a, 'd INT', map('comment', '#2'))"),
    "schema": ("from_json(a, 'd INT')", "from_json(a, 'd BIGINT')"),
    "direction": (
        "percentile_cont(0.25) WITHIN GROUP (ORDER BY n)",
        "percentile_cont(0.25) WITHIN GROUP (ORDER BY n DESC)",
    ),
    "accuracy": ("approx_count_distinct(n, 0.05)", "approx_count_distinct(n, 0.2)"),
    "nulls": ("lag(n) IGNORE NULLS OVER (ORDER BY a)", "lag(n) OVER (ORDER BY a)"),
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


@pytest.mark.thorough
def test_a_view_of_another_meaning_is_computed_anew(spark: SparkSession) -> None:
    """By `CREATE OR REPLACE` of the view itself, and of an ordinary view that it reads."""
    rows = """('y1', 1), ('y2', NULL), ('z1', 5), ('{"d": "02/01/2020"}', 3)"""
    spark.sql(f"CREATE TABLE t USING parquet AS SELECT * FROM VALUES {rows} AS t(a, n)")
    names = ("patterns", "options", "direction", "nulls")
    queries = {f"v{n}": [f"SELECT {call} AS x FROM t" for call in PAIRS[name]] for n, name in enumerate(names)}
    for view, (query, _) in queries.items():
        spark.sql(f"CREATE MATERIALIZED VIEW {view} AS {query}")
        spark.sql(f"CREATE VIEW ordinary_{view} AS {query}")
        spark.sql(f"CREATE MATERIALIZED VIEW over_{view} AS SELECT x FROM ordinary_{view}")
    for view, (_, query) in queries.items():
        spark.sql(f"CREATE OR REPLACE MATERIALIZED VIEW {view} AS {query}")
        spark.sql(f"CREATE OR REPLACE VIEW ordinary_{view} AS {query}")
    drain(spark)
    for view, (before, query) in queries.items():
        assert spark.sql(before).exceptAll(spark.sql(query)).count() > 0, view
        assert_equals_query(spark, view, query)
        assert_equals_query(spark, f"over_{view}", query)


@pytest.mark.thorough
def test_an_ordinary_view_of_the_same_text_in_another_session(spark: SparkSession) -> None:
    """Its text is read in the database and with the settings of the session that altered it."""
    here, other = database(spark), f"{database(spark)}_other"
    spark.sql(f"CREATE DATABASE {other}")
    for place, ids in ((here, "(1)"), (other, "(1), (2)")):
        spark.sql(f"CREATE TABLE {place}.t (id INT) USING parquet")
        spark.sql(f"INSERT INTO {place}.t VALUES {ids}")
    spark.sql("CREATE VIEW ids AS SELECT id FROM t")
    spark.sql("CREATE VIEW days AS SELECT date(TIMESTAMP '2024-01-01 23:00:00Z') AS d FROM t")
    queries = {"counted": f"SELECT count(*) AS n FROM {here}.ids", "day": f"SELECT d FROM {here}.days"}
    for view, query in queries.items():
        spark.sql(f"CREATE MATERIALIZED VIEW {view} AS {query}").collect()
    try:
        spark.sql(f"USE {other}")
        spark.sql(f"ALTER VIEW {here}.ids AS SELECT id FROM t")
        spark.sql(f"USE {here}")
        spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
        spark.sql("ALTER VIEW days AS SELECT date(TIMESTAMP '2024-01-01 23:00:00Z') AS d FROM t")
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        for statement in (
            "REFRESH MATERIALIZED VIEWS",
            f"INSERT INTO {other}.t VALUES (3)",
            "INSERT INTO t VALUES (9)",
        ):
            spark.sql(statement)
            drain(spark)
            for view, query in queries.items():
                assert_equals_query(spark, view, query)
        assert spark.table("counted").first()[0] == 3
    finally:
        spark.sql(f"DROP DATABASE {other} CASCADE")


@pytest.mark.thorough
def test_two_formats_of_dates_are_two_keys(spark: SparkSession) -> None:
    """A change of one side reaches the rows of its own date, not of the date that the other side reads in its text."""
    for side in "lr":
        spark.sql(f'CREATE TABLE {side} USING delta AS SELECT \'{{"d": "02/01/2020"}}\' AS j, 1 AS n')
    spark.sql("""INSERT INTO r VALUES ('{"d": "01/02/2020"}', 5)""")

    def day(side: str, form: str) -> str:
        return f"from_json({side}.j, 'd DATE', map('dateFormat', '{form}')).d"

    one, other = day("l", "dd/MM/yyyy"), day("r", "MM/dd/yyyy")
    query = f"SELECT {one} AS k, sum(r.n) AS s FROM l JOIN r ON {one} = {other} GROUP BY {one}"
    spark.sql(f"CREATE MATERIALIZED VIEW v USING delta TBLPROPERTIES ('headwater.method' = 'keys, full') AS {query}")
    spark.sql("UPDATE r SET n = n + 10")
    drain(spark)
    assert_equals_query(spark, "v", query)
    assert spark.table("v").count() == 1


def test_types_that_spark_infers_from_the_directories_of_a_path(spark: SparkSession, tmp_path: Path) -> None:
    """A session takes ``p=9`` for a number, and a view for a string: its greatest value would be another one."""
    spark.sql("SELECT id AS x, id AS p FROM VALUES (9), (10) AS t(id)").write.partitionBy("p").parquet(f"{tmp_path}/n")
    spark.sql("SELECT 1 AS x, 'a' AS p").write.partitionBy("p").parquet(f"{tmp_path}/s")
    query = f"SELECT max(p) AS m, count(*) AS n FROM parquet.`{tmp_path}/"
    with pytest.raises(AnalysisException, match="make a table of the path"):
        spark.sql(f"CREATE MATERIALIZED VIEW v AS {query}n`")
    for n, text in enumerate([f"SELECT count(x) AS n FROM parquet.`{tmp_path}/n`", f"{query}s`"]):
        spark.sql(f"CREATE MATERIALIZED VIEW v{n} AS {text}")
        assert_equals_query(spark, f"v{n}", text)
    spark.conf.set(INFERENCE, "false")
    spark.sql(f"CREATE MATERIALIZED VIEW v AS {query}n`")
    assert spark.table("v").collect() == spark.sql(f"{query}n`").collect() == [("9", 2)]


@pytest.mark.parametrize("key", ["spark.sql.jsonGenerator.ignoreNullFields", "spark.sql.function.concatBinaryAsString"])
def test_settings_of_functions_are_kept(plain_spark: SparkSession, key: str) -> None:
    session = plain_spark.newSession()
    session.conf.set(key, "false")
    facts = session._jvm.io.headwater.spark.Captured.of(session._jsparkSession)
    assert facts.settings().contains(key)


@pytest.mark.parametrize("key", ["spark.sql.jsonGenerator.ignoreNullFields", "spark.sql.sources.default"])
def test_a_setting_that_was_not_made_has_its_default(plain_spark: SparkSession, key: str) -> None:
    """Another application may have a value for it; an ordinary view does not follow that either."""
    default = plain_spark.newSession().conf.get(key)
    configured = plain_spark._jsparkSession.sharedState().conf()
    configured.set(key, "text" if key.endswith("default") else "false")
    try:
        assert plain_spark.newSession().conf.get(key) != default
        view = Sessions(plain_spark).captured(SESSION_CATALOG, "default", ((ZONE, "UTC"),))
        assert view.conf.get(key) == default
        assert view.conf.get("spark.sql.shuffle.partitions") == "2"  # how Spark runs is the application's
    finally:
        configured.remove(key)


def test_what_no_session_can_set_is_not_kept(plain_spark: SparkSession) -> None:
    captured = plain_spark._jvm.io.headwater.spark.Captured
    assert captured.keeps("spark.sql.legacy.timeParserPolicy")
    assert not captured.keeps("spark.sql.legacy.sessionInitWithConfigDefaults")


def test_each_setting_of_spark_is_kept_or_listed(plain_spark: SparkSession) -> None:
    """A new setting of Spark that a view does not keep fails here: it joins a group of the list whose reason holds,
    or the kept ones. A new setting that a view keeps needs no look: to keep it is never wrong."""
    jvm = plain_spark._jvm
    getattr(getattr(jvm.org.apache.spark.sql.hive, "HiveUtils$"), "MODULE$")  # its settings join Spark's when it loads
    internal = jvm.org.apache.spark.sql.internal
    entries = getattr(getattr(internal, "SQLConf$"), "MODULE$").getConfigEntries().toArray()
    conf = internal.SQLConf()
    names = (entry.key() for entry in entries)
    keys = [key for key in names if key.startswith("spark.sql.") and conf.isModifiable(key)]
    lost = {key for key in keys if not jvm.io.headwater.spark.Captured.keeps(key)}
    listed = left_out()
    assert len(keys) > 500
    assert sorted(lost - listed.keys()) == []
    assert sorted(listed.keys() & (set(keys) - lost)) == []
    assert all(listed.values())


def left_out() -> dict[str, str]:
    """The settings that a view does not keep, with the reason above each group."""
    found, reason = {}, ""
    for line in (Path(__file__).parents[1] / "golden/settings.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            reason = line.removeprefix("#").strip()
        elif line:
            found[line] = reason
    return found
