"""Codes of reasons: the page that lists them, and the code that gives them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from documents import read

import headwater
from headwater.engine.requests.reasons import where
from headwater.model.partition import Slice
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
        yield path, ast.parse(path.read_text())


def given(tree: ast.AST) -> set[str]:
    """The names of codes from which a piece of code makes a value. What it compares with a code makes none."""
    match tree:
        case ast.Attribute(value=ast.Name(id="Code"), attr=name):
            return {name}
        case ast.Compare() | ast.pattern():
            return set()
    return {name for child in ast.iter_child_nodes(tree) for name in given(child)}


def test_the_page_lists_each_code_once():
    reasons, _ = read(PAGE).split(REFUSED)
    assert sorted(listed(reasons)) == sorted(each.value for each in Code)


def test_each_code_is_given_somewhere():
    found = {name for path, tree in trees() if path.name != "reason.py" for name in given(tree)}
    assert found == {each.name for each in Code}


def test_a_code_that_is_only_compared_is_not_given():
    reads = "if why.code is Code.RUN_FAILED or why.code in (Code.RUN_CANCELLED,): pass\n"
    cases = "match why:\n    case Reason(Code.WAIT_READY) | Code.WAIT_TRACK: pass\n"
    makes = "why = Reason(Code.VIEW_JOB if made else Code.VIEW_FORMAT, text)\n"
    assert given(ast.parse(reads + cases + makes)) == {"VIEW_JOB", "VIEW_FORMAT"}


def test_the_page_lists_the_code_of_each_refusal():
    found = set()
    names = {"DefinitionError", "Refusal"}
    for _, tree in trees():
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(code)), *_]) if name in names:
                    found.add(code)
    _, refused = read(PAGE).split(REFUSED)
    assert sorted(listed(refused)) == sorted(found)


def test_several_reasons_have_their_codes_once_and_in_order():
    late, failed = Reason(Code.FRESHNESS_LATE, "late"), Reason(Code.RUN_FAILED, "no luck")
    assert codes([late, failed, late]) == "freshness.late, run.failed"
    assert failed.coded == "no luck [run.failed]" and str(failed) == "no luck"


def test_the_order_in_which_partitions_were_found_does_not_show():
    first, second, third, fourth = (Slice.of({"day": each}) for each in "abcd")
    assert where([second, first]) == where([first, second]) == "[day=a; day=b]"
    assert where([fourth, third, second, first]) == "[day=a; day=b; day=c and 1 more]"
