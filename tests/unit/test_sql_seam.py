"""Values of data come into SQL by ``headwater.spark.sql`` alone, and plans of the shim by ``Access.frame`` alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import headwater.spark

PYTHON = Path(headwater.spark.__file__).parent
SCALA = Path(__file__).parents[2] / "jvm-shim/src/main/scala"

SINKS = {"sql", "where", "filter", "expr", "selectExpr", "parseExpression", "run_quietly"}
"""Methods that have Spark parse a text."""

QUOTED = re.compile(r"'$")


def interpolated(tree: ast.AST) -> Iterator[tuple[ast.JoinedStr, str, ast.expr]]:
    """The values in f-strings, each with the text before it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for before, value in zip([ast.Constant(""), *node.values], node.values, strict=False):
                if isinstance(value, ast.FormattedValue):
                    yield node, str(before.value) if isinstance(before, ast.Constant) else "", value.value


def parsed(tree: ast.AST) -> Iterator[ast.JoinedStr]:
    """The f-strings that are, or are in, an argument of a sink, or that a variable passes to one."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        names = set[str]()
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SINKS:
                for argument in node.args:
                    yield from (each for each in ast.walk(argument) if isinstance(each, ast.JoinedStr))
                    names |= {each.id for each in ast.walk(argument) if isinstance(each, ast.Name)}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and names & {
                each.id for each in node.targets if isinstance(each, ast.Name)
            }:
                yield from (each for each in ast.walk(node.value) if isinstance(each, ast.JoinedStr))


def test_no_value_stands_in_quotes_of_sql() -> None:
    """A value between quotes is one that nobody escaped. Constants of the module may stand there."""
    found = []
    for path in sorted(PYTHON.rglob("*.py")):
        tree = ast.parse(path.read_text())
        sql = set(map(id, parsed(tree)))
        for node, before, value in interpolated(tree):
            if id(node) in sql and QUOTED.search(before) and not _is_constant(value):
                found.append(f"{path.name}:{node.lineno}: {ast.unparse(value)}")
    known = {"sql.py", "retention.py"}  # the one function; milliseconds of a property
    assert [each for each in found if each.partition(":")[0] not in known] == [], "use sql.string or sql.literal"


def test_each_plan_of_the_shim_is_built_in_its_session() -> None:
    """Spark's expressions take ANSI and other settings from the active session of the thread when they are made."""
    built = [path.name for path in SCALA.rglob("*.scala") if "Dataset.ofRows" in path.read_text()]
    assert built == ["Access.scala"], "build the plan in the block of Access.frame"


def _is_constant(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id.isupper()
