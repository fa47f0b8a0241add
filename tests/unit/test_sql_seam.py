"""Values of data come into SQL by ``spark.jvm.sql`` alone, and plans of the shim by ``Access.frame`` alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from text_flow import Package

import headwater

PYTHON = Path(headwater.__file__).parent
SCALA = Path(__file__).parents[2] / "jvm-shim/src/main/scala"

KNOWN = {
    "headwater.runtime.recorder: expression.sql": "Spark's spelling of an expression of the query",
    "headwater.spark.tables.catalog: column.type": "Spark's spelling of a type",
    "headwater.spark.tables.catalog: definition.format": "one of the names of formats",
    "headwater.spark.tables.delta.looks: kind": "the name of a type of Delta's",
    "headwater.spark.tables.delta.retention: definition.policy.retain": "a number",
    "headwater.spark.refreshing.trailing_edge: edge.at": "a number",
    "headwater.spark.tables.iceberg.loaded: json.loads(self._calls.shapes(table))": "types",
    "headwater.spark.tables.iceberg.tables: loaded.layout.schema": "types",
    "headwater.spark.refreshing.methods.keys: keys.columns": "a key of the expressions of a place",
    "headwater.spark.refreshing.methods.keys: keys.places": "Spark's spelling of expressions of the query",
    "headwater.spark.refreshing.recipe: definition.made_by": "the query itself",
    "headwater.memory.buffers.scans: extract.condition": "Spark's spelling of conditions of the query",
    "headwater.spark.statements.recompute: column.name": "a key of the types of columns",
    "headwater.spark.statements.recompute: column.type": "Spark's spelling of a type",
    "headwater.spark.refreshing.verify: definition.made_by.text": "the query itself",
}
"""What is no value of data, and why. All that is spelled from data must come from ``sql.string`` or its like."""


def test_values_reach_a_parser_as_they_are_spelled() -> None:
    package = Package.of(PYTHON, "headwater")
    found = {
        leaf: at
        for part in ("spark", "memory", "cli", "demo")
        for leaf, at in package.leaves(f"headwater.{part}").items()
    }
    new = {leaf: at for leaf, at in found.items() if leaf not in KNOWN}
    assert not new, "spell it by sql.string, sql.literal or sql.identifier"
    assert set(KNOWN) == set(found), "these do not reach a parser any more"


SPELLING = "def string(value):\n    return f\"X'{value}'\""
LEAKS = {
    "at once": "def run(session, row):\n    session.sql(f\"SELECT '{row.key}'\")",
    "without quotes": "def run(session, row):\n    session.sql('SELECT ' + row.key)",
    "a variable": "def run(session, row):\n    text = row.key\n    if text: text = text.upper()\n    session.sql(text)",
    "a helper": "def listed(row):\n    return f'({row.key})'\ndef run(frame, row):\n    frame.where(listed(row))",
    "a helper that passes": "def told(t):\n    return t\ndef run(frame, row):\n    frame.where(told(told(row.key)))",
    "a parameter": "def ask(session, text):\n    session.sql(text)\ndef run(session, row):\n    ask(session, row.key)",
    "a list": "def run(frame, row):\n    terms = []\n    terms.append(row.key)\n    frame.where(' OR '.join(terms))",
    "a method": (
        "class Asker:\n    def of(self, row):\n        return [row.key]\n"
        "    def run(self, session, row):\n        session.sql(', '.join(map(str, self.of(row))))"
    ),
    "a field": (
        "class Reach:\n    bounds: str\n    def near(self, frame):\n        return frame.where(self.bounds)\n"
        "def reached(row):\n    return Reach(row.key)"
    ),
    "one of two results": (
        "def both(row):\n    return row.key, 1\n"
        "def run(frame, row):\n    text, count = both(row)\n    frame.where(text)"
    ),
    "a message to the shim": "def pin(row):\n    return Pin('', until=f'{row.key} < 3')",
}


@pytest.mark.parametrize("how", LEAKS)
def test_a_leak_is_found(how: str) -> None:
    assert _leaves(LEAKS[how]) != []


SAFE = {
    "at once": "def run(session, row):\n    session.sql(f'SELECT {sql.string(row.key)}')",
    "mapped": "def run(session, row):\n    session.sql(', '.join(map(sql.string, row)))",
    "a helper": "def told(row):\n    return sql.string(row.key)\ndef run(frame, row):\n    frame.where(told(row))",
    "a number": "def run(frame, rows):\n    frame.where(f'x < {len(rows)}')",
    "a column": "def run(frame, row):\n    frame.where(F.col('x').isin(*row.keys))",
    "another of two results": (
        "def both(row):\n    return row.key, 'x'\n"
        "def run(frame, row):\n    key, text = both(row)\n    frame.where(text)"
    ),
}


@pytest.mark.parametrize("how", SAFE)
def test_what_is_spelled_is_no_leak(how: str) -> None:
    assert _leaves(SAFE[how]) == []


def test_each_plan_of_the_shim_is_built_in_its_session() -> None:
    """Spark's expressions take ANSI and other settings from the active session of the thread when they are made."""
    built = [path.name for path in SCALA.rglob("*.scala") if "Dataset.ofRows" in path.read_text()]
    assert built == ["Access.scala"], "build the plan in the block of Access.frame"


def _leaves(module: str) -> list[str]:
    own = ast.parse(f"from p import sql\n{module}")
    return [*Package({"p.own": own, "p.sql": ast.parse(SPELLING)}).leaves("p.own")]
