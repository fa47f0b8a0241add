"""Members of a group that an Iceberg REST catalog commits together: readers without Headwater see them agree."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import fetched
import pytest
from processes import Home, Session, until
from rest_catalog import RestCatalog
from support import EXTENSIONS

from headwater.demo.session import SparkSqlError
from headwater.model.event import EpochMade

pytestmark = pytest.mark.thorough

ICEBERG = {
    "spark.sql.extensions": EXTENSIONS[1],
    "spark.driver.extraClassPath": os.pathsep.join(map(str, fetched.iceberg())),
}
SLOW = "(SELECT sum(pmod(xxhash64(id), 7)) FROM range(0, 60000000, 1, 1)) >= 0"
GROUP, TOGETHER = "'headwater.group' = 'revenue'", "'headwater.group.commit' = 'together'"
BOTH = "SELECT (SELECT max(n) FROM rest.d.quick), (SELECT max(n) FROM rest.d.slow)"


class Place:
    """A REST catalog, and the programs that use it."""

    def __init__(self, folder: Path) -> None:
        self.rest, self.home = RestCatalog(folder / "rest"), Home(folder)
        self._lake = {
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.type": "hadoop",
            "spark.sql.catalog.lake.warehouse": str(folder / "lake"),
        }

    def session(self, settings: Mapping[str, str] | None = None) -> Session:
        """One with Headwater."""
        own = {"spark.sql.extensions": ",".join(EXTENSIONS[1:]), "spark.headwater.check.interval": "2"}
        return self.home.session({**ICEBERG, **self._lake, **self.rest.options("rest"), **own, **(settings or {})})

    def plain(self) -> Session:
        """One without it."""
        alone = self.home.folder / "plain"
        alone.mkdir(exist_ok=True)
        return Home(alone).session({**ICEBERG, **self.rest.options("rest")}, plain=True)

    def epochs(self) -> int:
        return sum(isinstance(each, EpochMade) for each in self.home.events())


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    place.rest.stop()


def shop(session: Session) -> None:
    """Two views that count the rows of ``s``, of which one is slow."""
    member = f"TBLPROPERTIES ({GROUP}, {TOGETHER}) AS SELECT count(*) AS n FROM s"
    for statement in (
        "CREATE NAMESPACE rest.d",
        "USE rest.d",
        "CREATE TABLE s (id INT) USING iceberg",
        "INSERT INTO s VALUES (0)",
        f"CREATE MATERIALIZED VIEW quick {member}",
        f"CREATE MATERIALIZED VIEW slow {member} WHERE {SLOW}",
        "REFRESH MATERIALIZED VIEW GROUP revenue",
    ):
        session.run(statement)


def both(session: Session) -> tuple[str, ...]:
    [row] = session.run(BOTH)
    return tuple(row)


def branches(session: Session, view: str) -> set[str]:
    return {name for [name] in session.run(f"SELECT name FROM rest.d.{view}.refs")}


def refusal(session: Session, statement: str) -> str:
    with pytest.raises(SparkSqlError) as refused:
        session.run(statement)
    return str(refused.value)


def test_readers_without_headwater_see_members_agree(place: Place) -> None:
    """A statement asks the catalog for each table by itself, so one may stand on both sides of a commit."""
    with place.session() as writer, place.plain() as reader:
        shop(writer)
        seen, across, made = [], 0, place.rest.count()
        for number in range(1, 9):
            writer.run(f"INSERT INTO rest.d.s VALUES ({number})")
            writer.run("REFRESH MATERIALIZED VIEW rest.d.quick")
            for _ in range(8):
                before = place.rest.count()
                quick, slow = both(reader)
                if place.rest.count() == before:
                    seen.append((int(quick), int(slow)))
                else:
                    across += 1
        writer.run("REFRESH MATERIALIZED VIEW GROUP revenue")
        assert both(reader) == ("9", "9")
    print(f"{len(seen)} reads, {across} across a commit, {place.rest.count() - made} commits")
    assert all(quick == slow for quick, slow in seen), seen
    assert seen == sorted(seen), "readers never go back"
    assert place.rest.count() - made >= 3


def test_a_commit_that_came_to_nothing_is_made_by_the_next_engine(place: Place) -> None:
    with pytest.raises(SparkSqlError, match="code -9"), place.session() as writer:
        shop(writer)
        made, epochs = place.rest.count(), place.epochs()
        place.rest.fail(10_000)
        writer.run("INSERT INTO s VALUES (1)")
        until(lambda: place.epochs() > epochs, "another epoch")
        assert both(writer) == ("1", "1")
        assert place.rest.count() == made
        writer.kill_driver()
    place.rest.fail(0)
    with place.session() as again:
        again.await_engine()
        until(lambda: place.rest.count() > made, "a commit")
        assert both(again) == ("2", "2")
        # The answer to this one is lost, and it is not made twice.
        made = place.rest.count()
        place.rest.lose(1)
        again.run("INSERT INTO rest.d.s VALUES (2)")
        until(lambda: both(again) == ("3", "3"), "the new rows")
        again.run("REFRESH MATERIALIZED VIEW GROUP revenue")
        assert place.rest.count() == made + 1


def test_what_another_program_writes_goes(place: Place) -> None:
    with place.session() as session:
        shop(session)
        with place.plain() as other:
            other.run("INSERT INTO rest.d.quick VALUES (100)")
            until(lambda: both(other) == ("1", "1"), "the rows of the view")
        assert "another program wrote rest.d.quick past Headwater; readers see epoch" in session.said
        session.run("INSERT INTO s VALUES (1)")
        session.run("REFRESH MATERIALIZED VIEW GROUP revenue")
        assert both(session) == ("2", "2")


def test_a_view_joins_and_leaves_such_a_group(place: Place) -> None:
    with place.session() as session:
        shop(session)
        session.run("INSERT INTO s VALUES (1)")
        session.run("REFRESH MATERIALIZED VIEW quick")
        session.run("ALTER MATERIALIZED VIEW quick UNSET TBLPROPERTIES ('headwater.group.commit')")
        assert session.one("SELECT n FROM quick") == "2", "its newest rows, at once"
        assert branches(session, "quick") == {"main"}
        session.run("INSERT INTO s VALUES (2)")
        session.run("REFRESH MATERIALIZED VIEW quick")
        assert session.one("SELECT n FROM quick") == "3"
        session.run(f"ALTER MATERIALIZED VIEW quick SET TBLPROPERTIES ({TOGETHER})")
        session.run("REFRESH MATERIALIZED VIEW GROUP revenue")
        session.run("INSERT INTO s VALUES (3)")
        session.run("REFRESH MATERIALIZED VIEW quick")
        until(lambda: branches(session, "quick") == {"main", "headwater"}, "a branch")
        session.run("REFRESH MATERIALIZED VIEW GROUP revenue")
        assert both(session) == ("4", "4")
        for view in ("quick", "slow"):
            assert session.run(f"VERIFY MATERIALIZED VIEW {view}")[0][1] == "equal"
        # Other columns are those of all branches, so readers get the rows with them at once.
        redefined = "SELECT count(*) AS n, max(id) AS newest FROM s"
        session.run(f"CREATE OR REPLACE MATERIALIZED VIEW quick TBLPROPERTIES ({GROUP}, {TOGETHER}) AS {redefined}")
        assert session.run("SELECT n, newest FROM quick") == [["4", "3"]]
        session.run("INSERT INTO s VALUES (4)")
        session.run("REFRESH MATERIALIZED VIEW GROUP revenue")
        assert both(session) == ("5", "5")
        session.run("DROP MATERIALIZED VIEW slow")
        session.run("INSERT INTO s VALUES (5)")
        session.run("REFRESH MATERIALIZED VIEW GROUP revenue")
        assert session.run("SELECT n, newest FROM quick") == [["6", "5"]]


def test_where_no_catalog_commits_together_the_word_is_refused(place: Place) -> None:
    twin = place.rest.options("twin")
    with place.session(twin) as session:
        shop(session)
        session.run("CREATE NAMESPACE lake.d")
        for view, properties, said in (
            ("lake.d.v USING iceberg", f"{GROUP}, {TOGETHER}", "the catalog of lake.d.v commits no tables"),
            ("lake.d.v USING iceberg", GROUP, "quick has 'headwater.group.commit' = 'together'"),
            ("spark_catalog.default.v", GROUP, "choose another group"),
            ("twin.d.v", f"{GROUP}, {TOGETHER}", "the catalogs rest and twin, which have no commit in common"),
            ("rest.d.v", TOGETHER, "set 'headwater.group', too"),
        ):
            error = refusal(session, f"CREATE MATERIALIZED VIEW {view} TBLPROPERTIES ({properties}) AS SELECT 1 AS n")
            assert said in error, error
        session.run("CREATE MATERIALIZED VIEW lake.d.v TBLPROPERTIES ('headwater.group' = 'other') AS SELECT 1 AS n")
        error = refusal(session, f"ALTER MATERIALIZED VIEW lake.d.v SET TBLPROPERTIES ({TOGETHER})")
        assert "leave the property out" in error
