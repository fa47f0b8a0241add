"""Names and their keys: one key for each name, read back as it was, and the golden keys of both languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from headwater.model.name import FunctionName, PathName, TableName, anywhere, named, short, spelled, split

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/names.json").read_text())
parts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
tables = st.lists(parts, min_size=2, max_size=4).map(tuple).map(TableName.of)
functions = st.builds(FunctionName, parts, parts)
names = tables | functions | st.builds(PathName, st.text(max_size=12))


@pytest.mark.parametrize("golden", GOLDEN, ids=[each["key"] for each in GOLDEN])
def test_golden_keys(golden):
    match golden:
        case {"table": of}:
            name = TableName(of[0], tuple(of[1:-1]), of[-1])
            assert anywhere(golden["key"]) == golden["anywhere"]
        case {"path": path}:
            name = PathName(path)
        case {"function": of}:
            name = FunctionName(*of)
    assert name.key == golden["key"]
    assert named(golden["key"]) == name


@examples(300)
@given(names, names)
def test_a_key_belongs_to_one_name(one, other):
    assert named(one.key) == one
    assert (one.key == other.key) == (one == other)


@examples(200)
@given(st.lists(parts, min_size=1, max_size=4).map(tuple))
def test_spelled_parts_are_read_back(given):
    assert split(spelled(given)) == given


@pytest.mark.parametrize(
    ("key", "name"),
    [("shop.sales", "sales"), ("lake.shop.`sales.2023`", "`sales.2023`"), ("path:file:/a.b", "path:file:/a.b")],
)
def test_a_table_has_a_name_without_its_database(key, name):
    assert short(key) == name


def test_what_spark_quotes_is_read():
    """Spark puts more parts in backticks than a key does."""
    assert split("spark_catalog.default.`2023_orders`") == ("spark_catalog", "default", "2023_orders")


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "`a", "a`b", "`a`b"])
def test_what_is_no_name_is_refused(text):
    with pytest.raises(ValueError, match="not a name"):
        split(text)
