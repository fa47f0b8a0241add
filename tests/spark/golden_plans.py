"""The plan of each case of derivation as Spark describes it, and what is derived from it.

``make golden`` writes both, and recomputes each case by Spark in the same run. So the recorded derivations are those
that recomputation accepts, and a test that derives them again from the recorded plan needs no Spark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from derive_cases import CASES, Case
from derive_shapes import SHAPES

from headwater.algebra.derive import derive
from headwater.algebra.derive.keys import derive_keys
from headwater.store.codec import converter

FILE = Path(__file__).parents[1] / "golden/derivations.jsonl"
"""A line for each case: its name, its plan, and what is derived."""

ALL: list[Case] = [*CASES, *SHAPES]


def derived(case: Case, description: Mapping[str, Any]) -> dict[str, Any]:
    """What the rules say of a case, as JSON."""
    columns = [(each["name"], case.types.get(each["name"], each["type"])) for each in description["columns"]]
    found = derive(description, case.by, columns)
    unstructured = converter()
    said = {
        "dependencies": unstructured.unstructure(found.dependencies),
        "problems": unstructured.unstructure(found.problems),
        "keys": unstructured.unstructure(derive_keys(description, (), columns)),
    }
    return json.loads(json.dumps(said))


@cache
def kept() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """The plan and the derivation of each case, as they are on record."""
    if not FILE.exists():
        return {}
    lines = [json.loads(line) for line in FILE.read_text().splitlines()]
    return {each["case"]: (each["plan"], each["derived"]) for each in lines}


def write(plans: Mapping[str, Mapping[str, Any]]) -> None:
    lines = [{"case": each.name, "plan": plans[each.name], "derived": derived(each, plans[each.name])} for each in ALL]
    FILE.write_text("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in lines))
    kept.cache_clear()
