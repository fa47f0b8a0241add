"""Tables of files without partitions: while programs only append, their new files are followed, and runs read the files
that are on record."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database, drain
from test_added_rows import ADDED, ASKED, SALES, follow

from headwater.model.event import Event, Failed, Published, Started
from headwater.model.work import Mode
from headwater.spark.jvm.facts import Asked, Pin
from headwater.spark.jvm.shim import Shim
from headwater.spark.jvm.wire import FailureKind, encode
from headwater.spark.refreshing.changed_rows import PINS

FULL = (Mode.FULL, "")
CHEAP = "SELECT id, price * 2 AS double, day FROM sales WHERE price < 150"
BY_DAY = "SELECT day, count(*) AS n, sum(price) AS s, max(price) AS most FROM sales GROUP BY day"
ROW = "INSERT INTO sales VALUES ({id}, '{day}', {price})"


@pytest.mark.parametrize(
    "query", [pytest.param(CHEAP, id="rows", marks=pytest.mark.thorough), pytest.param(BY_DAY, id="totals")]
)
@pytest.mark.parametrize("format", ["parquet", pytest.param("csv", marks=pytest.mark.long)])
def test_new_files_are_followed(spark: SparkSession, journal: Journal, query: str, format: str) -> None:
    spark.sql(f"CREATE TABLE sales USING {format} AS {SALES}")
    spark.sql(f"CREATE MATERIALIZED VIEW v {ASKED} AS {query}")
    told = follow(
        spark,
        journal,
        "v",
        query,
        ROW.format(id=-1, day="1", price=5),
        ROW.format(id=-1, day="1", price=5),
        "INSERT INTO sales SELECT id, day, price + 100 FROM sales WHERE id < 10",
        "INSERT OVERWRITE sales SELECT id, '7', 3 FROM range(20)",
        ROW.format(id=-2, day="8", price=140),
        "TRUNCATE TABLE sales",
        ROW.format(id=-3, day="8", price=140),
    )
    assert told == [ADDED, ADDED, ADDED, FULL, ADDED, FULL, ADDED]


def test_an_explanation_tells_which_tables_are_followed(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE sales USING parquet AS {SALES}")
    spark.sql(f"CREATE TABLE by_day USING parquet PARTITIONED BY (day) AS {SALES}")
    for table, told in (("sales", "    can be followed by changes"), ("by_day", "    by changes is out: ")):
        query = BY_DAY.replace("sales", table)
        lines = [row[0] for row in spark.sql(f"EXPLAIN CREATE MATERIALIZED VIEW v AS {query}").collect()]
        assert any(line.startswith(told) for line in lines), lines


@pytest.mark.thorough
def test_new_files_of_joined_tables_are_followed(spark: SparkSession, journal: Journal) -> None:
    """Each is followed while the other one is read as it was."""
    spark.sql(f"CREATE TABLE sales USING parquet AS {SALES}")
    spark.sql("CREATE TABLE days USING parquet AS SELECT CAST(id AS STRING) AS day, id * 7 AS code FROM range(4)")
    query = (
        f"SELECT days.code, count(*) AS n, sum(sales.price) AS s FROM sales JOIN {database(spark)}.days "
        f"ON {database(spark)}.sales.day = days.day GROUP BY days.code"
    )
    spark.sql(f"CREATE MATERIALIZED VIEW v {ASKED} AS {query}")
    spark.sql("ALTER MATERIALIZED VIEW v SUSPEND")
    spark.sql(ROW.format(id=-1, day="1", price=5))
    spark.sql(ROW.format(id=-2, day="9", price=6))
    spark.sql("INSERT INTO days VALUES ('9', 63), ('1', 8)")
    told = follow(
        spark,
        journal,
        "v",
        query,
        "ALTER MATERIALIZED VIEW v RESUME",
        ROW.format(id=-3, day="9", price=7),
        "INSERT INTO days VALUES ('2', 1), ('x', 2)",
    )
    assert told == [ADDED] * len(told) and len(told) >= 2


@pytest.mark.thorough
def test_only_the_keys_of_new_files_are_computed(spark: SparkSession, journal: Journal) -> None:
    spark.sql(f"CREATE TABLE sales USING parquet AS {SALES}")
    query = "SELECT day, id, rank() OVER (PARTITION BY day ORDER BY price) AS place FROM sales"
    spark.sql(f"CREATE MATERIALIZED VIEW v TBLPROPERTIES ('headwater.method' = 'keys, full') AS {query}")
    told = follow(
        spark, journal, "v", query, ROW.format(id=-1, day="1", price=5), "INSERT OVERWRITE sales VALUES (1, '1', 1)"
    )
    assert told == [(Mode.KEYS, ""), FULL]


def place_of(spark: SparkSession, table: str) -> Path:
    location = spark.sql(f"DESCRIBE FORMATTED {table}").where("col_name = 'Location'").first()["data_type"]
    return Path(location.removeprefix("file:"))


@pytest.mark.parametrize(
    ("options", "put"),
    [
        ("", "below/one.parquet"),
        ("", "_hidden.parquet"),
        ("OPTIONS (pathGlobFilter '*.parquet')", "one.other"),
        ("OPTIONS (recursiveFileLookup 'true')", "below/one.parquet"),
    ],
)
def test_files_count_that_spark_reads_and_no_others(
    spark: SparkSession, journal: Journal, options: str, put: str
) -> None:
    spark.sql(f"CREATE TABLE sales USING parquet {options} AS {SALES}")
    spark.sql(f"CREATE MATERIALIZED VIEW v {ASKED} AS {BY_DAY}")
    place = place_of(spark, "sales")
    (place / put).parent.mkdir(exist_ok=True)
    shutil.copy(next(iter(place.glob("*.parquet"))), place / put)
    for statement in (ROW.format(id=-1, day="1", price=5), ROW.format(id=-2, day="1", price=5)):
        spark.sql(statement)
        spark.sql("REFRESH TABLE sales")
        spark.sql("REFRESH MATERIALIZED VIEWS")
        assert_equals_query(spark, "v", BY_DAY)


def test_an_empty_file_has_no_rows(spark: SparkSession, journal: Journal) -> None:
    spark.sql(f"CREATE TABLE sales USING csv AS {SALES}")
    spark.sql(f"CREATE MATERIALIZED VIEW v {ASKED} AS {BY_DAY}")
    (place_of(spark, "sales") / "empty.csv").touch()
    told = follow(spark, journal, "v", BY_DAY, ROW.format(id=-1, day="1", price=5))
    assert told[-1] == ADDED


def test_a_table_that_was_overwritten_is_not_read_as_it_was(spark: SparkSession) -> None:
    """That is no fault of a view: its refresh is cancelled, and runs again."""
    spark.sql(f"CREATE TABLE sales USING parquet AS {SALES}")
    shim, key = Shim(spark), f"{database(spark)}.sales"
    [fact] = shim.observe([Asked(key)])
    spark.sql(ROW.format(id=-1, day="1", price=5))
    session = spark.newSession()
    session.conf.set(PINS, encode({key: Pin(fact.snapshot, files=True)}))
    assert session.table(key).count() == 100
    spark.sql("INSERT OVERWRITE sales SELECT id, '7', 3 FROM range(20)")
    with pytest.raises(PySparkException, match="does not have all files any more") as raised:
        session.table(key)
    assert shim.failure(raised.value).kind is FailureKind.SOURCE_GONE


@pytest.mark.thorough
def test_each_version_is_its_query_over_the_files_on_its_record(spark: SparkSession, journal: Journal) -> None:
    """A program appends one file after the other, with one row each, while refreshes read."""
    spark.sql("CREATE TABLE ticks (n BIGINT) USING parquet")
    spark.sql("CREATE TABLE twice (n BIGINT, m BIGINT) USING parquet")
    spark.sql("INSERT INTO twice SELECT id, id * 2 FROM range(1000)")
    query = "SELECT count(*) AS n, sum(m) AS s FROM ticks JOIN twice USING (n)"
    asked = "TBLPROPERTIES ('headwater.method' = 'incremental, full', 'headwater.retain' = '1 hour')"
    spark.sql(f"CREATE MATERIALIZED VIEW v {asked} AS {query}")
    done = threading.Event()

    def append() -> None:
        writer, n = spark.newSession(), 0
        writer.sql(f"USE {database(spark)}")
        while not done.wait(0.1):
            writer.sql(f"INSERT INTO ticks VALUES ({n})")
            n += 1

    def mine() -> list[Event]:
        return [each for each in journal.events() if getattr(each, "view", "") == f"{database(spark)}.v"]

    thread = threading.Thread(target=append)
    thread.start()
    try:
        events: list[Event] = []
        while sum(isinstance(each, Published) for each in events) < 5:
            drain(spark)
            events += mine()
    finally:
        done.set()
        thread.join()
    drain(spark)
    events += mine()
    assert_equals_query(spark, "v", query)
    root = spark.sql("DESCRIBE FORMATTED v").where("col_name = 'Location'").first()["data_type"].partition("/.v")[0]
    started = {each.version: each for each in events if isinstance(each, Started)}
    counts = []
    for each in events:
        if isinstance(each, Published):
            files = int(dict(started[each.version].snapshots)[f"{database(spark)}.ticks"].split()[0])
            [row] = spark.read.parquet(f"{root}/.v{each.version}/data").collect()
            assert (row["n"], row["s"] or 0) == (files, files * (files - 1))
            counts.append(files)
    assert counts == sorted(counts) and counts[-1] > 5
    assert Mode.CHANGES in {each.work.mode for each in started.values()}
    assert not any(isinstance(each, Failed) for each in events)


@pytest.mark.parametrize("place", ["", "PARTITIONED BY (p)"])
def test_files_that_are_read_in_another_way_are_read_again(spark: SparkSession, place: str) -> None:
    """The files stay, and their rows change. The next one is not added to rows that were read in the old way."""
    query = "SELECT id, name FROM t"
    spark.sql(f"CREATE TABLE t (id INT, name STRING, p INT) USING csv OPTIONS (sep = ',') {place}")
    spark.sql("INSERT INTO t VALUES (1, 'a;b', 1), (2, 'c', 2)")
    spark.sql(f"CREATE MATERIALIZED VIEW v {ASKED} AS {query}").collect()
    spark.sql("ALTER TABLE t SET SERDEPROPERTIES ('sep' = ';')")
    drain(spark)
    assert_equals_query(spark, "v", query)
    spark.sql("INSERT INTO t VALUES (3, 'd', 1)")
    drain(spark)
    assert_equals_query(spark, "v", query)
    assert spark.sql("SELECT count(*) FROM v WHERE name = 'd'").first()[0] == 1


def test_rows_that_an_option_leaves_out(spark: SparkSession, tmp_path: Path) -> None:
    """The option is named like the note that tells what a Hive table is for."""
    query = "SELECT a, b FROM t"
    (tmp_path / "one.csv").write_text("#x,1\ny,2\n")
    spark.sql(f"CREATE TABLE t (a STRING, b INT) USING csv LOCATION '{tmp_path}'")
    spark.sql(f"CREATE MATERIALIZED VIEW v AS {query}").collect()
    spark.sql("ALTER TABLE t SET SERDEPROPERTIES ('comment' = '#')")
    drain(spark)
    assert_equals_query(spark, "v", query)
    assert spark.table("v").count() == 1


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["keys", "incremental"])
def test_a_row_is_judged_by_the_columns_that_the_query_reads(spark: SparkSession, tmp_path: Path, method: str) -> None:
    """Spark leaves a malformed row out, or shows it in a column, by the columns that are read of it."""
    spark.sql("CREATE TABLE names (k INT, name STRING) USING delta")
    spark.sql("INSERT INTO names VALUES (7, 'x')")
    tables = (
        ("lines", "csv OPTIONS (mode 'DROPMALFORMED')", "k INT, v INT, w INT", "7,1,1\n", "7,10,odd\n"),
        (
            "notes",
            "json",
            "k INT, v INT, w INT, _corrupt_record STRING",
            '{"k": 7, "v": 1}',
            '{"k": 7, "v": 1, "w": "odd"}',
        ),
    )
    for name, format, columns, first, second in tables:
        (tmp_path / name).mkdir()
        (tmp_path / name / "1").write_text(first)
        spark.sql(f"CREATE TABLE {name} ({columns}) USING {format} LOCATION '{tmp_path / name}'")
        counted = "count(_corrupt_record)" if name == "notes" else "count(*)"
        query = f"SELECT n.k, sum(v) AS v, {counted} AS c FROM {name} s JOIN names n ON s.k = n.k GROUP BY n.k"
        asked = f"TBLPROPERTIES ('headwater.method' = '{method}, full')"
        spark.sql(f"CREATE MATERIALIZED VIEW of_{name} USING delta {asked} AS {query}")
        (tmp_path / name / "2").write_text(second)
        drain(spark)
        assert_equals_query(spark, f"of_{name}", query)


def test_another_default_of_a_column_that_files_lack(spark: SparkSession, tmp_path: Path) -> None:
    place, query = f"USING parquet LOCATION '{tmp_path / 't'}'", "SELECT sum(b) AS b FROM t"
    spark.sql(f"CREATE TABLE t (a INT) {place}")
    spark.sql("INSERT INTO t VALUES (1)")
    spark.sql("DROP TABLE t")
    spark.sql(f"CREATE TABLE t (a INT, b INT DEFAULT 5) {place}")
    spark.sql(f"CREATE MATERIALIZED VIEW v AS {query}").collect()
    assert_equals_query(spark, "v", query)
    spark.sql("DROP TABLE t")
    spark.sql(f"CREATE TABLE t (a INT, b INT DEFAULT 7) {place}")
    drain(spark)
    assert_equals_query(spark, "v", query)
    assert spark.table("v").first()[0] == 7


PATHS = {
    "a fraction": ("SELECT id, x, x * 2 AS y FROM {}", '{"id": 2, "x": 1.5}'),
    "a sum of fractions": ("SELECT count(*) AS n, CAST(sum(x) AS BIGINT) AS s FROM {}", '{"id": 2, "x": 1.5}'),
    "a text": ("SELECT id, x FROM {}", '{"id": 2, "x": "many"}'),
    "a new column": ("SELECT * FROM {}", '{"id": 2, "x": 3, "z": 7}'),
    "a wider number of a joined path": (
        "SELECT t.k, sum(t.n * p.x) AS s FROM t JOIN {} p USING (id) GROUP BY t.k",
        '{"id": 1, "x": 0.5}',
    ),
}


@pytest.mark.parametrize("name", PATHS)
def test_files_of_other_types_at_a_path(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Spark takes the types of the columns from the files."""
    query, line = PATHS[name]
    query = query.format(f"json.`{tmp_path}`")
    (tmp_path / "1.json").write_text('{"id": 1, "x": 1}\n')
    spark.sql("CREATE TABLE t (k INT, id INT, n INT) USING delta")
    spark.sql("INSERT INTO t VALUES (1, 1, 10), (2, 2, 20)")
    spark.sql(f"CREATE MATERIALIZED VIEW v USING delta {ASKED} AS {query}").collect()
    (tmp_path / "2.json").write_text(f"{line}\n")
    drain(spark)
    assert_equals_query(spark, "v", query)
    spark.sql("INSERT INTO t VALUES (1, 1, 7), (3, 2, 20)")
    drain(spark)
    assert_equals_query(spark, "v", query)
    (tmp_path / "2.json").unlink()
    drain(spark)
    assert_equals_query(spark, "v", query)
    assert drain(spark) == []


@pytest.mark.parametrize("made", ["USING csv LOCATION", "STORED AS TEXTFILE LOCATION", "USING parquet LOCATION"])
def test_a_column_before_those_that_are_read(spark: SparkSession, tmp_path: Path, made: str) -> None:
    """The files stay. In some formats a value is of the column that has its place, and all move on."""
    place, query = f"{made} '{tmp_path / 't'}'", "SELECT a, sum(b) AS s FROM t GROUP BY a"
    spark.sql(f"CREATE TABLE t (a INT, b INT) {place}")
    spark.sql("INSERT INTO t VALUES (1, 10), (1, 20)")
    spark.sql(f"CREATE MATERIALIZED VIEW v AS {query}").collect()
    other = spark.newSession()  # tells nobody what it does
    other.conf.set("spark.headwater.internal", "true")
    other.sql(f"DROP TABLE {database(spark)}.t")
    other.sql(f"CREATE TABLE {database(spark)}.t (a INT, c INT, b INT) {place}")
    drain(spark)
    assert_equals_query(spark, "v", query)


def test_a_header_that_hive_skips_from_now_on(spark: SparkSession) -> None:
    """Hive keeps it beside the notes of the catalog, which are no change."""
    query = "SELECT id FROM h"
    spark.sql("CREATE TABLE h (id STRING) STORED AS TEXTFILE")
    spark.sql("INSERT INTO h VALUES ('x')")
    spark.sql(f"CREATE MATERIALIZED VIEW v AS {query}").collect()
    [before] = Shim(spark).observe([Asked(f"{database(spark)}.h", whole=True)])
    spark.sql("ANALYZE TABLE h COMPUTE STATISTICS")
    [same] = Shim(spark).observe([Asked(f"{database(spark)}.h", whole=True)])
    assert same.partitions == before.partitions
    spark.sql("ALTER TABLE h SET SERDEPROPERTIES ('field.delim' = 'x')")
    drain(spark)
    assert_equals_query(spark, "v", query)
    assert spark.sql("SELECT id FROM v").first()[0] == ""
