"""No name of a class or module has two meanings. What occurs twice stands here, with its reason."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection
from functools import cache
from pathlib import Path

import headwater

ROOT = Path(headwater.__file__).parent

ONE_IDEA = (
    ("spark/tables/delta", "spark/tables/iceberg", "spark/tables"),  # the same part of each format
    ("model", "algebra/derive", "engine/methods", "spark/refreshing/methods"),  # a method: derived, chosen, carried out
    ("model", "algebra"),  # data, and what is computed from it
    ("model", "engine/requests"),
    ("engine", "spark/refreshing"),  # the folders of the methods
    ("cli", "engine/tell"),  # a command, and what it shows
    ("cli", "engine/requests"),
    ("cli", "simulate"),
)
"""Folders that have one idea on two sides: a name may be in each of them."""

CLASSES = {
    "Question": "for a schedule, and the one that a plan of memory answers",
    "Warehouse": "the port, and its short form for programs that embed Headwater",
}
MODULES = {
    "jobs": "what users import, and the jobs of an application",
    "memory": "the folder, its port, and what is behind that",
    "tables": "the folder, and the format itself in the folder of each",
}


@cache
def names() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The folders of each class and of each module."""
    classes, modules = defaultdict(list), defaultdict(list)
    for file in sorted(ROOT.rglob("*.py")):
        path = file.relative_to(ROOT)
        module = path.parent if path.name == "__init__.py" else path.with_suffix("")
        modules[module.name].append(module.parent.as_posix())
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(path.parent.as_posix())
    return classes, modules


def twice(names: dict[str, list[str]]) -> set[str]:
    return {name for name, folders in names.items() if len(folders) > 1 and not is_one_idea(folders)}


def is_one_idea(folders: Collection[str]) -> bool:
    return len(set(folders)) == len(folders) and any(set(folders) <= set(sides) for sides in ONE_IDEA)


def test_a_class_has_a_name_of_its_own() -> None:
    assert twice(names()[0]) == CLASSES.keys(), "rename one of two by its meaning, or give a reason here"


def test_a_module_has_a_name_of_its_own() -> None:
    assert twice(names()[1]) == MODULES.keys(), "rename one of two by its meaning, or give a reason here"


def test_one_idea_is_in_folders_beside_one_another() -> None:
    assert is_one_idea(["cli", "simulate"]) and not is_one_idea(["cli", "store"]) and not is_one_idea(["cli", "cli"])
