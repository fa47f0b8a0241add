"""Commits of groups: what the record says that readers see, the catalog shows.

Nothing of a commit is on record. The newest epoch says what is to be shown. So a commit that came to nothing, or of
which nobody knows whether it was made, is made again.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial

from headwater.engine.groups.together import to_show, together
from headwater.logger import log
from headwater.model.epoch import Epoch
from headwater.model.error import DefinitionError, NotNow
from headwater.model.policy import GroupCommit
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.runtime.recorder import Recorder
from headwater.spark.jvm.shim import SPARK_ERRORS, Shim
from headwater.spark.tables.registry import Formats

WORD = "'headwater.group.commit' = 'together'"


class GroupCommits:
    """Lets catalogs show the members of groups together."""

    def __init__(self, recorder: Recorder, formats: Formats, shim: Shim) -> None:
        self._recorder, self._formats, self._shim = recorder, formats, shim
        self._lock = threading.Lock()
        self._done: dict[str, Epoch] = {}

    def settle(self, afresh: bool = False, only: str | None = None) -> bool:
        """Shows the groups whose readers are to see another epoch. True: these readers see what they are to see.

        Args:
            afresh: looks at all of them, as another program may have written what readers see.
            only: one of the groups; ``None``: all.

        Raises:
            NotNow: a catalog does not answer, or other programs commit to a member all the time.
        """
        with self._lock:
            now = self._recorder.clock.now()
            wanted = self._recorder.read(partial(to_show, now=now))
            self._done = {group: epoch for group, epoch in self._done.items() if group in wanted and not afresh}
            failures: list[NotNow] = []
            for group, epoch in wanted.items():
                if self._done.get(group) == epoch or only not in (None, group):
                    continue
                try:
                    self._show(group, epoch)
                    self._done[group] = epoch
                except NotNow as error:
                    failures.append(error)  # other groups may lie in other catalogs
            if failures:
                raise failures[0]
            return True

    def require(self, definition: Definition) -> None:
        """Refuses a member of a group that no catalog can commit with the others, if one asks for that.

        Raises:
            DefinitionError: it is one.
        """
        group = definition.policy.group
        if group is None:
            return
        others = self._recorder.read(partial(_others, definition=definition))
        members = {definition.view: definition, **others}
        asking = [each for each, known in members.items() if known.policy.commit is GroupCommit.TOGETHER]
        if not asking:
            return
        places = {each: self._formats.of_view(known).step_of(known) for each, known in members.items()}
        if lone := next((each for each, place in places.items() if not place), None):
            said = f"the catalog of {lone} commits no tables of it together, as a REST catalog does"
        elif len({*places.values()}) > 1:
            one, other = sorted({*places.values()})[:2]
            said = f"its members lie in the catalogs {one} and {other}, which have no commit in common"
        else:
            return
        raise DefinitionError("PROPERTY", _refused(definition, group, asking, said), definition.view)

    def altered(self, definition: Definition, before: Definition) -> None:
        """Lets readers see the newest rows of a view that asks for no commit together any more. Where the catalog does
        not answer, the next refresh of the view does the same."""
        if before.policy.commit is GroupCommit.ALONE or definition.policy.commit is GroupCommit.TOGETHER:
            return
        try:
            self._formats.of_view(before).show_newest(definition)
        except SPARK_ERRORS as error:
            if self._shim.is_gone(error):
                raise
            told = "readers see its newest rows from its next refresh on"
            log.warning("%s (%s): %s", definition.view, self._shim.failure(error).text, told)

    # --- inside

    def _show(self, group: str, epoch: Epoch) -> None:
        definitions = self._recorder.read(partial(together, group=group))
        members = [(definitions[each.table], each.snapshot) for each in epoch.members if each.table in definitions]
        views = [definition.view for definition, _ in members]
        if not members:
            return
        try:
            shown = self._formats.of_view(members[0][0]).show(members)
        except SPARK_ERRORS as error:
            if self._shim.is_gone(error):
                raise
            said = (
                f"{', '.join(views)} were not committed together ({self._shim.failure(error).text}); it is tried again"
            )
            raise NotNow(said) from error
        for view in shown.foreign:
            log.warning("another program wrote %s past Headwater; readers see epoch %d again", view, epoch.number)
        for view in shown.lost:
            log.warning("epoch %d of %s is gone for %s; readers see the next one", epoch.number, group, view)


def _others(state: State, definition: Definition) -> Mapping[str, Definition]:
    views = {name: view.definition for name, view in state.views.items() if name != definition.view}
    return {name: each for name, each in views.items() if each.policy.group == definition.policy.group}


def _refused(definition: Definition, group: str, asking: list[str], why: str) -> str:
    if definition.view in asking:
        return f"{WORD}: {why}; leave the property out, and read {group} with spark.headwater.read = consistent"
    return f"'headwater.group' = '{group}': {asking[0]} has {WORD}, and {why}; choose another group"
