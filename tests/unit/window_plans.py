"""Analysed queries with a window, as ``PlanJson`` writes them."""

from __future__ import annotations

from typing import Any

from headwater.algebra.derive.keys import derive_keys
from headwater.model.dependency import Through

K, D, V = "CAST(CAST(`k` AS STRING) AS STRING)", "CAST(CAST(`d` AS DATE) AS DATE)", 2
RANGE, ROWS = ("org.apache.spark.sql.catalyst.expressions." + each for each in ("RangeFrame$", "RowFrame$"))


def attribute(id: int) -> dict[str, Any]:
    return {"attr": id}


def literal(sql: str, type: str) -> dict[str, Any]:
    return {"lit": sql, "type": type}


def call(call: str, *args: dict[str, Any], type: str = "", name: str = "", kind: str = "scalar", **more: Any) -> dict:
    known = {"call": call, "name": name or call.lower(), "kind": kind, "sql": call, "args": [*args], "type": type}
    return {**known, "deterministic": True, **more}


def aggregate(name: str = "sum", value: int = V, type: str = "BIGINT", **more: Any) -> dict[str, Any]:
    return call(name.capitalize(), attribute(value), type=type, name=name, kind="aggregate", **more)


NOW = call("CurrentRow$")
YEAR = call("UnaryMinus", literal("INTERVAL '364' DAY", "INTERVAL DAY"), type="INTERVAL DAY")


FIRST, LAST = call("UnboundedPreceding$"), call("UnboundedFollowing$")


def frame(lower: dict = YEAR, upper: dict = NOW, of: str = RANGE) -> dict[str, Any]:
    return call("SpecifiedWindowFrame", lower, upper, beside=[{"of": of, "parts": []}])


def window(
    child: dict,
    function: dict | None = None,
    within: dict | None = None,
    by: tuple[int, ...] = (0,),
    orders: tuple[int, ...] = (1,),
) -> dict:
    sorted_ = [call("SortOrder", attribute(each), type="DATE") for each in orders]
    keys = [attribute(each) for each in by]
    spec = call("WindowSpecDefinition", *keys, *sorted_, within or frame(), kind="window")
    over = call("WindowExpression", function or aggregate(), spec, type="BIGINT", kind="window")
    return {
        "op": "Window",
        "output": [*child["output"], 9],
        "children": [child],
        "partition_by": keys,
        "order_by": sorted_,
        "windows": [{"alias": "w", "id": 9, "child": over}],
    }


def relation(types: dict[str, str] | None = None, table: str = "db.t", first: int = 0) -> dict[str, Any]:
    columns = [
        {"id": first + n, "name": name, "type": type}
        for n, (name, type) in enumerate({"k": "STRING", "d": "DATE", "v": "INT", **(types or {})}.items())
    ]
    known = {"op": "Relation", "output": [each["id"] for each in columns], "children": [], "columns": columns}
    return {**known, "kind": "file", "format": "parquet", "table": table, "partition_columns": []}


def project(child: dict, *ids: int) -> dict[str, Any]:
    return {"op": "Project", "output": [*ids], "children": [child], "projections": [attribute(each) for each in ids]}


def join(left: dict, right: dict, type: str = "INNER", on: tuple[int, int] = (0, 5)) -> dict[str, Any]:
    equal = call("EqualTo", *map(attribute, on), type="BOOLEAN")
    ids = left["output"] if "SEMI" in type else [*left["output"], *right["output"]]
    return {"op": "Join", "output": ids, "children": [left, right], "type": type, "condition": equal}


def frames(
    plan: dict, shown: tuple[int, ...] = (0, 1, 9), types: dict[str, str] | None = None, apart: tuple[str, ...] = ()
) -> dict[str, Through | None]:
    known = {"k": "STRING", "d": "DATE", "v": "INT", **(types or {})}
    attributes = [{"id": n, "name": name, "type": type} for n, (name, type) in enumerate(known.items())]
    attributes += [{"id": 5 + n, "name": f"u{name}", "type": type} for n, (name, type) in enumerate(known.items())]
    attributes.append({"id": 9, "name": "w", "type": "BIGINT"})
    columns = [each for id in shown for each in attributes if each["id"] == id]
    description = {"columns": columns, "attributes": attributes, "plan": project(plan, *shown)}
    found = derive_keys(description, apart, [(each["name"], each["type"]) for each in columns])
    return {source: keys.through for source, keys in found.items()}


def of_t(plan: dict, **more: Any) -> Through | None:
    return frames(plan, **more)["db.t"]
