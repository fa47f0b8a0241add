"""The documents say of the code what it is: its files, columns, states, methods, settings and durations."""

from __future__ import annotations

import re
import subprocess

import pytest
from documents import ROOT, pages, read, section

from headwater.engine.methods.all_methods import METHODS
from headwater.engine.tell.refreshes import REFRESHES
from headwater.engine.tell.status import VIEWS, Condition
from headwater.spark.jvm.settings import SETTINGS

LISTED = "tests/README.md"
"""The one document that quotes how long `make test` and `.ci/run` take."""

SPANS = re.compile(r"`([^`\n]+)`")
CODE = re.compile(r"(?<![\w.*/<{…-])(?:[\w.-]+/)*[\w-]+\.(?:py|scala|toml|sbt|yml)(?![\w*])")
FILES = re.compile(r'<text class="file"[^>]*>([^<]+)</text>')
SHOWN = {"my_jobs.py"}
"""Files of a reader."""

TAKES = re.compile(r"(?:\d|\b(?:a|an|half)\b)[^.|]*\b(?:s|seconds?|minutes?|hours?)\b", re.IGNORECASE)
QUOTED = re.compile(r"make test(?!-)|\.ci/run")


def rows(lines: list[str], header: str) -> list[str]:
    """The names in the first column of the table with this header."""
    start = next(n for n, line in enumerate(lines) if line.startswith(header))
    names: list[str] = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        names += re.findall(r"`([^`]+)`", line.split("|")[1])
    return names


def files() -> frozenset[str]:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    return frozenset(listed.stdout.decode().split("\n"))


PICTURE = "docs/how-it-works.svg"


@pytest.mark.parametrize("page", [*pages(), PICTURE])
def test_every_file_of_code_that_a_document_names_exists(page: str) -> None:
    ends = {"/".join(each.split("/")[n:]) for each in files() for n in range(each.count("/") + 1)}
    spans = FILES if page == PICTURE else SPANS
    named = {path for span in spans.findall(read(page)) for path in CODE.findall(span)}
    missing = sorted(named - ends - SHOWN)
    assert not missing, f"{page} names {', '.join(missing)}, which is no file of the project"


def test_the_columns_of_statements_are_those_of_the_code() -> None:
    ask, refresh = section("docs/statements.md", "Ask"), section("docs/statements.md", "Refresh")
    assert rows(ask, "| column") == list(VIEWS)
    assert rows(refresh, "| column") == list(REFRESHES)


def test_the_states_of_views_are_those_of_the_code() -> None:
    assert rows(section("docs/statements.md", "Ask"), "| state") == [each.value for each in Condition]


def test_the_methods_are_those_of_the_code() -> None:
    words = [f"`{each.mode.value}` | {each.said}" for each in METHODS]
    listed = [line for line in section("docs/maintenance.md", "The methods") if line.startswith("| `")]
    assert sorted({*words}) == sorted(each.strip("| ").rpartition(" | ")[0] for each in listed)


def test_the_settings_are_those_of_the_code() -> None:
    listed = [each.partition("]")[0].strip("[`") for each in settings()]
    assert sorted(listed) == sorted(f"spark.headwater.{name}" for name in SETTINGS)


def settings() -> list[str]:
    return [line[2:] for line in read("docs/settings.md").splitlines() if line.startswith("| [`spark.headwater.")]


@pytest.mark.parametrize("page", sorted({*pages(), "Makefile"} - {LISTED}))
def test_one_document_says_how_long_the_tests_take(page: str) -> None:
    for line in read(page).splitlines():
        for clause in re.split(r"(?<=[.|]) ", line):
            if found := QUOTED.search(clause):
                assert not TAKES.search(clause[found.end() :]), f"{page} says how long the tests take: {clause.strip()}"
