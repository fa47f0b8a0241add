"""Derivation without Spark: from golden plans that Spark wrote, and from plans written by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwater.algebra.derive import Derivation, derive
from headwater.algebra.derive.image import Image, exact
from headwater.algebra.derive.query import Attr, Call, Lit, display
from headwater.algebra.derive.resolve import resolve
from headwater.model.dependency import Computed, Occurrence, Same
from headwater.model.reason import Code, Reason

GOLDEN = Path(__file__).parents[1] / "golden/plans"
MONTH = Computed(
    "CAST(CAST(date_trunc('MONTH', CAST(CAST(`o_date` AS DATE) AS TIMESTAMP)) AS TIMESTAMP) AS STRING)", ("o_date",)
)
ORDERS = "base.orders"


def golden(name: str) -> Derivation:
    kept = json.loads((GOLDEN / f"{name}.json").read_text())
    return derive(kept["description"], kept["partitioned_by"], as_queried(kept["description"]))


def as_queried(description: dict, *names: str) -> list[tuple[str, str]]:
    """The columns of a view that declares no types, and perhaps other names."""
    queried = description["columns"]
    return [
        (name, each["type"]) for name, each in zip(names or [each["name"] for each in queried], queried, strict=True)
    ]


def occurrences(derivation: Derivation, source: str = ORDERS) -> tuple[Occurrence, ...]:
    return next(each.occurrences for each in derivation.dependencies if each.source == source)


def test_truncation_and_identity():
    found = golden("truncation")
    assert occurrences(found) == (Occurrence((("m", MONTH), ("r", Same("o_region")))),)
    assert found.reads[0].partition_columns == (("o_date", "DATE"), ("o_region", "STRING"))
    assert found.problems == ()


def test_a_map_goes_through_an_ordinary_view_which_is_listed():
    found = golden("ordinary_views")
    assert occurrences(found) == (Occurrence((("m", MONTH),)),)
    assert found.views == ("base.monthly",)


def test_an_aggregate_leaves_its_column_free_and_says_so():
    (only,) = occurrences(golden("aggregate_column"))
    assert only.columns == (("o_date", Same("o_date")),)
    assert only.reason.text == "`r` comes from `max(o_region)`, an aggregate, not from a partition column of orders"


def test_each_window_must_be_partitioned_by_the_column():
    (only,) = occurrences(golden("two_windows"))
    assert only.columns == (("o_date", Same("o_date")),)
    assert "a window function above it is not partitioned by it" in only.reason.text


def test_a_nullable_side_leaves_its_columns_free():
    found = golden("left_join_by_the_nullable_key")
    for source in (ORDERS, "base.lines"):
        (only,) = occurrences(found, source)
        assert only.columns == ()
        assert only.reason.text.endswith("which is NULL where the LEFT OUTER JOIN finds no match")


def test_each_branch_of_a_union_has_its_own_map():
    first, second = occurrences(golden("union_with_constants"))
    assert first.columns[0] == ("kind", Computed("CAST(CAST('o' AS STRING) AS STRING)", ()))
    assert first.columns[1] == ("d", Same("o_date"))
    assert second.columns[1][1].inputs == ("o_date",)


def test_each_reference_to_a_cte_is_an_occurrence():
    first, second = occurrences(golden("cte_read_twice"))
    assert first.columns == (("month", MONTH),)
    assert "add_months" in second.columns[0][1].sql


def relation(**facts) -> dict:
    return {
        "op": "Relation",
        "output": [0, 1],
        "children": [],
        "kind": "file",
        "format": "parquet",
        "table": "db.t",
        "partition_columns": ["p"],
        "columns": [{"id": 0, "name": "v", "type": "INT"}, {"id": 1, "name": "p", "type": "DATE"}],
        **facts,
    }


def description(plan: dict, type: str = "DATE", outputs: tuple[int, ...] = (0, 1)) -> dict:
    attributes = [{"id": 0, "name": "v", "type": "INT"}, {"id": 1, "name": "p", "type": type}]
    columns = [{**attributes[id], "nullable": True, "comment": None} for id in outputs]
    return {"columns": columns, "attributes": attributes, "plan": plan, "clock": [], "patterns": []}


COLUMNS = [("v", "INT"), ("p", "DATE")]


def test_columns_are_renamed_by_position_and_found_in_any_case():
    found = derive(description(relation()), ["Day"], [("value", "INT"), ("day", "DATE")])
    assert found.dependencies[0].occurrences == (Occurrence((("Day", Same("p")),)),)


NAMES = [
    # names of a data column and of the partition column, the partition column as the table lists it, and its column
    (("maße", "masse"), "masse", 1),
    (("masse", "maße"), "maße", 1),
    (("P", "p"), "p", 1),
    (("p", "P"), "P", 1),
    (("v", "Day"), "day", 1),
    (("TS", "ts"), "Ts", None),  # which of both it means is not known
]


@pytest.mark.parametrize(("names", "listed", "column"), NAMES)
def test_names_are_compared_as_spark_does(names: tuple[str, str], listed: str, column: int | None):
    """Case folding takes `ß` for `ss`, and a session may tell cases apart."""
    columns = [{"id": n, "name": name, "type": "STRING"} for n, name in enumerate(names)]
    told = {**description(relation(partition_columns=[listed], columns=columns), "STRING"), "attributes": columns}
    for output, name in enumerate(names):
        wide = [(f"c{n}" if n != output else name, "STRING") for n in (0, 1)]
        (only,) = derive(told, [name], wide).dependencies[0].occurrences
        assert only.columns == (((name, Same(names[output])),) if output == column else ())
    if names[0].lower() != names[1].lower():
        (only,) = derive(told, [names[0]], [(name, "STRING") for name in names]).dependencies[0].occurrences
        assert only.columns == ()


def test_an_operator_without_a_rule_makes_the_view_whole():
    plan = {"op": "Mystery", "output": [0, 1], "children": [relation()], "expressions": [], "facts": []}
    (only,) = derive(description(plan), ["p"], COLUMNS).dependencies[0].occurrences
    assert only.columns == ()
    assert "Mystery above it can make any row depend on any other" in only.reason.text


def test_an_unpartitioned_source_reaches_the_whole_view():
    (only,) = derive(description(relation(partition_columns=[])), ["p"], COLUMNS).dependencies[0].occurrences
    assert only == Occurrence(reason=Reason(Code.SOURCE_UNPARTITIONED, "t is not partitioned"))


def lateral_count(groupings: list) -> dict:
    """``SELECT v FROM t, LATERAL (SELECT count(*) FROM u WHERE t.v = t.p [GROUP BY …])``, analysed."""
    days = {id: {"id": id, "name": name, "type": "DATE"} for id, name in enumerate("vpw")}
    other = relation(output=[2], table="db.u", partition_columns=[], columns=[days[2]])
    call = {"type": "BOOLEAN", "deterministic": True, "kind": "scalar", "sql": "(`$0` = `$1`)", "name": "="}
    same_day = {**call, "call": "EqualTo", "args": [{"attr": 0, "outer": True}, {"attr": 1, "outer": True}]}
    filtered = {"op": "Filter", "output": [2], "children": [other], "condition": same_day}
    count = {**call, "call": "Count", "kind": "aggregate", "type": "BIGINT", "sql": "count(1)", "args": []}
    counted = {"op": "Aggregate", "output": [3], "children": [filtered], "groupings": groupings}
    counted["projections"] = [{"alias": "n", "id": 3, "child": count}]
    orders = relation(columns=[days[0], days[1]])
    join = {"op": "LateralJoin", "output": [0, 1, 3], "children": [orders, counted], "type": "INNER", "condition": None}
    attributes = [*days.values(), {"id": 3, "name": "n", "type": "BIGINT"}]
    columns = [{**days[0], "nullable": True, "comment": None}]
    return {"columns": columns, "attributes": attributes, "plan": join, "clock": [], "patterns": []}


def test_an_aggregate_without_keys_has_a_row_where_its_filter_passes_none():
    (only,) = derive(lateral_count([]), ["v"], [("v", "DATE")]).dependencies[0].occurrences
    assert only.columns == ()
    (only,) = derive(lateral_count([{"attr": 2}]), ["v"], [("v", "DATE")]).dependencies[0].occurrences
    assert only.columns == (("v", Same("p")),)


@pytest.mark.parametrize("type", ["DOUBLE", "FLOAT", "STRING COLLATE UTF8_LCASE", "CHAR(3)"])
def test_types_whose_equality_is_not_identity_stay_free(type):
    columns = [{"id": 0, "name": "v", "type": "INT"}, {"id": 1, "name": "p", "type": type}]
    found = derive(description(relation(columns=columns), type), ["p"], [("v", "INT"), ("p", type)])
    assert found.dependencies[0].occurrences[0].columns == ()
    assert not exact(type)


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"kind": "stream"}, "stream"),
        ({"kind": "v2", "format": "iceberg"}, "unsupported_source"),
        ({"kind": "other", "format": "jdbcrelation"}, "unsupported_source"),
        ({"kind": "other", "format": "delta"}, "unsupported_source"),
        ({"kind": "file", "format": "binaryfile"}, "unsupported_source"),
        ({"kind": "file", "table": None, "path": "file:/a, file:/b", "paths": 2}, "unsupported_source"),
    ],
)
def test_sources_that_cannot_be_followed_are_refused(facts, code):
    plan = {key: value for key, value in relation(**facts).items() if value is not None}
    (problem,) = derive(description(plan), [], COLUMNS).problems
    assert problem.code == code


def test_patterns_of_paths_are_refused():
    (problem,) = derive({**description(relation()), "patterns": ["parquet.`/data/2024*`"]}, [], COLUMNS).problems
    assert problem.code == "path_pattern"
    assert problem.sentence.startswith("parquet.`/data/2024*` is a pattern")


def test_words_for_a_moment_of_the_clock_are_refused():
    (problem,) = derive({**description(relation()), "clock": ["DATE 'today'"]}, [], COLUMNS).problems
    assert problem.code == "nondeterministic"
    assert problem.sentence == "`DATE 'today'` depends on when and where the query is evaluated"


def test_a_cast_changes_the_spelling_so_identity_needs_equal_types():
    image = Image.of_column("p", "DATE")
    assert image.to("DATE", "DATE") == Same("p")
    as_timestamp = "CAST(CAST(`p` AS DATE) AS TIMESTAMP)"
    assert image.to("TIMESTAMP", "TIMESTAMP") == Computed(f"CAST({as_timestamp} AS STRING)", ("p",))
    assert image.to("TIMESTAMP", "DATE") == Computed(f"CAST(CAST({as_timestamp} AS DATE) AS STRING)", ("p",))
    assert isinstance(image.to("DATE", "TIMESTAMP"), Computed)
    assert Image.of_column("p", "VARCHAR(9)").to("VARCHAR(9)", "VARCHAR(9)") == Same("p")
    assert Image.of_column("p", "VARCHAR(9)").to("STRING", "STRING") == Same("p")
    assert isinstance(Image.of_column("p", "STRING").to("STRING", "VARCHAR(2)"), Computed)
    assert Image.of_column("a`b", "INT").sql == "CAST(`a``b` AS INT)"


@pytest.mark.parametrize(("declared", "reason"), [("DOUBLE", "is a DOUBLE"), ("CHAR(3)", "is a CHAR(3)")])
def test_a_declared_type_whose_equality_is_not_identity_leaves_the_column_free(declared, reason):
    found = derive(description(relation()), ["p"], [("v", "INT"), ("p", declared)])
    (only,) = found.dependencies[0].occurrences
    assert only.columns == ()
    assert reason in only.reason.text


def test_a_call_has_an_image_if_it_stands_alone_and_all_its_arguments_have_one():
    p, q = Attr(1, name="p", type="INT"), Attr(2, name="q", type="INT")
    facts = {p: Image.of_column("p", "INT")}
    added = Call("Add", "(`$0` + `$1`)", (p, Lit("1", "INT")), "INT", standalone=True)
    assert resolve(added, facts) == Image("(CAST(`p` AS INT) + 1)", ("p",), "INT")
    assert resolve(Call("Add", "(`$0` + `$1`)", (p, q), "INT", standalone=True), facts) is None
    assert resolve(Call("Odd", "odd(`$0`)", (p,), "INT"), facts) is None
    assert resolve(Call("CurrentDate", "current_date()", (), "DATE", standalone=True), facts) is None
    assert display(added) == "(p + 1)"


def sentences(plan: dict) -> list[str]:
    return [each.sentence for each in derive(description(plan), ["p"], COLUMNS).problems]


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_the_rows_of_a_lake_table_are_followed_by_its_partition_columns(kind: str):
    found = derive(description(relation(kind=kind, format=kind, table="lake.eu.db.t")), ["p"], COLUMNS)
    assert found.problems == ()
    assert occurrences(found, "lake.eu.db.t") == (Occurrence((("p", Same("p")),)),)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"aspect": "snapshot"}, "`t` is read as it was at one time, and so never changes"),
        ({"aspect": "branch"}, "`t` is a branch of a table"),
        ({"aspect": "changes"}, "`t` is read as the list of its changes"),
        ({"aspect": "metadata"}, "`t` has the files and snapshots of a table, not its rows"),
        ({"kind": "other", "format": "delta"}, "`t` are files of a Delta table, whose log says"),
        ({"kind": "other", "format": "iceberg"}, "`t` are files of an Iceberg table, whose metadata says"),
        ({"kind": "v2", "format": "jdbc"}, "`t` is a JDBC table, which Headwater does not follow yet"),
    ],
)
def test_a_lake_table_is_read_as_it_is_or_not_at_all(facts: dict, words: str):
    [sentence] = sentences(relation(**{"kind": "iceberg", "format": "iceberg", **facts}))
    assert sentence.startswith(words)
    assert "; " in sentence  # the remedy


def test_columns_of_metadata_are_refused():
    columns = [{"id": 0, "name": "_file", "type": "STRING", "metadata": True}, {"id": 1, "name": "p", "type": "DATE"}]
    assert sentences(relation(columns=columns)) == ["`_file` says how t's files lie, not what is in them"]


def test_the_text_of_a_view_of_another_catalog_is_refused():
    alias = {"op": "SubqueryAlias", "output": [0, 1], "children": [relation()], "view": "lake.db.v"}
    [sentence] = sentences(alias)
    assert sentence.startswith("`v` is a view of another catalog")


def encrypted(mode: dict, vector: dict) -> dict:
    """``SELECT aes_encrypt(v, v, mode, 'DEFAULT', vector, '') AS v, p FROM t``, analysed."""
    column, plain = {"attr": 0}, {"lit": "'DEFAULT'", "type": "STRING"}
    call = {"call": "AesEncrypt", "name": "aes_encrypt", "kind": "scalar", "type": "BINARY", "deterministic": True}
    call |= {"args": [column, column, mode, plain, vector, {"lit": "''", "type": "STRING"}]}
    call |= {"sql": "aes_encrypt(`$0`, `$1`, `$2`, `$3`, `$4`, `$5`)"}
    projections = [{"alias": "v", "id": 0, "child": call}, {"attr": 1}]
    return {"op": "Project", "output": [0, 1], "children": [relation()], "projections": projections}


EMPTY = {"lit": "''", "type": "STRING"}


def as_bytes(value: dict) -> dict:
    told = {"name": "cast", "kind": "scalar", "deterministic": True, "standalone": True}
    return {"call": "Cast", "sql": "CAST(`$0` AS BINARY)", "args": [value], "type": "BINARY", **told}


@pytest.mark.parametrize(
    ("mode", "vector", "refused"),
    [
        ("'GCM'", EMPTY, True),
        ("'GCM'", as_bytes(EMPTY), True),
        ("'CBC'", {"lit": "X''", "type": "BINARY"}, True),
        ("'ECB'", as_bytes(EMPTY), False),
        ("'ecb'", as_bytes(EMPTY), False),
        ("'GCM'", as_bytes({"lit": "'000000000000'", "type": "STRING"}), False),
        ("'CBC'", {"lit": "X'00'", "type": "BINARY"}, False),
        ("'GCM'", as_bytes({"attr": 1}), False),
    ],
)
def test_an_encryption_with_a_random_vector_is_refused(mode, vector, refused):
    found = sentences(encrypted({"lit": mode, "type": "STRING"}, vector))
    assert [each.startswith("`aes_encrypt(v, v, ") for each in found] == [True] * refused


def test_an_encryption_in_a_mode_of_each_row_needs_a_vector():
    assert sentences(encrypted({"attr": 1}, EMPTY)) and not sentences(encrypted({"attr": 1}, {"attr": 1}))
