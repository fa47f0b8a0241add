"""The text of a Delta log: which partitions commits changed, and which columns a table has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.spark.tables.delta.layout import Layout, conflict
from headwater.spark.tables.delta.log_changes import Commit, changes, is_by
from headwater.spark.tables.delta.snapshot import Snapshot, incarnation, mark
from headwater.spark.tables.delta.values import Spelling

# --- changes


def add(path: str, *, data: bool = True, vector: str = "", **values: str | None) -> dict[str, Any]:
    found = {"path": path, "partitionValues": values, "dataChange": data}
    return {"add": {**found, **_vector(vector)}}


def remove(path: str, *, data: bool = True, vector: str = "", **values: str | None) -> dict[str, Any]:
    found = {"path": path, "partitionValues": values, "dataChange": data, "extendedFileMetadata": True}
    return {"remove": {**found, **_vector(vector)}}


def _vector(name: str) -> dict[str, Any]:
    return {"deletionVector": {"storageType": "u", "pathOrInlineDv": name, "offset": 1}} if name else {}


COMMITS: dict[str, tuple[Any, Any]] = {
    "a file is added": ([[add("f", p="a")]], {"a"}),
    "a file is removed": ([[remove("f", p="a")]], {"a"}),
    "a file moves to another partition": ([[remove("f", p="a"), add("g", p="b")]], {"a", "b"}),
    "files are compacted": ([[remove("f", data=False, p="a"), add("g", data=False, p="a")]], set()),
    "rows are deleted by a vector": ([[remove("f", p="a"), add("f", vector="v", p="a")]], {"a"}),
    "more rows are deleted by another vector": ([[remove("f", vector="v", p="a"), add("f", vector="w", p="a")]], {"a"}),
    "a file comes and goes": ([[add("f", p="a")], [remove("f", p="a")]], set()),
    "a file goes and comes back": ([[remove("f", p="a")], [add("f", p="a"), remove("g", p="b")]], {"b"}),
    "a file comes, and another one goes": ([[add("f", p="a")], [remove("g", p="a")]], {"a"}),
    "a file comes, and is compacted": (
        [[add("f", p="a")], [remove("f", data=False, p="a"), add("g", data=False, p="a")]],
        {"a"},
    ),
    "the null partition": ([[add("f", p=None)]], {None}),
    "a null that is left out": ([[remove("f")]], {None}),
    "other actions": ([[{"commitInfo": {}}, {"txn": {"appId": "x", "version": 1}}, {"protocol": {}}]], set()),
    "images of the change data feed": ([[{"cdc": {"path": "c", "partitionValues": {"p": "a"}, "size": 1}}]], set()),
}


@pytest.mark.parametrize("name", COMMITS)
def test_commits_change_partitions(name: str) -> None:
    commits, expected = COMMITS[name]
    found = changes(commits, ("p",))
    assert found.touched == {(each,) for each in expected} and not found.strays


@pytest.mark.parametrize(
    ("commits", "lasting"),
    [
        ([[add("f")], [remove("g")]], True),
        ([[add("f")], [remove("f")]], True),
        ([[add("f")], [remove("f", data=False), add("g", data=False)]], False),
        ([[add("f")], [remove("f", data=False), add("g", data=False)], [remove("g"), add("h")]], False),
        ([[add("f")], [add("f", data=False)]], True),
        ([[remove("f", data=False), add("g", data=False)], [remove("g"), add("h")]], True),
    ],
)
def test_files_that_came_may_be_compacted_since(commits: list[list[dict[str, Any]]], lasting: bool) -> None:
    """Their rows may go with the file that has them now."""
    assert changes(commits, ()).lasting == lasting


@pytest.mark.parametrize("end", ["\u0085", "\u2028", "\u2029"])
def test_a_text_of_the_log_may_hold_what_python_takes_for_an_end_of_a_line(end: str) -> None:
    statistics = {"stats": json.dumps({"maxValues": {"s": f"x{end}y"}}, ensure_ascii=False)}
    text = "".join(json.dumps({"add": {"path": path, **statistics}}, ensure_ascii=False) + "\n" for path in "fg")
    assert [each["add"]["path"] for each in Commit(1, text).actions()] == ["f", "g"]


def test_a_table_without_partitions_has_one() -> None:
    assert changes([[add("f")]], ()).touched == {()}
    assert changes([[{"remove": {"path": "f", "dataChange": True}}]], ()).touched == {()}


def test_a_removal_need_not_name_its_partition() -> None:
    bare = {"remove": {"path": "f", "dataChange": True}}
    assert changes([[bare]], ("p",)).strays == {"f"}
    assert changes([[{"remove": {**bare["remove"], "partitionValues": {"p": "a"}}}]], ("p",)).touched == {("a",)}
    assert changes([[add("f", p="a")], [bare]], ("p",)) == changes([], ("p",))


def test_a_commit_tells_who_made_it() -> None:
    actions = [{"commitInfo": {}}, {"txn": {"appId": "me", "version": 1}}]
    assert is_by(actions, "me") and not is_by(actions, "you") and not is_by([add("f")], "me")


# --- columns


def column(name: str, kind: Any = "integer", physical: str = "", nullable: bool = True, **more: Any) -> dict[str, Any]:
    metadata = {"delta.columnMapping.physicalName": physical} if physical else {}
    return {"name": name, "type": kind, "nullable": nullable, "metadata": {**metadata, **more}}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def layout(*fields: dict[str, Any], by: tuple[str, ...] = ()) -> Layout:
    schema = json.dumps(struct(*fields))
    return Layout.read(json.dumps({"metaData": {"id": "t", "schemaString": schema, "partitionColumns": list(by)}}))


LAYOUTS = {
    "a column added": ([column("x")], [column("x"), column("y")], True, ""),
    "a column dropped": ([column("x"), column("y")], [column("x")], True, ""),
    "a column renamed": ([column("x")], [column("y", physical="x")], True, ""),
    "columns in another order": ([column("x"), column("y")], [column("y"), column("x")], True, ""),
    "a comment": ([column("x")], [column("x", comment="new")], False, ""),
    "column mapping turned on": ([column("x")], [column("x", physical="x")], False, ""),
    "a column that may be null": ([column("x", nullable=False)], [column("x")], True, ""),
    "another type": ([column("x")], [column("x", "long")], True, "its column x has another type than before"),
    "a text that was padded": (
        [column("c", "string", __CHAR_VARCHAR_TYPE_STRING="char(5)")],
        [column("c", "string")],
        True,
        "its column c has another type than before",
    ),
    "a longer text": (
        [column("c", "string", __CHAR_VARCHAR_TYPE_STRING="varchar(5)")],
        [column("c", "string", __CHAR_VARCHAR_TYPE_STRING="varchar(50)")],
        False,
        "",
    ),
    "texts that are compared otherwise": (
        [column("c", "string")],
        [column("c", "string", __COLLATIONS={"c": "spark.UTF8_LCASE"})],
        True,
        "its column c has another type than before",
    ),
    "dropped and added again": (
        [column("x")],
        [column("x", physical="col-1")],
        True,
        "its column x is another one than before",
    ),
    "renamed in a circle": (
        [column("x"), column("y")],
        [column("y", physical="x"), column("x", physical="y")],
        True,
        "its column y is another one than before",
    ),
    "a field added": ([column("s", struct(column("a")))], [column("s", struct(column("a"), column("b")))], True, ""),
    "a field of another type": (
        [column("s", struct(column("a")))],
        [column("s", struct(column("a", "long")))],
        True,
        "its column s.a has another type than before",
    ),
    "a field in an array, dropped and added again": (
        [column("s", {"type": "array", "elementType": struct(column("a")), "containsNull": True})],
        [column("s", {"type": "array", "elementType": struct(column("a", physical="c")), "containsNull": True})],
        True,
        "its column s.element.a is another one than before",
    ),
    "values of a map of another type": (
        [column("m", {"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": True})],
        [column("m", {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True})],
        True,
        "its column m.value has another type than before",
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_table_gets_other_columns(name: str) -> None:
    before, after, differs, why = LAYOUTS[name]
    assert (layout(*before).digest != layout(*after).digest) == differs
    assert conflict(layout(*before), layout(*after)) == why


def test_a_partition_column_that_is_renamed_names_the_partitions_otherwise() -> None:
    before, after = layout(column("p"), by=("p",)), layout(column("q", physical="p"), by=("q",))
    assert conflict(before, after) == "it was partitioned by p, and is by q"
    assert before.keys == after.keys == ("p",)
    assert conflict(before, layout(column("p"))) == "it was partitioned by p, and is by no column"


def test_a_layout_has_a_shape_whatever_its_comments_are() -> None:
    array = {"type": "array", "elementType": "integer", "containsNull": False}
    found = layout(column("x", comment="c"), column("y", array), by=("x",))
    assert found.is_shaped([column("x"), column("y", {**array, "containsNull": True})], ("x",))
    assert not found.is_shaped([column("y", array), column("x")], ("x",))
    assert not found.is_shaped([column("x", "long"), column("y", array)], ("x",))
    assert not found.is_shaped([column("x"), column("y", array)], ())


# --- snapshots


@pytest.mark.parametrize("told", [None, 3])
def test_a_snapshot_is_read_as_it_was_written(told: int | None) -> None:
    found = Snapshot(7, "a242a32e-2776-4387-829a-f827189524f5", mark('{"commitInfo":{}}'), told)
    assert Snapshot.read(str(found)) == found
    assert found.known == (7 if told is None else 3)


def test_a_string_of_another_format_is_no_snapshot() -> None:
    assert Snapshot.read("d41d8cd98f00b204e9800998ecf8427e") is None and Snapshot.read("12") is None


def test_tables_have_numbers_of_48_bits() -> None:
    assert incarnation("a") != incarnation("b") and incarnation("a") < 2**48


# --- values


def test_values_are_spelled_as_spark_spells_them() -> None:
    asked: list[tuple[str, list[str]]] = []

    def ask(kind: str, texts) -> list[str]:
        asked.append((kind, list(texts)))
        return [f"<{text}>" for text in texts]

    spelling = Spelling(ask)
    for kind, text in [("string", "2024"), ("integer", "-12"), ("date", "2024-01-31"), ("boolean", "true")]:
        spelling.learn(kind, [text, None, ""])
        assert spelling.spelled(kind, text) == text
        assert spelling.spelled(kind, None) is spelling.spelled(kind, "") is None
    assert spelling.spelled("string", "__HIVE_DEFAULT_PARTITION__") is None and not asked
    for _ in range(2):
        spelling.learn("integer", ["007", "7", "+7"])
    assert spelling.spelled("integer", "007") == "<007>" and asked == [("integer", ["+7", "007"])]
