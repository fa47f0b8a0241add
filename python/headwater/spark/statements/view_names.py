"""The view that a user means by a name."""

from __future__ import annotations

from collections.abc import Callable

from headwater.model.error import StatementError
from headwater.model.name import TableName, loosely, named, spelled, split
from headwater.runtime.recorder import Recorder
from headwater.spark.defining.resolving import canonical, resolved
from headwater.spark.jvm.wire import Session
from headwater.spark.statements import syntax


class Names:
    """The names of one engine's views, as a session's statements spell them.

    Args:
        owner: who owns the table that a catalog finds by a name; ``None`` if it finds none.
    """

    def __init__(self, recorder: Recorder, owner: Callable[[str], str | None]) -> None:
        self._recorder, self._owner = recorder, owner

    def known(self, name: syntax.Name, session: Session) -> str:
        """The view of this name.

        Raises:
            StatementError: there is none; those that there are, are listed.
        """
        view = self.find(name, session)
        if view is None:
            raise StatementError(self.unknown(name))
        return view

    def find(self, name: syntax.Name, session: Session) -> str | None:
        """The view of this name, if there is one. A name in another case is that of the view whose table its catalog
        finds by it: some catalogs tell cases apart."""
        return self.meant(self.qualified(name, session))

    def meant(self, qualified: str) -> str | None:
        """The view that a key means, which may be spelled in another case; ``None`` if it means none."""
        views = self._recorder.read(lambda state: state.definitions)
        if qualified in views:
            return qualified
        alike = {each: view.owner for each, view in views.items() if loosely(each) == loosely(qualified)}
        if not alike:
            return None
        owner = self._owner(qualified)
        return next((each for each, of in alike.items() if of == owner), None)

    def qualified(self, name: syntax.Name, session: Session) -> str:
        """The key of a name as Spark resolves it: in the session's catalog unless it begins with another one, and in
        the session's database where it gives none."""
        return canonical(resolved(name, session), session)

    def beside(self, view: str, name: syntax.Name, session: Session) -> str:
        """The key of a new name of a view, as Spark resolves one of a table: it is in the catalog of the view, and in
        its database where it gives none. It may begin with that catalog."""
        old = named(view)
        assert isinstance(old, TableName), "a view is a table"
        namespace = name[:-1] or old.namespace
        within = canonical(TableName(old.catalog, namespace, name[-1]), session)
        return within if split(within)[:-1] == split(view)[:-1] else self.qualified(name, session)

    def namespace(self, name: syntax.Name, session: Session) -> tuple[str, ...]:
        """The parts of the keys of all tables in a database, but for their last."""
        return split(self.qualified((*name, "any"), session))[:-1]

    def unknown(self, name: syntax.Name) -> str:
        """What to say of a name that no view has."""
        known = self._recorder.read(lambda state: sorted(state.views))
        listed = f"there are {', '.join(known[:10])}" if known else "there is none yet"
        return f"there is no materialized view {spelled(name)}; {listed}"
