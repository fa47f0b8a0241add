"""Reading Headwater's own statements. Spark's grammar has the rest (``CREATE MATERIALIZED VIEW``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from attrs import frozen
from sqlglot import tokenize
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from headwater.model.error import StatementError
from headwater.model.name import spelled
from headwater.model.partition import Value
from headwater.spark.jvm.wire import StatementKind
from headwater.spark.statements.comments import first_word

Name = tuple[str, ...]


@frozen
class Drain:
    """``REFRESH MATERIALIZED VIEWS``"""


@frozen
class RefreshStatement:
    """``REFRESH MATERIALIZED VIEW name [[PARTITION (k = v, ...)] FULL]``"""

    name: Name
    partition: tuple[tuple[str, Value], ...] = ()
    full: bool = False


@frozen
class Verify:
    """``VERIFY MATERIALIZED VIEW name [PARTITION (k = v, ...)] [REPAIR]``"""

    name: Name
    partition: tuple[tuple[str, Value], ...] = ()
    repair: bool = False


@frozen
class ShowViews:
    """``SHOW MATERIALIZED VIEWS [IN db] [LIKE 'pattern']``"""

    database: Name | None = None
    pattern: str | None = None


@frozen
class ShowRefreshes:
    """``SHOW REFRESHES [FOR name] [LIMIT n]``"""

    name: Name | None = None
    limit: int | None = None


@frozen
class Describe:
    """``DESCRIBE MATERIALIZED VIEW [EXTENDED] name``"""

    name: Name
    extended: bool = False


@frozen
class ShowGroups:
    """``SHOW MATERIALIZED VIEW GROUPS``"""


@frozen
class DescribeGroup:
    """``DESCRIBE MATERIALIZED VIEW GROUP name``"""

    group: str


@frozen
class RefreshGroup:
    """``REFRESH MATERIALIZED VIEW GROUP name``"""

    group: str


@frozen
class Explain:
    """``EXPLAIN REFRESH name``"""

    name: Name


@frozen
class Drop:
    """``DROP MATERIALIZED VIEW [IF EXISTS] name``"""

    name: Name
    if_exists: bool = False


@frozen
class Suspend:
    name: Name


@frozen
class Resume:
    name: Name


@frozen
class SetProperties:
    name: Name
    properties: tuple[tuple[str, str], ...]


@frozen
class UnsetProperties:
    """``if_exists``: those that the view does not have are no mistake."""

    name: Name
    keys: tuple[str, ...]
    if_exists: bool


@frozen
class Rename:
    name: Name
    to: Name


Statement = (
    Drain
    | RefreshStatement
    | Verify
    | ShowViews
    | ShowRefreshes
    | Describe
    | ShowGroups
    | DescribeGroup
    | RefreshGroup
    | Explain
    | Drop
    | Suspend
    | Resume
    | SetProperties
    | UnsetProperties
    | Rename
)

Alteration = Suspend | Resume | SetProperties | UnsetProperties | Rename
"""What ``ALTER MATERIALIZED VIEW`` may ask for."""

T = TypeVar("T")

DIGITS = 100
"""Python reads no number of thousands of digits."""

SYNTAX = {
    StatementKind.DRAIN: Drain.__doc__,
    StatementKind.REFRESH: RefreshStatement.__doc__,
    StatementKind.VERIFY: Verify.__doc__,
    StatementKind.SHOW_VIEWS: ShowViews.__doc__,
    StatementKind.SHOW_REFRESHES: ShowRefreshes.__doc__,
    StatementKind.DESCRIBE: Describe.__doc__,
    StatementKind.SHOW_GROUPS: ShowGroups.__doc__,
    StatementKind.DESCRIBE_GROUP: DescribeGroup.__doc__,
    StatementKind.REFRESH_GROUP: RefreshGroup.__doc__,
    StatementKind.EXPLAIN: Explain.__doc__,
    StatementKind.DROP: Drop.__doc__,
    StatementKind.ALTER: (
        "``ALTER MATERIALIZED VIEW name { SUSPEND | RESUME | SET TBLPROPERTIES (k = v, ...) | "
        "UNSET TBLPROPERTIES [IF EXISTS] (k, ...) | RENAME TO name }``"
    ),
}


def parse(kind: StatementKind, text: str) -> Statement:
    """The statement in ``text``, of the kind that its leading words announced.

    Raises:
        StatementError: it is malformed; the message shows where, and the syntax.
    """
    words = _Words(kind, text)
    statement = _PARSERS[kind](words)
    words.end()
    return statement


def canonical(query: str) -> str:
    """A query without what blanks, comments and the case of its words make of it."""
    try:
        tokens = tokenize(query, read="spark")
    except SqlglotError:
        return query.strip()
    return " ".join(repr(t.text) if t.token_type == TokenType.STRING else t.text.upper() for t in tokens)


class _Words:
    """The tokens of a statement, read one after the other."""

    def __init__(self, kind: StatementKind, text: str) -> None:
        self._kind = kind
        # sqlglot takes all that follows SHOW for one opaque token; the leading verb is known anyway.
        verb = first_word(text)
        self._sql = text[verb.end() :] if verb else text
        try:
            tokens = tokenize(self._sql, read="spark")
            self._tokens: list[Token] = [each for each in tokens if each.token_type != TokenType.SEMICOLON]
        except SqlglotError as error:
            raise self._error(str(error)) from error
        self._at = 0

    def take(self, *words: str) -> bool:
        """Skips these words if they come next."""
        if self._ahead(len(words)) == [word.upper() for word in words]:
            self._at += len(words)
            return True
        return False

    def need(self, *words: str) -> None:
        for word in words:
            if not self.take(word):
                raise self._unexpected(word)

    def name(self) -> Name:
        parts = [self._identifier()]
        while self.take("."):
            parts.append(self._identifier())
        return tuple(parts)

    def string(self) -> str:
        token = self._next("a string")
        if token.token_type != TokenType.STRING:
            raise self._unexpected("a string", back=1)
        return self._text(token)

    def integer(self) -> int:
        token = self._next("a number")
        if token.token_type != TokenType.NUMBER or not token.text.isdecimal():
            raise self._unexpected("a number", back=1)
        if len(token.text) > DIGITS:
            raise self._unexpected(f"a number of at most {DIGITS} digits", back=1)
        return int(token.text)

    def value(self) -> Value:
        """A partition value: a literal of any type, spelled as the catalog would."""
        if self.take("NULL"):
            return None
        for type_ in ("DATE", "TIMESTAMP"):
            self.take(type_)
        sign = "-" if self.take("-") else ""
        token = self._next("a value")
        if token.token_type not in (TokenType.STRING, TokenType.NUMBER, TokenType.TRUE, TokenType.FALSE):
            raise self._unexpected("a value", back=1)
        return sign + self._text(token)

    def assignments(self, key: Callable[[], str], value: Callable[[], T]) -> tuple[tuple[str, T], ...]:
        """``(k = v, ...)``"""

        def one() -> tuple[str, T]:
            left = key()
            self.need("=")
            return left, value()

        return self.listed(one)

    def listed(self, one: Callable[[], T]) -> tuple[T, ...]:
        """``(k, ...)``"""
        self.need("(")
        found = [one()]
        while self.take(","):
            found.append(one())
        self.need(")")
        return tuple(found)

    def property_key(self) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at].token_type == TokenType.STRING:
            return self.string()
        return ".".join(self.name())

    def end(self) -> None:
        if self._at < len(self._tokens):
            raise self._unexpected("the end")

    def _identifier(self) -> str:
        token = self._next("a name")
        if token.token_type in (TokenType.STRING, TokenType.NUMBER) or not token.text.strip("(),.;="):
            raise self._unexpected("a name", back=1)
        return token.text

    def _next(self, what: str) -> Token:
        if self._at >= len(self._tokens):
            raise self._unexpected(what)
        self._at += 1
        return self._tokens[self._at - 1]

    def _ahead(self, count: int) -> list[str]:
        """The next words and signs; empty for what is quoted, which is no word of the syntax."""
        quoted = (TokenType.STRING, TokenType.IDENTIFIER)
        ahead = self._tokens[self._at : self._at + count]
        return ["" if each.token_type in quoted else each.text.upper() for each in ahead]

    def _text(self, token: Token) -> str:
        """The text of a literal. A quote that is written twice stands for one: the tokenizer ends the string there."""
        text = token.text
        while token.token_type == TokenType.STRING and self._at < len(self._tokens):
            more = self._tokens[self._at]
            if more.token_type != TokenType.STRING or more.start != token.end + 1:
                break
            text, token, self._at = f"{text}{self._sql[more.start]}{more.text}", more, self._at + 1
        return text

    def _unexpected(self, wanted: str, back: int = 0) -> StatementError:
        at = self._at - back
        found = f"'{self._tokens[at].text}'" if at < len(self._tokens) else "the end"
        return self._error(f"expected {wanted}, found {found}")

    def _error(self, message: str) -> StatementError:
        return StatementError(f"{message}; the syntax is {(SYNTAX[self._kind] or '').strip('`')}")


def _of_partitions(words: _Words) -> tuple[Name, tuple[tuple[str, Value], ...]]:
    words.need("MATERIALIZED", "VIEW")
    return words.name(), words.assignments(words._identifier, words.value) if words.take("PARTITION") else ()


def _drain(words: _Words) -> Drain:
    words.need("MATERIALIZED", "VIEWS")
    return Drain()


def _refresh(words: _Words) -> RefreshStatement:
    name, partition = _of_partitions(words)
    full = words.take("FULL")
    words.end()
    if partition and not full:
        raise StatementError(
            f"REFRESH MATERIALIZED VIEW {spelled(name)} refreshes each partition that is behind, whichever PARTITION "
            "names; add FULL, or leave PARTITION out"
        )
    return RefreshStatement(name, partition, full)


def _show_views(words: _Words) -> ShowViews:
    words.need("MATERIALIZED", "VIEWS")
    database = words.name() if words.take("IN") or words.take("FROM") else None
    return ShowViews(database, words.string() if words.take("LIKE") else None)


def _show_refreshes(words: _Words) -> ShowRefreshes:
    words.need("REFRESHES")
    name = words.name() if words.take("FOR") else None
    return ShowRefreshes(name, words.integer() if words.take("LIMIT") else None)


def _describe(words: _Words) -> Describe:
    words.need("MATERIALIZED", "VIEW")
    extended = words.take("EXTENDED")
    return Describe(words.name(), extended)


def _show_groups(words: _Words) -> ShowGroups:
    words.need("MATERIALIZED", "VIEW", "GROUPS")
    return ShowGroups()


def _group(words: _Words) -> str:
    """The name of a group, which may be written as a string, too: it is the value of a property."""
    words.need("MATERIALIZED", "VIEW", "GROUP")
    return words.property_key()


def _explain(words: _Words) -> Explain:
    words.need("REFRESH")
    if words.take("MATERIALIZED"):
        words.need("VIEW")
    return Explain(words.name())


def _drop(words: _Words) -> Drop:
    words.need("MATERIALIZED", "VIEW")
    if_exists = words.take("IF", "EXISTS")
    return Drop(words.name(), if_exists)


def _alter(words: _Words) -> Statement:
    words.need("MATERIALIZED", "VIEW")
    name = words.name()
    if words.take("SUSPEND"):
        return Suspend(name)
    if words.take("RESUME"):
        return Resume(name)
    if words.take("RENAME"):
        words.need("TO")
        return Rename(name, words.name())
    if words.take("UNSET"):
        words.need("TBLPROPERTIES")
        if_exists = words.take("IF", "EXISTS")
        return UnsetProperties(name, words.listed(words.property_key), if_exists)
    words.need("SET", "TBLPROPERTIES")
    return SetProperties(name, words.assignments(words.property_key, words.string))


_PARSERS: dict[StatementKind, Callable[[_Words], Statement]] = {
    StatementKind.DRAIN: _drain,
    StatementKind.REFRESH: _refresh,
    StatementKind.VERIFY: lambda words: Verify(*_of_partitions(words), words.take("REPAIR")),
    StatementKind.SHOW_VIEWS: _show_views,
    StatementKind.SHOW_REFRESHES: _show_refreshes,
    StatementKind.DESCRIBE: _describe,
    StatementKind.SHOW_GROUPS: _show_groups,
    StatementKind.DESCRIBE_GROUP: lambda words: DescribeGroup(_group(words)),
    StatementKind.REFRESH_GROUP: lambda words: RefreshGroup(_group(words)),
    StatementKind.EXPLAIN: _explain,
    StatementKind.DROP: _drop,
    StatementKind.ALTER: _alter,
}
