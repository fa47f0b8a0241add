"""Puts small files of lake views together while the engine has nothing else to do.

Each refresh of a view without an aggregate may add a file. Thousands of them make each read and each refresh dearer.
"""

from __future__ import annotations

from functools import partial

from attrs import evolve, frozen
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from headwater.logger import log
from headwater.model.error import HeadwaterError
from headwater.model.partition import Version
from headwater.model.state import State, Status
from headwater.model.view import Definition
from headwater.ports import RunObserver
from headwater.runtime.loop import Loop
from headwater.runtime.recorder import Recorder
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.compaction import PRESSING, UNREAD, due
from headwater.spark.tables.registry import Formats

LONGEST = 64
"""Publications of a view, between two compactions that fail."""


@frozen
class Pause:
    """How many publications of a view come before the next compaction.

    Attributes:
        left: so many are still to come.
        last: so many came after the last failure.
    """

    left: int = 0
    last: int = 0

    def longer(self) -> Pause:
        """The pause after one more failure. A view whose refreshes are always faster would be written for nothing."""
        count = min(LONGEST, 2 * self.last + 1)
        return Pause(count, count)


class Compactor:
    """Looks at views that were published since the last look, and puts small files together where it pays."""

    def __init__(self, recorder: Recorder, loop: Loop, formats: Formats, looks: RunObserver, shim: Shim) -> None:
        self._recorder, self._loop, self._formats = recorder, loop, formats
        self._looks, self._shim = looks, shim
        self._looked: dict[str, Version] = {}
        self._pauses: dict[str, Pause] = {}

    def compact(self) -> None:
        """Looks at each view, one after the other. What fails, as where a refresh was faster, is tried again after a
        later publication: after the first failure the second one, then the fourth and so on."""
        for name, definition in self._recorder.read(lambda state: state.definitions).items():
            if not self._loop.leads:
                return
            if not definition.storage.commits or definition.partitioned_by or not definition.policy.compaction:
                continue
            newest = self._recorder.read(partial(_newest, name=name))
            if newest == self._looked.get(name, 0):
                continue
            self._looked[name] = newest  # also if it fails for a reason that nobody foresaw
            pause = self._pauses.get(name, Pause())
            if pause.left:
                self._pauses[name] = evolve(pause, left=pause.left - 1)
                continue
            try:
                if self._is_done(definition):
                    self._pauses.pop(name, None)
                else:
                    del self._looked[name]
            except (HeadwaterError, PySparkException, Py4JJavaError) as error:
                self._pauses[name] = pause.longer()
                why = str(error) if isinstance(error, HeadwaterError) else self._shim.failure(error).text
                log.info("small files of %s stay for now: %s", name, why)

    def _is_done(self, definition: Definition) -> bool:
        """False: a refresh runs or is due, and the files can wait."""
        tables = self._formats.of_view(definition)
        found = due(tables.sizes(definition))
        if found is None:
            return True
        if not self._recorder.read(partial(_may, name=definition.view, files=found.files)):
            return False
        done = tables.compact(definition, found)
        log.info("%d small files of %s became %d", done.before, definition.view, done.after)
        # A clean-up expires the snapshot that is on record of these rows, and views above would start from it.
        self._looks.look_again([definition.view])
        return True


def _newest(state: State, name: str) -> Version:
    """The version of a view that was published last; 0: none."""
    record = state.tables.get(name)
    return max((each.version for each in record.partitions.values()), default=0) if record else 0


def _may(state: State, name: str, files: int) -> bool:
    """Whether so many small files of a view are put together now: nothing runs, and the view is fresh. Where it
    presses, no run is of this view.

    A view above that is behind reads new rows from the files that they came in, and a clean-up deletes these. So it is
    waited for, but not for ever."""
    view = state.views.get(name)
    if view is None or view.status is not Status.ACTIVE or name in state.running:
        return False
    if files < UNREAD and any(_is_behind(state, each) for each in state.index.readers.get(name, ())):
        return False
    return files >= PRESSING or not (state.running or view.pending)


def _is_behind(state: State, name: str) -> bool:
    """Whether a view has yet to follow changes. One that does not run by itself is not waited for."""
    view = state.views[name]
    return view.status is Status.ACTIVE and (bool(view.pending) or name in state.running)
