"""Totals in buckets: after random changes they are those of the query, in however many buckets they lie."""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession

from headwater.model.error import ChangesUnknown
from headwater.model.seen import ChangedRows
from headwater.model.work import LeftTotals, Totals
from headwater.spark.jvm.facts import Pin
from headwater.spark.jvm.query_totals import ChangedGroups, QueryTotals
from headwater.spark.jvm.shim import Shim
from headwater.spark.jvm.wire import encode
from headwater.spark.refreshing.changed_rows import PINS
from headwater.spark.refreshing.methods import buckets
from headwater.spark.refreshing.methods.buckets import Manifest, TotalsDirectory
from headwater.spark.refreshing.methods.extremes import looked_up

COLUMNS = "i INT, s STRING, b BINARY, d DATE, n DECIMAL(30, 2), x BIGINT"
GROUPED = (
    "SELECT {keys}, count(*) AS c, sum(x) AS total, count(x) AS k, avg(CAST(x AS INT)) AS a, every(x > 0) AS e, "
    "some(x > 0) AS o, count_if(x > 0) FILTER (WHERE i > 5) AS f, bit_xor(x) AS t FROM {table} GROUP BY {keys}"
)
EXTREMES = (
    "SELECT {keys}, min(i) AS l, max(i) FILTER (WHERE x > 0) AS f, max(n) AS m, min(b) AS p, max(s) AS q, "
    "count(x) AS k, sum(x) AS t FROM {table} GROUP BY {keys}"
)
ONCE = (
    "count(DISTINCT x) AS v, sum(DISTINCT CAST(x AS INT)) FILTER (WHERE i > 5) AS f, count(DISTINCT d, x) AS p, "
    "count(DISTINCT x * IF(i > 5, 0.0D, -0.0D)) AS z, count(DISTINCT 3) AS o, sum(n) AS total, "
    "avg(DISTINCT CAST(x AS INT)) AS a, count(d) AS k, every(x > 0) AS e, bit_xor(x) AS t, bit_xor(DISTINCT x) AS u, "
    "avg(i) AS m FROM {table}"
)
QUERIES = {
    **{each: GROUPED.replace("{keys}", each) for each in ("i", "s, b", "d, i, n", "s")},
    "no key": "SELECT count(*) AS c, sum(x) AS s FROM {table}",
    "values": f"SELECT s, {ONCE} GROUP BY s",
    "values of all rows": f"SELECT {ONCE}",
    "pairs": "SELECT i, s, count(DISTINCT b, x) AS p, max(DISTINCT s) AS m FROM {table} GROUP BY i, s HAVING p <> 1",
    "sets": "SELECT i, s FROM {table} EXCEPT (SELECT * FROM VALUES (1, 'a'), (NULL, NULL), (3, 'a'), (3, 'b') "
    "INTERSECT (SELECT 3, 'a' UNION SELECT NULL, NULL))",
    "other side": "SELECT i AS j, i AS k FROM VALUES (-1), (1), (2), (NULL) AS v(i) EXCEPT SELECT i, x FROM {table}",
    **{each: EXTREMES.replace("{keys}", each) for each in ("s, d", "i % 3, b IS NULL", "upper(s)")},
    "extremes of values": "SELECT s, count(DISTINCT d) AS v, min(i) AS l, max(n) AS m FROM {table} GROUP BY s",
    "extremes of pairs": "SELECT a.s, min(a.i) AS l, max(b.n) AS m, count(*) AS c "
    "FROM {table} a JOIN VALUES ('a', 1BD), ('A', 2BD), ('', 3BD) AS b(s, n) ON a.s = b.s GROUP BY a.s",
    "unions": "SELECT i FROM {table} UNION SELECT 100 UNION SELECT 7",
}
DAILY = ("s, b", "no key", "values")
LOSING = ("s, d", "i % 3, b IS NULL", "upper(s)", "extremes of values", "extremes of pairs")
"""Of these, the least or greatest value of a group goes."""
Row = tuple[Any, ...]


class World:
    """A table, the totals of a query, and the rows that come and go."""

    def __init__(self, session: SparkSession, query: str, place: Path, seed: int) -> None:
        self.session, self.shim, self.query, self.place = session, Shim(session), query, str(place)
        self.random, self.rows, self.version = random.Random(seed), Counter[Row](), 1
        self.looked_up, self.near = 0, 0
        directory = self.directory()
        manifest = directory.write(self.of_all())
        directory.keep(manifest, None)
        self.known = Totals(1, (), LeftTotals(manifest.digest))

    def of_all(self) -> DataFrame:
        return self.totals_of_all().rows()

    def totals_of_all(self) -> QueryTotals:
        self.frame([*self.rows.elements()]).createOrReplaceTempView("all_rows")
        return self.shim.totals(self.session.sql(self.query.format(table="all_rows")))

    def frame(self, rows: list[Row]) -> DataFrame:
        return self.session.createDataFrame(rows, COLUMNS)

    def directory(self) -> TotalsDirectory:
        totals = self.shim.totals(self.session.sql(self.query.format(table="changing")))
        return TotalsDirectory(self.shim, self.session, totals, self.place, self.version)

    def drawn(self) -> Row:
        r = self.random
        return (
            r.choice([None, 0, -1, *range(40)]),
            r.choice([None, "", "a", "ü", "A"]),
            r.choice([None, b"", b"\x00", b"\xff\xfe"]),
            r.choice([None, date(1, 1, 1), date(2024, 2, 29)]),
            r.choice([None, Decimal("0.00"), Decimal("9" * 28 + ".99")]),
            r.choice([None, 1, -5]),
        )

    def change(self) -> tuple[list[Row], list[Row]]:
        """Rows that come and rows that go; sometimes whole groups, or all rows."""
        r = self.random
        there = [*self.rows.elements()]
        went = there if r.random() < 0.1 else r.sample(there, min(len(there), r.choice([0, 1, 3])))
        if there and r.random() < 0.3:
            gone = r.choice(there)[:2]
            went = [each for each in there if each[:2] == gone]
        return [self.drawn() for _ in range(r.choice([0, 1, 1, 4, 30]))], went

    def changed(self, came: list[Row], went: list[Row]) -> list[DataFrame]:
        """The totals of changed rows."""
        if not came and not went:
            return []
        added, removed = (self.frame(each) if each else None for each in (came, went))
        self.shim.stand_in("changing", ChangedRows(added, removed), now=Pin(""), before=Pin(""))
        name = f"{self.session.catalog.currentDatabase()}.changing"
        self.session.conf.set(PINS, encode({name: Pin("", rows="changing")}))
        try:
            return self.shim.totals(self.session.sql(self.query.format(table="changing"))).terms()
        finally:
            self.session.conf.unset(PINS)
            self.shim.stand_out("changing")

    def follow(self, few: bool) -> Manifest:
        """A run by changes, as its recipe does it."""
        self.version += 1
        came, went = self.change()
        changed, directory = self.changed(came, went), self.directory()
        totals = directory._totals
        before = directory.recorded(self.known)
        groups = totals.collected(changed, 10_000) if changed else None
        touched = groups.buckets(len(before.buckets)) if groups else []

        self.rows = self.rows + Counter(came) - Counter(went)

        def anew(keys: JavaObject) -> DataFrame:
            self.looked_up += 1
            return self.totals_of_all().within(keys)

        def added() -> DataFrame:
            assert groups is not None
            known = directory.read(before, touched)
            if not groups.may_lose:
                return totals.changed(known, [groups.totals] if few else changed, few)
            known, come = looked_up(self.shim, totals, known, groups, few, anew)
            return totals.changed(known, [come], few)

        manifest, near = directory.write_some(self.known.version, before, added, touched, few)
        if near is not None:
            self.near += 1
            kept = touched if len(manifest.buckets) == len(before.buckets) else None
            assert bag(near) == bag(directory.read(manifest, kept)), "what is written is what is in the driver"
        directory.keep(manifest, self.known)
        self.known = Totals(self.version, (), LeftTotals(manifest.digest))
        return manifest

    def found(self, manifest: Manifest) -> Counter[Row]:
        return bag(self.directory().read(manifest))

    def shown(self, manifest: Manifest) -> Counter[Row]:
        """The rows of the query by its totals."""
        directory = self.directory()
        return bag(directory._totals.finished(directory.read(manifest)))

    def expected(self) -> Counter[Row]:
        """The rows of the query."""
        self.frame([*self.rows.elements()]).createOrReplaceTempView("all_rows")
        return bag(self.session.sql(self.query.format(table="all_rows")))


def bag(rows: DataFrame) -> Counter[Row]:
    """Rows of a query, or totals: of no values, their sum is NULL or 0, and no query reads it."""
    sums = [name for name in rows.columns if re.fullmatch(r"(sum|xor)\d+", name)]
    read = {name: f"IF(`count{name[3:]}` = 0, NULL, `{name}`) AS `{name}`" for name in sums}
    told = rows.selectExpr(*(read.get(name, f"`{name}`") for name in rows.columns)).collect()
    return Counter(tuple(bytes(v) if isinstance(v, bytearray) else v for v in row) for row in told)


@pytest.fixture
def session(plain_spark: SparkSession) -> Iterator[SparkSession]:
    session = plain_spark.newSession()
    session.conf.set("spark.headwater.internal", "true")
    session.sql("CREATE DATABASE totalling")
    session.sql("USE totalling")
    session.sql(f"CREATE TABLE changing ({COLUMNS}) USING delta")
    yield session
    session.sql("DROP DATABASE spark_catalog.totalling CASCADE")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in DAILY else pytest.mark.thorough) for n in QUERIES])
def test_totals_follow_random_changes(
    session: SparkSession, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets, "count", lambda size: 7)
    world = World(session, QUERIES[name], tmp_path / "of totals", [*QUERIES].index(name))
    for n in range(7):
        monkeypatch.setattr(buckets, "NEAR", n % 2 << 20)
        manifest = world.follow(few=n % 3 != 0)
        assert len(manifest.buckets) == 7
        assert world.found(manifest) == bag(world.of_all())
        assert world.shown(manifest) == world.expected()
    assert (world.looked_up > 0) == (name in LOSING)
    assert world.near


def test_a_bucket_has_all_equal_keys_and_the_driver_finds_the_same_one(session: SparkSession) -> None:
    """Also of types that no totals have now."""
    values = {
        "DOUBLE": "0.0D, -0.0D, CAST('NaN' AS DOUBLE), sqrt(-1.0D), CAST(NULL AS DOUBLE), 1.5D",
        "FLOAT": "CAST(0.0 AS FLOAT), CAST(-0.0D AS FLOAT), CAST('NaN' AS FLOAT), CAST(NULL AS FLOAT)",
        "STRING COLLATE UTF8_LCASE": "'a' COLLATE UTF8_LCASE, 'A' COLLATE UTF8_LCASE, 'ß' COLLATE UTF8_LCASE",
        "BINARY": "X'', X'00', CAST(NULL AS BINARY)",
        "TIMESTAMP": "TIMESTAMP'2024-10-27 00:30:00Z', TIMESTAMP'1500-01-01 00:00:00Z', CAST(NULL AS TIMESTAMP)",
    }
    for type, listed in values.items():
        rows = session.sql(f"SELECT explode(array({listed})) AS v, 1 AS x")
        rows.createOrReplaceTempView("typed")
        totals = Shim(session).totals(session.sql("SELECT v, count(*) AS n FROM typed GROUP BY v"))
        each = rows.selectExpr("v AS key0", "1L AS rows", "1L AS count0", "2 AS `headwater weight`")
        each.createOrReplaceTempView("each")
        of_rows = {str(row[0]): row.bucket for row in totals.bucketed(each, 7).collect()}
        of_groups = totals.bucketed(totals.rows(), 7).collect()
        assert {row.bucket for row in of_groups} == set(of_rows.values()), type
        found = totals.collected([each], 100)
        assert isinstance(found, ChangedGroups) and found.buckets(7) == sorted(set(of_rows.values())), type
        assert totals.collected([each], 1) is None, "there are more"


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("SELECT n + 1 AS n, k, s FROM (SELECT s, k, count(*) AS n FROM t GROUP BY k, s) WHERE n > 1", [1, 2]),
        ("SELECT k, count(*) FROM t GROUP BY k HAVING count(*) > 1 ORDER BY k", [0]),
        ("SELECT /*+ REPARTITION(3) */ k, count(*) FROM t GROUP BY k", [0]),
        ("WITH c AS (SELECT k AS j, sum(x) AS s FROM t GROUP BY k) SELECT s, j AS k FROM c", [1]),
        ("SELECT DISTINCT s, k FROM t", [0, 1]),
        ("SELECT k % 2 AS k, count(*) FROM t GROUP BY k % 2", [0]),
        ("SELECT k, count(*) FROM t GROUP BY k, s", None),
        ("SELECT k + 1 AS k, count(*) FROM t GROUP BY k", None),
        ("SELECT k, s, count(*) FROM t GROUP BY ROLLUP (k, s)", None),
        ("SELECT count(*) FROM t", None),
        ("SELECT k, rank() OVER (ORDER BY n) FROM (SELECT k, count(*) AS n FROM t GROUP BY k)", None),
        ("SELECT k, sum(x) AS n FROM t GROUP BY k ORDER BY n DESC, k LIMIT 10", None),
        ("SELECT k, sum(x) FROM t GROUP BY k HAVING sum(x) > (SELECT avg(x) FROM t)", None),
        ("SELECT k, sum(x) + rand() FROM t GROUP BY k", None),
        ("SELECT k, sum(x) + (SELECT max(x) FROM t) FROM t GROUP BY k", None),
        ("SELECT n, count(*) FROM (SELECT k, count(*) AS n FROM t GROUP BY k) GROUP BY n", None),
        ("SELECT k, explode(array(1, 2)) FROM (SELECT k, sum(x) FROM t GROUP BY k)", None),
    ],
)
def test_a_row_shows_the_keys_of_its_group_or_not(session: SparkSession, query: str, shown: list[int] | None) -> None:
    session.sql("CREATE OR REPLACE TEMPORARY VIEW t AS SELECT 1 AS k, 'a' AS s, 2L AS x")
    totals = Shim(session).totals(session.sql(query))
    assert totals.shown == shown
    if shown is not None:
        disordered = totals.finished(totals.rows(), disordered=True)
        assert bag(disordered) == bag(session.sql(query))
        assert "Sort" not in disordered._jdf.queryExecution().analyzed().toString()


def test_a_lost_or_cut_file_is_noticed_when_it_is_read(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets, "count", lambda size: 3)
    world = World(session, QUERIES["i"], tmp_path / "t", 5)
    manifest = world.follow(few=True)
    while not all(each.files for each in manifest.buckets):
        manifest = world.follow(few=True)
    kept = tmp_path / "kept"
    shutil.copytree(world.place, kept)
    for number in range(3):
        [path, *_] = manifest.files([number])
        for cut in (True, False):
            file = Path(world.place) / path
            if cut:
                file.write_bytes(file.read_bytes()[:-1])
            else:
                file.unlink()
            for touched in ([number], None):
                with pytest.raises(ChangesUnknown, match="not all there"):
                    world.directory().read(manifest, touched)
            world.directory().read(manifest, [n for n in range(3) if n != number])
            shutil.copyfile(kept / path, file)
    assert world.found(manifest) == bag(world.of_all())
