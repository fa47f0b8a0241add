"""What a look at a table finds, whatever format it has, and the command that was perhaps the reason to look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from attrs import Factory, frozen

from headwater.model.partition import Slice
from headwater.model.reason import Reason


class CommandKind(Enum):
    """What a command does, as far as it matters to what a look finds afterwards."""

    UNKNOWN = "unknown"
    INSERT = "insert"
    TRUNCATE = "truncate"
    LOAD = "load"
    STREAM = "stream"
    CREATE = "create"
    ALTER = "alter"
    DROP = "drop"


@frozen
class Command:
    """A command that perhaps wrote.

    Attributes:
        said: its words, for a person; empty where nobody knows of a command.
    """

    said: str = ""
    kind: CommandKind = CommandKind.UNKNOWN

    @property
    def may_empty(self) -> bool:
        """Whether it can leave a partition that it wrote without a row, and does not name it."""
        return self.kind in (CommandKind.INSERT, CommandKind.TRUNCATE)


@frozen
class Seen:
    """A table as one look found it.

    A *snapshot* is a value of the source's that is equal while the table is the same. Its order means nothing, because
    tables are rolled back. It is empty where a look did not see the whole table, or a format has no such value.

    Attributes:
        exists: whether there is a table of this name; the other attributes say nothing if not.
        unreadable: why nobody can look at it; ``None`` if it was looked at.
        schema: a digest of the columns, the format and, for a view or function, its text.
        incarnation: tells a table from its successor of the same name.
        partitions: the fingerprint of each partition that was found.
        asked: the partitions that were asked for, in the source's spelling; none: no one in particular.
        unnamed: whether others than those may have been written, too.
        looked: the slices that were looked at; ``None``: the whole table.
        empty: partitions without a row, of those found.
        away: the location of each partition that was found and has no directory.
        columns: the partition columns.
        location: where its files lie; empty if nobody knows.
        owner: of a view, the owner that its table names.
        snapshot: the source's own value for the state that was seen.
        pinned: whether runs read the table as it was at a snapshot. A look then needs no other look after it.
        since: the snapshot on record as the look began.
        lost: why all partitions count as changed, where nobody can say which did; empty if somebody can.
        churn: bytes of the files that came and went since the snapshot on record; ``None`` where nobody knows.
        went: bytes of those that went. A file of which some rows went counts as a whole.
        watermark: of the stream that wrote the table before the look (ms); ``None`` where nobody told of one.
        published: of a view, whether all changes since the snapshot on record are publications of it.
    """

    table: str
    exists: bool = True
    unreadable: Reason | None = None
    schema: str = ""
    incarnation: int = 0
    partitions: Mapping[Slice, str] = Factory(dict)
    asked: tuple[Slice, ...] = ()
    unnamed: bool = False
    looked: tuple[Slice, ...] | None = None
    empty: frozenset[Slice] = frozenset()
    away: Mapping[Slice, str] = Factory(dict)
    columns: frozenset[str] = frozenset()
    location: str = ""
    owner: str = ""
    snapshot: str = ""
    pinned: bool = False
    since: str = ""
    lost: str = ""
    churn: int | None = None
    went: int = 0
    watermark: int | None = None
    published: bool = False


@frozen
class ChangedRows:
    """Rows of a table that came and went between two snapshots; a row may be in both. Frames are the warehouse's own.

    Attributes:
        added: rows of files that came; ``None`` if none came.
        removed: rows of files that went; ``None`` if none went.
        lasting: the rows that came are all there now; else some went again.
        few: the rows are in the memory of the driver; false: they are too many; ``None``: unknown.
        netted: no row is in both frames.
        close: to be called when they were read.
    """

    added: Any
    removed: Any
    lasting: bool = True
    few: bool | None = None
    netted: bool = False
    close: Callable[[], None] = lambda: None


@frozen
class TableQuestion:
    """A question for the state of a table.

    Attributes:
        slices: the partitions that matter; ``None``: all.
        since: the snapshot on record. A format with a log says only what changed since then.
        named: of all partitions, those that a command named.
    """

    table: str
    slices: tuple[Slice, ...] | None = None
    since: str = ""
    named: tuple[Slice, ...] = ()
