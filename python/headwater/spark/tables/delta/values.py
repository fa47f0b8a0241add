"""Partition values as Spark spells them. The log of a Delta table may spell a value otherwise.

A timestamp is ``2024-01-01T10:00:00.500000Z`` in the log, and ``2024-01-01 11:00:00.5`` in a session of Berlin.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from headwater.algebra.notation import as_text
from headwater.model.partition import Value
from headwater.spark.jvm import sql

_WHOLE = r"0|-?[1-9]\d*"
_SAME = {
    "byte": _WHOLE,
    "short": _WHOLE,
    "integer": _WHOLE,
    "long": _WHOLE,
    "boolean": "true|false",
    "date": r"\d{4}-\d\d-\d\d",
}
"""How values look that Spark spells in the same way."""

MOMENT = "timestamp"
"""The type of values that have another text in each time zone."""

Ask = Callable[[str, Sequence[str]], Sequence[Value]]
"""Has Spark spell texts that mean values of a type."""


def spelling(kind: str, text: str) -> str:
    """An SQL expression for Spark's spelling of a text in the log, which is an expression, too."""
    return as_text(kind) % f"TRY_CAST({text} AS {kind})"


def is_local(text: Value) -> bool:
    """Whether the text of a timestamp in the log tells no zone. Delta wrote it so once, and still does if asked."""
    return text is not None and text != "" and not text.endswith("Z")


class Spelling:
    """Spells values, and keeps those that Spark had to be asked for."""

    KEPT = 100_000

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._kept: dict[tuple[str, str], Value] = {}

    def learn(self, kind: str, texts: Iterable[Value]) -> None:
        """Asks for all of these at once, where Spark may spell one otherwise."""
        unknown = sorted(
            {text for text in texts if text and not _is_same(kind, text) and (kind, text) not in self._kept}
        )
        if len(self._kept) + len(unknown) > self.KEPT:
            self._kept.clear()
        if unknown:
            self._kept.update(zip(((kind, text) for text in unknown), self._ask(kind, unknown), strict=True))

    def spelled(self, kind: str, text: Value) -> Value:
        """The spelling of a value that was learnt."""
        if not text:
            return None
        if kind == "string":
            return sql.partition_value(text)
        return text if _is_same(kind, text) else self._kept[kind, text]


def _is_same(kind: str, text: str) -> bool:
    return kind == "string" or re.fullmatch(_SAME.get(kind, "(?!)"), text) is not None
