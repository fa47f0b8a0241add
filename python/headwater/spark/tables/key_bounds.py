"""Conditions on a column that hold for rows with some keys. Files without such rows are not read.

Example: of the keys 7 and 10 of a column ``k``, ``(`k` IN (7, 10))``; of a thousand, ``(`k` BETWEEN 7 AND 4090)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from headwater.spark.jvm import sql

LISTED = 500
"""So many values of a column are listed; of more, the condition has the least and the greatest."""

_COMPARED = re.compile(r"(TINYINT|SMALLINT|INT|BIGINT|DECIMAL\(.*\)|DATE|STRING)", re.I)


def are_compared(type: str) -> bool:
    """Whether values of a type are compared with a literal as they are compared with each other."""
    return _COMPARED.fullmatch(type) is not None


def among(column: str, type: str, texts: Iterable[bytes | None]) -> str:
    """A condition that holds for these values of a column, as Spark spells them; ``None`` is NULL."""
    known = [*dict.fromkeys(texts)]
    listed = ", ".join(_literal(each, type) for each in known if each is not None)
    return _either(column, f"IN ({listed})" if listed else "", None in known)


def between(column: str, type: str, ends: tuple[bytes, bytes] | None, with_null: bool) -> str:
    """A condition that holds from one value of a column to another one.

    Args:
        ends: ``None``: all keys are NULL.
    """
    said = "" if ends is None else f"BETWEEN {_literal(ends[0], type)} AND {_literal(ends[1], type)}"
    return _either(column, said, with_null)


# --- inside


def _either(column: str, said: str, or_null: bool) -> str:
    name = sql.identifier(column)
    return f"({' OR '.join([*([f'{name} IS NULL'] if or_null else []), *([f'{name} {said}'] if said else [])])})"


def _literal(text: bytes, type: str) -> str:
    return f"CAST({sql.string(text)} AS {type})"
