"""Schemas of Iceberg tables: the columns that stayed the same ones, and how an older snapshot has them."""

from __future__ import annotations

import pytest

from headwater.spark.tables.iceberg import schemas


def schema(*fields, number: int = 0):
    return {"type": "struct", "schema-id": number, "fields": list(fields)}


def column(number: int, name: str, type="int", **more):
    return {"id": number, "name": name, "required": False, "type": type, **more}


def struct(*fields):
    return {"type": "struct", "fields": list(fields)}


def array(number: int, element):
    return {"type": "list", "element-id": number, "element": element, "element-required": False}


def mapping(key: int, value: int, type):
    return {"type": "map", "key-id": key, "key": "string", "value-id": value, "value": type, "value-required": False}


X, Y = column(1, "x"), column(2, "y", "string")
SPEC = {"spec-id": 0, "fields": []}


@pytest.mark.parametrize(
    ("now", "same"),
    [
        (schema(X, Y, number=4), True),
        (schema({**X, "doc": "a comment"}, Y), True),
        (schema(Y, X), False),
        (schema(X, column(3, "y", "string")), False),
        (schema(column(1, "x", "long"), Y), False),
        (schema({**X, "required": True}, Y), False),
    ],
)
def test_a_digest_is_of_the_columns(now, same):
    assert (schemas.digest(schema(X, Y), SPEC) == schemas.digest(now, SPEC)) == same


def test_a_digest_is_of_the_partitioning_too():
    other = {"spec-id": 1, "fields": [{"name": "x", "transform": "identity", "source-id": 1, "field-id": 1000}]}
    assert schemas.digest(schema(X), SPEC) != schemas.digest(schema(X), other)


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (schema(X, Y, column(3, "z")), ""),
        (schema(X), ""),
        (schema(Y, column(1, "renamed")), ""),
        (schema(column(3, "x"), Y), "x is another one than before"),
        (schema(column(2, "x", "string"), column(1, "y")), "x is another one than before"),
        (schema(column(1, "x", "long"), Y), "x is a long now and was a int"),
        (schema(X, Y, column(9, "gone")), "gone is another one than it once was"),
    ],
)
def test_columns_that_are_others_make_all_rows_others(now, why):
    before = schema(X, Y)
    assert why in schemas.replaced(before, now, [schema(X, Y, column(5, "gone")), before, now])
    assert bool(schemas.replaced(before, now, [schema(X, Y, column(5, "gone")), before, now])) == bool(why)


def test_fields_within_columns_count():
    before = schema(column(1, "s", struct(column(2, "a"), column(3, "b"))), column(4, "l", array(5, "int")))
    other = schema(column(1, "s", struct(column(6, "a"), column(3, "b"))), column(4, "l", array(5, "int")))
    wider = schema(column(1, "s", struct(column(2, "a"), column(3, "b"))), column(4, "l", array(5, "long")))
    assert "s.a is another" in schemas.replaced(before, other, [before, other])
    assert "l.element is a long" in schemas.replaced(before, wider, [before, wider])
    assert schemas.columns(before)[3] == ("s.b", "int")


def adapted(then, now) -> dict[str, str]:
    return dict(schemas.adapted(then, now))


def test_the_same_columns_need_nothing():
    assert schemas.adapted(schema(X, Y), schema({**X, "doc": "a comment"}, Y, number=1)) == ()


def test_columns_of_now_are_found_by_their_numbers():
    found = adapted(schema(X, Y), schema(column(2, "x", "string"), column(1, "y y", "long"), column(3, "new")))
    assert found == {"x": "`y`", "y y": "CAST(`x` AS BIGINT)", "new": "CAST(NULL AS INT)"}


def test_a_column_that_came_with_a_value_has_it():
    new = [column(3, "n", "int", **{"initial-default": 5}), column(4, "s", "string", **{"initial-default": "it's"})]
    found = adapted(schema(X), schema(X, *new))
    assert found["n"] == "CAST(5 AS INT)" and found["s"].startswith("CAST(CAST(X'") and found["x"] == "`x`"


@pytest.mark.parametrize("type", ["binary", "fixed[3]"])
def test_bytes_that_a_column_came_with_are_those_bytes(type: str):
    """Iceberg's JSON has hexadecimal digits for them."""
    found = adapted(schema(X), schema(X, column(3, "b", type, **{"initial-default": "00FF27"})))
    assert found["b"] == "CAST(CAST(X'00FF27' AS STRING) AS BINARY)"


def test_structures_are_put_together_from_their_fields():
    then = schema(column(1, "s", struct(column(2, "a"), column(3, "b"))))
    now = schema(column(1, "s", struct(column(3, "c", "long"), column(4, "d", "string"))))
    assert adapted(then, now) == {
        "s": "IF(`s` IS NULL, NULL, named_struct('c', CAST(`s`.`b` AS BIGINT), 'd', CAST(NULL AS STRING)))"
    }


def test_lists_and_maps_are_walked():
    inner, wider = struct(column(3, "a")), struct(column(3, "a", "long"))
    then = schema(column(1, "l", array(2, array(9, inner))), column(4, "m", mapping(5, 6, "int")))
    now = schema(column(1, "l", array(2, array(9, wider))), column(4, "m", mapping(5, 6, "long")))
    assert adapted(then, now) == {
        "l": "transform(`l`, e0 -> transform(e0, e1 -> IF(e1 IS NULL, NULL, "
        "named_struct('a', CAST(e1.`a` AS BIGINT)))))",
        "m": "transform_values(`m`, (k0, v0) -> CAST(v0 AS BIGINT))",
    }


@pytest.mark.parametrize(
    ("type", "text"),
    [
        ("timestamptz", "TIMESTAMP"),
        ("timestamp", "TIMESTAMP_NTZ"),
        ("decimal(10, 2)", "DECIMAL(10,2)"),
        ("fixed[4]", "BINARY"),
        (mapping(1, 2, array(3, struct(column(4, "a b")))), "MAP<STRING, ARRAY<STRUCT<`a b`: INT>>>"),
    ],
)
def test_types_are_spelled_as_sql(type, text):
    assert schemas.sql_type(type) == text
