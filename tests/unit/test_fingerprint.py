"""The fingerprint of a query: equal exactly when what the query means is."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from headwater.spark.defining.fingerprint import fingerprint

GOLDEN = sorted((Path(__file__).parents[1] / "golden/plans").glob("*.json"))


def golden(name: str) -> dict:
    found = json.loads((GOLDEN[0].parent / f"{name}.json").read_text())
    return found.get("description", found)


def shifted(value, by: int):
    """The same plan with every number moved, as when a source has more columns in front."""
    match value:
        case dict():
            return {
                key: [each + by for each in inner]
                if key == "output"
                else inner + by
                if key in ("id", "attr") and isinstance(inner, int)
                else shifted(inner, by)
                for key, inner in value.items()
            }
        case list():
            return [shifted(each, by) for each in value]
    return value


def relation(node: dict) -> dict:
    return node if node["op"] == "Relation" else relation(node["children"][0])


def with_column(description: dict, name: str) -> dict:
    """The description after a column was added to the first source."""
    wider = shifted(copy.deepcopy(description), 1)
    source = relation(wider["plan"])
    added = {"id": 0, "name": name, "type": "STRING"}
    source["columns"].insert(0, added)
    wider["attributes"].insert(0, added)
    node = wider["plan"]
    while node["op"] not in ("SubqueryAlias", "Relation"):
        node = node["children"][0]
    while True:
        node["output"].insert(0, 0)
        if node is source:
            return wider
        node = node["children"][0]


def test_a_column_that_is_not_read_counts_for_nothing() -> None:
    before = golden("truncation")
    assert fingerprint(with_column(before, "note")) == fingerprint(before)


def test_comments_count_for_nothing() -> None:
    after = golden("truncation")
    after["columns"][0]["comment"] = "said later"
    assert fingerprint(after) == fingerprint(golden("truncation"))


@pytest.mark.parametrize("change", ["type", "name"])
def test_a_column_that_is_read_counts(change: str) -> None:
    after = golden("truncation")
    relation(after["plan"])["columns"][2][change] = "other"
    assert fingerprint(after) != fingerprint(golden("truncation"))


def test_another_column_in_its_place_counts() -> None:
    after = golden("truncation")
    after["plan"]["groupings"][1]["attr"] = 1
    assert fingerprint(after) != fingerprint(golden("truncation"))


def test_periods_that_a_source_is_partitioned_by_count() -> None:
    after = golden("truncation")
    relation(after["plan"])["transforms"] = [{"name": "days", "over": ["ts"], "arguments": []}]
    assert fingerprint(after) != fingerprint(golden("truncation"))


def test_positions_count_in_a_union() -> None:
    before = golden("union_with_constants")
    text = json.dumps(before)
    assert '"Union"' in text
    after = json.loads(text)
    first = after["plan"]["children"][0]
    first["output"] = first["output"][::-1]
    assert fingerprint(after) != fingerprint(before)


def test_all_golden_queries_differ() -> None:
    digests = {fingerprint(golden(each.stem)) for each in GOLDEN}
    assert len(digests) == len({json.dumps(golden(each.stem)["plan"]) for each in GOLDEN})
