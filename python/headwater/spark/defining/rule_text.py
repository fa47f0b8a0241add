"""The text of a stated map: its rules, and the columns that the SQL of a rule names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from attrs import frozen
from sqlglot import tokenize
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from headwater.model.error import DefinitionError

_OPENING = re.compile(
    "all|and|any|as|between|both|by|case|cast|distinct|div|else|escape|exists|extract|for|from|ilike|in|interval|is|"
    "leading|like|not|or|over|placing|regexp|rlike|select|some|then|to|trailing|when|where"
)
"""Words that no value ends with, so that one may follow them."""

_OWN = re.compile("case|distinct|exists|false|not|null|select|true|when")
"""Words that mean something else than a column where a value may stand. Backticks make a column of one."""

_WITH_UNIT = re.compile("dateadd|date_add|datediff|date_diff|timestampadd|timestampdiff|timediff")
"""Functions that may have a unit as the first of three arguments: ``timestampadd(DAY, 1, day)``."""


class _Sort(Enum):
    WORD = "a name, a keyword or a function"
    QUOTED = "a name in backticks"
    CONSTANT = "a number or a string"
    SIGN = "anything else"


@frozen
class _Part:
    """A token with its place in a text. A ``word`` is in lower case."""

    kind: TokenType
    sort: _Sort
    word: str
    start: int
    end: int


def rules(text: str) -> list[str]:
    """The parts of a text with semicolons between them.

    Raises:
        DefinitionError: the text has no tokens, as with a quote that does not end.
    """
    cuts = [each for each in _parts(text) if each.kind == TokenType.SEMICOLON]
    starts, ends = [0, *(each.end for each in cuts)], [*(each.start for each in cuts), len(text)]
    found = (text[start:end].strip() for start, end in zip(starts, ends, strict=True))
    return [each for each in found if each]


def assigned(rule: str) -> tuple[str, str] | None:
    """The column and the expression of ``column = expression``; ``None`` if the text is no such rule."""
    equals = next((each for each in _parts(rule) if each.kind == TokenType.EQ), None)
    if equals is None:
        return None
    name = rule[: equals.start].strip()
    quoted = re.fullmatch(r"`((?:[^`]|``)+)`", name)
    return quoted[1].replace("``", "`") if quoted else name, rule[equals.end :].strip()


def with_values(text: str, values: Mapping[str, str]) -> tuple[str, list[str]]:
    """SQL in which the value of each column stands in its place, and the columns that it names, in lower case.

    Args:
        values: SQL, by the names of columns in lower case.
    """
    parts = _parts(text)
    others, used, pieces, last = set(_others(parts)), [], [], 0
    for at, part in enumerate(parts):
        if part.word in values and at not in others and _is_column(parts, at):
            used.append(part.word)
            pieces += [text[last : part.start], values[part.word]]
            last = part.end
    return "".join((*pieces, text[last:])), list(dict.fromkeys(used))


def _is_column(parts: Sequence[_Part], at: int) -> bool:
    """Whether a token stands where a column may: it is no function, type, operator or unit of an interval."""
    part, before, after = parts[at], parts[at - 1] if at else None, parts[at + 1] if at + 1 < len(parts) else None
    if part.sort not in (_Sort.WORD, _Sort.QUOTED) or (after is not None and after.kind == TokenType.L_PAREN):
        return False
    if part.sort is _Sort.WORD and (
        _OWN.fullmatch(part.word) or (after is not None and after.kind == TokenType.STRING)
    ):
        return False  # DATE '2024-05-01'
    if before is None:
        return True
    return not _ends_value(before) and before.kind not in (TokenType.DOT, TokenType.ALIAS, TokenType.DCOLON)


def _ends_value(part: _Part) -> bool:
    """Whether a value may end here, so that an operator comes next, or the unit in ``INTERVAL 1 DAY``."""
    match part.sort:
        case _Sort.SIGN:
            return part.kind in (TokenType.R_PAREN, TokenType.R_BRACKET)
        case _Sort.WORD:
            return _OPENING.fullmatch(part.word) is None
    return True


def _others(parts: Sequence[_Part]) -> Iterator[int]:
    """Where intervals begin, and where units stand: in ``extract(DAY FROM x)``, ``timestampadd(DAY, 1, x)`` and
    ``INTERVAL '1' DAY TO HOUR``."""
    for at, part in enumerate(parts):
        call, _, then = [each.kind for each in parts[at + 1 : at + 4]] if at + 3 < len(parts) else (None, None, None)
        if part.word == "to":
            yield at + 1
        elif part.word == "interval" and _is_interval(parts[at + 1 : at + 4]):
            yield at
        elif call == TokenType.L_PAREN and (
            (part.word == "extract" and then == TokenType.FROM)
            or (_WITH_UNIT.fullmatch(part.word) and then == TokenType.COMMA and _arguments(parts[at + 1 :]) == 3)
        ):
            yield at + 2


def _is_interval(following: Sequence[_Part]) -> bool:
    """Whether a constant follows, or a sign, a constant and a unit: ``interval - 2`` is a column less two."""
    sorts = [each.sort for each in following]
    signed = bool(following) and following[0].kind in (TokenType.PLUS, TokenType.DASH)
    return sorts[1:] == [_Sort.CONSTANT, _Sort.WORD] if signed else sorts[:1] == [_Sort.CONSTANT]


def _arguments(parts: Sequence[_Part]) -> int:
    """The number of arguments of a call, of which these are the tokens from its parenthesis on."""
    depth = commas = 0
    for part in parts:
        depth += (part.kind == TokenType.L_PAREN) - (part.kind == TokenType.R_PAREN)
        commas += depth == 1 and part.kind == TokenType.COMMA
        if depth == 0:
            break
    return commas + 1


def _parts(text: str) -> list[_Part]:
    try:
        # A parenthesis comes first: sqlglot takes all that follows a first word such as SHOW for one token.
        return [_part(text, each) for each in tokenize(f"({text}", read="spark")[1:]]
    except SqlglotError as error:
        raise DefinitionError("PROPERTY", f"'{text}' is no SQL: {error}; end each quote and each comment") from error


def _part(text: str, token: Token) -> _Part:
    start, end = token.start - 1, token.end
    written = text[start:end]
    sort = _Sort.SIGN
    if token.token_type == TokenType.IDENTIFIER:
        sort = _Sort.QUOTED
    elif token.token_type == TokenType.NUMBER or written.endswith(("'", '"')):
        sort = _Sort.CONSTANT
    elif written.lower() == token.text.lower() and re.fullmatch(r"[\w ]+", written):
        sort = _Sort.WORD
    return _Part(token.token_type, sort, token.text.lower(), start, end)
