"""Reading Headwater's own statements. Spark's grammar has the rest (``CREATE MATERIALIZED VIEW``)."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen
from sqlglot import tokenize
from sqlglot.errors import SqlglotError
from sqlglot.tokens import TokenType

from headwater.model.error import StatementError
from headwater.model.name import spelled
from headwater.model.partition import Value
from headwater.spark.jvm.wire import StatementKind
from headwater.spark.statements.words import Name, Words


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
    """``DESCRIBE MATERIALIZED VIEW GROUP name [EPOCH n]``"""

    group: str
    epoch: int | None = None


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
    words = Words(text, (SYNTAX[kind] or "").strip("`"))
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


def _of_partitions(words: Words) -> tuple[Name, tuple[tuple[str, Value], ...]]:
    words.need("MATERIALIZED", "VIEW")
    return words.name(), words.assignments(words.identifier, words.value) if words.take("PARTITION") else ()


def _drain(words: Words) -> Drain:
    words.need("MATERIALIZED", "VIEWS")
    return Drain()


def _refresh(words: Words) -> RefreshStatement:
    name, partition = _of_partitions(words)
    full = words.take("FULL")
    words.end()
    if partition and not full:
        raise StatementError(
            f"REFRESH MATERIALIZED VIEW {spelled(name)} refreshes each partition that is behind, whichever PARTITION "
            "names; add FULL, or leave PARTITION out"
        )
    return RefreshStatement(name, partition, full)


def _show_views(words: Words) -> ShowViews:
    words.need("MATERIALIZED", "VIEWS")
    database = words.name() if words.take("IN") or words.take("FROM") else None
    return ShowViews(database, words.string() if words.take("LIKE") else None)


def _show_refreshes(words: Words) -> ShowRefreshes:
    words.need("REFRESHES")
    name = words.name() if words.take("FOR") else None
    return ShowRefreshes(name, words.integer() if words.take("LIMIT") else None)


def _describe(words: Words) -> Describe:
    words.need("MATERIALIZED", "VIEW")
    extended = words.take("EXTENDED")
    return Describe(words.name(), extended)


def _show_groups(words: Words) -> ShowGroups:
    words.need("MATERIALIZED", "VIEW", "GROUPS")
    return ShowGroups()


def _group(words: Words) -> str:
    """The name of a group, which may be written as a string, too: it is the value of a property."""
    words.need("MATERIALIZED", "VIEW", "GROUP")
    return words.property_key()


def _explain(words: Words) -> Explain:
    words.need("REFRESH")
    if words.take("MATERIALIZED"):
        words.need("VIEW")
    return Explain(words.name())


def _drop(words: Words) -> Drop:
    words.need("MATERIALIZED", "VIEW")
    if_exists = words.take("IF", "EXISTS")
    return Drop(words.name(), if_exists)


def _alter(words: Words) -> Statement:
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


def _describe_group(words: Words) -> DescribeGroup:
    return DescribeGroup(_group(words), words.integer() if words.take("EPOCH") else None)


_PARSERS: dict[StatementKind, Callable[[Words], Statement]] = {
    StatementKind.DRAIN: _drain,
    StatementKind.REFRESH: _refresh,
    StatementKind.VERIFY: lambda words: Verify(*_of_partitions(words), words.take("REPAIR")),
    StatementKind.SHOW_VIEWS: _show_views,
    StatementKind.SHOW_REFRESHES: _show_refreshes,
    StatementKind.DESCRIBE: _describe,
    StatementKind.SHOW_GROUPS: _show_groups,
    StatementKind.DESCRIBE_GROUP: _describe_group,
    StatementKind.REFRESH_GROUP: lambda words: RefreshGroup(_group(words)),
    StatementKind.EXPLAIN: _explain,
    StatementKind.DROP: _drop,
    StatementKind.ALTER: _alter,
}
