"""What a view is: what makes its rows, its shape, and what it takes from its sources."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from attrs import field, frozen

from headwater.model.dependency import Dependency, Occurrence
from headwater.model.format import DEFAULT, Format
from headwater.model.policy import Policy

Pairs = tuple[tuple[str, str], ...]

ZONE = "spark.sql.session.timeZone"
"""The setting that has the time zone of a session."""

UTC = "UTC"
"""The zone of what no session declared."""


def pairs(mapping: Mapping[str, str] | Pairs) -> Pairs:
    """A mapping as a sorted tuple, so that values compare and hash."""
    items = mapping.items() if isinstance(mapping, Mapping) else mapping
    return tuple(sorted((key, value) for key, value in items))


@frozen
class Column:
    """``type`` is Spark's DDL spelling."""

    name: str
    type: str
    comment: str = ""


@frozen
class Query:
    """SQL that makes the rows of a view: the text after ``AS``."""

    text: str


@frozen
class Job:
    """A Python function that makes the rows of a view: ``module:function``, by which it is imported."""

    function: str


MadeBy = Query | Job


def _made_by(each: MadeBy | str) -> MadeBy:
    return Query(each) if isinstance(each, str) else each


@frozen
class Definition:
    """A materialized view as declared, with what analysis found.

    Attributes:
        view: its key (see ``model.name``).
        made_by: a query, or a job. A text is a query.
        catalog, database, settings: of the session that declared it; the query means what it meant there.
        properties: all ``TBLPROPERTIES``.
        fingerprint: hash of the analysed query; it changes when the query's meaning does.
        dependencies: one for each source table or view that the query reads.
        earlier: where it reads earlier partitions of itself: each place binds one column to a window that goes
            strictly back in time, the same column in all, and may take others over as they are.
        event_times: the column with the times of events, for each source that has one.
        through: keys of the ordinary views and of the functions of the catalog that the query uses.
        declared: the column list of the statement; empty when it had none.
        root: the directory of its own in which its versions lie; empty for a lake table that its catalog places. A
            lake table that took the place of files lies in their directory.
        owner: what marks that directory, and the view's table in the catalog, as this view's.
    """

    view: str
    made_by: MadeBy = field(converter=_made_by)
    columns: tuple[Column, ...]
    partitioned_by: tuple[str, ...] = ()
    format: str = DEFAULT
    comment: str = ""
    catalog: str = "spark_catalog"
    database: str = "default"
    settings: Pairs = field(default=(), converter=pairs)
    properties: Pairs = field(default=(), converter=pairs)
    fingerprint: str = ""
    dependencies: tuple[Dependency, ...] = ()
    earlier: tuple[Occurrence, ...] = ()
    event_times: Pairs = ()
    through: tuple[str, ...] = ()
    root: str = ""
    owner: str = ""
    declared: tuple[Column, ...] = ()

    @cached_property
    def policy(self) -> Policy:
        """What its properties ask for."""
        return Policy.of(self.properties)

    @property
    def zone(self) -> str:
        """The time zone of the session that declared it: in it its runs compute."""
        return dict(self.settings).get(ZONE, UTC)

    @property
    def query(self) -> str:
        """The text after ``AS``; of a job the name of its function."""
        match self.made_by:
            case Query(text):
                return text
            case Job(function):
                return function

    @property
    def storage(self) -> Format:
        """What the format of its table can do."""
        return Format.of(self.format)

    @property
    def keeps_versions(self) -> bool:
        """Whether readers can read older versions of it. A lake table has them, and files have those of a member of a
        group."""
        return self.storage.commits or (self.storage.listed and self.policy.group is not None)

    @property
    def reads_ahead(self) -> bool:
        """Whether a refresh can read rows of other refreshes before their publication.

        A job cannot: it may read in threads of its own, or files. A view that reads earlier partitions of itself
        learns of them by their publication.
        """
        return not self.earlier and isinstance(self.made_by, Query)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(each.source for each in self.dependencies)

    @property
    def statement(self) -> tuple[object, ...]:
        """What a user wrote; two declarations with equal statements are the same definition."""
        return (
            self.made_by,
            self.partitioned_by,
            self.format,
            self.comment,
            self.declared,
            self.properties,
            self.catalog,
            self.database,
            self.settings,
        )
