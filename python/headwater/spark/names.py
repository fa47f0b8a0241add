"""Which view a user means by a name."""

from __future__ import annotations

from headwater.model.error import StatementError
from headwater.model.name import TableName, spelled
from headwater.runtime.record import Recorder
from headwater.spark import syntax
from headwater.spark.define import canonical
from headwater.spark.wire import Session


class Names:
    """The names of one engine's views, as a session's statements spell them."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

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
        """The view of this name, if there is one."""
        qualified = self.qualified(name, session).lower()
        with self._recorder.lock:
            return next((each for each in self._recorder.state.views if each.lower() == qualified), None)

    def qualified(self, name: syntax.Name, session: Session) -> str:
        """The key of a name, in the session's database where the name gives none."""
        full = (session.database, *name) if len(name) == 1 else name
        return canonical(TableName.of(full), session)

    def unknown(self, name: syntax.Name) -> str:
        """What to say of a name that no view has."""
        with self._recorder.lock:
            known = sorted(self._recorder.state.views)
        listed = f"there are {', '.join(known[:10])}" if known else "there is none yet"
        return f"there is no materialized view {spelled(name)}; {listed}"
