"""Paths as Hadoop spells them: `file:/a b`, `hdfs://host/a`, `/a`. Nothing in them is escaped."""

from __future__ import annotations

import re
from pathlib import Path

_PARTS = re.compile(r"(?:(?P<scheme>[^/:]+):)?(?://[^/]*)?(?P<path>.*)", re.DOTALL)


def plain(path: str) -> str:
    """A path without its scheme and authority, and without a slash at its end."""
    return "/" + "/".join(part for part in _parts(path)["path"].split("/") if part)


def parent(path: str) -> str:
    """The directory of a path."""
    return path.rstrip("/").rpartition("/")[0]


def is_within(path: str, directory: str) -> bool:
    """Whether a plain path is a directory, or lies below it."""
    return f"{path}/".startswith(f"{directory.rstrip('/')}/")


def touch(one: str, other: str) -> bool:
    """Whether one of two plain paths lies within the other."""
    return is_within(one, other) or is_within(other, one)


def local(path: str) -> Path | None:
    """A path of this machine's disk; ``None`` if it is of another file system."""
    found = _parts(path)
    if found["scheme"] not in (None, "file"):
        return None
    return Path(plain(path) if path.startswith(("/", "file:")) else path)


def _parts(path: str) -> re.Match[str]:
    found = _PARTS.fullmatch(path)
    assert found is not None, "each text is a path"
    return found
