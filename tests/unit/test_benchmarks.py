"""The benchmarks without Spark on their smallest input, their command line, and what is made of their results."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from benchmarks.__main__ import SUITES, main, parser, suite
from benchmarks.parts.harness import by_turns
from benchmarks.parts.results import RESULTS, Result, commit, figure, none
from benchmarks.parts.tables import DOCUMENTS, TABLE, renewed, table
from benchmarks.parts.traced.start import timed
from benchmarks.parts.trees import tree

CASES = [(name, case) for name in SUITES for case in suite(name).CASES]
RESULT_FILES = sorted(each for each in RESULTS.glob("*.json") if not each.name.endswith(".details.json"))
HERE = (("engine", "core"), ("engine", "store"), ("engine", "start"), ("memory", "plans"), ("staleness", "orders"))


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "case"), HERE)
def test_a_case_writes_its_result(name: str, case: str, tmp_path: Path, capsys) -> None:
    main([name, case, "--smoke", "--json", str(tmp_path)])
    result = Result.read(tmp_path / f"{name}-{case}.json")
    assert (result.suite, result.case, result.command) == (name, case, f"python -m benchmarks {name} {case} --smoke")
    assert result.machine.keys() == {"cores", "memory", "spark", "java", "python", "system"} and result.commit
    assert (tmp_path / f"{name}-{case}.details.json").exists()
    assert len(capsys.readouterr().out.splitlines()) == len(result.figures) > 0


@pytest.mark.parametrize(("name", "case"), CASES)
def test_every_case_has_a_description_and_three_sizes(name: str, case: str) -> None:
    assert suite(name).CASES[case].__doc__
    sizes = [parser().parse_args([name, case, *option]).size.value for option in ([], ["--quick"], ["--smoke"])]
    assert sizes == ["full", "quick", "smoke"]


def test_a_case_that_is_not_there_is_refused(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["overhead", "nothing"])
    assert "there is no case nothing; there are writes, starts, merges, streams" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "words"), [({"size": "full"}, "of the size full"), ({"commit": "0000000"}, "of the commit 0000000")]
)
def test_details_are_of_one_size_and_commit(wrong: dict[str, str], words: str, tmp_path: Path) -> None:
    (tmp_path / "memory-plans.details.json").write_text(
        json.dumps({"size": "smoke", "commit": commit(), "rows": []} | wrong)
    )
    with pytest.raises(SystemExit, match=f"holds measurements {words}; remove it, or name another directory"):
        main(["memory", "plans", "--smoke", "--json", str(tmp_path)])


def test_a_carried_figure_claims_no_spread() -> None:
    """Documents had a median alone: that all rounds were equal was not measured."""
    carried = [each for file in RESULT_FILES for each in Result.read(file).figures if Result.read(file).source]
    assert not [each.name for each in carried if each.rounds > 1 and each.least == each.most == each.median]


def test_what_is_traced_exists() -> None:
    missing = [f"{owner.__name__}.{name}" for owner, names in timed() for name in names if not hasattr(owner, name)]
    assert not missing


def test_a_tree_is_a_directory_or_a_git_reference(tmp_path: Path) -> None:
    (tmp_path / "other" / "python" / "headwater").mkdir(parents=True)
    assert tree(str(tmp_path / "other"), tmp_path / "place") == tmp_path / "other"
    with pytest.raises(SystemExit, match="no-such-tree is no directory of a tree and no git reference .*--base"):
        tree("no-such-tree", tmp_path / "place")


def test_sides_take_turns_and_the_first_rounds_do_not_count() -> None:
    order: list[str] = []
    sides = {name: lambda turn, name=name: order.append(name) or turn for name in ("a", "b")}
    assert by_turns(sides, 1, 2) == {"a": [1, 2], "b": [1, 2]}
    assert order == ["a", "b", "b", "a", "a", "b"]


def test_a_goal_is_of_the_median() -> None:
    met, missed = figure("f", [1.0, 1.2, 9.0], "times", most=1.2), figure("f", [1, 2], "s", least=2)
    assert (met.text, met.goal, met.met) == ("1.20 times (1.00 to 9.00)", "<= 1.2", True)
    assert (missed.text, missed.verdict, missed.met) == ("1.50 s (1 to 2)", ">= 2 s, **missed**", False)
    assert figure("f", 3).met is None
    assert (none("wrong views", ["v"]).text, none("wrong views", []).met) == ("1; v", True)


def result(figures: list) -> Result:
    return Result("s", "c", "python -m benchmarks s c", "2026-11-28", "abc", {"cores": 2, "spark": "4.1.0"}, figures)


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    own = result([figure("f", [1, 2], "s", most=3, column="c", note="n"), none("w", [])])
    own.write(tmp_path / "s-c.json")
    assert Result.read(tmp_path / "s-c.json") == own


def test_a_table_has_a_row_for_each_figure_or_name(tmp_path: Path) -> None:
    result([figure("one", 1, "s", most=0), figure("two", 2)]).write(tmp_path / "s-c.json")
    shown = table(["s-c"], tmp_path).splitlines()
    assert shown[3:5] == ["| one | 1 s | <= 0 s, **missed** | 1 |", "| two | 2 |  | 1 |"]
    assert shown[-1] == "- `python -m benchmarks s c`: 2 cores, Spark 4.1.0, 28 November 2026, commit abc."
    result([figure("q", 1, "s", column="a"), figure("q", 2, column="b", most=2)]).write(tmp_path / "s-c.json")
    assert table(["s-c"], tmp_path).splitlines()[1:4] == [
        "|  | a | b |",
        "| --- | --- | --- |",
        "| q | 1 s | 2 (goal <= 2) |",
    ]
    assert table(["s-c/b"], tmp_path).splitlines()[1] == "|  | b |"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_the_tables_of_documents_are_those_of_the_results(document: Path) -> None:
    text = document.read_text()
    assert text == renewed(text), "write the tables anew with: python -m benchmarks tables"


def test_every_result_in_git_is_of_a_case_and_in_a_table() -> None:
    listed = subprocess.run(["git", "ls-files", "*.json"], cwd=RESULTS, capture_output=True, text=True, check=False)
    kept = {Path(each).stem for each in listed.stdout.splitlines()}
    shown = {
        each.partition("/")[0]
        for doc in DOCUMENTS
        for found in TABLE.finditer(doc.read_text())
        for each in found["asked"].split(" + ")
    }
    assert shown and shown <= {file.stem for file in RESULT_FILES}
    assert kept <= shown, "a result that no document shows"
    assert all((found.suite, found.case) in CASES for found in map(Result.read, RESULT_FILES))
    for file in RESULT_FILES:
        own = Result.read(file)
        assert (own.suite, own.case) in CASES and file.stem.startswith(f"{own.suite}-{own.case}")
        assert own.machine["cores"] and own.commit and own.date and own.figures
        parser().parse_args(shlex.split(own.command)[3:])
