"""Codes of reasons: the page that lists them, and the code that gives them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from documents import read

import headwater
from headwater.model.reason import Code, Reason, codes

SOURCE = Path(headwater.__file__).parent
PAGE, REFUSED = "docs/reasons.md", "## Refused definitions"


def listed(text: str) -> list[str]:
    """The codes in the first column, each with a meaning and a remedy."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    assert all(len(row) == 3 and all(row) for row in rows if re.fullmatch(r"`[\w.]+`", row[0])), rows
    return [row[0].strip("`") for row in rows if re.fullmatch(r"`[\w.]+`", row[0])]


def trees() -> Iterator[tuple[Path, ast.AST]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path, ast.walk(ast.parse(path.read_text()))


def test_the_page_lists_each_code_once():
    reasons, _ = read(PAGE).split(REFUSED)
    assert sorted(listed(reasons)) == sorted(each.value for each in Code)


def test_each_code_is_given_somewhere():
    given = {
        node.attr
        for path, nodes in trees()
        if path.name != "reason.py"
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Code"
    }
    assert given == {each.name for each in Code}


def test_the_page_lists_the_code_of_each_refusal():
    found = set()
    names = {"DefinitionError", "Refusal"}
    for _, nodes in trees():
        for node in nodes:
            match node:
                case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(code)), *_]) if name in names:
                    found.add(code)
    _, refused = read(PAGE).split(REFUSED)
    assert sorted(listed(refused)) == sorted(found)


def test_several_reasons_have_their_codes_once_and_in_order():
    late, failed = Reason(Code.FRESHNESS_LATE, "late"), Reason(Code.RUN_FAILED, "no luck")
    assert codes([late, failed, late]) == "freshness.late, run.failed"
    assert failed.coded == "no luck [run.failed]" and str(failed) == "no luck"
