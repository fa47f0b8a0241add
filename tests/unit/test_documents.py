"""The documents: links lead somewhere, sentences are short, nothing that a user can set is missing, the site builds."""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from documents import ROOT, anchors, blocks, commands, pages, prose, read, sentences, words

import headwater
from headwater.cli.main import COMMANDS, main
from headwater.model.policy import PROPERTIES
from headwater.spark.jvm.settings import SETTINGS

LONGEST = 25
"""Words of a sentence."""

"""Settings that the shim makes for the engine."""


@pytest.mark.parametrize("page", pages())
def test_every_link_leads_to_a_file_and_a_heading(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(read(page))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        assert found.is_file(), f"{page} links to {target}, which is no file"
        if anchor:
            assert anchor in anchors(found.relative_to(ROOT).as_posix()), f"{page} links to {target}: no such heading"


@pytest.mark.parametrize("page", pages())
def test_no_sentence_is_long(page: str) -> None:
    long = [each for each in sentences(read(page)) if words(each) > LONGEST]
    assert not long, f"{page} has {len(long)} sentences of more than {LONGEST} words:\n" + "\n".join(long)


def test_the_readme_is_short() -> None:
    assert len(read("README.md").splitlines()) <= 150


def test_what_a_user_can_set_and_call_is_documented() -> None:
    for name in PROPERTIES:
        assert f"## headwater.{name}\n" in read("docs/properties.md")
    for name in SETTINGS:
        assert f"`spark.headwater.{name}`" in read("docs/settings.md")
    for name in COMMANDS:
        assert f"`headwater {name}" in read("docs/cli.md")


@pytest.mark.parametrize("page", pages())
def test_commands_in_documents_are_understood(page: str) -> None:
    """The command line parses each of them; nothing runs."""
    for line in commands(page, "headwater"):
        command, arguments = main, shlex.split(line)[1:]
        context = click.Context(main)
        while isinstance(command, click.Group):
            _, command, arguments = command.resolve_command(context, arguments)
        command.make_context(command.name, arguments)


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    home = (tmp_path / "site/index.html").read_text()
    assert "keeps the derived tables of a Spark warehouse fresh" in home
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"https?://", home), "the site needs no network"


def test_the_example_of_embedding_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the warehouse and the tables of the whole example."""
    monkeypatch.chdir(tmp_path)
    warehouse = runpy.run_path(str(ROOT / "docs/examples/duckdb_tables.py"))["DuckWarehouse"](tmp_path / "shop.duckdb")
    warehouse.db.execute("CREATE TABLE sales AS SELECT '2024-02-29' AS day, 10 AS amount")
    given = {
        "warehouse": warehouse,
        "daily": "SELECT day, sum(amount) AS total FROM sales GROUP BY day",
        "monthly": "SELECT day[:7] AS month, sum(total) AS total FROM daily GROUP BY 1",
        **{name: getattr(headwater, name) for name in ("Engine", "MONTH", "Windowed", "table")},
    }
    [block] = blocks("docs/embedding.md", "python")
    exec(block, given)
    assert warehouse.db.execute("FROM monthly").fetchall() == [("2024-02", 10)]


def test_the_job_in_the_documents_is_the_one_that_a_test_runs() -> None:
    file = read("docs/examples/weekly_sales.py")
    assert blocks("docs/jobs.md", "python")[0] == file[file.index("from headwater") :]
