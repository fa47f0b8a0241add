"""Where the first word of a statement stands, behind comments."""

from __future__ import annotations

import re

_BLANK = re.compile(r"\s+|--(?:\\\n|[^\r\n])*")
_OPENING = re.compile(r"/\*(?!\+)")
_BRACKET = re.compile(r"/\*(?!\+)|\*/")
_WORD = re.compile(r"\w+")


def first_word(text: str) -> re.Match[str] | None:
    """The first word behind blanks and comments, if one is next. ``StatementParser.scala`` skips the same, by the rules
    of Spark: comments in brackets nest, ``/*+`` begins a hint, and a comment goes on behind a backslash and a newline.
    """
    at = depth = 0
    while True:
        while depth == 0 and (blank := _BLANK.match(text, at)):
            at = blank.end()
        if depth == 0 and not _OPENING.match(text, at):
            return _WORD.match(text, at)
        bracket = _BRACKET.search(text, at)
        if bracket is None:
            return None  # the comment does not end
        depth += 1 if bracket[0] == "/*" else -1
        at = bracket.end()
