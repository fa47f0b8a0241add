"""Views that are Iceberg tables: a publication replaces exactly its region, by one commit, whatever others do."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from found import look
from java_calls import Java
from pyspark.sql import SparkSession
from support import database, drain

from headwater.model.command import Launch, Replaced, Written
from headwater.model.error import TakenOver
from headwater.model.event import Started
from headwater.model.partition import WHOLE, Slice
from headwater.model.reason import Code, Reason
from headwater.model.state import Run
from headwater.model.view import Column, Definition
from headwater.model.work import WholePartitions
from headwater.spark.jvm.counted import counts
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables import catalog
from headwater.spark.tables.iceberg import IcebergTables
from headwater.spark.tables.iceberg.publishing import Publishing
from headwater.spark.tables.iceberg.retention import UNNAMED, Retention

pytestmark = pytest.mark.long


class View:
    """A view whose runs write the rows of a query."""

    def __init__(self, session: SparkSession, tables: IcebergTables, definition: Definition) -> None:
        self.session, self.tables, self.definition = session, tables, definition
        if Shim(session).owner(definition.view) is None:
            catalog.create(Sessions(session).of_table(), Shim(session), definition)
        tables.require(definition)

    def launch(
        self, version: int, slices: Iterable[Slice] = (WHOLE,), snapshots: Mapping[str, str] | None = None
    ) -> Launch:
        pinned = tuple((snapshots or {}).items())
        began = Started(
            0,
            version,
            self.definition.view,
            (),
            (),
            WholePartitions(),
            Reason(Code.SOURCE_CHANGED, "because"),
            snapshots=pinned,
        )
        return Launch(Run(began, tuple(slices)), self.definition, {})

    def write(self, launch: Launch, query: str) -> Written:
        columns = self.definition.partitioned_by
        counted = self.tables.write(launch, self.session.sql(query), "", True)
        return self.tables.written(launch, "", counts(counted.sums(), columns))

    def publish(self, version: int, query: str, *slices: Slice, **snapshots: str) -> Replaced:
        launch = self.launch(version, slices or (WHOLE,), snapshots)
        return self.tables.publish(launch, self.write(launch, query))

    def rows(self, *columns: str) -> list[tuple]:
        frame = self.session.newSession().table(self.definition.view)
        return sorted((tuple(row) for row in frame.select(*columns or frame.columns).collect()), key=repr)


@pytest.fixture
def make(spark: SparkSession) -> Iterable[Callable[..., View]]:
    """Makes a view of these columns."""
    spark.sql(f"CREATE NAMESPACE lake.{database(spark)}")
    spark.conf.set("spark.headwater.internal", "true")
    place, tables = f"lake.{database(spark)}", IcebergTables(Shim(spark), Sessions(spark))

    def made(columns: Mapping[str, str], by: tuple[str, ...] = ("p",), name: str = "v", **properties: str) -> View:
        zone = {"spark.sql.session.timeZone": spark.conf.get("spark.sql.session.timeZone")}
        definition = Definition(
            f"{place}.{name}",
            "SELECT 1",
            tuple(Column(*each) for each in columns.items()),
            by,
            format="iceberg",
            fingerprint="f",
            owner="me",
            database="default",
            settings=zone,
            properties=properties,
        )
        return View(spark, tables, definition)

    return made


XP = {"x": "INT", "p": "STRING"}

# --- regions

VALUES = {
    "STRING": ["''", "NULL", "'a b/c=d%'", "'null'"],
    "INT": ["1", "-1", "NULL"],
    "BOOLEAN": ["true", "false", "NULL"],
    "DECIMAL(5, 2)": ["1.50", "-0.05"],
    "DATE": ["DATE '2024-02-29'", "DATE '1969-12-31'", "NULL"],
    "TIMESTAMP_NTZ": ["TIMESTAMP_NTZ '2024-02-29 00:00:00.5'"],
    "TIMESTAMP": [
        "TIMESTAMP '2024-10-27 00:30:00 UTC'",  # a clock in Berlin shows these two alike
        "TIMESTAMP '2024-10-27 01:30:00 UTC'",
        "TIMESTAMP '2024-01-01 00:00:00'",
    ],
}


@pytest.mark.parametrize("type", VALUES)
def test_a_region_is_its_partitions_whatever_values_they_have(
    spark: SparkSession, make: Callable[..., View], type: str
) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    view = make({"x": "INT", "p": type})
    rows = [f"SELECT {n} AS x, CAST({value} AS {type}) AS p" for n, value in enumerate(VALUES[type])]
    everything = " UNION ALL ".join(rows)
    launch = view.launch(1)
    written = view.write(launch, everything)
    view.tables.publish(launch, written)
    before = view.rows()
    assert before == sorted((tuple(row) for row in spark.sql(everything).collect()), key=repr)
    for version, made in enumerate(written.made, 2):
        text = "CAST(p AS STRING)"
        mine = (
            f"{text} IS NULL OR {text} = ''" if made.slice.value("p") is None else f"{text} = '{made.slice.value('p')}'"
        )
        view.publish(version, f"SELECT x + 10 AS x, p FROM ({everything}) WHERE {mine}", made.slice)
    assert view.rows() == sorted(((x + 10, p) for x, p in before), key=repr)


def test_a_view_without_partitions_is_replaced_as_a_whole(make: Callable[..., View]) -> None:
    view = make({"x": "INT"}, ())
    view.publish(1, "SELECT 1 AS x")
    view.publish(2, "SELECT 2 AS x")
    assert view.rows() == [(2,)]
    view.publish(3, "SELECT 3 AS x WHERE false")
    assert view.rows() == []


def test_a_region_may_bind_some_columns_only(make: Callable[..., View]) -> None:
    view = make({"x": "INT", "p": "STRING", "q": "INT"}, ("p", "q"))
    view.publish(1, "SELECT 1 AS x, p, q FROM VALUES ('a', 1), ('a', 2), ('b', 1), ('b', 2) AS t(p, q)")
    view.publish(2, "SELECT 2 AS x, 'a' AS p, 3 AS q", Slice.of(p="a"), Slice.of(p="b", q="1"))
    assert view.rows("p", "q") == [("a", 3), ("b", 2)]


# --- commits


def test_a_commit_says_its_version_and_the_snapshots_that_it_reflects(make: Callable[..., View]) -> None:
    view = make(XP)
    view.publish(7, "SELECT 1 AS x, 'a' AS p", **{"lake.db.s": "5.0.0", view.definition.view: "1.0.0"})
    [summary] = view.session.sql(f"SELECT summary FROM {view.definition.view}.snapshots").collect()
    told = {name: value for name, value in summary[0].items() if name.startswith("headwater.")}
    assert told.pop("headwater.sources") == json.dumps({"lake.db.s": "5.0.0"})
    assert told == {"headwater.version": "7", "headwater.owner": "me"}


class Late(Publishing):
    """Lets something happen when a commit is prepared, for as often as that is given."""

    happens: Iterable[Callable[[], object]] = ()

    def _replace(self, *arguments: object) -> None:
        super()._replace(*arguments)
        for each in self.happens:
            each()
            return


def late(view: View, *happens: Callable[[], object]) -> None:
    publishing: Any = view.tables._publishing
    publishing.__class__, publishing.happens = Late, iter(happens)


def test_a_commit_that_comes_between_is_kept(make: Callable[..., View]) -> None:
    view = make(XP)
    recorded = {view.definition.view: view.publish(1, "SELECT 1 AS x, 'a' AS p").snapshot}
    others = (f"INSERT INTO {view.definition.view} VALUES ({n}, 'b')" for n in (8, 9))
    late(view, *(lambda each=each: view.session.sql(each) for each in others))
    replaced = view.publish(2, "SELECT 2 AS x, 'a' AS p", Slice.of(p="a"), **recorded)
    assert view.rows() == [(2, "a"), (8, "b"), (9, "b")]
    seen = look(view.tables, view.definition.view, since=replaced.snapshot)
    assert seen.looked == (Slice.of(p="b"),), "the record learns of them by the next look"
    assert look(view.tables, view.definition.view, since=seen.snapshot).looked == ()


def test_a_newer_engine_that_comes_between_is_not_overtaken(make: Callable[..., View]) -> None:
    view = make(XP)
    launch, newer = view.launch(1), view.launch(2)
    written, other = view.write(launch, "SELECT 1 AS x, 'a' AS p"), view.write(newer, "SELECT 2 AS x, 'b' AS p")
    engine = IcebergTables(Shim(view.session), Sessions(view.session))
    late(view, lambda: engine.publish(newer, other))
    with pytest.raises(TakenOver, match="version 2"):
        view.tables.publish(launch, written)
    assert view.rows() == [(2, "b")]


def test_files_of_a_run_that_is_not_published_are_in_no_snapshot(make: Callable[..., View]) -> None:
    view = make(XP)
    view.write(view.launch(1), "SELECT 1 AS x, 'a' AS p")
    assert look(view.tables, view.definition.view).partitions == {}
    assert view.session._jvm.org.apache.iceberg.spark.SparkTableCache.get().size() == 0


@pytest.mark.parametrize("version", ["2", "3"])
def test_deletes_of_another_program_go_with_their_region(make: Callable[..., View], version: str) -> None:
    view = make(XP, **{"format-version": version, "write.delete.mode": "merge-on-read"})
    view.publish(1, "SELECT x, p FROM VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, 'b') AS t(x, p)")
    view.session.sql(f"DELETE FROM {view.definition.view} WHERE x IN (1, 3)")
    assert view.rows() == [(2, "a"), (4, "b")]
    view.publish(2, "SELECT x, p FROM VALUES (1, 'a'), (2, 'a') AS t(x, p)", Slice.of(p="a"))
    assert view.rows() == [(1, "a"), (2, "a"), (4, "b")]


# --- another shape


def test_columns_and_partitions_change_with_the_rows(make: Callable[..., View]) -> None:
    view = make(XP)
    view.publish(1, "SELECT 1 AS x, 'a' AS p")
    other = make({"p": "STRING", "y": "BIGINT", "q": "DATE"}, ("q",))
    launch = other.launch(2)
    written = other.write(launch, "SELECT 'a' AS p, 2L AS y, DATE '2024-01-01' AS q")
    assert view.rows() == [(1, "a")]
    replaced = other.tables.publish(launch, written)
    assert replaced.reshaped and other.rows("q", "y", "p") == [(date(2024, 1, 1), 2, "a")]
    assert set(look(view.tables, view.definition.view).partitions) == {Slice.of(q="2024-01-01")}
    assert not other.publish(3, "SELECT 'b' AS p, 3L AS y, DATE '2024-01-02' AS q", Slice.of(q="2024-01-02")).reshaped


def test_another_shape_gives_way_to_a_commit_that_comes_between(make: Callable[..., View]) -> None:
    view = make(XP)
    view.publish(1, "SELECT 1 AS x, 'a' AS p")
    other = make({"x": "BIGINT", "p": "STRING"})
    late(other, lambda: other.session.sql(f"INSERT INTO {other.definition.view} VALUES (9, 'b')"))
    assert other.publish(2, "SELECT 2L AS x, 'a' AS p").reshaped and other.rows() == [(2, "a")]


def test_a_column_that_somebody_added_costs_no_rows(make: Callable[..., View]) -> None:
    view = make(XP)
    view.publish(1, "SELECT 1 AS x, p FROM VALUES ('a'), ('b') AS t(p)")
    view.session.sql(f"ALTER TABLE {view.definition.view} ADD COLUMN more INT")
    assert not view.publish(2, "SELECT 2 AS x, 'a' AS p", Slice.of(p="a")).reshaped
    assert view.rows("x", "p") == [(1, "b"), (2, "a")]
    assert view.publish(3, "SELECT 3 AS x, 'a' AS p").reshaped and view.rows() == [(3, "a")]


# --- retention


def test_snapshots_and_files_go_when_their_time_is_over(make: Callable[..., View], warehouse: Path) -> None:
    view, times = make(XP, **{"headwater.retain": "1 second"}), [0.0]
    view.write(view.launch(1), "SELECT 0 AS x, 'c' AS p")
    view.publish(2, "SELECT 1 AS x, 'a' AS p")
    view.publish(3, "SELECT 2 AS x, 'a' AS p", Slice.of(p="a"))
    files = warehouse / "lake" / database(view.session) / "v" / "data"
    view.tables._retention = Retention(view.tables._calls, view.session, lambda: times[0])
    assert len(list(files.rglob("*.parquet"))) == 3
    times[0] = time.time() * 1000 + UNNAMED + 1_100
    assert view.tables.expire(view.definition, [])
    assert view.rows() == [(2, "a")] and len(list(files.rglob("*.parquet"))) == 1
    view.publish(4, "SELECT 3 AS x, 'a' AS p", Slice.of(p="a"))
    assert view.tables.expire(view.definition, []) and len(list(files.rglob("*.parquet"))) == 2


def test_a_replaced_snapshot_stays_for_its_time_however_old_it_is(make: Callable[..., View]) -> None:
    """Iceberg counts from the time when a snapshot was made."""
    view = make(XP, **{"headwater.retain": "3 seconds"})
    view.publish(1, "SELECT 1 AS x, 'a' AS p")
    view.publish(2, "SELECT 2 AS x, 'a' AS p", Slice.of(p="a"))

    def kept() -> list[float]:
        made = view.session.newSession().table(f"{view.definition.view}.snapshots").orderBy("committed_at").collect()
        return [each.committed_at.timestamp() * 1000 for each in made]

    def expire(now: float) -> None:
        view.tables._retention = Retention(view.tables._calls, view.session, lambda: now)
        assert view.tables.expire(view.definition, [])

    first, second = kept()
    expire(max(second - 1, first + 1) + 3_000)  # the first one is older than three seconds, and was there until then
    assert kept() == [first, second], "a view above is to follow what changed since"
    expire(second + 3_001)
    assert kept() == [second]


def test_a_clean_up_does_not_reach_a_table_below(make: Callable[..., View], warehouse: Path) -> None:
    """In a catalog of directories, a table ``d.v.t`` lies in the directory of ``d.v``."""
    view, times = make(XP), [time.time() * 1000 + UNNAMED + 60_000]
    view.publish(1, "SELECT 1 AS x, 'a' AS p")
    own = warehouse / "lake" / database(view.session) / "v" / "data"
    (own / "orphan.parquet").touch()
    view.tables._retention = Retention(view.tables._calls, view.session, lambda: times[0])
    view.session.sql(f"CREATE TABLE {view.definition.view}.t USING iceberg AS SELECT 5 AS n")
    assert view.tables.expire(view.definition, [])
    assert not (own / "orphan.parquet").exists()
    assert view.session.table(f"{view.definition.view}.t").first() == (5,)
    times[0] += 2 * UNNAMED
    view.session.sql(f"CREATE TABLE {view.definition.view}.data USING iceberg AS SELECT 6 AS n")
    assert view.tables.expire(view.definition, [])
    assert view.session.newSession().table(f"{view.definition.view}.data").first() == (6,)
    assert view.rows() == [(1, "a")]


@pytest.mark.parametrize("renamed", ["source", "view"])
def test_a_clean_up_deletes_no_file_of_a_table_in_the_same_directory(spark: SparkSession, renamed: str) -> None:
    """A Hive catalog renames a table and leaves its directory, and a new table of the old name gets that, too."""
    for name, value in {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hive"}.items():
        spark.conf.set(f"spark.sql.catalog.kept{name}", value)
    spark.conf.set("spark.sql.catalog.kept.hadoop.iceberg.engine.hive.lock-enabled", "false")
    old, new = (f"kept.{database(spark)}.{name}" for name in ("v", "v_raw"))
    spark.sql(f"CREATE TABLE {old} (x INT) USING iceberg")
    spark.sql(f"INSERT INTO {old} VALUES (1)")
    spark.sql(f"ALTER TABLE {old} RENAME TO {database(spark)}.v_raw")
    spark.sql(f"CREATE TABLE {old} (x INT) USING iceberg")
    spark.sql(f"INSERT INTO {old} VALUES (2)")
    calls = IcebergTables(Shim(spark), Sessions(spark))._calls
    own = old if renamed == "source" else new
    table = Java(spark)("iceberg.spark.Spark3Util.loadIcebergTable", spark._jsparkSession, own)
    definition = Definition(own, "", (), format="iceberg")
    Retention(calls, spark, lambda: time.time() * 1000 + 2 * UNNAMED).expire(definition, table)
    for name, rows in ((new, [1]), (old, [2])):
        spark.sql(f"REFRESH TABLE {name}")
        assert [row.x for row in spark.table(name).collect()] == rows


def test_totals_go_with_a_table_whose_catalog_leaves_its_directory(spark: SparkSession) -> None:
    """A Hive catalog deletes the files that a table names. What others put beside them stays."""
    for name, value in {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hive"}.items():
        spark.conf.set(f"spark.sql.catalog.kept{name}", value)
    spark.conf.set("spark.sql.catalog.kept.hadoop.iceberg.engine.hive.lock-enabled", "false")
    table = f"kept.{database(spark)}.v"
    spark.sql(f"CREATE TABLE {table} (Location STRING) USING iceberg")
    place = Path(Java(spark)("iceberg.spark.Spark3Util.loadIcebergTable", spark._jsparkSession, table).location()[5:])
    for name in ("v3", "v5"):
        (place / ".totals" / name).mkdir(parents=True)
        (place / ".totals" / name / "part.parquet").touch()
    (place / ".totals" / "other").touch()
    catalog.drop(spark, Shim(spark), table)
    assert [each.name for each in (place / ".totals").iterdir() if each.suffix != ".crc"] == ["other"]
    (place / ".totals" / "other").unlink()
    spark.sql(f"CREATE TABLE {table} (x INT) USING iceberg")
    (place / ".totals" / "v7").mkdir()
    catalog.drop(spark, Shim(spark), table)
    assert not (place / ".totals").exists()


@pytest.mark.parametrize("changed", ["INSERT INTO {t} VALUES ('', 5)", "DELETE FROM {t} WHERE p = ''"])
def test_an_empty_text_of_a_source_is_not_null(spark: SparkSession, changed: str) -> None:
    """A slice does not tell them apart, and the query does."""
    place = f"lake.{database(spark)}"
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {place}")
    spark.sql(f"CREATE TABLE {place}.t (p STRING, x INT) USING iceberg PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {place}.t VALUES ('a', 1), (NULL, 2), ('', 3)")
    for format, where in (("iceberg", f"{place}.v"), ("parquet", "w")):
        made = f"SELECT coalesce(p, 'none') AS k, sum(x) AS total FROM {place}.t GROUP BY 1"
        spark.sql(f"CREATE MATERIALIZED VIEW {where} USING {format} PARTITIONED BY (k) AS {made}")
    spark.sql(changed.format(t=f"{place}.t"))
    drain(spark)

    def shown(query: str) -> list[tuple[str, int]]:
        return sorted((key or "", total) for key, total in spark.sql(query).collect())

    expected = shown(f"SELECT coalesce(p, 'none'), sum(x) FROM {place}.t GROUP BY 1")
    for where in (f"{place}.v", "w"):
        assert shown(f"SELECT k, total FROM {where}") == expected, where
