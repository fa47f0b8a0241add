"""What a view is: its query, its shape, and what it takes from its sources."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from headwater.model.dependency import Dependency, Occurrence

JOB = "python "
"""What the query of a view begins with that is computed by a Python function; its module and name follow."""

Pairs = tuple[tuple[str, str], ...]


def pairs(mapping: Mapping[str, str] | Pairs) -> Pairs:
    """A mapping as a sorted tuple, so that values compare and hash."""
    items = mapping.items() if isinstance(mapping, Mapping) else mapping
    return tuple(sorted(tuple(item) for item in items))


@frozen
class Column:
    """``type`` is Spark's DDL spelling."""

    name: str
    type: str
    comment: str = ""


@frozen
class Definition:
    """A materialized view as declared, with what analysis found.

    Attributes:
        view: its key (see ``model.name``).
        query: the text after ``AS``.
        catalog, database, settings: of the session that declared it; the query means what it meant there.
        properties: all ``TBLPROPERTIES``.
        fingerprint: hash of the analysed query; it changes when the query's meaning does.
        dependencies: one for each source table or view that the query reads.
        earlier: where it reads earlier partitions of itself: each place binds one column to a window that goes
            strictly back in time, the same column in all, and may take others over as they are.
        through: keys of the ordinary views and of the functions of the catalog that the query uses.
        declared: the column list of the statement; empty when it had none.
        root: the directory of its own in which its versions lie.
        owner: what marks that directory, and the view's table in the catalog, as this view's.
    """

    view: str
    query: str
    columns: tuple[Column, ...]
    partitioned_by: tuple[str, ...] = ()
    format: str = "parquet"
    comment: str = ""
    catalog: str = "spark_catalog"
    database: str = "default"
    settings: Pairs = field(default=(), converter=pairs)
    properties: Pairs = field(default=(), converter=pairs)
    fingerprint: str = ""
    dependencies: tuple[Dependency, ...] = ()
    earlier: tuple[Occurrence, ...] = ()
    through: tuple[str, ...] = ()
    root: str = ""
    owner: str = ""
    declared: tuple[Column, ...] = ()

    def option(self, name: str, default: str = "") -> str:
        """The value of the view property ``headwater.<name>``."""
        return dict(self.properties).get(f"headwater.{name}", default)

    @property
    def is_job(self) -> bool:
        """Whether it is computed by a Python function."""
        return self.query.startswith(JOB)

    @property
    def reads_ahead(self) -> bool:
        """Whether a refresh can read what other refreshes made where they left it, and not only what is published.
        Python cannot: it may read in threads of its own, or files. Of what goes on from its own past the partitions
        are told by what is published."""
        return not self.earlier and not self.is_job

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(each.source for each in self.dependencies)

    @property
    def statement(self) -> tuple:
        """What a user wrote; two declarations with equal statements are the same definition."""
        return (
            self.query.strip(),
            self.partitioned_by,
            self.format,
            self.comment,
            self.declared,
            self.properties,
            self.catalog,
            self.database,
            self.settings,
        )
