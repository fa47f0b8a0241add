"""The table that a name means in a session, as Spark resolves it."""

from __future__ import annotations

from headwater.model.name import SESSION_CATALOG, TableName, kept, split
from headwater.spark.jvm.wire import Session


def resolved(name: tuple[str, ...], session: Session) -> TableName:
    """The table that the parts of a name mean in a session."""
    first, *rest = name
    if rest and first.lower() == SESSION_CATALOG:
        return TableName(SESSION_CATALOG, tuple(rest[:-1]), rest[-1])
    if rest and first in session.catalogs:
        return TableName.whole(name)
    current = split(session.database) if session.database and not rest else ()
    return TableName(session.catalog, (*current, *name[:-1]), name[-1])


def canonical(name: TableName, session: Session) -> str:
    """The key of a name as its catalog keeps it."""
    return kept(name, session.folds)


def meant(text: str, session: Session) -> str:
    """The key of the table that a name means in a session, as the catalog keeps it."""
    return canonical(resolved(split(text), session), session)
