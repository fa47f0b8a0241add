"""Each command of the installed Spark is known: a new one fails here, until somebody says what it does to a view."""

from __future__ import annotations

import itertools

from commands_of_spark import CREATING, DROPPING, HARMLESS, LAKE, NO_TABLE, OTHER_SOURCES, REFUSED, commands

KINDS = (set(REFUSED), set(HARMLESS), LAKE, CREATING, DROPPING, OTHER_SOURCES, NO_TABLE)


def test_each_command_of_spark_is_known() -> None:
    assert commands() == set().union(*KINDS)


def test_each_command_is_of_one_kind() -> None:
    assert not [one & other for one, other in itertools.combinations(KINDS, 2) if one & other]
