"""Which partitions a part of a Delta table's log changed, by its text alone.

A commit is a text with an action, as JSON, in each line. ``add`` and ``remove`` name a file, and ``dataChange`` says
whether they change rows: ``OPTIMIZE`` removes files and adds others with the same rows.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from headwater.model.partition import Value

Values = tuple[Value, ...]
"""The values of the partition columns, as the log spells them."""


@frozen
class Commit:
    version: int
    text: str

    def actions(self) -> list[Mapping[str, Any]]:
        # Python's ``splitlines`` knows more ends of lines, such as U+2028, which stand in texts of the log as they are.
        return [json.loads(line) for line in self.text.split("\n") if line.strip()]


@frozen
class Changes:
    """What some commits did, taken together.

    Attributes:
        touched: the partitions whose rows may differ.
        strays: files that were removed from partitions which the log does not name.
        layouts: the actions ``metaData``, each as the mapping in it.
        added, removed: the actions ``add`` and ``remove`` of files that are there after the commits and not before,
            or before and not after; each as the mapping in it.
        lasting: all ``added`` files are there after the commits. Of others, the rows are in files now that ``OPTIMIZE``
            wrote; these are left out, as they changed no rows.
        published: all commits that changed rows are publications of the view that the table is of.
    """

    touched: frozenset[Values]
    strays: frozenset[str]
    layouts: tuple[Mapping[str, Any], ...]
    added: tuple[Mapping[str, Any], ...] = ()
    removed: tuple[Mapping[str, Any], ...] = ()
    lasting: bool = True
    published: bool = False

    @property
    def churn(self) -> int | None:
        """Bytes of these files; ``None`` if the log does not tell all."""
        sizes: list[Any] = [each.get("size") for each in (*self.added, *self.removed)]
        return None if None in sizes else sum(sizes)

    @property
    def went(self) -> int:
        """Bytes of the files that are not there any more, as far as the log tells them."""
        return sum(each.get("size") or 0 for each in self.removed)


def changes(commits: Iterable[Sequence[Mapping[str, Any]]], keys: Sequence[str]) -> Changes:
    """What commits, each with its actions, did to a table; ``keys`` are the physical names of its partition columns.

    A file that came and went leaves the rows of its partition as they were.
    """
    layouts: list[Mapping[str, Any]] = []
    count: Counter[tuple[str, str]] = Counter()
    places: dict[tuple[str, str], Values] = {}
    last: dict[tuple[str, str], Mapping[str, Any]] = {}
    there: dict[tuple[str, str], bool] = {}
    for actions in commits:
        for action in actions:
            [(kind, found)] = action.items()
            if kind == "metaData":
                layouts.append(found)
            elif kind in ("add", "remove"):
                file = found["path"], _vector(found)
                there[file] = kind == "add"
                if not found.get("dataChange", True):
                    continue
                count[file] += 1 if kind == "add" else -1
                last[file] = found
                values = _values(kind, found, keys)
                if values is not None:
                    places[file] = values
    differing = [file for file, n in count.items() if n]
    return Changes(
        frozenset(places[file] for file in differing if file in places),
        frozenset(file[0] for file in differing if file not in places),
        tuple(layouts),
        tuple(last[file] for file in differing if count[file] > 0),
        tuple(last[file] for file in differing if count[file] < 0),
        all(there[file] for file in differing if count[file] > 0),
    )


def is_by(actions: Iterable[Mapping[str, Any]], application: str) -> bool:
    """Whether an application made a commit, by its transaction identifier."""
    return any(each["txn"]["appId"] == application for each in actions if "txn" in each)


def are_by(commits: Iterable[Sequence[Mapping[str, Any]]], application: str) -> bool:
    """Whether an application made each of some commits that changed rows or columns."""
    return bool(application) and all(is_by(each, application) or not _changes_rows(each) for each in commits)


def _changes_rows(actions: Sequence[Mapping[str, Any]]) -> bool:
    files = [each[kind] for each in actions for kind in ("add", "remove") if kind in each]
    return any("metaData" in each for each in actions) or any(each.get("dataChange", True) for each in files)


def told_sources(commit: Commit, owner: str) -> dict[str, str]:
    """The snapshots of the sources that all rows are made from after a publication; none, if the commit is no
    publication of that owner, or left other rows behind."""
    for action in commit.actions():
        match action.get("commitInfo"):
            case {"userMetadata": str(text)}:
                with contextlib.suppress(ValueError):
                    match json.loads(text):
                        case {"headwater": {"owner": by, "sources": dict(sources), "complete": True}} if by == owner:
                            return sources
    return {}


def _vector(found: Mapping[str, Any]) -> str:
    """What identifies the deletion vector of a file: with another one it has other rows."""
    vector = found.get("deletionVector")
    return f"{vector['storageType']}{vector['pathOrInlineDv']}@{vector.get('offset')}" if vector else ""


def _values(kind: str, found: Mapping[str, Any], keys: Sequence[str]) -> Values | None:
    """A null may be left out, but a ``remove`` may leave out all values."""
    values = found.get("partitionValues")
    if keys and kind == "remove" and not found.get("extendedFileMetadata") and not (values and keys[0] in values):
        return None
    return tuple((values or {}).get(key) for key in keys)
