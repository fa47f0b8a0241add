"""Each format of tables keeps these promises (``tables/table_format.py``). Another one joins with one line in CASES.

A test that needs an ability of ``model/format.py`` is skipped for a format that lacks it, and says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve, frozen
from delta_calls import CODE as DELTA_CODE
from delta_calls import compiled_delta
from found import look
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from support import database

from headwater.model.command import Launch, Replaced, Written
from headwater.model.error import ChangesUnknown, FilesReplaced, RefreshCancelled, TakenOver, ViewGone
from headwater.model.event import Started
from headwater.model.format import Format
from headwater.model.partition import WHOLE, Region, Slice
from headwater.model.reason import Code, Reason
from headwater.model.seen import Seen, TableQuestion
from headwater.model.state import PartitionRecord, Run
from headwater.model.view import Column, Definition
from headwater.model.work import ByRows, WholePartitions
from headwater.spark.jvm.counted import counts
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.jvm.wire import encode
from headwater.spark.refreshing.changed_rows import PINS, refuse_drift
from headwater.spark.tables import catalog
from headwater.spark.tables.compaction import Compaction, PutTogether
from headwater.spark.tables.delta import DeltaTables
from headwater.spark.tables.delta import key_search as of_delta
from headwater.spark.tables.files import FileTables
from headwater.spark.tables.iceberg import IcebergTables
from headwater.spark.tables.iceberg import key_search as of_iceberg
from headwater.spark.tables.iceberg.publishing import Publishing
from headwater.spark.tables.rows_by_keys import Reach
from headwater.spark.tables.table_format import ViewFormat
from headwater.spark.tables.view_tables import is_waiting


@frozen
class Case:
    """A format, how it is opened, and the catalog that holds its tables; empty: the session catalog."""

    format: Format
    open: Callable[[Shim, Sessions], ViewFormat]
    catalog: str = ""


CASES = [
    Case(Format.of("parquet"), FileTables),
    Case(Format.of("delta"), DeltaTables),
    Case(Format.of("iceberg"), IcebergTables, catalog="lake"),
]

DROPPED = "ALTER TABLE t DROP PARTITION (p = 'a')"
"""A statement of file tables only."""

A, B, C, D = (Slice.of(p=each) for each in "abcd")


def test_the_cases_have_the_abilities_that_these_tests_ask_for() -> None:
    """A test of an ability that nobody has any more would be skipped, and fail nowhere."""
    lakes = {"delta", "iceberg"}
    for ability in ("commits", "snapshots", "tells_changes", "replaces_files"):
        assert {each.format.name for each in CASES if getattr(each.format, ability)} == lakes, ability
    assert all(each.format.holds_views for each in CASES)


def parametrized(lacks: Callable[[Format], str]) -> pytest.MarkDecorator:
    """A test of each format; ``lacks`` says why it is none of one."""
    skipped = [(each, lacks(each.format)) for each in CASES]
    params = [pytest.param(each, marks=[pytest.mark.skip(reason=why)] if why else []) for each, why in skipped]
    return pytest.mark.parametrize("case", params, ids=lambda each: each.format.tables, indirect=True)


def needs(ability: str) -> pytest.MarkDecorator:
    """A test of the formats with an ability."""
    return parametrized(lambda each: "" if getattr(each, ability) else f"{each.name} lacks: {ability}")


def only(name: str) -> pytest.MarkDecorator:
    """A test of a format's own code."""
    return parametrized(lambda each: "" if each.name == name else f"a test of {name}'s own code")


@pytest.fixture(params=CASES, ids=lambda each: each.format.tables)
def case(request) -> Case:
    return request.param


@pytest.fixture
def format(case: Case) -> Format:
    return case.format


@pytest.fixture
def place(spark: SparkSession, case: Case) -> Iterator[str]:
    """The key of the database in which a session is then."""
    if not case.catalog:
        yield database(spark)
        return
    place = f"{case.catalog}.{database(spark)}"
    spark.sql(f"CREATE NAMESPACE {place}")
    spark.sql(f"USE {place}")
    yield place
    spark.sql("USE spark_catalog.default")


@pytest.fixture
def tables(spark: SparkSession, case: Case, place: str) -> ViewFormat:
    return case.open(Shim(spark), Sessions(spark))


@pytest.fixture
def table(spark: SparkSession, format: Format, place: str) -> str:
    """A table with the partitions a and b."""
    spark.sql(f"CREATE TABLE t (x INT, p STRING) USING {format.name} PARTITIONED BY (p)")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    return f"{place}.t"


def differing(before: Seen, after: Seen) -> set[Slice]:
    if after.looked is not None:
        return set(after.looked)
    slices = before.partitions.keys() | after.partitions.keys()
    return {each for each in slices if before.partitions.get(each) != after.partitions.get(each)}


# --- looks


def test_a_table_has_one_format(spark: SparkSession, tables: ViewFormat, place: str, table: str) -> None:
    assert Shim(spark).format(table) == tables.name
    assert Shim(spark).format(f"{place}.nothing") == ""


def test_a_table_that_did_not_change_looks_the_same(format: Format, tables: ViewFormat, table: str) -> None:
    first = look(tables, table)
    assert first.exists and first.snapshot and first.schema and first.partitions.keys() == {A, B}
    assert first.columns == {"p"} and first.looked is None and first.pinned == format.snapshots
    assert look(tables, table) == first
    again = look(tables, table, since=first.snapshot)
    assert again == (evolve(first, partitions={}, looked=(), churn=again.churn) if format.tells_changes else first)
    assert not again.churn


@pytest.mark.parametrize(
    ("statement", "changed"),
    [
        ("INSERT INTO t VALUES (3, 'b')", {B}),
        ("INSERT INTO t VALUES (3, 'c')", {C}),
        ("INSERT OVERWRITE t PARTITION (p = 'a') VALUES (9)", {A}),
        (DROPPED, {A}),
        ("TRUNCATE TABLE t", {A, B}),
    ],
)
def test_each_kind_of_write_makes_another_snapshot(
    spark: SparkSession, format: Format, tables: ViewFormat, table: str, statement: str, changed: set[Slice]
) -> None:
    before = look(tables, table)
    if not format.listed and statement == DROPPED:
        statement = "DELETE FROM t WHERE p = 'a'"
    spark.sql(statement)
    after = look(tables, table, since=before.snapshot)
    assert after.snapshot != before.snapshot and differing(before, after) == changed
    assert not after.lost and (after.schema, after.incarnation) == (before.schema, before.incarnation)


def test_other_columns_make_another_schema(spark: SparkSession, tables: ViewFormat, table: str) -> None:
    before = look(tables, table)
    spark.sql("ALTER TABLE t ADD COLUMNS (y INT)")
    assert look(tables, table).schema != before.schema


@pytest.mark.thorough
def test_a_table_that_is_replaced_is_another_incarnation(
    spark: SparkSession, format: Format, tables: ViewFormat, table: str
) -> None:
    before = look(tables, table)
    spark.sql("DROP TABLE t")
    assert not look(tables, table).exists
    time.sleep(1.1)  # Hive's metastore keeps seconds
    spark.sql(f"CREATE TABLE t (x INT, p STRING) USING {format.name} PARTITIONED BY (p)")
    after = look(tables, table)
    assert after.incarnation != before.incarnation and after.schema == before.schema


@needs("listed")
def test_a_look_at_some_partitions_says_which(tables: ViewFormat, table: str) -> None:
    look(tables, table)
    seen = look(tables, table, A, C)
    assert seen.looked == seen.asked == (A, C) and seen.partitions.keys() == {A} and not seen.snapshot


@pytest.mark.thorough
def test_a_table_that_nobody_can_look_at_takes_no_other_with_it(
    spark: SparkSession, format: Format, tables: ViewFormat, place: str, table: str
) -> None:
    spark.sql(f"CREATE TABLE lost USING {format.name} PARTITIONED BY (p) AS SELECT 1 AS x, 'a' AS p")
    if not format.listed:
        for each in Path(look(tables, f"{place}.lost").location.removeprefix("file:")).rglob("*.[ja][sv]*"):
            each.write_text("{")
    else:
        spark.sql("ALTER TABLE lost PARTITION (p = 'a') SET LOCATION 'ftp://127.0.0.1:9/t'")  # nobody listens there
    lost, seen = tables.look([TableQuestion(f"{place}.lost"), TableQuestion(table)])
    assert lost.unreadable and seen.partitions.keys() == {A, B}


def test_a_write_below_a_table_touches_it(tables: ViewFormat, table: str) -> None:
    location = look(tables, table).location
    assert tables.touches(table, f"{location}/p=a") and not tables.touches(table, f"{location}_else")


def test_a_snapshot_is_read_as_it_was_or_not_at_all(
    spark: SparkSession, format: Format, tables: ViewFormat, table: str
) -> None:
    before = look(tables, table)
    spark.sql("INSERT OVERWRITE t PARTITION (p = 'a') VALUES (9)")
    pin = tables.pin(table, before.snapshot)
    assert (pin is not None) == before.pinned == format.snapshots
    if pin is not None:
        spark.conf.set(PINS, encode({table: pin}))
        assert sorted(row["x"] for row in spark.sql("SELECT x FROM t").collect()) == [1, 2]


# --- publications


class View:
    """A view of a format, whose runs write rows that are given."""

    def __init__(self, session: SparkSession, format: Format, tables: ViewFormat, place: str, root: Path) -> None:
        self._session, self._tables = session, tables
        self.definition = Definition(
            f"{place}.v",
            "SELECT 1",
            (Column("x", "INT"), Column("p", "STRING")),
            ("p",),
            format=format.name,
            fingerprint="f",
            root="" if format.commits else f"file:{root}",
            owner="me",
            database="default",
        )
        assert format.commits or Shim(session).claim(self.definition.root, "me")
        catalog.create(Sessions(session).of_table(), Shim(session), self.definition)
        tables.require(self.definition)
        self.records: dict[Slice, PartitionRecord] = {}

    def launch(
        self, version: int, partitions: Iterable[str] = "abc", snapshot: str = "", appends: bool = False
    ) -> Launch:
        """A run of some partitions; the empty name is everything. ``snapshot`` is on record of the view's table."""
        slices = tuple(Slice.of(p=each) if each else WHOLE for each in partitions)
        snapshots = ((self.definition.view, snapshot),) if snapshot else ()
        work = ByRows((), 0) if appends else WholePartitions()
        run = Run(
            Started(
                0,
                version,
                self.definition.view,
                (),
                (),
                work,
                Reason(Code.SOURCE_CHANGED, "because"),
                snapshots=snapshots,
            ),
            slices,
        )
        region = Region(slices)
        there = {each: record for each, record in self.records.items() if region.covers(each)}
        return Launch(run, self.definition, there)

    def write(self, version: int, **rows: int) -> Written:
        """Writes one row of each partition."""
        return self.written(self.launch(version, rows), **rows)

    def written(self, launch: Launch, **rows: int) -> Written:
        place = f"{self.definition.root}/.v{launch.run.version}/data"
        values = ", ".join(f"({x}, '{p}')" for p, x in rows.items())
        frame = self._session.sql(f"SELECT * FROM VALUES {values} AS t(x, p)")
        counted = self._tables.write(launch, frame, place, True)
        return self._tables.written(launch, place, counts(counted.sums(), ("p",)))

    def publish(self, version: int, snapshot: str = "", **rows: int) -> Replaced:
        written = self.write(version, **rows)
        replaced = self._tables.publish(self.launch(version, rows, snapshot), written)
        for each in written.made:
            self.records[each.slice] = PartitionRecord(version, each.fingerprint, each.rows, content=each.content)
        return replaced

    def append(self, version: int, snapshot: str, **rows: int) -> tuple[Launch, Written]:
        """Writes one row more for each partition."""
        launch = self.launch(version, rows, snapshot, appends=True)
        return launch, self.written(launch, **rows)

    def rekey(self, version: int, snapshot: str, key: int, new: str) -> tuple[Launch, Written]:
        """Writes new rows of a value of ``x``, in place of those that have it."""
        launch = self.launch(version, [""], snapshot)
        rows = self._session.sql(f"SELECT {key} AS `key 0`")
        reach = Reach.of(Shim(self._session), [rows], ("x",), 1)
        assert reach is not None
        key_files = self._tables.key_files(self._session, launch, reach)
        assert key_files is not None
        frame = reach.weighed(key_files.rows, self._session.sql(f"SELECT * FROM {new}"), F.lit(True))
        counted = self._tables.write(launch, frame, "", True, key_files)
        key_files.close()
        return launch, self._tables.written(launch, "", counts(counted.sums(), ("p",)))

    @property
    def bag(self) -> list[tuple[str, int]]:
        return sorted((row["p"], row["x"]) for row in self._session.newSession().table(self.definition.view).collect())

    @property
    def rows(self) -> dict[str, int]:
        found = self._session.newSession().table(self.definition.view)
        return {row["p"]: row["x"] for row in found.collect()}


@pytest.fixture
def view(spark: SparkSession, format: Format, tables: ViewFormat, place: str, tmp_path: Path) -> View:
    if not format.holds_views:
        pytest.skip(f"{format.name} lacks: holds_views")
    spark.conf.set("spark.headwater.internal", "true")  # as in the sessions of an engine, which write views
    return View(spark, format, tables, place, tmp_path / "v")


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of small views are searched, too."""
    for each in (of_delta, of_iceberg):
        monkeypatch.setattr(each, "SMALL", 0)


def files(spark: SparkSession, view: View) -> set[str]:
    name = "_metadata.file_path" if view.definition.format == "delta" else "_file"
    query = f"SELECT DISTINCT {name} FROM {view.definition.view}"
    return {row[0] for row in spark.newSession().sql(query).collect()}


def test_readers_see_a_run_when_it_is_published(view: View, format: Format, tables: ViewFormat) -> None:
    written = view.write(1, a=1, b=2)
    assert {each.slice: each.rows for each in written.made} == {A: 1, B: 1} and view.rows == {}
    first = view.publish(2, a=1, b=2)
    assert not first.locations and view.rows == {"a": 1, "b": 2}
    replaced = view.publish(3, snapshot=first.snapshot, b=3)
    assert len(replaced.locations) == (0 if format.commits else 1) and not replaced.reshaped
    assert view.rows == {"a": 1, "b": 3}
    assert tables.highest(view.definition) == 3
    if format.commits:
        assert look(tables, view.definition.view).snapshot == replaced.snapshot


def test_one_higher_version_fences_a_whole_publication(view: View) -> None:
    view.publish(5, a=5)
    with pytest.raises(TakenOver, match="5"):
        view.publish(4, a=4, b=4, c=4)
    assert view.rows == {"a": 5}


@pytest.mark.thorough
def test_a_table_of_somebody_else_stays_as_it_is(view: View) -> None:
    view.publish(1, a=1)
    view.definition = evolve(view.definition, owner="you")
    with pytest.raises(RefreshCancelled, match="another table has its name"):
        view.publish(2, a=2)
    with pytest.raises(RefreshCancelled, match="another table has its name"):
        view._tables.require(view.definition)
    assert view.rows == {"a": 1}


STEPS = ["required", "written", "published"]
"""Those of a run, in which its view may be dropped."""


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("purge", ["", pytest.param(" PURGE", marks=pytest.mark.thorough)])
def test_no_step_of_a_run_makes_a_table_again_that_was_dropped(
    view: View, format: Format, tables: ViewFormat, spark: SparkSession, step: str, purge: str
) -> None:
    view.publish(1, a=1)
    launch = view.launch(2, "a")
    written = view.written(launch, a=2) if step == "published" else None
    spark.sql(f"DROP TABLE {view.definition.view}{purge}")
    for _ in range(2):  # it is tried again
        noticed = pytest.raises(ViewGone, match="was dropped")
        with nullcontext() if step == "written" and not format.commits else noticed:
            match step:
                case "required":
                    tables.require(view.definition)
                case "written":
                    view.written(launch, a=2)
                case _:
                    tables.publish(launch, written)
        assert Shim(spark).owner(view.definition.view) is None
        assert not spark.newSession().catalog.tableExists(view.definition.view)


@only("iceberg")
def test_a_table_that_is_dropped_at_the_moment_of_the_commit_stays_dropped(
    view: View, tables: ViewFormat, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A catalog of directories takes any metadata for a table."""
    view.publish(1, a=1)
    launch = view.launch(2, "a")
    written, replace = view.written(launch, a=2), Publishing._replace

    def dropped(*arguments) -> None:
        replace(*arguments)
        spark.sql(f"DROP TABLE {view.definition.view}")

    monkeypatch.setattr(Publishing, "_replace", dropped)
    with pytest.raises(ViewGone, match="was dropped"):
        tables.publish(launch, written)
    assert Shim(spark).owner(view.definition.view) is None
    spark.sql(f"CREATE TABLE {view.definition.view} (x INT) USING iceberg")


@needs("one_step_exchange")
def test_a_view_that_changes_its_format_is_dropped_for_good(
    view: View, format: Format, spark: SparkSession, place: str
) -> None:
    """The table that is filled to replace it, and the one that it had before, never take its name."""
    name, shim = view.definition.view, Shim(spark)
    filled = catalog.replace(spark, shim, view.definition)
    spark.sql(f"DROP TABLE {name}")
    with pytest.raises(ViewGone, match="was dropped"):
        view._tables.require(view.definition)
    catalog.mark(spark, view.definition)  # as it is when an engine is killed while it exchanges both
    old = evolve(view.definition, format="parquet" if format.commits else "delta")
    assert is_waiting(shim, view.definition) and not is_waiting(shim, old)
    view._tables.require(view.definition)
    assert shim.owner(name) == "me" and shim.owner(filled) is None


@needs("listed")
def test_a_run_does_not_go_on_beside_a_table_that_was_renamed(view: View, spark: SparkSession) -> None:
    name = view.definition.view
    view.publish(1, a=1)
    Shim(spark).rename(name, f"{name}_2")
    with pytest.raises(RefreshCancelled, match="v_2 now"):
        view._tables.require(view.definition)
    assert not spark.catalog.tableExists(name)


@pytest.mark.thorough
def test_other_columns_are_published_at_once(view: View, tables: ViewFormat) -> None:
    view.publish(1, a=1)
    view.definition = evolve(view.definition, columns=(Column("x", "BIGINT"), Column("p", "STRING")))
    launch = view.launch(2, [""])
    assert tables.publish(launch, view.written(launch, b=2)).reshaped
    assert view.rows == {"b": 2}


@needs("listed")
def test_what_expires_is_deleted_unless_it_is_published(view: View, tables: ViewFormat) -> None:
    view.publish(1, a=1, b=1)
    old = view.publish(2, a=2).locations
    root = Path(view.definition.root.removeprefix("file:"))
    assert tables.expire(view.definition, [*old, f"{view.definition.root}/.v2", f"{view.definition.root}/.v1"])
    assert view.rows == {"a": 2, "b": 1}
    assert not (root / ".v1/data/p=a").exists() and (root / ".v2/data/p=a").exists()


def test_nothing_expires_of_a_view_whose_table_is_gone(view: View, tables: ViewFormat, spark: SparkSession) -> None:
    view.publish(1, a=1)
    spark.sql(f"DROP TABLE {view.definition.view}")
    assert not tables.expire(view.definition, [f"{view.definition.root}/.v1"])
    if view.definition.root:
        assert (Path(view.definition.root.removeprefix("file:")) / ".v1").exists()


@pytest.mark.parametrize("partition", ["a", "c"])
def test_rows_of_another_program_are_in_no_partition_that_stays(
    view: View, tables: ViewFormat, spark: SparkSession, partition: str
) -> None:
    """In none that is on record, nor in a new one."""
    published = view.publish(1, a=1, b=1)
    formats = SimpleNamespace(of_view=lambda _: tables)
    refuse_drift(formats, view.launch(2, "ac", published.snapshot or "none", appends=True))
    spark.sql(f"INSERT INTO {view.definition.view} VALUES (9, '{partition}')")
    for slices in ("ac", [""]):
        with pytest.raises(ChangesUnknown, match="written past Headwater"):
            refuse_drift(formats, view.launch(2, slices, published.snapshot or "none", appends=True))
    refuse_drift(formats, view.launch(2, "b", published.snapshot or "none", appends=True))


# --- publications by a commit


@needs("commits")
def test_a_publication_replaces_the_runs_partitions_and_no_others(view: View) -> None:
    view.publish(1, a=1, b=1, c=1)
    launch = view.launch(2, "ab")
    written = view.write(2, b=2)
    view._tables.publish(launch, written)
    assert view.rows == {"b": 2, "c": 1}


@needs("commits")
def test_a_publication_that_is_repeated_does_nothing(view: View, tables: ViewFormat) -> None:
    written, launch = view.write(1, a=1), view.launch(1)
    first = tables.publish(launch, written)
    history = look(tables, view.definition.view)
    again = tables.publish(launch, written)
    # Nobody remembers the rows before, so a format may say of its snapshot that it is to be looked at.
    assert again == evolve(first, unchanged=frozenset(), snapshot=again.snapshot)
    assert look(tables, view.definition.view) == history and view.rows == {"a": 1}


@needs("commits")
def test_rows_that_come_out_as_before_are_unchanged_unless_somebody_wrote(view: View, spark: SparkSession) -> None:
    first = view.publish(1, a=1, b=1)
    second = view.publish(2, snapshot=first.snapshot, a=1, b=2)
    assert first.unchanged == frozenset() and second.unchanged == {A}
    spark.sql(f"INSERT INTO {view.definition.view} VALUES (9, 'a')")
    third = view.publish(3, snapshot=second.snapshot, a=1, b=2)
    assert A not in third.unchanged and view.rows == {"a": 1, "b": 2}


@needs("commits")
def test_a_commit_of_another_program_during_a_publication_stays(view: View, spark: SparkSession) -> None:
    view.publish(1, a=1, b=1)
    written = view.write(2, a=2)
    spark.sql(f"INSERT INTO {view.definition.view} VALUES (9, 'c')")
    view._tables.publish(view.launch(2, "a"), written)
    assert view.rows == {"a": 2, "b": 1, "c": 9}


def meanwhile(tables: Any, work: Callable[[], object]) -> None:
    """Has something happen once, between what a publication reads of its table and its commit."""
    publications = tables._publications
    touched = publications._touched

    def first(*arguments):
        publications._touched = touched
        work()
        return touched(*arguments)

    publications._touched = first


def twice_at_a_time(view: View, case: Case, spark: SparkSession) -> None:
    """Two engines add the same row as one version, each in a file of its own."""
    mine, theirs, first = view._tables, case.open(Shim(spark), Sessions(spark)), view.publish(1, a=1, b=1)
    launch, written = view.append(2, first.snapshot, a=5)
    view._tables = theirs
    _, other = view.append(2, first.snapshot, a=5)
    meanwhile(mine, lambda: theirs.publish(launch, other))
    mine.publish(launch, written)


ONCE = [("a", 1), ("a", 5), ("b", 1)]


@only("delta")
def test_two_publications_of_one_version_at_a_time(view: View, case: Case, spark: SparkSession) -> None:
    twice_at_a_time(view, case, spark)
    assert view.bag == ONCE


def replaced_beside(view: View, spark: SparkSession, partition: str, statement: str) -> None:
    """A run replaces a partition, or everything, while another program writes."""
    view.publish(1, a=1, b=1)
    launch = view.launch(2, [partition])
    written = view.written(launch, a=2)
    meanwhile(view._tables, lambda: spark.sql(statement.format(view=view.definition.view)))
    view._tables.publish(launch, written)


BESIDE = [
    ("", "INSERT INTO {view} VALUES (9, 'c')", [("a", 2)]),
    ("a", "INSERT INTO {view} VALUES (9, 'a')", [("a", 2), ("b", 1)]),
    ("a", "INSERT INTO {view} VALUES (9, 'c')", [("a", 2), ("b", 1), ("c", 9)]),
    ("a", "DELETE FROM {view} WHERE p = 'a'", [("a", 2), ("b", 1)]),
    ("a", "UPDATE {view} SET x = 9", [("a", 2), ("b", 9)]),
]


@only("delta")
@pytest.mark.parametrize(
    ("partition", "statement", "rows"),
    [BESIDE[0], *(pytest.param(*each, marks=pytest.mark.thorough) for each in BESIDE[1:])],
)
def test_a_commit_of_another_program_between_the_steps_of_a_publication(
    view: View, spark: SparkSession, partition: str, statement: str, rows: list[tuple[str, int]]
) -> None:
    replaced_beside(view, spark, partition, statement)
    assert view.bag == rows


@pytest.mark.thorough
@only("delta")
@pytest.mark.parametrize("line", ["transaction.readTxn().addOne(owner);", "transaction.trackReadPredicates("])
def test_what_a_publication_registers_is_what_makes_a_conflict(
    view: View, case: Case, spark: SparkSession, line: str
) -> None:
    """Without either line, the tests above would fail."""
    code = DELTA_CODE.read_text()
    at, is_the_id = code.index(line), line.startswith("transaction.readTxn")
    less = f"{code[:at]}{code[code.index(';', at) + 1 :]}"
    tables: Any = view._tables
    tables._publications._logs.calls = compiled_delta(spark, view.definition.view, less)
    if is_the_id:
        twice_at_a_time(view, case, spark)
        assert view.bag != ONCE
    else:
        partition, statement, rows = BESIDE[0]
        replaced_beside(view, spark, partition, statement)
        assert view.bag != rows


@needs("commits")
def test_added_rows_come_beside_those_that_are_there_and_once(view: View, tables: ViewFormat) -> None:
    first = view.publish(1, a=1, b=1)
    launch, written = view.append(2, first.snapshot, a=5)
    tables.publish(launch, written)
    tables.publish(launch, written)
    assert view.bag == [("a", 1), ("a", 5), ("b", 1)]
    both = view.written(view.launch(3, "a"), a=1).made[0], view.written(view.launch(4, "a"), a=5).made[0]
    [made] = written.made
    assert made.rows == 2 and int(made.content, 16) == sum(int(each.content, 16) for each in both) % (1 << 128)
    assert not written.removed


@pytest.mark.thorough
@needs("commits")
def test_a_commit_of_another_program_before_rows_are_added_is_told(
    view: View, tables: ViewFormat, spark: SparkSession
) -> None:
    first = view.publish(1, a=1, b=1)
    launch, written = view.append(2, first.snapshot, a=5)
    spark.sql(f"INSERT INTO {view.definition.view} VALUES (9, 'a')")
    replaced = tables.publish(launch, written)
    assert view.bag == [("a", 1), ("a", 5), ("a", 9), ("b", 1)]
    assert look(tables, view.definition.view, since=replaced.snapshot).looked == (A,)


@needs("replaces_files")
def test_only_the_files_that_hold_the_keys_of_a_run_are_replaced(
    view: View, tables: ViewFormat, spark: SparkSession, searched: None
) -> None:
    first = view.publish(1, a=1, b=2, c=3)
    before = files(spark, view)
    launch, written = view.rekey(2, first.snapshot, 2, "VALUES (2, 'a'), (2, 'd') AS t(x, p)")
    assert {each.slice: each.rows for each in written.made} == {A: 2, C: 1, D: 1} and written.removed == (B,)
    for _ in range(2):
        replaced = tables.publish(launch, written)
        assert view.bag == [("a", 1), ("a", 2), ("c", 3), ("d", 2)]
    assert (
        len(before & files(spark, view)) == 2 and not look(tables, view.definition.view, since=replaced.snapshot).looked
    )
    added = {each.slice: each for each in view.written(view.launch(3, "a"), a=2).made}[A]
    [made] = [each for each in written.made if each.slice == A]
    assert int(made.content, 16) == (int(view.records[A].content, 16) + int(added.content, 16)) % (1 << 128)


@needs("replaces_files")
def test_rows_that_come_out_as_before_in_the_files_of_their_keys_are_unchanged(
    view: View, tables: ViewFormat, searched: None
) -> None:
    first = view.publish(1, a=1, b=2, c=3)
    launch, written = view.rekey(2, first.snapshot, 2, "VALUES (2, 'b') AS t(x, p)")
    assert tables.publish(launch, written).unchanged == {A, B, C}


DELETE, UPDATE = "DELETE FROM {view} WHERE p = 'b'", "UPDATE {view} SET x = 9 WHERE p = 'b'"


@needs("replaces_files")
@pytest.mark.parametrize("statement", [DELETE, pytest.param(UPDATE, marks=pytest.mark.thorough)])
def test_a_file_with_keys_that_another_program_removed_is_not_replaced(
    view: View, tables: ViewFormat, spark: SparkSession, searched: None, statement: str
) -> None:
    first = view.publish(1, a=1, b=2, c=3)
    launch, written = view.rekey(2, first.snapshot, 2, "VALUES (2, 'b'), (2, 'b') AS t(x, p)")
    spark.sql(statement.format(view=view.definition.view))
    there = view.bag
    with pytest.raises(FilesReplaced, match="it is tried again"):
        tables.publish(launch, written)
    assert view.bag == there


@needs("replaces_files")
def test_a_run_whose_files_a_compaction_replaced_goes_on_from_its_files(
    view: View, tables: ViewFormat, spark: SparkSession, format: Format, searched: None
) -> None:
    first = view.publish(1, a=1, b=2, c=3)
    launch, written = view.rekey(2, first.snapshot, 2, "VALUES (2, 'b'), (2, 'b') AS t(x, p)")
    there = view.bag
    if format.name == "delta":
        assert tables.compact(view.definition, Compaction(1 << 20, 4 << 20, 3)) == PutTogether(3, 3)
    else:
        name = view.definition.view.partition(".")[2]
        spark.sql(f"CALL lake.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))")
    with pytest.raises(FilesReplaced, match="it is tried again"):
        tables.publish(launch, written)
    assert view.bag == there and not look(tables, view.definition.view, since=first.snapshot).looked
    launch, written = view.rekey(3, first.snapshot, 2, "VALUES (2, 'b'), (2, 'b') AS t(x, p)")
    tables.publish(launch, written)
    assert view.bag == sorted([*there, ("b", 2)])


@only("iceberg")
def test_a_view_that_was_put_back_behind_a_publication_has_changed(
    view: View, tables: ViewFormat, spark: SparkSession
) -> None:
    """Also to the snapshot since which another program wrote."""
    first = view.publish(1, a=1, b=1)
    spark.sql(f"INSERT INTO {view.definition.view} VALUES (9, 'b')")
    second = view.publish(2, first.snapshot, a=2)
    [[before]] = spark.sql(f"SELECT min_by(snapshot_id, committed_at) FROM {view.definition.view}.snapshots").collect()
    table = view.definition.view.partition(".")[2]
    spark.sql(f"CALL lake.system.rollback_to_snapshot('{table}', {before})")
    assert A in look(tables, view.definition.view, since=second.snapshot).looked


@needs("tells_changes")
def test_a_look_tells_whether_rows_went(tables: ViewFormat, table: str, spark: SparkSession) -> None:
    def went(statement: str) -> bool:
        before = look(tables, table)
        spark.sql(statement)
        return look(tables, table, since=before.snapshot).went > 0

    assert not went("INSERT INTO t VALUES (3, 'a'), (4, 'c')")
    assert went("UPDATE t SET x = 4 WHERE x = 3") and went("DELETE FROM t WHERE p = 'c'")
    assert not went("INSERT INTO t VALUES (3, 'a')") and went("INSERT OVERWRITE t VALUES (5, 'a')")


@needs("commits")
def test_a_write_past_headwater_is_told_apart_from_a_publication(
    view: View, tables: ViewFormat, spark: SparkSession
) -> None:
    published = view.publish(1, a=1, b=1)
    assert look(tables, view.definition.view, since=published.snapshot).looked == ()
    spark.sql(f"INSERT INTO {view.definition.view} VALUES (9, 'b')")
    assert look(tables, view.definition.view, since=published.snapshot).looked == (B,)
