"""What formats can do stands in one table, and no code asks for a format's name."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from headwater.model.format import FORMATS, Format

ROOT = Path(__file__).parents[2]
PYTHON, SCALA = ROOT / "python/headwater", ROOT / "jvm-shim/src/main/scala"
TABLE = ROOT / "jvm-shim/src/main/resources/headwater/formats.json"

OWN = ("model/format.py", "demo/", *(f"spark/tables/{each.name}/" for each in FORMATS if each.artifact))
"""The table, each format's own code, and the demo, which is played in a format that its user names."""

WORDS = {each.name for each in FORMATS} - {"json", "csv", "text", "xml"}
"""Names that are no words of anything else."""

EXCEPTIONS = {
    ("cli/serve.py", "parquet"): "the format in which the demo is played, unless its user names another one",
    ("spark/jvm/sessions.py", "spark.databricks.delta.snapshotPartitions"): "a setting of Delta's own",
    (
        "spark/jvm/sessions.py",
        "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration",
    ): "another one",
    ("spark/process/store_location.py", "jdbc:derby:"): "an address of Derby's, not a format of tables",
    ("spark/process/store_location.py", "jdbc:derby:;databaseName=metastore_db;create=true"): "another one",
}
"""Texts of the code that name a format, with the reason."""

QUOTED = re.compile(r'"(\w+)"')
CLASSES_OF_SPARK = {("FileFormats.scala", each) for each in ("parquet", "orc", "avro")}
"""The names of formats beside Spark's classes that read them, the one place where the shim spells some."""

SETTING = re.compile(r"spark\.sql\.parquet\.\w+(\.\w+)*")
"""A setting of how Spark spells values in Parquet files, whatever table these are of."""


def named(source: str) -> Iterator[str]:
    """The texts of some code that name a format, and its comparisons of a format with a text."""
    tree = ast.parse(source)
    said = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in said and not SETTING.fullmatch(text):
                if WORDS & {*re.findall(r"[a-z0-9]+", text.lower())}:
                    yield text
            case ast.Compare(left=ast.Attribute(attr="format"), comparators=[ast.Constant(value=str(text))]):
                yield text


def test_a_format_is_named_in_the_table_and_in_its_own_code_only() -> None:
    files = {each.relative_to(PYTHON).as_posix(): each.read_text() for each in sorted(PYTHON.rglob("*.py"))}
    found = {(file, each) for file, text in files.items() if not file.startswith(OWN) for each in named(text)}
    assert found == EXCEPTIONS.keys(), "ask for an ability of model/format.py, or give it one"


def test_a_name_in_the_code_is_found() -> None:
    assert [*named('if definition.format == "csv":\n    """of delta"""\n    raise Error("an Iceberg table")')] == [
        "csv",
        "an Iceberg table",
    ]


def test_the_shim_reads_the_same_table(request: pytest.FixtureRequest) -> None:
    table = json.dumps([attrs.asdict(each) for each in FORMATS], indent=1) + "\n"
    if request.config.getoption("golden"):
        TABLE.write_text(table)
    assert TABLE.read_text() == table, "after a look at the change, run make golden"


def test_the_shim_names_a_format_in_its_own_code_only() -> None:
    """Of Delta's and Iceberg's own classes there are the names, beside the code that knows them."""
    files = [(each.name, each.read_text()) for each in sorted(SCALA.rglob("*.scala"))]
    found = {(file, each) for file, text in files for each in QUOTED.findall(text) if each in WORDS}
    assert found == CLASSES_OF_SPARK


def test_a_format_that_is_not_in_the_table_can_do_nothing() -> None:
    assert Format.of("lance") == Format("lance") and not Format.of("lance").followed
    assert len({each.name for each in FORMATS}) == len(FORMATS)


def test_what_follows_from_another_ability() -> None:
    """A view is a source of others, and what is read at a snapshot is followed."""
    for each in FORMATS:
        assert each.followed or not (each.holds_views or each.snapshots or each.tells_changes)
        assert each.holds_views or not (each.commits or each.incremental or each.replaces_files)
        assert bool(each.needs) == bool(each.artifact) and not (each.needs and each.listed)
