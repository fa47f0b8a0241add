"""What only Headwater writes: no command of Spark, Delta or Iceberg changes a view or its directory."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import commands_of_spark as spark_commands
import fetched
import pytest
import statements_of_commands as said
from attrs import frozen
from pyspark.sql import SparkSession
from pyspark.sql.functions import col
from support import Journal, assert_equals_query, database, drain

from headwater.model.event import Published
from headwater.spark.jvm.jar import build_jar

QUERY = "SELECT sum(n) AS n, p FROM ordinary GROUP BY p"
WORDS = "which only Headwater writes"


def test_the_shim_is_loaded_as_a_whole(spark: SparkSession) -> None:
    """A class that is loaded later is not found, where the Thrift server closed the class loader of ``--jars``."""
    with zipfile.ZipFile(build_jar()) as jar:
        wanted = {each[: -len(".class")].replace("/", ".") for each in jar.namelist() if each.endswith(".class")}
    found = spark._jvm.io.headwater.spark.Classes.loaded()
    assert {found.apply(n) for n in range(found.size())} == wanted


@frozen
class Views:
    """A session with a view of each format over one table, and tables for statements that write to a view by others.

    Attributes:
        analysing: another session, in which nothing is refused.
        roots: the directory of each view, by the format.
    """

    spark: SparkSession
    analysing: SparkSession
    roots: dict[str, Path]

    def statement(self, format: str, text: str) -> str:
        own = database(self.spark)
        root = self.roots[format]
        parts = {
            "v": self.name(format),
            "n": f"{own}.{self.name(format).rpartition('.')[2]}",
            "db": own,
            "place": f"lake.{own}" if format == "iceberg" else own,
            "root": root,
            "home": root.relative_to(root.parents[1]).parent,
            "files": self.roots["parquet"],
            "format": format,
        }
        if "{snapshot}" in text:
            parts["snapshot"] = self.spark.sql(f"SELECT snapshot_id FROM {self.name(format)}.snapshots").first()[0]
        for name, value in parts.items():
            text = text.replace(f"{{{name}}}", str(value))
        return text

    def name(self, format: str) -> str:
        return {"parquet": "v", "delta": "d", "iceberg": f"lake.{database(self.spark)}.i"}[format]

    def fails(self, statement: str) -> str:
        """What a statement is refused with; empty if it is not."""
        try:
            self.spark.sql(statement).collect()
        except Exception as error:
            return str(error) or type(error).__name__
        return ""

    def passed(self, format: str, statements: Iterable[tuple[str, str]]) -> list[str]:
        """The statements that Headwater did not refuse, and those that are not of the command that they stand for."""
        wrong = []
        for command, text in statements:
            statement = self.statement(format, text)
            if command not in (nodes := self.nodes(statement)):
                wrong.append(f"{statement} is {nodes}, not {command}")
            if not is_refusal(why := self.fails(statement)):
                wrong.append(f"{statement}: {why or 'passed'}")
        return wrong

    def changed(self, format: str, statements: Iterable[tuple[str, str]]) -> list[str]:
        """The statements after which the view has other rows, or that Headwater refused."""
        wrong = []
        for command, text in statements:
            statement = self.statement(format, text)
            if command not in (nodes := self.nodes(statement)):
                wrong.append(f"{statement} is {nodes}, not {command}")
            if WORDS in self.fails(statement):
                wrong.append(f"{statement} was refused")
            elif (rows := self.rows(format)) != self.ROWS:
                wrong.append(f"{statement}: {rows}")
        return wrong

    ROWS = [(1, 1), (2, 2)]

    def rows(self, format: str) -> list[tuple]:
        session = self.spark.newSession()
        session.sql(f"USE {database(self.spark)}")
        return sorted(tuple(row) for row in session.sql(f"SELECT n, p FROM {self.name(format)}").collect())

    def nodes(self, statement: str) -> list[str]:
        """The classes in the plan of a statement, as parsed and as analysed where nothing is refused."""
        found: list[str] = []
        state = self.analysing._jsparkSession.sessionState()

        def walk(plan) -> None:
            found.append(plan.getClass().getSimpleName())
            children = plan.children()
            for n in range(children.size()):
                walk(children.apply(n))

        try:
            parsed = state.sqlParser().parsePlan(statement)
            walk(parsed)
            if not statement.startswith(("CALL", "EXECUTE")):  # these run while they are analysed
                walk(state.analyzer().execute(parsed))
        except Exception as error:
            found.append(f"({str(error).splitlines()[0]})")
        return found


def is_refusal(why: str) -> bool:
    """Whether this is Headwater's sentence, without a plan or a stack after it."""
    return WORDS in why and "\n" not in why


@pytest.fixture
def views(spark: SparkSession, warehouse: Path) -> Iterator[Views]:
    own = database(spark)
    base = f"{warehouse}/{own}.db"
    spark.sql("CREATE TABLE ordinary (n BIGINT, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql("INSERT INTO ordinary VALUES (1, 1), (2, 2)")
    spark.sql("CREATE TABLE as_text (n BIGINT) STORED AS textfile")
    # Tables that had the directory before the view did.
    spark.sql(f"CREATE TABLE at_files (n BIGINT) USING parquet LOCATION '{base}/v'")
    spark.sql(f"CREATE TABLE text_at_files (n BIGINT) STORED AS textfile LOCATION '{base}/v'")
    (warehouse / f"{own}.db/v").rmdir()  # a view takes no directory that is there
    spark.sql("CREATE TABLE base_delta USING delta AS SELECT CAST(1 AS BIGINT) AS n, 1 AS p")
    spark.sql(f"CREATE NAMESPACE lake.{own}")
    spark.sql(f"CREATE TABLE lake.{own}.base_iceberg USING iceberg AS SELECT CAST(1 AS BIGINT) AS n, 1 AS p")
    roots = {
        "parquet": warehouse / f"{own}.db/v",
        "delta": warehouse / f"{own}.db/d",
        "iceberg": warehouse / f"lake/{own}/i",
    }
    analysing = spark.newSession()
    analysing.conf.set("spark.headwater.internal", "true")
    analysing.sql(f"USE {own}")
    made = Views(spark, analysing, roots)
    for format in roots:
        spark.sql(f"CREATE MATERIALIZED VIEW {made.name(format)} USING {format} PARTITIONED BY (p) AS {QUERY}")
    spark.sql(f"CREATE TABLE named_again USING delta LOCATION '{roots['delta']}'")
    drain(spark)
    yield made
    spark.sql("DROP TABLE named_again")
    for format in roots:
        spark.sql(f"DROP MATERIALIZED VIEW {made.name(format)}")


@pytest.mark.thorough
def test_each_command_on_files_is_refused_or_harmless(views: Views, journal: Journal, tmp_path: Path) -> None:
    spark, root = views.spark, views.roots["parquet"]
    assert (root / ".headwater").exists()
    more = (
        "ALTER TABLE v PARTITION (p = 1) SET SERDEPROPERTIES ('x' = '1')",
        f"INSERT OVERWRITE DIRECTORY '{root}/.v1' USING parquet SELECT 1",
    )
    statements = [each.format(root=root) for each in (*spark_commands.REFUSED.values(), *more)]
    passed = [f"{each}: {why or 'passed'}" for each in statements if not is_refusal(why := views.fails(each))]
    passed += views.passed("parquet", said.OF_FILES) + views.passed("parquet", said.PLACES)
    assert "\n".join(passed) == ""
    handled = "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'refused' AS said; INSERT INTO v VALUES (1, 1); END"
    assert spark.sql(handled).first()[0] == "refused"
    for each in spark_commands.HARMLESS.values():
        spark.sql(each.format(root=root)).collect()
    spark.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' USING parquet SELECT 1")
    spark.range(1).write.parquet(str(tmp_path / "other"))
    assert_equals_query(spark, "v", QUERY)
    assert not [each for each in journal.events() if isinstance(each, Published)]


def test_a_path_of_another_source_is_no_directory(spark: SparkSession) -> None:
    """A source may call something else its path, and Headwater lets the source say what that is worth."""
    spark.sql("CREATE TABLE rows (n BIGINT) USING parquet")
    spark.sql("INSERT INTO rows VALUES (1)")
    for path in ("project:dataset.table", ""):
        written = spark.table("rows").write.format("jdbc").option("url", "jdbc:derby:memory:paths;create=true")
        written.option("dbtable", "written").option("path", path).mode("append").save()
        batches: list[int] = []
        stream = spark.readStream.table("rows").writeStream.foreachBatch(lambda _, n, seen=batches: seen.append(n))
        stream.option("path", path).trigger(availableNow=True).start().awaitTermination()
        assert batches == [0]


@pytest.mark.thorough
def test_the_log_of_a_view_has_no_other_writer(views: Views) -> None:
    """A table may name the directory of a Delta view once more, but not begin its log again."""
    begun = (
        "CREATE OR REPLACE TABLE other (n BIGINT, p INT) USING delta LOCATION '{root}'",
        "CREATE OR REPLACE TABLE other USING delta LOCATION '{root}' AS SELECT 1 AS n",
        "CREATE TABLE other USING delta LOCATION '{root}' AS SELECT 1 AS n",
        "CREATE OR REPLACE TABLE named_again USING delta LOCATION '{root}' AS SELECT 1 AS n",
        "CREATE OR REPLACE TABLE other SHALLOW CLONE base_delta LOCATION '{root}'",
    )
    statements = [views.statement("delta", each) for each in begun]
    passed = [f"{each}: {why or 'passed'}" for each in statements if not is_refusal(why := views.fails(each))]
    assert "\n".join(passed) == ""
    assert views.fails(views.statement("delta", "CREATE TABLE other USING delta LOCATION '{root}'")) == ""
    views.spark.sql("DROP TABLE other")
    assert views.rows("delta") == views.ROWS


@pytest.mark.thorough
def test_an_overwritten_partition_is_not_the_whole_directory(views: Views) -> None:
    """An external table around a view: only a write that empties its whole directory reaches the view."""
    spark, root = views.spark, views.roots["parquet"]
    columns = "(n BIGINT) PARTITIONED BY (q INT)"
    spark.sql(f"CREATE TABLE around_view (n BIGINT, q INT) USING parquet PARTITIONED BY (q) LOCATION '{root.parent}'")
    spark.sql(f"CREATE TABLE hive_around_view {columns} STORED AS parquet LOCATION '{root.parent}'")
    why = views.fails("INSERT OVERWRITE around_view VALUES (1, 1)")
    assert is_refusal(why) and f"which lies in the written directory file:{root.parent}, is a" in why
    spark.sql("INSERT OVERWRITE around_view PARTITION (q = 1) VALUES (1)")
    spark.sql("INSERT OVERWRITE hive_around_view PARTITION (q = 2) VALUES (1)")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        spark.sql("INSERT OVERWRITE around_view VALUES (1, 3)")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert views.rows("parquet") == views.ROWS


def frames(views: Views, format: str) -> dict[str, Callable[[], object]]:
    """The ways of a frame, or of a stream, into a view."""
    spark, name, root = views.spark, views.name(format), views.roots[format]
    rows = spark.sql("SELECT CAST(1 AS BIGINT) AS n, 1 AS p")
    stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    batches = stream.selectExpr("value AS n", "CAST(1 AS INT) AS p").writeStream.option(
        "checkpointLocation", str(root.parent / f"checkpoint_{format}")
    )
    written = "parquet" if format == "iceberg" else format
    saved = rows.write.format(format).partitionBy("p")
    ways = {
        "save": lambda: rows.write.format(written).mode("overwrite").save(str(root)),
        "save below": lambda: rows.write.format("parquet").mode("append").save(str(root / "p=1")),
        "json": lambda: rows.write.mode("overwrite").json(str(root)),
        "saveAsTable": lambda: saved.mode("overwrite").saveAsTable(name),
        "saveAsTable, append": lambda: saved.mode("append").saveAsTable(name),
        "insertInto": lambda: rows.write.insertInto(name),
        "stream to a path": lambda: batches.format("parquet").start(str(root)).awaitTermination(),
        "stream below": lambda: batches.format("parquet").start(str(root / "p=1")).awaitTermination(),
        "stream to a table": lambda: batches.format(format).toTable(name).awaitTermination(),
    }
    if format == "parquet":  # Spark itself writes to no table of files so
        return ways
    return ways | {
        "writeTo": lambda: rows.writeTo(name).append(),
        "overwrite": lambda: rows.writeTo(name).overwrite(col("n") == 1),
        "overwritePartitions": lambda: rows.writeTo(name).overwritePartitions(),
        "createOrReplace": lambda: rows.writeTo(name).using(format).createOrReplace(),
    }


@pytest.mark.parametrize(
    "format", ["parquet", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("delta", "iceberg"))]
)
def test_each_way_of_a_frame_is_refused(views: Views, format: str) -> None:
    passed = []
    for way, write in frames(views, format).items():
        try:
            write()
            passed.append(way)
        except Exception as error:
            if WORDS not in str(error):
                passed.append(f"{way}: {str(getattr(error, 'java_exception', error))[:200]}")
    assert "\n".join(passed) == ""
    assert views.rows(format) == views.ROWS


LAKES = {
    "delta": ((*said.REFUSED, *said.DELTA), (*said.HARMLESS, *said.DELTA_HARMLESS)),
    "iceberg": ((*said.REFUSED, *said.ICEBERG), (*said.HARMLESS, *said.ICEBERG_HARMLESS)),
}


@pytest.mark.thorough
@pytest.mark.parametrize("format", LAKES)
def test_each_command_on_a_lake_table_is_refused_or_harmless(views: Views, format: str, journal: Journal) -> None:
    refused, harmless = LAKES[format]
    wrong = views.passed(format, refused) + views.passed(format, said.PLACES) + views.changed(format, harmless)
    assert "\n".join(wrong) == ""
    assert not [each for each in journal.events() if isinstance(each, Published)]


@pytest.mark.thorough
def test_each_procedure_of_iceberg_is_refused_or_harmless(views: Views, journal: Journal) -> None:
    def calls(listed: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        return [("Call", f"CALL lake.system.{name}{arguments}") for name, arguments in listed]

    refused, harmless = calls(said.PROCEDURES), calls(said.PROCEDURES_HARMLESS)
    assert "\n".join(views.passed("iceberg", refused) + views.changed("iceberg", harmless)) == ""
    assert views.rows("parquet") == views.ROWS
    assert not [each for each in journal.events() if isinstance(each, Published)]


def test_each_procedure_of_iceberg_is_known(plain_spark: SparkSession) -> None:
    names = plain_spark._jvm.org.apache.iceberg.spark.procedures.SparkProcedures.names().toArray()
    assert set(names) == {name for name, _ in (*said.PROCEDURES, *said.PROCEDURES_HARMLESS)}


def test_each_command_of_a_format_is_known() -> None:
    """A new command of Delta or Iceberg fails here, until somebody says what it does to a view."""
    delta = {name for name, _ in (*said.DELTA, *said.DELTA_HARMLESS)}
    assert spark_commands.commands_in(fetched.delta()) - delta == said.DELTA_INNER.keys()
    assert set(said.DELTA_INNER.values()) <= delta | {name for name, _ in said.REFUSED}
    iceberg = {name for name, _ in (*said.ICEBERG, *said.ICEBERG_HARMLESS)}
    assert spark_commands.commands_in(fetched.iceberg()) <= iceberg


def test_each_command_that_can_change_a_table_has_a_statement() -> None:
    """But for those that no statement of a view reaches."""
    listed = (
        *(said.PLACES + said.OF_FILES + said.REFUSED + said.HARMLESS),
        *(said.DELTA + said.DELTA_HARMLESS + said.ICEBERG + said.ICEBERG_HARMLESS),
    )
    run = {name for name, _ in listed}
    asked = spark_commands.LAKE | spark_commands.CREATING | spark_commands.DROPPING | spark_commands.OTHER_SOURCES
    assert asked - run == said.UNREACHED.keys()


def test_a_store_with_the_name_of_a_marker_marks_no_view(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / ".headwater").write_bytes(b"SQLite format 3".ljust(4096, b"\0"))
    spark.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path / 'export'}' USING parquet SELECT 1 AS n")
    spark.sql(f"CREATE TABLE beside USING parquet LOCATION '{tmp_path / 'beside'}' AS SELECT 1 AS n")
    spark.sql("INSERT INTO beside VALUES (2)")
    assert spark.table("beside").count() == 2
