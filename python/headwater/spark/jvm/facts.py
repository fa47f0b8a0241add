"""Tables as looks ask for them and find them, and as runs read them (docs/protocol.md)."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from headwater.spark.jvm.wire import Spec, Values


@frozen
class Asked:
    """A table to look at: all of it if ``whole``, else these partitions; ``since``: the snapshot on record."""

    table: str
    partitions: tuple[Values, ...] | None = None
    whole: bool = True
    since: str = ""


@frozen
class NamedType:
    name: str
    type: str


@frozen
class FoundPartition:
    """A partition that a look found; ``away``: nothing is at its location."""

    values: Values
    fingerprint: str
    spec: Spec = {}
    version: int | None = None
    location: str | None = None
    files: int = 0
    bytes: int = 0
    away: bool = False


@frozen
class Fact:
    """What a look found of a table.

    Attributes:
        readable: whether the table can be read at its ``snapshot`` later.
        added: bytes of the files that came since the snapshot on record; ``None`` if others went, or nobody can say.
    """

    table: str
    exists: bool = True
    unreadable: str = ""
    kind: str = ""
    created: int = 0
    schema: str = ""
    snapshot: str = ""
    readable: bool = False
    added: int | None = None
    location: str | None = None
    properties: Mapping[str, str] = {}
    partition_columns: tuple[NamedType, ...] = ()
    asked: tuple[Values, ...] = ()
    whole: bool = True
    partitions: tuple[FoundPartition, ...] = ()


@frozen
class CatalogView:
    """A view that the catalog holds."""

    table: str
    created: int
    properties: Mapping[str, str]


@frozen
class RunProgress:
    """A refresh under way, by the jobs of it that started so far.

    Attributes:
        tasks, done: how many tasks they have, and how many of these are done.
        rows_read, bytes_read, rows, bytes: what those read and wrote.
        copied, size: bytes that are brought from memory to the warehouse, and how many there are; 0 while none are.
    """

    view: str
    version: int
    tasks: int
    done: int
    rows_read: int
    bytes_read: int
    rows: int
    bytes: int
    copied: int
    size: int


@frozen
class Pin:
    """How a query reads a table as it was at a snapshot.

    Attributes:
        version: the snapshot, as ``VERSION AS OF`` names it; empty, unless it is one of ``files``: the table had no
            rows then.
        columns: for each column of the table now an expression over those of the snapshot; none: they are the same.
        rows: the name of changed rows of the table, which the shim reads in one of its places after the other.
        files: whether it is a table of files.
        root: of a view in files, the directory that keeps its versions; empty: it is no such view.
        live: whether it is read as it is at that moment.
        until: a condition on its rows; empty: all are read.
    """

    version: str
    columns: tuple[tuple[str, str], ...] = ()
    rows: str | None = None
    files: bool = False
    root: str = ""
    live: bool = False
    until: str = ""


@frozen
class ReadAt:
    """The moment at which a statement reads, and how it reads those tables that have an epoch."""

    moment: int
    pins: Mapping[str, Pin]
