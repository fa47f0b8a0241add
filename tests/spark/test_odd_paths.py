"""A warehouse whose path has a blank, a ``#`` and a ``%`` is like any other, and so are such partition values."""

from __future__ import annotations

from pathlib import Path

import pytest
from processes import Home, Session

VALUES = ("a b", "x#y", "p%20q", "é", "k=v", "s/t", "[u]", "{v,w}")

DECLARED = (
    "CREATE TABLE sales (amount INT, region STRING) USING parquet PARTITIONED BY (region)",
    f"INSERT INTO sales VALUES {', '.join(f'(1, {value!r})' for value in VALUES)}",
    "CREATE TABLE plain (amount INT) USING parquet",
    "INSERT INTO plain VALUES (1)",
    "CREATE MATERIALIZED VIEW by_region PARTITIONED BY (region) AS "
    "SELECT region, sum(amount) AS total FROM sales GROUP BY region",
    "CREATE MATERIALIZED VIEW everything AS SELECT sum(total) AS total FROM by_region",
    "CREATE MATERIALIZED VIEW copy AS SELECT amount FROM plain",
    "CREATE DATABASE other",
    "CREATE MATERIALIZED VIEW other.copy AS SELECT amount FROM plain",
)


def held(session: Session) -> tuple[set[tuple[str, ...]], str, str, str]:
    return (
        {tuple(row) for row in session.run("SELECT region, total FROM by_region")},
        session.one("SELECT total FROM everything"),
        session.one("SELECT sum(amount) FROM copy"),
        session.one("SELECT sum(amount) FROM other.copy"),
    )


def refreshed(session: Session, view: str) -> list[str]:
    """The partitions of a view that a drain refreshes."""
    return sorted(row[2] for row in session.run("REFRESH MATERIALIZED VIEWS") if row[1] == view)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_views_in_an_odd_path_are_as_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "a b#c%20d"
    folder.mkdir()
    home = Home(folder)
    views_are_filled_and_follow(home)
    everything_lies_in_the_warehouse(home)
    a_new_program_goes_on_and_what_it_drops_leaves_nothing(home)


def views_are_filled_and_follow(home: Home) -> None:
    with home.session() as session:
        for statement in DECLARED:
            session.run(statement)
        assert held(session) == ({(value, "1") for value in VALUES}, "8", "1", "1")
        for total in (2, 3):
            for value in VALUES:
                session.run(f"INSERT INTO sales PARTITION (region = {value!r}) VALUES (1)")
            session.run("INSERT INTO plain VALUES (1)")
            session.run("REFRESH MATERIALIZED VIEWS")
            assert held(session) == ({(value, str(total)) for value in VALUES}, str(8 * total), str(total), str(total))
        for value in ("a b", "p%20q", "s/t"):
            session.run(f"INSERT INTO sales PARTITION (region = {value!r}) VALUES (0)")
            assert refreshed(session, "default.by_region") == [f"region={value}"]


def everything_lies_in_the_warehouse(home: Home) -> None:
    assert [each.name for each in home.folder.parent.iterdir()] == [home.folder.name]
    assert home.store_path.exists()
    assert {"by_region", "everything", "copy"} <= {each.name for each in home.warehouse.iterdir()}
    assert (home.warehouse / "other.db" / "copy").is_dir()


def a_new_program_goes_on_and_what_it_drops_leaves_nothing(home: Home) -> None:
    with home.session() as session:
        assert held(session) == ({(value, "3") for value in VALUES}, "24", "3", "3")
        assert session.run("REFRESH MATERIALIZED VIEWS") == []
        for view in ("everything", "by_region", "copy", "other.copy"):
            session.run(f"DROP MATERIALIZED VIEW {view}")
    left = sorted(each.name for each in home.warehouse.iterdir() if not each.name.startswith("."))
    assert left == ["other.db", "plain", "sales"]
    assert list((home.warehouse / "other.db").iterdir()) == []
