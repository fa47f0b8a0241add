"""The benchmarks without Spark on their smallest input; each module of a benchmark names its options."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.parts.traced.start import timed

FOLDER = Path(__file__).parents[2] / "benchmarks"
BENCHMARKS = sorted(file.stem for file in FOLDER.glob("*.py") if "PARSER = parser(" in file.read_text())
FIGURES = {"engine": {"growth", "journal", "wide", "evaluations", "large"}, "planner": {"rows"}, "orders": {"rows"}}
FIGURES["start"] = {"partitions", "events", "replayed", "start", "restored", "processor", "megabytes"}


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(FIGURES))
def test_a_benchmark_writes_its_figures(name: str, tmp_path, monkeypatch, capsys) -> None:
    module, file = import_module(f"benchmarks.{name}"), tmp_path / "figures.json"
    monkeypatch.setattr(sys, "argv", [name, "--smoke", "--json", str(file)])
    if name == "planner":
        module.main()
    else:
        module.main(module.run, module.PARSER)
    report = json.loads(file.read_text())
    assert report.keys() == {"machine", "size", "goals"} | FIGURES[name]
    assert report["size"] == "smoke"
    assert len(capsys.readouterr().out.splitlines()) == len(report["goals"]) > 0


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_has_a_quick_and_a_smallest_form(name: str) -> None:
    parser = import_module(f"benchmarks.{name}").PARSER
    assert [parser.parse_args(told).size.value for told in ([], ["--quick"], ["--smoke"])] == ["full", "quick", "smoke"]


def test_a_report_holds_one_size(tmp_path, monkeypatch) -> None:
    module, file = import_module("benchmarks.planner"), tmp_path / "figures.json"
    file.write_text(json.dumps({"size": "full", "rows": []}))
    monkeypatch.setattr(sys, "argv", ["planner", "--smoke", "--json", str(file)])
    with pytest.raises(SystemExit, match="holds measurements of the size full; name another file"):
        module.main()


def test_what_is_traced_exists() -> None:
    missing = [f"{owner.__name__}.{name}" for owner, names in timed() for name in names if not hasattr(owner, name)]
    assert not missing
