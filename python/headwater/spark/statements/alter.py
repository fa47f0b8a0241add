"""``ALTER MATERIALIZED VIEW``, as far as it changes a view's entry in the catalog: its properties and its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from headwater.algebra import graph
from headwater.engine.requests.limits import follows
from headwater.engine.tell import report
from headwater.model.error import StatementError
from headwater.model.event import FRESH, Altered, Declared, Renamed
from headwater.model.name import split
from headwater.model.properties import check_properties
from headwater.model.state import State
from headwater.model.view import Definition, pairs
from headwater.runtime.recorder import Recorder
from headwater.spark.defining.analyse import Analyst, require_followed
from headwater.spark.defining.options import require_group, require_times
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import Shim
from headwater.spark.jvm.wire import Row
from headwater.spark.observing.observer import Observer
from headwater.spark.refreshing.group_commits import GroupCommits
from headwater.spark.statements.create import edged
from headwater.spark.tables import catalog


class _MovedOn(Exception):
    """A view is not as it was when the catalog got another name or other properties of it."""


@frozen
class Alterations:
    """Gives views of one engine other properties and names. A statement that is refused raises ``HeadwaterError``, in
    words for the user."""

    recorder: Recorder
    observer: Observer
    analyst: Analyst
    sessions: Sessions
    shim: Shim
    commits: GroupCommits

    def set(self, definition: Definition, changed: Mapping[str, str]) -> Sequence[Row]:
        """``SET TBLPROPERTIES``"""
        check_properties(definition.view, changed)
        self._alter(definition, {**dict(definition.properties), **changed})
        return [[f"{definition.view}: {', '.join(f'{key} = {value}' for key, value in changed.items())}"]]

    def unset(self, definition: Definition, keys: Sequence[str], if_exists: bool) -> Sequence[Row]:
        """``UNSET TBLPROPERTIES``"""
        properties = dict(definition.properties)
        if (unknown := sorted({*keys} - properties.keys())) and not if_exists:
            raise StatementError(
                f"{definition.view} has no property {', '.join(unknown)}; it has {', '.join(properties) or 'none'}. "
                "With IF EXISTS, that is no mistake"
            )
        gone = {key: properties.pop(key) for key in keys if key in properties}
        if not gone:
            return [[f"{definition.view} has none of these properties; nothing was done"]]
        self._alter(definition, properties)
        return [[f"{definition.view}: {', '.join(f'{key} = {value} is unset' for key, value in gone.items())}"]]

    def rename(self, definition: Definition, target: str) -> Sequence[Row]:
        """``RENAME TO`` a key."""
        if split(target)[:-1] != split(definition.view)[:-1]:
            raise StatementError(f"{definition.view} cannot become {target}: a view stays in its database")
        if shown := catalog.replaced(target):
            kept = f"the name {target} is kept for a table that is to replace {shown}"
            raise StatementError(f"{kept}; choose another one")
        self._require_renamable(definition)
        if self.shim.owner(target) is not None:
            raise StatementError(f"{target} exists already; choose another name")
        self.recorder.read(lambda state: graph.refuse_cycle(state.sources, target, definition.sources))
        session = self.sessions.of_table()
        renamed = catalog.renamed(session, self.shim, definition, target)

        def rename(state: State) -> Renamed | None:
            known = state.views.get(definition.view)
            if known is None and target in state.views:
                return None  # a look was faster
            same = known is not None and known.definition == definition
            if not same or report.reading(state, definition.view) or definition.view in state.running:
                raise _MovedOn
            return Renamed(self.recorder.clock.now(), FRESH, definition.view, target, renamed)

        try:
            self.recorder.record(rename)
        except _MovedOn:
            catalog.renamed(session, self.shim, renamed, definition.view)
            self._require_renamable(definition)
            raise StatementError(f"{definition.view} changed meanwhile; rename it again") from None
        self.observer.reanalyse(target)  # views that read a table which had this name
        return [[f"{definition.view} is now {target}"]]

    # --- inside

    def _alter(self, definition: Definition, properties: Mapping[str, str]) -> None:
        altered = self.analyst.analysed(evolve(definition, properties=properties))
        follows_again = follows(altered) and not follows(definition)
        differs = altered.dependencies != definition.dependencies or edged(altered) != edged(definition)
        if differs or altered.policy.method != definition.policy.method:
            require_followed(altered)  # other properties may change where a view cannot be followed any more
        require_times(require_group(altered))
        self.commits.require(altered)
        session = self.sessions.of_table()
        catalog.store(session, altered, definition)
        why = "follows its sources again" if follows_again else "depends on its sources in another way"

        def alter(state: State) -> Declared | Altered:
            if state.definition(definition.view) != definition:
                raise _MovedOn
            if follows_again or differs:
                return Declared(self.recorder.clock.now(), FRESH, altered, why)
            return Altered(self.recorder.clock.now(), definition.view, pairs(properties))

        try:
            self.recorder.record(alter)
        except _MovedOn:
            newer = self.recorder.read(lambda state: state.definition(definition.view))
            if newer is not None:
                catalog.store(session, newer, altered)
            raise StatementError(f"{definition.view} changed meanwhile; alter it again") from None
        self.commits.altered(altered, definition)

    def _require_renamable(self, definition: Definition) -> None:
        view = definition.view
        readers, runs = self.recorder.read(lambda state: (report.reading(state, view), view in state.running))
        if readers:
            raise StatementError(f"{view} is read by {', '.join(readers)} under this name; drop or redefine them first")
        if runs:
            raise StatementError(f"{view} is being refreshed; rename it when the refresh has ended")
