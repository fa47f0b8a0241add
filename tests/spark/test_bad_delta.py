"""Delta tables of a protocol that nobody here knows, and such whose log is away: their views wait, others go on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import Journal, assert_equals_query, database, drain

from headwater.model.event import Changed, Dropped, Renamed

pytestmark = pytest.mark.long

FEATURE = "featureOfTomorrow"


class Shop:
    """Two Delta tables, ``t`` and ``u``, each with a view of files over it, and a Delta view of ``u``."""

    QUERIES = {
        "of_t": "SELECT sum(id) AS s FROM t",
        "of_u": "SELECT sum(id) AS s FROM u",
        "in_delta": "SELECT count(*) AS n FROM u",
    }

    def __init__(self, spark: SparkSession, warehouse: Path) -> None:
        self.spark, self._places = spark, warehouse / f"{database(spark)}.db"
        for table in ("t", "u"):
            spark.sql(f"CREATE TABLE {table} (id INT) USING delta")
            spark.sql(f"INSERT INTO {table} VALUES (1)")
        for view, query in self.QUERIES.items():
            using = "USING delta" if view == "in_delta" else ""
            spark.sql(f"CREATE MATERIALIZED VIEW {view} {using} AS {query}")

    def place(self, table: str) -> Path:
        return self._places / table

    def commit(self, table: str, *actions: dict) -> None:
        """A commit of another program."""
        log = self.place(table) / "_delta_log"
        number = max(int(each.stem) for each in log.glob("*.json")) + 1
        told = {"commitInfo": {"timestamp": 1, "operation": "another program's"}}
        (log / f"{number:020}.json").write_text("\n".join(map(json.dumps, (told, *actions))))

    def require(self, table: str, reader: Iterable[str]) -> None:
        """Gives a table a feature that its writers must know; its readers too, if it is among theirs."""
        protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [FEATURE]}
        if reader:
            protocol |= {"minReaderVersion": 3, "readerFeatures": list(reader)}
        self.commit(table, {"protocol": protocol})

    def refresh(self) -> dict[str, tuple[str, str]]:
        """Refreshes what can be refreshed; the state and the reason of each view."""
        with suppress(PySparkException):  # of those that cannot
            drain(self.spark)
        rows = self.spark.sql(f"SHOW MATERIALIZED VIEWS IN {database(self.spark)}").collect()
        return {row["view"]: (row["state"], row["reason"]) for row in rows}

    def assert_fresh(self) -> None:
        assert {state for state, _ in self.refresh().values()} == {"fresh"}
        for view, query in self.QUERIES.items():
            assert_equals_query(self.spark, view, query)


@pytest.fixture
def shop(spark: SparkSession, warehouse: Path, journal: Journal) -> Shop:
    shop = Shop(spark, warehouse)
    journal.mark()
    return shop


def test_a_feature_that_readers_must_know(shop: Shop, journal: Journal) -> None:
    shop.require("t", [FEATURE])
    shop.spark.sql("INSERT INTO u VALUES (2)")
    found = shop.refresh()
    assert [found[each][0] for each in ("of_t", "of_u", "in_delta")] == ["unreadable", "fresh", "fresh"]
    assert f"{database(shop.spark)}.t cannot be read" in found["of_t"][1] and FEATURE in found["of_t"][1]
    assert shop.spark.table("of_t").first()[0] == 1, "its rows stay"
    with pytest.raises(PySparkException, match=f"of_t cannot be refreshed now: .*{FEATURE}"):
        shop.spark.sql("REFRESH MATERIALIZED VIEW of_t FULL")
    assert not [each for each in journal.events() if isinstance(each, Changed | Dropped) and "u" not in each.table]
    shutil.rmtree(shop.place("t"))
    shop.spark.sql("DROP TABLE t")
    shop.spark.sql("CREATE TABLE t USING delta AS SELECT 7 AS id")
    shop.assert_fresh()


def test_a_feature_that_writers_alone_must_know(shop: Shop) -> None:
    """Rows that come by a program that knows it are found by their partition."""
    shop.require("t", [])
    place = shop.place("t")
    [file] = place.glob("*.parquet")
    shutil.copy(file, place / "copy.parquet")
    added = {"path": "copy.parquet", "partitionValues": {}, "size": file.stat().st_size, "modificationTime": 1}
    shop.commit("t", {"add": {**added, "dataChange": True}})
    shop.assert_fresh()
    assert shop.spark.table("of_t").first()[0] == 2
    with pytest.raises(Py4JJavaError, match=FEATURE):
        shop.spark.sql("INSERT INTO t VALUES (1)")


@pytest.mark.parametrize("reader", [[FEATURE], []], ids=["of readers", "of writers"])
def test_a_view_of_which_a_program_changed_the_protocol(shop: Shop, journal: Journal, reader: list[str]) -> None:
    """It says so, and is made anew. Its own engine can write it no more."""
    shop.require("in_delta", reader)
    shop.spark.sql("INSERT INTO u VALUES (2)")
    found = shop.refresh()
    assert found["of_u"][0] == "fresh" and found["in_delta"][0] != "fresh"
    assert FEATURE in found["in_delta"][1], found
    assert not [each for each in journal.events() if isinstance(each, Dropped | Renamed)]
    if reader:
        with pytest.raises(PySparkException, match=f"in_delta cannot be dropped now: .*{FEATURE}.*; drop it when"):
            shop.spark.sql("DROP MATERIALIZED VIEW in_delta")
        assert shop.refresh().keys() == shop.QUERIES.keys()
        shop.spark.sql("DROP TABLE in_delta")
        assert "in_delta" not in shop.refresh()
    else:
        shop.spark.sql("DROP MATERIALIZED VIEW in_delta")
    shop.spark.sql(f"CREATE MATERIALIZED VIEW in_delta USING delta AS {shop.QUERIES['in_delta']}")
    shop.assert_fresh()


def test_a_directory_that_is_away_for_a_while(shop: Shop, journal: Journal, tmp_path: Path) -> None:
    """Of a source and of a view: nobody takes them for dropped."""
    places = {table: shop.place(table) for table in ("t", "in_delta")}
    for table, place in places.items():
        shutil.move(place, tmp_path / table)
    shop.spark.sql("INSERT INTO u VALUES (2)")
    found = shop.refresh()
    assert [found[each][0] for each in ("of_t", "of_u", "in_delta")] == ["unreadable", "fresh", "unreadable"]
    assert "has no log of Delta; put it back" in found["of_t"][1]
    assert "has no log of Delta; put it back" in found["in_delta"][1]
    assert not [each for each in journal.events() if isinstance(each, Dropped | Renamed)]
    for table, place in places.items():
        shutil.rmtree(place, ignore_errors=True)
        shutil.move(tmp_path / table, place)
    shop.spark.sql("INSERT INTO t VALUES (5)")
    shop.assert_fresh()
