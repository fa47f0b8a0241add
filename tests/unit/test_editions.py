"""The edition of a module, and its import anew."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from headwater.editions import Editions, edition_of
from headwater.jobs import JobFunction
from headwater.model.error import RefreshFailed
from headwater.model.view import Definition, Job
from headwater.spark.defining.jobs import Jobs


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    write(tmp_path / "ed_rates.py", "from ed_tools.money import euro\n\ndef rate():\n    return euro() * 2\n")
    write(tmp_path / "ed_tools/__init__.py", "")
    write(tmp_path / "ed_tools/money.py", "from . import base\n\ndef euro():\n    return base.ONE\n")
    write(tmp_path / "ed_tools/base.py", "ONE = 1\n")
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("ed_"):
            del sys.modules[name]


def write(file: Path, text: str) -> None:
    """Writes a file whose time and size say nothing: compiled files are found by them."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    os.utime(file, (1_700_000_000, 1_700_000_000))


def test_an_edition_has_the_modules_of_the_project_and_no_others(project: Path) -> None:
    assert set(edition_of("ed_rates").sources) == {"ed_rates", "ed_tools", "ed_tools.money", "ed_tools.base"}
    assert not {name for name in sys.modules if name.startswith("ed_")}


@pytest.mark.parametrize("file", ["ed_rates.py", "ed_tools/__init__.py", "ed_tools/money.py", "ed_tools/base.py"])
def test_each_text_is_part_of_the_digest(project: Path, file: str) -> None:
    before = edition_of("ed_rates").digest
    assert edition_of("ed_rates").digest == before
    write(project / file, (project / file).read_text() + "\n# other\n")
    assert edition_of("ed_rates").digest != before


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def late():\n    import ed_tools.base\n", {"ed_tools", "ed_tools.base"}),
        ("if 1:\n    from ed_tools import money\n", {"ed_tools", "ed_tools.money", "ed_tools.base"}),
        ("import numbers, attrs, headwater, pyspark.sql\n", set()),
        ("import ed_nowhere\n", set()),
        ("import ed_rates\n", set()),
        ("def broken(:\n", set()),
    ],
)  # fmt: skip
def test_imports_are_found_wherever_they_stand(project: Path, text: str, found: set[str]) -> None:
    write(project / "ed_rates.py", text)
    assert set(edition_of("ed_rates").sources) == {"ed_rates", *found}


def test_a_package_without_an_init_file_is_one(project: Path) -> None:
    write(project / "ed_open/part.py", "from ed_open import other\n")
    write(project / "ed_open/other.py", "N = 1\n")
    assert set(edition_of("ed_open.part").sources) == {"ed_open.part", "ed_open.other"}
    assert Editions().load("ed_open.part").module.other.N == 1


def test_an_installed_module_has_an_edition_too() -> None:
    assert "attrs" in edition_of("attrs").sources
    assert set(edition_of("attrs").sources) <= {"attrs", *(n for n in edition_of("attrs").sources if n[:6] == "attrs.")}


def test_a_module_is_imported_anew_with_those_that_it_uses(project: Path) -> None:
    editions = Editions()
    first = editions.load("ed_rates")
    assert first.module.rate() == 2
    assert editions.load("ed_rates") is first
    write(project / "ed_tools/base.py", "ONE = 5\n")  # as long as before, and of the same second
    second = editions.load("ed_rates")
    assert second.module.rate() == 10
    assert second.edition.digest == edition_of("ed_rates").digest != first.edition.digest
    write(project / "ed_tools/base.py", "ONE = 1\n")
    assert editions.load("ed_rates").module.rate() == 2


def test_the_text_counts_and_not_a_compiled_file(project: Path) -> None:
    import importlib

    assert importlib.import_module("ed_tools.base").ONE == 1  # leaves a compiled file
    write(project / "ed_tools/base.py", "ONE = 7\n")
    assert Editions().load("ed_rates").module.rate() == 14


def test_a_failing_import_leaves_nothing_behind(project: Path) -> None:
    editions = Editions()
    write(project / "ed_rates.py", "raise ValueError('no')\n")
    finders = list(sys.meta_path)
    with pytest.raises(ValueError, match="no"):
        editions.load("ed_rates")
    assert sys.meta_path == finders
    write(project / "ed_rates.py", "N = 3\n")
    assert editions.load("ed_rates").module.N == 3


JOB = """
from headwater import job, table
from ed_tools.money import euro

@job(outputs=["priced"], columns="n BIGINT", deps=[table("sales")])
def priced(spark, partitions, inputs):
    return euro() * {factor}
"""


def test_two_drivers_with_other_editions_compute_what_is_on_record_or_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has a directory of its own. Whoever registers last is on record; the other refuses, and says so."""
    name, drivers = Job("ed_job:priced"), {}
    for factor in (2, 3):
        home = project / f"driver{factor}"
        home.mkdir()
        write(home / "ed_job.py", JOB.format(factor=factor))
        drivers[factor] = Jobs({"ed_job"}), home

    def on_driver(factor: int, record: Definition | None = None) -> JobFunction:
        jobs, home = drivers[factor]
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(home))
            return jobs.find(name) if record is None else jobs.on_record(name, record)

    for last, other in ((2, 3), (3, 2)):
        registered = on_driver(last)
        record = Definition("d.priced", name, (), fingerprint=registered.fingerprint)
        assert on_driver(last, record).function(None, [], {}) == last
        with pytest.raises(RefreshFailed, match="another edition than the one that was registered"):
            on_driver(other, record)
