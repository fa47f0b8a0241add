"""Spelling values, names and slices in Spark SQL.

Spark substitutes variables such as ``${env:HOME}`` in each text that it parses, also within a string. So data reaches a
parser only through ``string`` and ``literal``, whose results have no ``${``. A test looks for other ways.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from headwater.model.name import TableName, named, split
from headwater.model.partition import NAMELESS, NULL_PARTITION, Slice, Value


def with_catalog(key: str) -> str:
    """The name of a table as SQL reads it in any session, whatever catalogs that has. Without its catalog, the table
    ``lake.t`` of the session catalog would be one of a catalog ``lake``."""
    name = named(key)
    return ".".join(map(identifier, name.parts)) if isinstance(name, TableName) else identifier(key)


def within_catalog(namespace: str) -> str:
    """A database as Spark reads it where it knows the catalog: each part in backticks."""
    return ".".join(map(identifier, split(namespace)))


def identifier(name: str) -> str:
    """One name part in backticks, dots and all."""
    return f"`{name.replace('`', '``')}`"


_PLAIN = re.compile(r"[\w .,:;/+=@#%()*~|!?<>&\[\]-]*")
"""Strings that no parser changes, whatever its settings."""


def string(value: Value | bytes) -> str:
    """A string, or ``NULL``, that means the same under all settings of Spark's parser.

    ``it's`` is ``CAST(X'69742773' AS STRING)``: what a backslash means, and how a quote is written, is a setting.

    Args:
        value: a text, or the bytes of a string of Spark's, which may be no UTF-8.
    """
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        try:
            return string(value.decode())
        except UnicodeDecodeError:
            return _of_bytes(value)
    # Java, too, writes a question mark for half of a character.
    return f"'{value}'" if _PLAIN.fullmatch(value) else _of_bytes(value.encode(errors="replace"))


def _of_bytes(value: bytes) -> str:
    return f"CAST(X'{value.hex().upper()}' AS STRING)"


def literal(value: str) -> str:
    """A string as DDL needs it, for sessions whose parser settings are ``sessions.PARSER``."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"


def partition_value(text: Value) -> Value:
    """The partition that a column's value goes to, by its text."""
    return None if text in NAMELESS else text


def is_null_partition(value: Value, type_: str) -> bool:
    """Whether a value of this type goes to the null partition."""
    return value is None or (is_text(type_) and value in NAMELESS)


def spec(each: Slice) -> dict[str, str]:
    """A partition as the catalog knows it."""
    return {column: NULL_PARTITION if value is None else value for column, value in each.bound}


def predicate(slices: Sequence[Slice], types: Mapping[str, str]) -> str:
    """A condition over the view's columns that holds for exactly the rows in ``slices``.

    Slices that bind one column become ``IN`` lists, which Spark prunes partitions by.
    """
    single: dict[str, list[Value]] = {}
    terms = []
    for each in slices:
        if not each.bound:
            return "TRUE"
        if len(each.bound) == 1:
            single.setdefault(each.bound[0][0], []).append(each.bound[0][1])
        else:
            terms.append("(" + " AND ".join(_holds(c, [v], types[c])[0] for c, v in each.bound) + ")")
    for column, values in single.items():
        terms += _holds(column, values, types[column])
    return " OR ".join(terms)


def _holds(column: str, values: Sequence[Value], type_: str) -> list[str]:
    """Conditions of which one holds for exactly the rows in the partitions of these values.

    A partition is known by its text. Two timestamps in the hour that a clock shows twice have one text, so
    timestamps are compared as texts. A string whose bytes are no UTF-8 is in the partition of the text with U+FFFD.
    """
    name, texts = identifier(column), [string(value) for value in values if value is not None]
    if _is_zoned(type_):
        own = f"CAST({name} AS STRING)"
    elif is_text(type_) and any(UNKNOWN in value for value in values if value is not None):
        own = valid(name)
    else:
        own, texts = name, [f"CAST({text} AS {type_})" for text in texts]
    found = [f"{own} = {texts[0]}" if len(texts) == 1 else f"{own} IN ({', '.join(texts)})"] if texts else []
    if None in values:
        found.append(f"({name} IS NULL OR {name} IN ({_NAMELESS}))" if is_text(type_) else f"{name} IS NULL")
    return found


_NAMELESS = ", ".join(map(string, NAMELESS))


UNKNOWN = "\ufffd"
"""The character in place of bytes that are no UTF-8."""


def valid(text: str) -> str:
    """An expression for a string as directories name it and as Python has it: with ``UNKNOWN`` for bytes that are no
    UTF-8."""
    return f"make_valid_utf8({text})"


def is_text(type_: str) -> bool:
    """Whether a type has strings."""
    return re.match(r"(STRING|VARCHAR|CHAR)\b", type_, re.IGNORECASE) is not None


def _is_zoned(type_: str) -> bool:
    return type_.upper() in ("TIMESTAMP", "TIMESTAMP_LTZ")
