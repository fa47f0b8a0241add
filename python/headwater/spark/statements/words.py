"""The tokens of a statement of Headwater's, read one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import tokenize
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from headwater.model.error import StatementError
from headwater.model.partition import Value
from headwater.spark.statements.comments import first_word

Name = tuple[str, ...]

T = TypeVar("T")

DIGITS = 100
"""Python reads no number of thousands of digits."""


class Words:
    """The tokens of a statement, read one after the other."""

    def __init__(self, text: str, syntax: str) -> None:
        self._syntax = syntax
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
        parts = [self.identifier()]
        while self.take("."):
            parts.append(self.identifier())
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

    def identifier(self) -> str:
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
        return StatementError(f"{message}; the syntax is {self._syntax}")
