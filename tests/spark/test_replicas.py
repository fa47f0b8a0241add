"""Two stores keep one replica: readers see no state of the source after a newer one, and the stores come to rest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from processes import Home, Session, until
from test_lake_recovery import settings

from benchmarks.parts import services

pytestmark = pytest.mark.long

TABLES = {"delta": ("s", "copy"), "iceberg": ("lake.db.s", "lake.mart.copy")}
"""The source and its copy, by their format."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Iterator[dict[str, str]]:
    """The settings of applications that have all catalogs in common, and no store."""
    folder = tmp_path_factory.mktemp("shared")
    with services.metastore(folder / "metastore") as uri:
        yield {
            **settings(folder),
            "spark.hadoop.hive.metastore.uris": uri,
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.headwater.check.interval": "1",
        }


def home(folder: Path, name: str) -> Home:
    (folder / name).mkdir()
    return Home(folder / name)


def are_fresh(homes: Sequence[Home], view: str) -> bool:
    """Whether no store has anything to do, and all know the newest publication."""
    states = [each.state() for each in homes]
    if any(view not in each.views or each.running or each.views[view].pending for each in states):
        return False
    return len({each.tables[view].snapshot.partition("<")[0] for each in states}) == 1


def states(session: Session, format: str, table: str) -> list[str]:
    """What begins the names of the snapshots of a source, in their order."""
    if format == "delta":
        return [f"{number}@" for number in range(100)]
    session.run(f"REFRESH TABLE {table}")
    return [f"{row[0]}." for row in session.run(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at")]


def told(session: Session, format: str, view: str) -> list[str]:
    """The snapshots of the source that the publications of a copy were made from, in their order."""
    if format == "iceberg":
        query = f"SELECT summary['headwater.sources'] FROM {view}.snapshots ORDER BY committed_at"
        texts = [row[0] for row in session.run(query)]
        return [next(iter(json.loads(text).values())) for text in texts if text != "NULL"]
    [[_, _, _, _, location, *_]] = session.run(f"DESCRIBE DETAIL {view}")
    commits = sorted((Path(location.removeprefix("file:")) / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for each in commits for line in each.read_text().splitlines()]
    texts = [each["commitInfo"].get("userMetadata") for each in actions if "commitInfo" in each]
    return [next(iter(json.loads(text)["headwater"]["sources"].values())) for text in texts if text]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("format", TABLES)
def test_two_stores_go_on_and_come_to_rest(shared: dict[str, str], tmp_path: Path, format: str) -> None:
    source, copy = TABLES[format]
    homes = [home(tmp_path, name) for name in ("one", "other")]
    stores = [{**shared, "spark.headwater.store": str(each.store_path)} for each in homes]
    with homes[0].session(stores[0]) as one:
        for each in ("lake.db", "lake.mart"):
            one.run(f"CREATE NAMESPACE IF NOT EXISTS {each}")
        one.run(f"CREATE TABLE {source} (id INT, part INT) USING {format} PARTITIONED BY (part)")
        one.run(f"INSERT INTO {source} SELECT CAST(id AS INT), CAST(id % 3 AS INT) FROM range(30)")
        one.run(
            f"CREATE MATERIALIZED VIEW {copy} USING {format} PARTITIONED BY (part) "
            f"TBLPROPERTIES ('headwater.replica' = 'on') AS SELECT * FROM {source}"
        )
        with homes[1].session(stores[1]) as other:
            other.run("SHOW MATERIALIZED VIEWS")
            view = {"delta": "default.copy", "iceberg": copy}[format]
            until(lambda: are_fresh(homes, view), "adoption")
            adopted = len(told(one, format, copy))
            for number in range(6):
                writer = (one, other)[number % 2]
                writer.run(f"INSERT INTO {source} VALUES ({100 + number}, {number % 4})")
                if number == 3:
                    writer.run(f"DELETE FROM {source} WHERE id = 7")
                if number % 3 == 2:
                    writer.run(f"REFRESH MATERIALIZED VIEW {copy}")
            rows = "SELECT id, part FROM {} ORDER BY id"
            # Not asked: Iceberg keeps a table that a session has read, and the other session wrote it.
            wanted = [[str(n), str(n % 3)] for n in range(30) if n != 7]
            wanted += [[str(100 + n), str(n % 4)] for n in range(6)]
            until(lambda: one.run(rows.format(copy)) == wanted, "the newest rows")
            until(lambda: are_fresh(homes, view), "both stores to be up to date")
            published, known = told(one, format, copy), states(one, format, source)
            order = [next(n for n, each in enumerate(known) if text.startswith(each)) for text in published]
            assert order == sorted(order), order
            assert len(published) - adopted <= 2 * 7, "the stores publish by turns"
            assert other.run(rows.format(copy)) == wanted
            other.run(f"INSERT INTO {source} VALUES (200, 5)")
            until(lambda: len(other.run(rows.format(copy))) == len(wanted) + 1, "another row")
            until(lambda: are_fresh(homes, view), "both stores to be up to date")
            assert len(told(one, format, copy)) <= len(published) + 2
