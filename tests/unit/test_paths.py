"""Paths as Hadoop spells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.spark.jvm import paths
from headwater.store.sql_store import SqlStore

ODD = "a b#c%20d?e:f"


@pytest.mark.parametrize("root", ["file:", "file://", "hdfs://host:8020", "slow:", ""])
def test_only_scheme_and_authority_are_taken_off(root):
    assert paths.plain(f"{root}/{ODD}/x/") == f"/{ODD}/x"


def test_a_colon_in_a_name_is_no_scheme():
    assert paths.plain("/a:b/c") == "/a:b/c"
    assert paths.local("/a:b/c") == Path("/a:b/c")


def test_what_lies_within_a_directory():
    assert paths.is_within("/a/b", "/a")
    assert paths.is_within("/a", "/a")
    assert paths.is_within("/a", "/")
    assert not paths.is_within("/ab", "/a")


def test_a_local_path():
    assert paths.local(f"file:/{ODD}") == Path(f"/{ODD}")
    assert paths.local(f"file:///{ODD}") == Path(f"/{ODD}")
    assert paths.local("warehouse") == Path("warehouse")
    assert paths.local(f"hdfs://host/{ODD}") is None


def test_the_parent_of_a_directory():
    assert paths.parent(f"file:/w/{ODD}/") == "file:/w"


def test_a_store_lies_where_its_path_says(tmp_path):
    path = tmp_path / ODD / "store.db"
    path.parent.mkdir()
    SqlStore(path).close()
    assert path.exists()
    SqlStore(path, reads_only=True).close()
    assert [each.name for each in tmp_path.iterdir()] == [ODD]
