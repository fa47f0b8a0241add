"""Reads the documents as a reader does: their blocks, examples, links, headings and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).parents[2]
PROMPT, CONTINUED = "spark-sql> ", "\n         > "
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?<=\n\n)(?: {4}.*\n|\n(?= {4}))+")
BREAK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*] |\d+\. |#|\|))")
END = re.compile(r"(?<=[.!?])[)\"*]*\s+")


@frozen
class Example:
    """A statement, and the lines that a document shows below it; ``None`` where it shows nothing."""

    statement: str
    shown: tuple[str, ...] | None


def pages() -> list[str]:
    """The documents for people, by their paths."""
    below = (each.relative_to(ROOT).as_posix() for each in (ROOT / "docs").rglob("*.md"))
    return ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "tests/README.md", *sorted(below)]


def read(page: str) -> str:
    return (ROOT / page).read_text()


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return [found[2] for found in FENCE.finditer(read(page)) if found[1] == language]


def examples(page: str) -> Iterator[Example]:
    """The statements of the ``sql`` and ``console`` blocks, in their order."""
    for found in FENCE.finditer(read(page)):
        if found[1] == "sql":
            yield from (Example(each.strip(), None) for each in found[2].split(";\n") if each.strip())
        if found[1] == "console":
            for part in found[2].replace(CONTINUED, " ").split(PROMPT)[1:]:
                statement, *shown = part.splitlines()
                yield Example(statement.removesuffix(";"), tuple(shown))


def commands(page: str, program: str) -> Iterator[str]:
    """The command lines that call a program."""
    text = FENCE.sub(lambda found: "" if found[1] else found[2], read(page))
    for found in INDENTED.finditer(text):
        for line in found[0].replace("\\\n", " ").splitlines():
            command = line.strip().partition("  #")[0].strip()
            if command.startswith(f"{program} "):
                yield command


def section(page: str, heading: str) -> list[str]:
    """The lines below a heading of the second level."""
    return read(page).partition(f"\n## {heading}\n")[2].partition("\n## ")[0].splitlines()


def prose(text: str) -> str:
    """The text without its blocks of code."""
    return INDENTED.sub("\n", FENCE.sub("", text))


def anchors(page: str) -> set[str]:
    """The anchors of the headings, as a view of the plain file makes them."""
    return {anchor(found[1]) for found in re.finditer(r"^#+ (.*)$", FENCE.sub("", read(page)), re.MULTILINE)}


def anchor(heading: str) -> str:
    words = heading.replace("&lt;", "").replace("&gt;", "").lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def sentences(text: str) -> Iterator[str]:
    """The sentences; each item of a list and each cell of a table begins one."""
    text = re.sub(r"``.+?``|`[^`\n]+`", "code", prose(text))
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for part in BREAK.split(text):
        cells = part.strip().strip("|").split("|") if part.strip().startswith("|") else [part]
        for cell in cells:
            yield from (" ".join(each.split()) for each in END.split(cell) if each.strip())


def words(sentence: str) -> int:
    return sum(any(each.isalnum() for each in word) for word in sentence.split())
