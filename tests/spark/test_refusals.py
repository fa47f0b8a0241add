"""Bad input gives one clear error that names the object and the remedy, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import udtf
from pyspark.sql.types import IntegerType
from support import assert_equals_query, database, drain

QUERY = "SELECT month, sum(amount) AS total FROM sales GROUP BY month"


class MyRows:
    def eval(self, x: int):
        yield (x,)


@pytest.fixture(scope="module")
def shop(application: SparkSession) -> Iterator[SparkSession]:
    """``sales`` and ``monthly`` over it; the tests here leave both as they are."""
    session = application.newSession()
    name = f"refuse{uuid.uuid4().hex[:6]}"
    session.sql(f"CREATE DATABASE {name}")
    session.sql(f"USE {name}")
    session.sql("CREATE TABLE sales (id INT, amount INT, month DATE) USING parquet PARTITIONED BY (month)")
    session.sql("INSERT INTO sales VALUES (1, 10, DATE '2024-01-01'), (2, 20, DATE '2024-02-01')")
    session.sql(f"CREATE MATERIALIZED VIEW monthly PARTITIONED BY (month) AS {QUERY}")
    session.sql("CREATE TEMPORARY VIEW mine AS SELECT * FROM sales WHERE amount > 15")
    session.sql("CREATE TABLE shadow AS SELECT 1 AS x")
    session.sql("CREATE TEMPORARY VIEW shadow AS SELECT 2 AS x")
    session.sql("CREATE VIEW ordinary AS SELECT * FROM sales")
    session.udf.register("my_python", lambda x: x, IntegerType())
    session.udtf.register("my_rows", udtf(MyRows, returnType="x INT"))
    session.sql("CREATE TEMPORARY FUNCTION my_sql(x INT) RETURNS INT RETURN x + 1")
    session.udf.register("initcap", lambda text: f"X{text}")
    session.sql("CREATE FUNCTION doubled(x INT) RETURNS INT RETURN x * 2")
    session.sql("CREATE TEMPORARY FUNCTION doubled(x INT) RETURNS INT RETURN x * 3")
    session.sql("CREATE FUNCTION ids() RETURNS TABLE (x INT) RETURN SELECT id FROM sales")
    session.sql("CREATE TEMPORARY FUNCTION ids() RETURNS TABLE (x INT) RETURN SELECT 7")
    session.sql("DECLARE VARIABLE threshold INT DEFAULT 15")
    session.readStream.table("sales").createOrReplaceTempView("arriving")
    yield session
    session.sql("DROP TEMPORARY VARIABLE threshold")
    session.sql(f"DROP DATABASE {name} CASCADE")


def refused(spark: SparkSession, statement: str) -> str:
    """The one error of a statement, and the statement is no failure of Headwater's own."""
    with pytest.raises(PySparkException) as error:
        spark.sql(statement).collect()
    message = str(error.value)
    assert "failed at this statement" not in message
    assert "Traceback" not in message
    return message


QUERIES = {
    "temporary view": ("SELECT * FROM mine", ["temporary view mine", "make it a table or an ordinary view"]),
    "temporary view in a subquery": (
        "SELECT * FROM sales WHERE id IN (SELECT id FROM mine)",
        ["temporary view mine", "make it a table or an ordinary view"],
    ),
    "temporary view in a subquery of a condition": (
        "SELECT s.id FROM sales s JOIN sales t ON s.id = t.id AND s.amount > (SELECT max(amount) FROM mine)",
        ["temporary view mine"],
    ),
    "temporary view of a table's name, in a subquery": (
        "SELECT * FROM sales WHERE EXISTS (SELECT * FROM shadow)",
        ["temporary view shadow"],
    ),
    "word for a day": ("SELECT id FROM sales WHERE month < DATE'today'", ["DATE 'today'", "when and where"]),
    "time of today": (
        "SELECT id, CAST('12:30:00' AS TIMESTAMP) AS t FROM sales",
        ["CAST('12:30:00'", "when and where"],
    ),
    "time of today, as a literal": ("SELECT id, TIMESTAMP '12:30:00' AS t FROM sales", ["TIMESTAMP '12:30:00'"]),
    "time of today, by a function": ("SELECT id, hour('12:30:00') AS t FROM sales", ["12:30:00", "when and where"]),
    "times of today in an array": (
        "SELECT id, CAST(array('T12:30') AS ARRAY<TIMESTAMP>) AS t FROM sales",
        ["T12:30", "when and where"],
    ),
    "time of today, by a union": (
        "SELECT id, CAST(NULL AS TIMESTAMP) AS t FROM sales UNION ALL SELECT 1, '12:30:00'",
        ["CAST('12:30:00'", "when and where"],
    ),
    "time of today, named before": (
        "WITH c AS (SELECT '12:30:00' AS x, id FROM sales) SELECT id, to_timestamp(x) AS t FROM c",
        ["CAST('12:30:00'", "when and where"],
    ),
    "time of today, in a subquery": (
        "SELECT id FROM sales WHERE TIMESTAMP '2024-01-01' < (SELECT coalesce(try_to_timestamp(x)) "
        "FROM (SELECT '12:30' AS x))",
        ["CAST('12:30'", "when and where"],
    ),
    "time of today, in a table of the query": (
        "SELECT id, CAST(x AS TIMESTAMP) AS t FROM sales, VALUES ('2024-01-01 12:30:00'), ('T12:30') AS v(x)",
        ["CAST('T12:30'", "when and where"],
    ),
    "time of today, by comparison": (
        "SELECT id FROM sales WHERE timestamp_seconds(id) > '12:30:00'",
        ["CAST('12:30:00'", "when and where"],
    ),
    "time of today in JSON": (
        """SELECT id, from_json('{"t": "12:30:00"}', 'n INT, t TIMESTAMP') AS t FROM sales""",
        ["from_json('12:30:00')", "when and where"],
    ),
    "time of today in CSV": (
        "SELECT id, from_csv('1, 12:30', 'n INT, t TIMESTAMP') AS t FROM sales",
        ["from_csv('12:30')", "when and where"],
    ),
    "time of today in XML": (
        "SELECT id, from_xml('<r><t>T12:30</t></r>', 't TIMESTAMP') AS t FROM sales",
        ["from_xml('T12:30')", "when and where"],
    ),
    "time of today in a variant": (
        """SELECT id, variant_get(parse_json('{"t": "12:30:00"}'), '$.t', 'timestamp') AS t FROM sales""",
        ["variant_get('12:30:00')", "when and where"],
    ),
    "time of today in a variant that is cast": (
        """SELECT id, CAST(parse_json('"12:30:00"') AS TIMESTAMP) AS t FROM sales""",
        ["cast('12:30:00')", "when and where"],
    ),
    "times with a day": (
        """SELECT id, from_json('{"t": "2024-01-01 12:30:00"}', 't TIMESTAMP') AS a, """
        """from_json('{"t": "12:30"}', 't TIMESTAMP', map('timestampFormat', 'HH:mm')) AS b, """
        """from_json('{"t": "12:30"}', 't STRING') AS c, to_timestamp('12:30', 'HH:mm') AS d, """
        """unix_timestamp('12:30', 'HH:mm') AS e, TIME '12:30:00' > TIME '12:29:00' AS f, """
        """CAST(concat('2024-01-0', id, ' 12:30:00') AS TIMESTAMP) AS g, """
        """try_to_timestamp(if(id > 0, '2024-01-01', NULL)) AS h FROM sales""",
        None,
    ),
    "options": ("SELECT id FROM sales WITH ('pathGlobFilter' = '*x*')", ["sales", "WITH options", "make a table"]),
    "options in a subquery": (
        "SELECT id FROM sales WHERE id IN (SELECT id FROM sales WITH ('a' = 'b'))",
        ["WITH options"],
    ),
    "program": ("SELECT TRANSFORM(id) USING 'cat' AS (x) FROM sales", ["TRANSFORM", "SQL or a job"]),
    "temporary function in Python": ("SELECT my_python(id) AS x FROM sales", ["my_python", "permanent"]),
    "temporary table function in Python": ("SELECT x FROM sales, LATERAL my_rows(id)", ["my_rows", "permanent"]),
    "temporary function in SQL": ("SELECT my_sql(id) AS x FROM sales", ["my_sql", "permanent"]),
    "temporary function of the name of one of Spark's": (
        "SELECT initcap(CAST(id AS STRING)) AS x FROM sales",
        ["temporary function initcap", "permanent"],
    ),
    "temporary function of the name of a permanent one": (
        "SELECT id FROM sales WHERE EXISTS (SELECT doubled(id) FROM sales)",
        ["temporary function doubled", "permanent"],
    ),
    "temporary table function of the name of a permanent one": (
        "SELECT x FROM ids()",
        ["temporary function ids", "permanent"],
    ),
    "session variable": ("SELECT * FROM sales WHERE amount > threshold", ["threshold", "write the value"]),
    "random": ("SELECT id, rand() AS r FROM sales", ["rand()", "another value"]),
    "clock": ("SELECT id FROM sales WHERE month < current_date()", ["current_date()", "when and where"]),
    "clock in a table of the query": (
        "SELECT s.id FROM sales s JOIN (VALUES (current_date())) AS n(d) ON s.month >= n.d",
        ["current_date()", "when and where"],
    ),
    "clock in the numbers of a range": (
        "SELECT s.id FROM sales s JOIN range(unix_date(current_date) - 30, unix_date(date(now()))) r ON s.id = r.id",
        ["`current_date()`", "when and where"],
    ),
    "clock in a pivot": (
        "SELECT * FROM sales PIVOT (sum(amount) FOR month IN (DATE '2024-01-01' AS a, curdate() AS b))",
        ["curdate()", "when and where"],
    ),
    "clock in the name of a table": (
        "SELECT * FROM IDENTIFIER(if(CURRENT_TIMESTAMP > '2024-01-01', 'sales', 'shadow'))",
        ["current_timestamp()", "when and where"],
    ),
    "seconds of the clock in a range": (
        "SELECT s.id FROM sales s JOIN range(unix_timestamp() - 5, unix_timestamp()) r ON s.id = r.id",
        ["unix_timestamp()", "when and where"],
    ),
    "user in the name of a table": ("SELECT * FROM IDENTIFIER(left('sales' || user, 5))", ["user()"]),
    "time of today, cast in a table of the query": (
        "SELECT id, t FROM sales, VALUES (CAST('12:30:00' AS TIMESTAMP)) AS v(t)",
        ["CAST('12:30:00'", "when and where"],
    ),
    "columns with the names of functions": (
        "SELECT e.x, `user`, current_date FROM (SELECT id AS `user`, month AS current_date FROM sales) s, "
        "LATERAL explode(array(s.`user`)) AS e(x), "
        "VALUES ('12:30', date('2024-01-01'), unix_timestamp(DATE '2024-01-01')) AS v(a, b, c)",
        None,
    ),
    "rows before a row, in no order": (
        "SELECT id, sum(amount) OVER (PARTITION BY month ROWS UNBOUNDED PRECEDING) AS s FROM sales",
        ["no fixed order", "ORDER BY"],
    ),
    "all rows, in no order": (
        "SELECT id, "
        "sum(amount) OVER (PARTITION BY month ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS s, "
        "max(id) OVER (PARTITION BY month) AS m, rank() OVER (PARTITION BY month ORDER BY id) AS r FROM sales",
        None,
    ),
    "uuid": ("SELECT uuid() AS key, id FROM sales", ["uuid()"]),
    "first": ("SELECT month, first(id) AS id FROM sales GROUP BY month", ["first(", "min_by"]),
    "limit": ("SELECT id FROM sales LIMIT 1", ["LIMIT", "ORDER BY"]),
    "sample": ("SELECT id FROM sales TABLESAMPLE (10 PERCENT)", ["TABLESAMPLE"]),
    "stream": ("SELECT * FROM STREAM sales", ["sales", "stream"]),
    "stream behind a temporary view": ("SELECT * FROM arriving", ["arriving"]),
    "missing table": ("SELECT * FROM nowhere", ["nowhere", "cannot be found"]),
    "missing column": ("SELECT nothing FROM sales", ["nothing", "Did you mean"]),
    "itself": ("SELECT * FROM bad", ["bad", "cannot be found"]),
    "two columns of a name": ("SELECT id, amount AS id FROM sales", ["two columns named id", "AS"]),
    "not over files": ("SELECT id FROM range(5)", None),
}


@pytest.mark.parametrize("name", QUERIES)
def test_query_that_a_view_cannot_have(shop: SparkSession, name: str) -> None:
    query, words = QUERIES[name]
    if words is None:
        shop.sql(f"CREATE MATERIALIZED VIEW bad AS {query}")
        shop.sql("DROP MATERIALIZED VIEW bad")
        return
    message = refused(shop, f"CREATE MATERIALIZED VIEW bad AS {query}")
    for word in words:
        assert word in message
    assert not shop.catalog.tableExists("bad")
    assert shop.sql(f"SHOW MATERIALIZED VIEWS IN {database(shop)} LIKE 'bad'").count() == 0


CLAUSES = {
    "unknown property": ("TBLPROPERTIES ('headwater.freshnes' = '1 hour')", ["did you mean 'headwater.freshness'?"]),
    "far from any property": ("TBLPROPERTIES ('headwater.xyz' = '1')", ["'headwater.xyz'", "headwater.freshness"]),
    "negative": ("TBLPROPERTIES ('headwater.freshness' = '-5 minutes')", ["'headwater.freshness'", "'-5 minutes'"]),
    "duration": ("TBLPROPERTIES ('headwater.freshness' = 'soon')", ["'headwater.freshness'", "'soon'", "'10 minutes'"]),
    "negative duration": ("TBLPROPERTIES ('headwater.retain' = '-1 hour')", ["'headwater.retain'", "'-1 hour'"]),
    "fill": ("TBLPROPERTIES ('headwater.fill' = 'perhaps')", ["'headwater.fill'", "'perhaps'", "now, later"]),
    "dependency on another table": (
        "TBLPROPERTIES ('headwater.dependency.other' = 'all')",
        ["a dependency on other", "it reads", "sales"],
    ),
    "dependency that is no map": (
        "PARTITIONED BY (month) TBLPROPERTIES ('headwater.dependency.sales' = 'whatever')",
        ["'headwater.dependency.sales'", "whatever", "'partition column = expression"],
    ),
    "dependency by another name": (
        "TBLPROPERTIES ('headwater.dependencies.sales' = 'all')",
        ["did you mean 'headwater.dependency.<table>'?"],
    ),
    "property in another case": ("TBLPROPERTIES ('Headwater.Retain' = '1 hour')", ["did you mean 'headwater.retain'?"]),
    "window that goes back": (
        "PARTITIONED BY (month) TBLPROPERTIES ('headwater.dependency.sales' = 'DAY .. DAY - 3')",
        ["from the earlier end to the later one"],
    ),
    "window of an unknown zone": (
        """PARTITIONED BY (month) TBLPROPERTIES ("headwater.dependency.sales" = "MONTH.hours('PST')")""",
        ["PST is no known time zone"],
    ),
    "partition column": ("PARTITIONED BY (year)", ["partitioned by year", "month, total"]),
    "transform": ("PARTITIONED BY (years(month))", ["years(month)"]),
    "binary": ("(month BINARY, total INT) PARTITIONED BY (month)", ["month, a BINARY", "hex(month)"]),
    "format": ("USING avro", ["USING avro", "parquet, orc, json, csv"]),
    "number of columns": ("(only STRING)", ["names 1 columns", "has 2"]),
}


@pytest.mark.parametrize("name", CLAUSES)
def test_clause_that_a_view_cannot_have(shop: SparkSession, name: str) -> None:
    clause, words = CLAUSES[name]
    message = refused(shop, f"CREATE MATERIALIZED VIEW bad {clause} AS {QUERY}")
    assert "bad" in message
    for word in words:
        assert word in message
    assert not shop.catalog.tableExists("bad")


STATEMENTS = {
    "name of a table": (f"CREATE MATERIALIZED VIEW sales AS {QUERY}", ["sales", "not a materialized view", "drop it"]),
    "name of a view": (f"CREATE OR REPLACE MATERIALIZED VIEW ordinary AS {QUERY}", ["ordinary", "another name"]),
    "name of a materialized view": (f"CREATE MATERIALIZED VIEW monthly AS {QUERY}", ["monthly", "CREATE OR REPLACE"]),
    "both": (f"CREATE OR REPLACE MATERIALIZED VIEW IF NOT EXISTS monthly AS {QUERY}", ["exclude each other"]),
    "database": (f"CREATE MATERIALIZED VIEW nowhere.v AS {QUERY}", ["nowhere"]),
    "not null": (
        "CREATE MATERIALIZED VIEW plain (id INT NOT NULL, amount INT) AS SELECT id, amount FROM sales",
        ["plain cannot have NOT NULL of the column id", "leave that out"],
    ),
    "default of a column": (
        "CREATE MATERIALIZED VIEW plain (id INT, amount INT DEFAULT 5) AS SELECT id, amount FROM sales",
        ["plain cannot have DEFAULT of the column amount", "leave that out"],
    ),
    "generated column": (
        "CREATE MATERIALIZED VIEW plain (id INT, n INT GENERATED ALWAYS AS (id * 2)) AS SELECT id, amount FROM sales",
        ["plain cannot have GENERATED ALWAYS AS of the column n", "leave that out"],
    ),
    "collation": (
        "CREATE MATERIALIZED VIEW plain DEFAULT COLLATION UTF8_LCASE AS SELECT id, amount FROM sales",
        ["plain cannot have DEFAULT COLLATION UTF8_LCASE", "leave that out"],
    ),
    "not null, explained": (
        "EXPLAIN CREATE MATERIALIZED VIEW plain (id INT NOT NULL, amount INT) AS SELECT id, amount FROM sales",
        ["plain cannot have NOT NULL of the column id"],
    ),
    "unknown view": ("REFRESH MATERIALIZED VIEW monthy", ["no materialized view", "monthy", "monthly"]),
    "a table is no view": ("REFRESH MATERIALIZED VIEW sales", ["sales", "monthly"]),
    "unknown view, explained": ("EXPLAIN REFRESH nothing", ["no materialized view nothing"]),
    "unknown view, described": ("DESCRIBE MATERIALIZED VIEW nothing", ["no materialized view nothing"]),
    "unknown view, altered": ("ALTER MATERIALIZED VIEW nothing SUSPEND", ["no materialized view nothing"]),
    "partition column": (
        "REFRESH MATERIALIZED VIEW monthly PARTITION (year = 2024) FULL",
        ["no partition column year", "partitioned by month"],
    ),
    "partition value": (
        "REFRESH MATERIALIZED VIEW monthly PARTITION (month = 'March') FULL",
        ["'March'", "month (DATE)"],
    ),
    "partition without FULL": (
        "REFRESH MATERIALIZED VIEW monthly PARTITION (month = DATE '2024-01-01')",
        ["add FULL, or leave PARTITION out"],
    ),
    "malformed": ("REFRESH MATERIALIZED VIEW monthly SOON", ["found 'SOON'", "REFRESH MATERIALIZED VIEW name ["]),
    "malformed list": ("REFRESH MATERIALIZED VIEW monthly PARTITION (month)", ["expected =", "PARTITION (k = v, ...)"]),
    "no name": ("DROP MATERIALIZED VIEW", ["a name", "DROP MATERIALIZED VIEW [IF EXISTS] name"]),
    "half an ALTER": ("ALTER MATERIALIZED VIEW monthly", ["SUSPEND | RESUME"]),
    "limit": ("SHOW REFRESHES LIMIT many", ["a number", "'many'"]),
    "unfinished string": ("SHOW MATERIALIZED VIEWS LIKE 'x", ["SHOW MATERIALIZED VIEWS [IN db]"]),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_statement_that_cannot_be_carried_out(shop: SparkSession, name: str) -> None:
    statement, words = STATEMENTS[name]
    message = refused(shop, statement)
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE FUNCTION in_python(x INT) RETURNS INT LANGUAGE PYTHON AS 'return x'",
        "CREATE FUNCTION calls_python(x INT) RETURNS INT RETURN my_python(x)",
        "CREATE VIEW over_python AS SELECT my_python(id) AS x FROM sales",
    ],
)
def test_the_catalog_has_no_function_of_python(shop: SparkSession, statement: str) -> None:
    """Where a Spark takes one, its text must be followed: an edited function is another one."""
    with pytest.raises(PySparkException):
        shop.sql(statement).collect()


def test_the_users_own_statements_go_on(shop: SparkSession) -> None:
    """After all that was refused above, sessions and views work as before."""
    assert shop.sql("SELECT my_python(id) FROM sales WHERE amount > threshold").count() == 1
    shop.sql("INSERT INTO sales VALUES (3, 30, DATE '2024-02-01')")
    try:
        drain(shop)
        assert_equals_query(shop, "monthly", QUERY)
    finally:
        shop.sql("INSERT OVERWRITE sales PARTITION (month = DATE '2024-02-01') VALUES (2, 20)")
        drain(shop)


@pytest.mark.parametrize(
    "text", ["SELECT * FROM {}", "WITH c AS (SELECT * FROM {}) SELECT 1 AS x WHERE 1 IN (TABLE c)"]
)
def test_a_pattern_of_paths(shop: SparkSession, tmp_path: Path, text: str) -> None:
    """Also with a single directory, where it looks like a path; and in the text of an ordinary view."""
    shop.range(3).write.parquet(str(tmp_path / "first"))
    query = text.format(f"parquet.`{tmp_path}/f*`")
    shop.sql(f"CREATE OR REPLACE VIEW patterned AS {query}")
    for each in (query, "TABLE patterned"):
        message = refused(shop, f"CREATE MATERIALIZED VIEW bad AS {each}")
        assert f"parquet.`{tmp_path}/f*` is a pattern" in message
    shop.sql("DROP VIEW patterned")


def test_cycle(shop: SparkSession) -> None:
    """A redefinition that would make views read each other is refused, directly and through an ordinary view."""
    here = database(shop)
    shop.sql("CREATE MATERIALIZED VIEW second AS SELECT count(*) AS n FROM monthly")
    shop.sql("CREATE VIEW between AS SELECT n AS total FROM second")
    try:
        for query, words in (
            ("SELECT DATE '2024-01-01' AS month, n AS total FROM second", f"{here}.second"),
            ("SELECT DATE '2024-01-01' AS month, total FROM between", f"{here}.second"),
            ("SELECT month, total + 1 AS total FROM monthly", f"{here}.monthly reads {here}.monthly"),
        ):
            message = refused(shop, f"CREATE OR REPLACE MATERIALIZED VIEW monthly AS {query}")
            assert "would read itself" in message
            assert words in message
        assert_equals_query(shop, "monthly", QUERY)
    finally:
        shop.sql("DROP VIEW between")
        shop.sql("DROP MATERIALIZED VIEW second")


def test_an_ordinary_view_that_closes_a_circle(spark: SparkSession) -> None:
    """Spark allows it, as a materialized view is a table. That view says so, and all others go on."""
    spark.sql("CREATE TABLE t AS SELECT 1 AS x")
    spark.sql("CREATE VIEW between AS SELECT x FROM t")
    spark.sql("CREATE MATERIALIZED VIEW one AS SELECT x FROM between")
    spark.sql("CREATE MATERIALIZED VIEW two AS SELECT count(*) AS n FROM t")
    spark.sql("CREATE OR REPLACE VIEW between AS SELECT x FROM one")
    spark.sql("INSERT INTO t VALUES (2)")
    assert "one would read itself" in refused(spark, "REFRESH MATERIALIZED VIEW one")
    spark.sql("REFRESH MATERIALIZED VIEW two")
    assert spark.table("two").first()["n"] == 2
    spark.sql("CREATE OR REPLACE VIEW between AS SELECT x FROM t")
    drain(spark)
    assert_equals_query(spark, "one", "SELECT x FROM t")


def test_unknown_setting(shop: SparkSession) -> None:
    """It is an error of Headwater's statements in that session, and of no others."""
    session = shop.newSession()
    session.sql(f"USE {database(shop)}")
    session.sql("SET spark.headwater.wiat = true")
    assert session.table("monthly").count() == 2
    message = refused(session, "REFRESH MATERIALIZED VIEW monthly")
    assert "'spark.headwater.wiat'" in message
    assert "did you mean 'spark.headwater.wait'?" in message


def test_a_word_that_a_setting_does_not_know(shop: SparkSession) -> None:
    """It refuses the write that would wait, or not, before any row is written. `SET` mends it."""
    session = shop.newSession()
    session.sql(f"USE {database(shop)}")
    session.sql("CREATE TABLE waited (n INT) USING parquet")
    session.sql("SET spark.headwater.wait = maybe")
    assert "spark.headwater.wait is 'maybe'; write true or false" in refused(session, "INSERT INTO waited VALUES (1)")
    assert session.table("waited").count() == 0
    assert "it is one of true, false" in refused(session, "REFRESH MATERIALIZED VIEW monthly")
    session.sql("SET spark.headwater.wait = False")
    session.sql("INSERT INTO waited VALUES (1)")
    session.sql("DROP TABLE waited")


def test_query_that_fails_when_it_runs(spark: SparkSession) -> None:
    """The view is there and is tried again; the error says so, and it recovers by itself."""
    spark.sql("CREATE TABLE numbers (n INT) USING parquet")
    spark.sql("INSERT INTO numbers VALUES (0)")
    message = refused(spark, "CREATE MATERIALIZED VIEW inverse AS SELECT 1 / n AS x FROM numbers")
    assert f"{database(spark)}.inverse" in message
    assert "DIVIDE_BY_ZERO" in message
    assert "DROP MATERIALIZED VIEW" in message
    assert shown(spark, "inverse")["state"] == "failing"
    assert "DIVIDE_BY_ZERO" in shown(spark, "inverse")["reason"]
    [row] = spark.sql("SHOW REFRESHES FOR inverse").collect()
    assert row["status"] == "failed"
    assert "DIVIDE_BY_ZERO" in row["error"]
    spark.sql("INSERT OVERWRITE numbers VALUES (2)")
    spark.sql("REFRESH MATERIALIZED VIEW inverse")
    assert [tuple(row) for row in spark.table("inverse").collect()] == [(0.5,)]
    assert shown(spark, "inverse")["state"] == "fresh"


# --- no space


class SmallDisk:
    """A place where little can be written until ``make_room``.

    For root a file system of 1 MB in memory; where that cannot be mounted, a directory that ``fill``
    makes unwritable.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
        self._mounted = os.geteuid() == 0 and subprocess.run(mount, check=False).returncode == 0

    def fill(self) -> None:
        if not self._mounted:
            self._change_mode("a-w")

    def make_room(self) -> None:
        if self._mounted:
            subprocess.run(["mount", "-o", "remount,size=64m", str(self.place)], check=True)
        else:
            self._change_mode("u+w")

    def close(self) -> None:
        if self._mounted:
            subprocess.run(["umount", "--lazy", str(self.place)], check=True)

    def _change_mode(self, mode: str) -> None:
        subprocess.run(["chmod", "-R", mode, str(self.place)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    disk = SmallDisk(tmp_path / "small")
    yield disk
    disk.close()


@pytest.mark.thorough
def test_full_disk(spark: SparkSession, small_disk: SmallDisk) -> None:
    """The user's write succeeds, the state says what is wrong, and room is all that is needed."""
    small = f"small{uuid.uuid4().hex[:6]}"
    spark.sql("CREATE TABLE big (id BIGINT, text STRING) USING parquet")
    spark.sql(f"CREATE DATABASE {small} LOCATION '{small_disk.place}/db'")
    try:
        query = f"SELECT id, text FROM {database(spark)}.big"
        spark.sql(f"CREATE MATERIALIZED VIEW {small}.copy AS {query}")
        small_disk.fill()
        spark.sql("INSERT INTO big SELECT id, sha2(CAST(id AS STRING), 512) FROM range(40000)")
        assert "copy cannot be written" in refused(spark, "REFRESH MATERIALIZED VIEWS")
        [row] = spark.sql(f"SHOW MATERIALIZED VIEWS IN {small}").collect()
        assert row["state"] == "failing"
        assert f"{small}.copy cannot be written" in row["reason"]
        assert "is tried again" in row["reason"]
        assert spark.table(f"{small}.copy").count() == 0
        assert spark.table("big").count() == 40000
        small_disk.make_room()
        spark.sql(f"REFRESH MATERIALIZED VIEW {small}.copy")
        assert_equals_query(spark, f"{small}.copy", query)
    finally:
        small_disk.make_room()
        spark.sql(f"DROP DATABASE {small} CASCADE")
        drain(spark)


def shown(spark: SparkSession, view: str):
    [row] = spark.sql(f"SHOW MATERIALIZED VIEWS IN {database(spark)} LIKE '{view}'").collect()
    return row


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.sql.hive.manageFilesourcePartitions", "false"),
        ("spark.sql.streaming.fileStreamSink.ignoreMetadata", "true"),
    ],
)
def test_a_session_that_finds_other_files_declares_no_view(shop: SparkSession, name: str, value: str) -> None:
    session = shop.newSession()
    session.sql(f"USE {shop.catalog.currentDatabase()}")
    session.conf.set(name, value)
    message = refused(session, "CREATE MATERIALIZED VIEW v AS SELECT id FROM sales")
    assert f"where {name} is not" in message and f"SET {name} = " in message


def test_a_session_that_lists_directories_reads_no_partitioned_view(shop: SparkSession) -> None:
    """It would find no rows: they lie beside the table's directory."""
    session = shop.newSession()
    session.sql(f"USE {shop.catalog.currentDatabase()}")
    assert session.table("monthly").count() == 2
    session = session.newSession()
    session.sql(f"USE {shop.catalog.currentDatabase()}")
    session.conf.set("spark.sql.hive.manageFilesourcePartitions", "false")
    message = refused(session, "SELECT count(*) FROM monthly")
    assert "monthly" in message and "manageFilesourcePartitions is false; set it to true" in message
    assert session.table("sales").count() == 2
    session.conf.set("spark.sql.hive.manageFilesourcePartitions", "true")
    assert session.table("monthly").count() == 2
