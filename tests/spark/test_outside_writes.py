"""Writes that Headwater is not told of, and writes while a refresh reads: all are found, and the views converge."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from processes import SALES, SLOW, SPIN, Home, Session, until

from headwater.model.event import Changed, Started
from headwater.model.partition import Slice

pytestmark = pytest.mark.thorough

MARCH = Slice.of({"month": "2024-03"})


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Home:
    """``sales`` and its views, made by one program and then written to by one without Headwater."""
    home = Home(tmp_path_factory.mktemp("outside"))
    with home.session() as session:
        for statement in (*SALES, SLOW):
            session.run(statement)
    with home.session(plain=True) as session:
        session.run("INSERT INTO sales VALUES (3, 70, 1, '2024-03')")
    assert not changes(home)
    return home


@pytest.fixture(scope="module")
def started(home: Home) -> Iterator[tuple[Session, list[Changed]]]:
    """A program that looks at everything every two seconds, and what it found of the other program's row."""
    with home.session({"spark.headwater.check.interval": "2"}) as session:
        until(lambda: total(session) == amounts(home, session), "the other program's row")
        yield session, changes(home)


@pytest.fixture(scope="module")
def session(started: tuple[Session, list[Changed]]) -> Session:
    return started[0]


def changes(home: Home) -> list[Changed]:
    """What was recorded of ``sales``, without the first look at it."""
    return [
        each
        for each in home.events()
        if isinstance(each, Changed) and each.table == "default.sales" and not each.baseline
    ]


def touched(event: Changed) -> set[str]:
    return {str(each.slice) for each in event.partitions}


def total(session: Session) -> int:
    return int(session.one("SELECT total FROM everything"))


def amounts(home: Home, session: Session, partition: str = "") -> int:
    """What ``everything`` shows when it is fresh, or ``monthly`` of a partition. A path has no listing in a cache."""
    return int(session.one(f"SELECT sum(amount) FROM parquet.`{home.warehouse}/sales/{partition}`"))


@contextmanager
def copied(home: Home, session: Session, name: str) -> Iterator[int]:
    """What a program without Spark does: one more file in the directory of March, whose sum this returns. The file
    goes with the block, and the views then lack it."""
    [source, *_] = sorted((home.warehouse / "sales" / "month=2024-03").glob("part-*.parquet"))
    more = int(session.one(f"SELECT sum(amount) FROM parquet.`{source}`"))
    copy = shutil.copy(source, source.with_name(f"{name}.parquet"))
    try:
        yield more
    finally:
        copy.unlink(missing_ok=True)
        session.run("REFRESH MATERIALIZED VIEWS")


def test_a_write_by_another_program_is_found_at_the_start(started: tuple[Session, list[Changed]]) -> None:
    _, [found] = started
    assert touched(found) == {"month=2024-03"}


def test_a_file_copied_by_hand_is_found_by_a_drain(home: Home, session: Session) -> None:
    session.run("REFRESH MATERIALIZED VIEWS")
    whole, before = total(session), len(changes(home))
    with copied(home, session, "by-hand") as more:
        session.run("REFRESH MATERIALIZED VIEWS")
        assert total(session) == whole + more
        found = changes(home)[before:]
        assert [touched(each) for each in found] == [{"month=2024-03"}]


def test_a_file_copied_by_hand_is_found_by_the_periodic_check(home: Home, session: Session) -> None:
    """The same finds a write whose announcement was lost."""
    session.run("REFRESH MATERIALIZED VIEWS")
    whole = total(session)
    with copied(home, session, "by-hand-again") as more:
        until(lambda: total(session) == whole + more, "the copied row", 30)


def test_a_removed_file_is_found_too(home: Home, session: Session) -> None:
    session.run("REFRESH MATERIALIZED VIEWS")
    whole = total(session)
    with copied(home, session, "to-be-removed") as more:
        session.run("REFRESH MATERIALIZED VIEWS")
        assert total(session) == whole + more
        (home.warehouse / "sales" / "month=2024-03" / "to-be-removed.parquet").unlink()
        until(lambda: total(session) == whole, "the removed rows", 30)
        march = session.one("SELECT total FROM monthly WHERE month = '2024-03'")
        assert int(march) == amounts(home, session, "month=2024-03")


@pytest.mark.long
def test_a_write_while_a_refresh_reads_leaves_a_request(home: Home, session: Session) -> None:
    session.run("REFRESH MATERIALIZED VIEWS")
    whole = total(session)
    session.run(f"INSERT INTO sales VALUES (5, 10, {3 * SPIN}, '2024-03')")
    until(lambda: "default.slow" in home.state().running, "refresh of slow")
    run = home.state().running["default.slow"]
    first = changes(home)[-1].version
    session.run("INSERT INTO sales VALUES (6, 10, 1, '2024-03')")
    until(lambda: changes(home)[-1].version > first, "record of the second write", 20)
    state = home.state()
    assert state.running["default.slow"].version == run.version, "the refresh still reads"
    assert dict(run.inputs)["default.sales"] == first, "what it reads is at most what was recorded when it began"
    assert state.views["default.slow"].pending, "a request remains"
    session.run("REFRESH MATERIALIZED VIEWS")
    assert session.one("SELECT newest FROM slow") == "6"
    assert total(session) == whole + 20
    runs = [each for each in home.events() if isinstance(each, Started) and each.view == "default.slow"]
    assert dict(runs[-1].inputs)["default.sales"] > first


def test_a_write_into_a_view_past_headwater_is_repaired(home: Home, session: Session) -> None:
    session.run("REFRESH MATERIALIZED VIEWS")
    files = sorted((home.warehouse / "monthly").rglob("month=2024-01/*.parquet"))
    shutil.copy(files[-1], files[-1].with_name("by-hand.parquet"))
    session.run("REFRESH MATERIALIZED VIEWS")
    assert session.run("SELECT total FROM monthly WHERE month = '2024-01'") == [["10"]]
    reasons = [row for row in session.run("SHOW REFRESHES FOR monthly LIMIT 1") if "past Headwater" in "\t".join(row)]
    assert reasons


ONCE = "SELECT /*+ COALESCE(1) */"
OLD = "FROM sales WHERE month < '2024-03'"


@pytest.mark.parametrize(
    ("case", "partitioned", "query"),
    [
        pytest.param("keys", "", f"{ONCE} id, max(amount) AS most {OLD} GROUP BY id"),
        pytest.param(
            "partition",
            "PARTITIONED BY (day)",
            f"{ONCE} id, amount + 0 * max(spin) OVER () AS most, 'd' AS day {OLD}",
            marks=pytest.mark.long,
        ),
        pytest.param("whole", "", f"{ONCE} id, amount + 0 * max(spin) OVER () AS most {OLD}", marks=pytest.mark.long),
    ],
)
def test_a_sample_finds_rows_that_are_not_of_the_query(
    home: Home, session: Session, case: str, partitioned: str, query: str
) -> None:
    """The rows came past every table, and look as if nothing had happened: the same name, size and time."""
    checked, forged = f"checked_{case}", f"forged_{case}"
    session.run(
        f"CREATE MATERIALIZED VIEW {checked} {partitioned} TBLPROPERTIES ('headwater.verify' = '1 second') AS {query}"
    )
    session.run(f"CREATE MATERIALIZED VIEW {forged} {partitioned} AS {query.replace(' id,', ' 3 - id AS id,', 1)}")
    own, other = (next((home.warehouse / each).rglob("part-*.parquet")) for each in (checked, forged))
    before = own.stat()
    assert other.stat().st_size == before.st_size
    for name in (other.name, f".{other.name}.crc"):
        shutil.copyfile(other.with_name(name), own.with_name(name.replace(other.name, own.name)))
    os.utime(own, ns=(before.st_atime_ns, before.st_mtime_ns))
    until(lambda: "differed from its query" in str(session.run(f"SHOW REFRESHES FOR {checked}")), "the comparison")
    until(lambda: session.one(f"SELECT most FROM {checked} WHERE id = 1") == "10", "the repair")
