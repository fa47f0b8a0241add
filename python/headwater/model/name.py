"""Names of tables, paths and functions: what they consist of, and how they are spelled.

The engine knows a table by one string, its *key*. ``TableName("spark_catalog", ("default",), "2023_orders")`` has the
key ``default.2023_orders``; a part with other characters than letters, digits and ``_`` stands in backticks, so each
key belongs to one name. Each catalog but the session's is part of the key; a table in no namespace has an empty one
there. ``Names.scala`` spells keys in the same way; ``tests/golden/names.json`` holds for both.
"""

from __future__ import annotations

import re

from attrs import frozen

SESSION_CATALOG = "spark_catalog"
"""The catalog that a key leaves out."""

_PLAIN = re.compile(r"[A-Za-z0-9_]+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART = re.compile(r"`((?:[^`]|``)*)`|([^`.]+)")


@frozen
class TableName:
    """A table or view of a catalog, in a namespace of any depth."""

    catalog: str
    namespace: tuple[str, ...]
    name: str

    @classmethod
    def of(cls, parts: tuple[str, ...]) -> TableName:
        """The table of these parts, in the session catalog if they name no catalog: (database, table) do not."""
        catalog, *rest = parts if len(parts) > 2 else (SESSION_CATALOG, *parts)
        return cls(catalog, tuple(filter(None, rest[:-1])), rest[-1])

    @classmethod
    def whole(cls, parts: tuple[str, ...]) -> TableName:
        """The table of these parts, of which the first is the catalog."""
        return cls(parts[0], tuple(parts[1:-1]), parts[-1])

    @property
    def parts(self) -> tuple[str, ...]:
        """Catalog, namespace and name."""
        return (self.catalog, *self.namespace, self.name)

    @property
    def key(self) -> str:
        if self.catalog == SESSION_CATALOG and len(self.namespace) == 1:
            return spelled((*self.namespace, self.name))
        return spelled((self.catalog, *(self.namespace or ("",)), self.name))


@frozen
class PathName:
    """Files at a path, which no catalog knows."""

    path: str

    @property
    def key(self) -> str:
        return f"path:{self.path}"


@frozen
class FunctionName:
    """A function of the session catalog."""

    database: str
    name: str

    @property
    def key(self) -> str:
        return f"function:{spelled((self.database, self.name))}"


def kept(name: TableName, folds: bool) -> str:
    """The key of a table as its catalog keeps it: in lower case if it is the session catalog's and that ``folds`` it.
    Others keep the name as it is written."""
    return name.key.lower() if folds and name.catalog == SESSION_CATALOG else name.key


def loosely(key: str) -> str:
    """What the keys share that differ in case at most. They may be of one table or of several."""
    return key.lower()


Name = TableName | PathName | FunctionName


def named(key: str) -> Name:
    """The name that has this key.

    Raises:
        ValueError: no name has it.
    """
    kind, colon, rest = key.partition(":")
    if colon and kind == "path":
        return PathName(rest)
    if colon and kind == "function":
        return FunctionName(*split(rest))
    return TableName.of(split(key))


def short(key: str) -> str:
    """A table without its database, as a property may name it; another key as it is."""
    name = named(key)
    return spelled((name.name,)) if isinstance(name, TableName) else key


def anywhere(key: str) -> str:
    """A table as a statement that a message advises names it: it means the same whatever catalog is the current one. A
    name of one part is none of a catalog's, and stays."""
    name = named(key)
    return _spelled(name.parts, _WORD) if isinstance(name, TableName) and len(split(key)) > 1 else key


def spelled(parts: tuple[str, ...]) -> str:
    """The parts with dots between them, in backticks where they need it."""
    return _spelled(parts, _PLAIN)


def _spelled(parts: tuple[str, ...], plain: re.Pattern[str]) -> str:
    return ".".join(part if plain.fullmatch(part) else "`" + part.replace("`", "``") + "`" for part in parts)


def split(text: str) -> tuple[str, ...]:
    """The parts that ``spelled``, or Spark, wrote.

    Raises:
        ValueError: the text is no name.
    """
    parts, at = [], 0
    while True:
        match = _PART.match(text, at)
        if match is None:
            raise ValueError(f"not a name: {text}")
        parts.append(match[2] if match[1] is None else match[1].replace("``", "`"))
        at = match.end()
        if at == len(text):
            return tuple(parts)
        if text[at] != ".":
            raise ValueError(f"not a name: {text}")
        at += 1
