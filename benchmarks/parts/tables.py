"""The tables of the documents, made from the results.

A table stands between ``<!-- table: RESULT … -->`` and ``<!-- end of table -->``. It has a row for each figure of these
results; or, of figures with columns, a row for each name. ``RESULT/WORDS`` takes only figures whose column has these
words, and ``RESULT/`` those without a column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path

from benchmarks.parts.results import RESULTS, ROOT, Figure, Result

DOCUMENTS = (ROOT / "docs" / "performance.md", ROOT / "docs" / "maintenance.md")
TABLE = re.compile(r"(<!-- table: (?P<asked>.+?) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def write() -> None:
    """Writes the tables of all documents anew."""
    for document in DOCUMENTS:
        document.write_text(renewed(document.read_text()))


def renewed(text: str, results: Path = RESULTS) -> str:
    """A document with the tables that the results give."""
    return TABLE.sub(lambda found: f"{found[1]}{table(found['asked'].split(' + '), results)}\n{found[3]}", text)


def table(asked: Sequence[str], results: Path = RESULTS) -> str:
    """A table of some results, and where they are from."""
    found, figures = {}, list[Figure]()
    for each in asked:
        name, slash, words = each.partition("/")
        result = found[name] = Result.read(results / f"{name}.json")
        figures += [one for one in result.figures if not slash or (words in one.column if words else not one.column)]
    lines = _matrix(figures) if any(each.column for each in figures) else _list(figures)
    return "\n".join(["", *lines, "", *_origins(found.values()), ""])


def _list(figures: Iterable[Figure]) -> Iterator[str]:
    """A row for each figure."""
    yield from _head(["case", "result", "goal", "rounds"])
    for each in figures:
        yield _line([each.name, each.text, each.verdict, str(each.rounds)])


def _matrix(figures: Sequence[Figure]) -> Iterator[str]:
    """A row for each name, and a column for each column."""
    columns = list(dict.fromkeys(each.column for each in figures))
    yield from _head(["", *(column or "result" for column in columns)])
    for name in dict.fromkeys(each.name for each in figures):
        cells = {each.column: _cell(each) for each in figures if each.name == name}
        yield _line([name, *(cells.get(column, "") for column in columns)])


def _cell(figure: Figure) -> str:
    return f"{figure.text} (goal {figure.verdict})" if figure.goal else figure.text


def _head(cells: Sequence[str]) -> Iterator[str]:
    yield _line(cells)
    yield _line(["---"] * len(cells))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(each.replace('|', '/') for each in cells)} |"


def _origins(results: Iterable[Result]) -> Iterator[str]:
    """For each run: the command, the machine, the day and the commit, as a list."""
    for each in results:
        machine, day = each.machine, date.fromisoformat(each.date)
        versions = [f"{name.capitalize()} {machine[name]}" for name in ("spark", "java", "python") if machine.get(name)]
        told = [f"{machine['cores']} cores", *([machine["memory"]] if machine.get("memory") else []), *versions]
        told += [f"{day.day} {day:%B %Y}", f"commit {each.commit}"]
        told += ["other programs ran meanwhile"] if each.busy else []
        told += ["carried over from an older page"] if each.source else []
        yield f"- `{each.command}`: {', '.join(told)}."
