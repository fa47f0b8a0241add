"""A store in a SQLite file: the file, its readers, and files that are damaged. See also test_store_contract.py."""

from __future__ import annotations

import os
import sqlite3
import stat

import pytest
import sqlalchemy as sa

from headwater.engine.tell.status import Condition, Summary, ViewStatus
from headwater.model.error import StoreError
from headwater.model.event import Dropped, EngineLost
from headwater.store.board import Kept
from headwater.store.sql_store import SqlStore

SAID = Summary((ViewStatus("a.v", Condition.BEHIND, 3, 1, None, None, None, None, 0, None, ()),), 4, 0.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "store.db"


@pytest.fixture
def store(path):
    made = SqlStore(path)
    yield made
    made.close()


def restarted(at: int = 1):
    return lambda _version: EngineLost(at, 0)


def test_the_file_is_private_and_in_wal_mode(path, store):
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    store.append(restarted(), 0)
    for each in path.parent.iterdir():
        assert stat.S_IMODE(each.stat().st_mode) == 0o600, each
    with store._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_a_corrupt_file_is_a_store_error(path):
    path.parent.mkdir()
    path.write_bytes(b"this is not a database, whatever its name says" * 100)
    with pytest.raises(StoreError, match=str(path)):
        SqlStore(path)


def test_a_truncated_file_is_a_store_error(path, store):
    for n in range(50):
        store.append(lambda _, n=n: Dropped(n, "v" * 1000), n)
    store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError):
        list(SqlStore(path).read())


def test_a_directory_that_cannot_be_written_is_a_store_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"spark\.headwater\.store"):
        SqlStore(tmp_path / "file" / "store.db")


def test_an_existing_store_is_not_made_anew(path, store):
    store.append(restarted(), 0)
    before = os.stat(path).st_ino
    again = SqlStore(path)
    assert len(list(again.read())) == 1 and os.stat(path).st_ino == before
    with again._engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM meta")) == 1
    again.close()


def test_a_reader_changes_nothing(path, store):
    store.append(restarted(), 0)
    store.summarise(1, SAID)
    reader = SqlStore(path, reads_only=True)
    assert (reader.last(), len(list(reader.read())), reader.engines()) == (1, 1, [])
    assert reader.summary(1, detailed=False) == Kept(SAID, None)
    store.append(restarted(), 1)
    assert reader.last() == 2, "it sees what is written meanwhile"
    with pytest.raises(StoreError, match="readonly"):
        reader.summarise(2, SAID)
    reader.close()


def test_a_reader_needs_the_newest_schema(path):
    SqlStore(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET schema_version = 1")
    with pytest.raises(StoreError, match="has schema 1, older than"):
        SqlStore(path, reads_only=True)


def test_a_reader_holds_no_writer_up(path, store):
    with store._read() as connection:
        connection.execute(sa.text("SELECT * FROM meta"))
        other = SqlStore(path)
        other.append(restarted(), 0)
        other.close()
    assert store.last() == 1
