"""A statement that a message advises names its view with the catalog: whoever reads it may be in another one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.engine.methods.choice import refusal
from headwater.model.reason import Code, Reason
from headwater.model.view import Definition
from headwater.model.work import Mode

PYTHON = Path(__file__).parents[2] / "python/headwater"
BEFORE_A_NAME = re.compile(r"(MATERIALIZED VIEW|EXPLAIN REFRESH|REFRESHES FOR|OR REPLACE|(DROP|ALTER) TABLE) $")
SPELLED = ("anywhere(", "sql.with_catalog(")
OTHERS = {
    "table": "spelled by sql.with_catalog, for Spark",
    "filled": "spelled by sql.with_catalog, for Spark",
    "condition": "words",
    "spelled(name)": "as the user has just spelled it",
    "self.name": "a view of the demo, which runs the statement",
}


def named_after_statements(tree: ast.AST) -> Iterator[str]:
    """What a text has for the name of a view or table in a statement."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for words, value in zip(node.values, node.values[1:], strict=False):
                named = isinstance(words, ast.Constant) and BEFORE_A_NAME.search(str(words.value))
                if named and isinstance(value, ast.FormattedValue):
                    yield ast.unparse(value.value)


def test_each_advised_statement_names_the_catalog() -> None:
    found = {
        (path.relative_to(PYTHON).as_posix(), each)
        for path in PYTHON.rglob("*.py")
        for each in named_after_statements(ast.parse(path.read_text()))
    }
    assert any(each.startswith("anywhere(") for _, each in found)
    bare = sorted((at, each) for at, each in found if not each.startswith(SPELLED) and each not in OTHERS)
    assert not bare, f"spell it by model.name.anywhere: {bare}"


def test_a_bare_name_is_found() -> None:
    text = 'f"{view} is behind; REFRESH MATERIALIZED VIEW {view} FULL, or DROP TABLE {anywhere(view)}"'
    assert list(named_after_statements(ast.parse(text))) == ["view", "anywhere(view)"]


@pytest.mark.parametrize(
    ("view", "name"), [("db.v", "spark_catalog.db.v"), ("lake.db.v", "lake.db.v"), ("lake.``.v", "lake.v"), ("v", "v")]
)
def test_a_remedy_can_be_run_from_any_catalog(view: str, name: str) -> None:
    told = refusal(Definition(view, "SELECT 1", ()), Mode.CHANGES, Reason(Code.VIEW_TRAILING_EDGE, "why"))
    assert f"{view} cannot be refreshed" in str(told) and f"REFRESH MATERIALIZED VIEW {name} FULL" in str(told)
