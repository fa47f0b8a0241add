"""One module of each language spells, folds and compares the names of tables: ``model/name.py`` and ``Names.scala``.

These tests look at each place that folds cases, or puts a text together or takes it apart at dots. Such a place is on a
list here, with what it is about. A new one is a key of its own, unless it is about something else.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON, SCALA = ROOT / "python/headwater", ROOT / "jvm-shim/src/main/scala"

KNOWN_PYTHON = {
    "the keys themselves": {
        "model.name": ["'.'.join", "key.lower", "name.key.lower"],
        "spark.jvm.sql": ["'.'.join"],  # SQL of a key
        "spark.statements.words": ["'.'.join"],  # what a message says
    },
    "the name of a catalog": {"spark.defining.resolving": ["first.lower"]},
    "columns": {
        "algebra.derive.__init__": ["name.lower"],
        "algebra.derive.image": ["declared.casefold", "queried.casefold"],
        "algebra.derive.keys": ["each.casefold", "name.casefold"],
        "algebra.derive.relation": ["each.lower", "name.lower"],
        "engine.requests.backfill": ["column.lower", "name.lower"],
        "model.partition": ["each.casefold", "name.casefold"],
        "model.policy": ["each.strip().rpartition('.')"],
        "spark.tables.catalog": ["column.name.lower", "name.lower"],
        "spark.defining.analyse": ["column.name.lower", "name.lower"],
        "spark.tables.delta.layout": ["each['name'].casefold"],
        "spark.defining.job_maps": [
            "column.lower", "each.lower", "each.name.lower", "expression.column.lower", "name.lower", "read.lower",
        ],
        "spark.defining.jobs": ["column.name.lower", "each.lower", "each.name.lower", "name.lower"],
        "spark.defining.options": ["column.lower", "each.lower", "str.lower"],
        "spark.defining.rule_text": ["token.text.lower", "written.lower"],
        "spark.defining.stated_maps": [
            "column.name.lower", "each.name.lower", "name.lower", "named.lower", "unit[0].lower",
        ],
        "spark.statements.recompute": ["name.lower"],
    },
    "types": {
        "algebra.derive.keys": [f"plain({each}).casefold" for each in ("declared", "queried", "queried.type", "type")],
        "algebra.derive.span": ["queried.lower"],
        "algebra.notation": ["column_type.lower"],
        "spark.refreshing.methods.touched": ["column.type.lower", "type.lower"],
        "spark.tables.view_rows": ["column.type.lower", "field.dataType.simpleString().lower"],
    },
    "words of settings, properties, formats and messages": {
        "algebra.notation": ["unit.value.lower"],
        "jobs": ["partition.of.value.lower"],
        "model.partition": ["unit.value.lower"],
        "model.policy": ["text.lower", "text.strip().lower"],
        "model.properties": ["key.lower"],
        "spark.defining.analyse": [
            "dict(definition.settings).get(INFERENCE, 'true').lower",
            "message.session.settings.get(name, needed).lower",
        ],
        "spark.refreshing.changed_rows": ["(session.conf.get(name) or '').lower"],
        "memory.buffers.wiring": ["(settings.memory_path or '').lower"],
        "spark.defining.options": ["wanted.lower"],
        "spark.defining.stated_maps": ["value.strip().lower"],
        "spark.tables.delta.retention": ["text.strip().lower"],
        "spark.jvm.settings": ["text.lower"],
        "spark.jvm.wire": ["kind.__name__.lower"],
        "spark.process.store_location": ["key.lower"],
    },
    "names of Python and of Java, and files": {
        "editions": [
            "'.'.join", "module.partition('.')", "name.partition('.')", "name.rpartition('.')", "name.split('.')",
            "package.split('.')",
        ],
        "spark.defining.jobs": ["function.split('.')"],
        "spark.jvm.shim": ["name.split('.')"],
    },
}  # fmt: skip

KNOWN_SCALA = {
    "the keys themselves": {"Names": ["catalog.equalsIgnoreCase", "mkString", "nameParts", "part.toLowerCase"]},
    "what a message, a digest or a statement of Spark says": {
        "FileTables": ["table.quotedString"],
        "Functions": ["identifier.unquotedString"],
        "Meant": ["identifier.unquotedString", "name.unquotedString"],
        "Tables": ["mkString"],
    },
    "columns": {
        "FileSnapshots": ["name.equalsIgnoreCase"],
        "Overlay": ["_.toLowerCase", "name.equalsIgnoreCase", "name.toLowerCase"],
        "Partitions": ["_.equalsIgnoreCase", "_1.equalsIgnoreCase"],
        "PlanSource": ["mkString"],
        "TakeOverCreate": ["mkString"],
    },
    "words of settings, properties, options and formats": {
        "Application": ["trim.toLowerCase"],
        "Catalogs": ["_.equalsIgnoreCase"],
        "Commands": ["each.toLowerCase"],
        "ConsistentReads": ["trim.toLowerCase"],
        "Entries": ["_1.equalsIgnoreCase"],
        "EvaluatedAtOnce": ["getText.toLowerCase"],
        "FileFormats": ["_.equalsIgnoreCase"],
        "FileSnapshots": ["_.equalsIgnoreCase", "key.toLowerCase"],
        "Format": ["name.toLowerCase"],
        "LakeRelations": ["_.toLowerCase"],
        "LakeTables": ["text.toLowerCase"],
        "ParsedAway": ["_.equalsIgnoreCase", "trim.toLowerCase"],
        "PlanSource": ["format.toLowerCase"],
        "Publication": ["_.equalsIgnoreCase"],
        "Reading": ["key.toLowerCase"],
        "WaitForViews": ["trim.toLowerCase"],
    },
}


def test_python_makes_and_compares_keys_in_one_module() -> None:
    found = {
        (".".join(path.relative_to(PYTHON).with_suffix("").parts), each)
        for path in PYTHON.rglob("*.py")
        for each in of_python(ast.parse(path.read_text()))
    }
    _agree(found, KNOWN_PYTHON, "make a key by model.name.kept, compare keys by loosely, and take them apart by named")


def test_scala_makes_and_compares_keys_in_one_file() -> None:
    found = {(path.stem, each) for path in SCALA.rglob("*.scala") for each in of_scala(path.read_text())}
    _agree(found, KNOWN_SCALA, "make a key by Names.key, and read one by Names.named")


@pytest.mark.parametrize(
    "text",
    [
        "key = table.lower()",
        "same = a.casefold() == b",
        "map(str.lower, keys)",
        "key = '.'.join(parts)",
        "k.split('.')",
    ],
)
def test_a_key_of_its_own_is_found_in_python(text: str) -> None:
    assert list(of_python(ast.parse(text)))


@pytest.mark.parametrize(
    "text",
    [
        "val key = table.name.toLowerCase(Locale.ROOT)", "a.equalsIgnoreCase(b)", 'parts.mkString(".")',
        "identifier.unquotedString", "table.identifier.nameParts",
    ],
)  # fmt: skip
def test_a_key_of_its_own_is_found_in_scala(text: str) -> None:
    assert of_scala(text)


def of_python(tree: ast.AST) -> Iterator[str]:
    """The places of a module that fold cases, or join or split at dots."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=value, attr="lower" | "casefold" as how):
                text = ast.unparse(value)
                yield f"({text}).{how}" if isinstance(value, ast.BoolOp) else f"{text}.{how}"
            case ast.Call(func=ast.Attribute(value=ast.Constant(value="."), attr="join")):
                yield "'.'.join"
            case ast.Call(
                func=ast.Attribute(value=value, attr="split" | "partition" | "rpartition" as how),
                args=[ast.Constant(value=".")],
            ):
                yield f"{ast.unparse(value)}.{how}('.')"


_FOLDING = re.compile(r"\w+\.(?:toLowerCase|equalsIgnoreCase|unquotedString|quotedString|nameParts)\b")


def of_scala(text: str) -> list[str]:
    """The places of a file that fold cases, or make one text of the parts of a name."""
    plain = ["nameParts" if each.endswith(".nameParts") else each for each in _FOLDING.findall(text)]
    return plain + ["mkString"] * ('mkString(".")' in text)


def _agree(found: set[tuple[str, str]], known: Mapping[str, Mapping[str, list[str]]], remedy: str) -> None:
    listed = {(at, each) for about in known.values() for at, places in about.items() for each in places}
    assert not (new := sorted(found - listed)), f"{remedy}; or list what they are about: {new}"
    assert not (gone := sorted(listed - found)), f"these places are gone; take them off the list: {gone}"
