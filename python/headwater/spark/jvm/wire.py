"""The messages between the driver's JVM and the engine, as values (docs/protocol.md).

Text becomes values, and values text, in this module alone. The names of attributes are those on the wire.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import partial
from operator import eq
from types import UnionType
from typing import Any, TypeVar, overload

from attrs import frozen
from cattrs.gen import make_dict_unstructure_fn
from cattrs.preconf.json import JsonConverter, make_converter
from cattrs.strategies import configure_tagged_union

from headwater.engine.tell.columns import Columns, ColumnType
from headwater.model.extract import Extract
from headwater.model.seen import Command, CommandKind

Value = str | int | float | None
Row = Sequence[Value]
Values = Mapping[str, str | None]
"""Partition values by column; ``None`` is the null partition."""
Spec = Mapping[str, str]
"""A partition as the catalog names it."""

T = TypeVar("T")

# --- messages from the driver


class StatementKind(Enum):
    """A statement of Headwater's, by its leading words."""

    DRAIN = "drain"
    REFRESH = "refresh"
    VERIFY = "verify"
    SHOW_VIEWS = "show_views"
    SHOW_REFRESHES = "show_refreshes"
    DESCRIBE = "describe"
    SHOW_GROUPS = "show_groups"
    DESCRIBE_GROUP = "describe_group"
    REFRESH_GROUP = "refresh_group"
    EXPLAIN = "explain"
    ALTER = "alter"
    DROP = "drop"


@frozen
class Session:
    """Of a user's session, all that gives a statement its meaning; ``catalogs`` are all that it knows, and ``folds``
    says whether the session catalog keeps names in lower case."""

    catalog: str
    database: str
    settings: Mapping[str, str]
    catalogs: tuple[str, ...] = ()
    folds: bool = True


@frozen
class Hint:
    """Something was perhaps written. ``watermark``: of the stream whose batch it was (ms), if it has one."""

    command: str
    kind: CommandKind = CommandKind.UNKNOWN
    table: str | None = None
    path: str | None = None
    database: str | None = None
    renamed: str | None = None
    partitions: tuple[Values, ...] = ()
    watermark: int | None = None

    @property
    def by(self) -> Command:
        return Command(self.command, self.kind)


@frozen
class ColumnDef:
    """A column as a statement or an analysed query names it."""

    name: str
    type: str
    comment: str | None = None


@frozen
class Create:
    """``[EXPLAIN] CREATE [OR REPLACE] MATERIALIZED VIEW``, as Spark resolved it. An output of a job has its name in
    ``job``, and the fingerprint of the job as the program has it."""

    id: int | None
    session: Session
    name: tuple[str, ...]
    query: str
    columns: tuple[ColumnDef, ...] = ()
    partitioning: tuple[str, ...] = ()
    format: str | None = None
    comment: str | None = None
    properties: Mapping[str, str] = {}
    if_not_exists: bool = False
    or_replace: bool = False
    explained: bool = False
    temporary: tuple[str, ...] = ()
    temporary_functions: tuple[str, ...] = ()
    job: str | None = None
    fingerprint: str | None = None


@frozen
class Statement:
    """Any other statement of Headwater's; the engine parses its text."""

    id: int
    session: Session
    kind: StatementKind
    text: str


@frozen
class Wait:
    """A write whose session waits for the views downstream."""

    id: int
    session: Session
    hints: tuple[Hint, ...]


@frozen
class Dropping:
    """``DROP TABLE`` of a view's table, which is about to happen."""

    id: int
    session: Session
    table: str


@frozen
class Pinning:
    """A statement reads tables, by their keys, at an ``epoch`` that the session names; ``None``: at the one of each
    group that readers see. The answer to its first such question has the ``moment`` for the others. With ``sources``,
    base tables are read at the states of the epoch, too."""

    id: int
    session: Session
    tables: tuple[str, ...]
    epoch: int | None
    moment: int | None
    sources: bool


@frozen
class Abandoned:
    """Nobody waits for the answer to a question any more."""

    id: int


Question = Create | Statement | Wait | Dropping | Pinning
Message = Hint | Create | Statement | Wait | Dropping | Pinning | Abandoned

# --- answers to the driver


@frozen
class AnswerColumn:
    name: str
    type: ColumnType


@frozen
class AnswerRows:
    columns: tuple[AnswerColumn, ...]
    rows: Sequence[Row]

    @classmethod
    def of(cls, columns: Columns, rows: Sequence[Row]) -> AnswerRows:
        return cls(tuple(AnswerColumn(*each) for each in columns.items()), rows)


@frozen
class Refused:
    """The statement is refused, in words for the user."""

    error: str


Answer = AnswerRows | Refused


# --- what runs write, and publish


@frozen
class Directory:
    """A partition directory that a write left."""

    values: Values
    fingerprint: str
    location: str
    files: int
    bytes: int


@frozen
class Sum:
    """What was counted of a partition while it was written."""

    values: Values
    rows: int
    content: str


@frozen
class ReadCost:
    """What reading took, of a table or, if it is none, of the files at a place."""

    table: str | None
    place: str
    bytes: int
    micros: int
    needs: Extract | None = None
    share: float = 1.0


@frozen
class Spent:
    """What moving bytes took while a query was written."""

    reads: tuple[ReadCost, ...]
    writing: int


@frozen
class PublishedPartition:
    """A partition to publish, with the fingerprint of its files; ``was`` is that of files that hold the same rows."""

    spec: Spec
    location: str
    rows: int
    bytes: int
    was: str | None = None
    fingerprint: str = ""


@frozen
class Shape:
    """What the table of a view must be: partition columns come last."""

    columns: str
    partitioned_by: tuple[str, ...]
    format: str


@frozen
class Publication:
    """A request to move a view's pointers: those of ``partitions``, or else the table's own to a ``location``.

    Attributes:
        root: the view's directory, if this version is to be kept; ``None``: it is not.
        since: the version on record, of which the files of the partitions that stay are known.
    """

    table: str
    owner: str
    version: int
    partitions: tuple[PublishedPartition, ...] = ()
    removed: tuple[Spec, ...] = ()
    location: str | None = None
    rows: int | None = None
    bytes: int | None = None
    was: str | None = None
    fingerprint: str = ""
    shape: Shape | None = None
    root: str | None = None
    since: str | None = None


@frozen
class Superseded:
    """A publication is done: nothing points at these places any more; ``unchanged`` ones hold the rows of before.
    ``kept``: the version can be read later."""

    superseded: tuple[str, ...]
    unchanged: tuple[str, ...]
    kept: bool


@frozen
class Fenced:
    """A higher version is published already."""

    fenced: int


@frozen
class Stranger:
    """The table of that name is another one."""

    stranger: bool


@frozen
class Misfit:
    """The table does not have the shape."""

    misfit: bool


PublicationAnswer = Superseded | Fenced | Stranger | Misfit

# --- measurements and failures


@frozen
class Probe:
    """µs in which bytes are written and read."""

    write: float
    read: float


class FailureKind(Enum):
    """Why Spark could not do something."""

    STOPPED = "stopped"
    CANCELLED = "cancelled"
    OVERLAY_GONE = "overlay_gone"
    SOURCE_GONE = "source_gone"
    UNWRITABLE = "unwritable"
    ANALYSIS = "analysis"
    OTHER = "other"


@frozen
class Failure:
    """A failure of Spark's; ``text`` is one line for a person."""

    kind: FailureKind
    text: str


# --- queries

Plan = Mapping[str, Any]
"""An analysed query as ``PlanJson.analysed`` writes it; ``headwater.algebra.derive.query`` reads it."""


@frozen
class Described:
    """An analysed query: its columns, the functions of the catalog that it calls, and the whole plan.

    Attributes:
        meant: the ordinary views and functions as this analysis found them (``Meant.scala``).
        joined: what its lowest aggregate takes, or all of a query without one, with joins in place of subqueries; none
            if that is nothing else.
    """

    columns: tuple[ColumnDef, ...]
    functions: tuple[str, ...]
    plan: Plan
    meant: str = ""
    joined: Plan | None = None


# --- coding


def _converter() -> JsonConverter:
    converter = make_converter(detailed_validation=False)
    for plain in (Values, Spec, Values | None, str | None):
        converter.register_structure_hook_func(partial(eq, plain), lambda value, _: value)
        converter.register_unstructure_hook_func(partial(eq, plain), lambda value: value)
    for brief in (PublishedPartition, Publication):  # all others say all of their attributes
        converter.register_unstructure_hook(
            brief, make_dict_unstructure_fn(brief, converter, _cattrs_omit_if_default=True)
        )
    configure_tagged_union(Message, converter, tag_name="type", tag_generator=lambda kind: kind.__name__.lower())
    return converter


_CONVERTER = _converter()


@overload
def decode(text: str, kind: type[T]) -> T: ...


@overload
def decode(text: str, kind: UnionType) -> Any: ...


def decode(text: str, kind: Any) -> Any:
    """The value of a kind that the driver wrote."""
    return _CONVERTER.structure(json.loads(text), kind)


def encode(value: object, kind: Any = None) -> str:
    """A value as the driver reads it; ``kind`` is the union of messages that it is one of, if it is."""
    return json.dumps(_CONVERTER.unstructure(value, unstructure_as=kind))


def decode_plan(text: str, meant: str, joined: str) -> Described:
    """An analysed query, the views and functions that its analysis found, and what it is with joins."""
    plan = json.loads(text)
    columns = tuple(ColumnDef(each["name"], each["type"], each.get("comment")) for each in plan["columns"])
    return Described(columns, tuple(plan["functions"]), plan, meant, json.loads(joined) if joined else None)
