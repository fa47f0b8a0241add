"""Images: values known from the source's changed partition alone.

An image is a deterministic SQL expression over the partition columns of one source. Where an
expression of the query has an image, it takes that one value on every row a change can touch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen

from headwater.algebra.derive.query import Attr, Call, Expr, Lit, fill
from headwater.algebra.notation import as_text
from headwater.model.dependency import Computed, Expression, Same
from headwater.model.reason import Code, Reason

COMPARABLE = re.compile(
    r"(BOOLEAN|TINYINT|SMALLINT|INT|BIGINT|DECIMAL\(.*\)|DATE|TIMESTAMP(_NTZ)?|STRING|BINARY)", re.I
)
"""Types of which a value that was stored is read back as it was, and is compared in one way."""


@frozen
class Image:
    """A value.

    Attributes:
        sql: an expression over the source's partition columns ``inputs``.
        column: when it is one of them.
        twice: whether it is a moment whose text may mean another one, too, on a clock that is set back. The text of
            the partition is known then, and of the functions of the moment those of what the clock shows.
        texts: of the inputs those that the null partition has as an empty text, too.
    """

    sql: str
    inputs: tuple[str, ...]
    type: str
    column: str | None = None
    twice: bool = False
    texts: tuple[str, ...] = ()

    @classmethod
    def of_column(cls, name: str, type: str) -> Image:
        return cls(f"CAST({quoted(name)} AS {plain(type)})", (name,), plain(type), name)

    def to(self, queried: str, declared: str) -> Expression | None:
        """The map into a view's partition column, which the query computes as ``queried`` and a publication casts
        to ``declared``.

        ``CREATE MATERIALIZED VIEW s (month DATE) … SELECT date_trunc('MONTH', day)``: the query says TIMESTAMP,
        and the partition is named by a DATE. Identity needs one type all the way, since a date that becomes a
        timestamp is spelled otherwise.
        """
        alike = queried.casefold() == declared.casefold()
        if self.column is not None and self.type == plain(queried) and alike:
            return Same(self.column)
        if self.twice and not alike and plain(declared).upper() not in SHOWN:
            return None
        sql = f"CAST({self.sql} AS {plain(queried)})"
        made = sql if alike else f"CAST({sql} AS {declared})"
        return Computed(as_text(plain(declared)) % made, self.inputs, texts=self.texts)


TWICE = Reason(Code.QUERY_TIME_ZONE, "and a clock that is set back shows two moments alike")
"""Why a function of a moment is not known from the moment's text."""

SHOWN = ("DATE", "TIMESTAMP_NTZ", "STRING")
"""Types to which a moment is cast by what the clock shows."""

VOLATILE = {
    *("CurrentDate", "CurrentTimestamp", "Now", "LocalTimestamp", "CurrentTime", "CurrentBatchTimestamp"),
    *("CurrentUser", "VariableReference", "InputFileName", "InputFileBlockStart", "InputFileBlockLength"),
}
"""Calls that Spark counts as deterministic, within one statement, or that depend on the session."""


def filled(call: Call, arguments: Sequence[Image]) -> Image | None:
    """The value of a call of values; ``None``: one of these may be two moments, and the call may distinguish them."""
    twice = any(each.twice for each in arguments)
    truncates, shows = call.call == "TruncTimestamp", call.call == "Cast" and plain(call.type).upper() in SHOWN
    if twice and not truncates and not shows:
        return None
    inputs = tuple(sorted({name for each in arguments for name in each.inputs}))
    texts = tuple(sorted({name for each in arguments for name in each.texts}))
    sql = fill(call.sql, [each.sql for each in arguments])
    return Image(sql, inputs, call.type, twice=twice and truncates, texts=texts)


def pure(expression: Expr) -> bool:
    """Whether the expression is a function of its row alone: no aggregate, window, or subquery."""
    match expression:
        case Call(kind="scalar", deterministic=True, plan=None, call=call) if call not in VOLATILE:
            return all(pure(each) for each in expression.args)
        case Call():
            return False
    return True


def exact(type: str) -> bool:
    """Whether equal values of the type are the same value, spelled the same.

    Not so for floating point (-0.0 equals 0.0, and grouping turns one into the other), strings
    compared under a collation, and ``CHAR``, which is padded. No fact is kept about such values.
    """
    return bool(type) and not re.search(r"\b(FLOAT|DOUBLE|COLLATE|CHAR|VARIANT|MAP|INTERVAL)\b", type, re.I)


def inexact(type: str) -> Reason:
    """What is wrong with a type that is not exact, as the end of a sentence."""
    return Reason(Code.QUERY_INEXACT_TYPE, f"a {type}, whose equal values may be spelled differently")


def comparable(type: str) -> bool:
    """Whether a stored value of the type is read back as it was, and equal values are spelled the same."""
    return exact(type) and COMPARABLE.fullmatch(plain(type)) is not None


def quoted(name: str) -> str:
    """A column's name as SQL has it."""
    return f"`{name.replace('`', '``')}`"


def plain(type: str) -> str:
    """The type as expressions have it: ``VARCHAR`` is a length check on writing, not a type."""
    return re.sub(r"^VARCHAR\(\d+\)$", "STRING", type, flags=re.I)


def type_of(expression: Expr) -> str:
    match expression:
        case Attr(type=type) | Lit(type=type) | Call(type=type):
            return plain(type)
