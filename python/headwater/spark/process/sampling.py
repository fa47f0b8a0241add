"""Compares a sample of a view with its query from time to time, as ``headwater.verify`` asks.

Example: a function of the query says that it is deterministic and is not. Refreshes by changes never compute the old
rows again, so nothing else notices.
"""

from __future__ import annotations

from functools import partial

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from headwater.logger import log
from headwater.model.error import HeadwaterError
from headwater.model.name import anywhere
from headwater.model.partition import WHOLE
from headwater.model.state import State, Status
from headwater.model.view import Definition
from headwater.runtime.loop import Loop
from headwater.runtime.recorder import Recorder
from headwater.spark.jvm.shim import Shim
from headwater.spark.refreshing.verify import Difference, Sample
from headwater.spark.statements.recompute import Verifier, request
from headwater.store.sql_store import SqlStore

WHY = "differed from its query in a sample, see headwater.verify"


class Sampler:
    """Compares samples of the views that ask for it, and has a view that differs recomputed.

    The store notes the time of each comparison, so an application that starts often compares no more often.
    """

    def __init__(self, recorder: Recorder, loop: Loop, store: SqlStore, verifier: Verifier, shim: Shim) -> None:
        self._recorder, self._loop, self._store = recorder, loop, store
        self._verifier, self._shim = verifier, shim

    def sample(self) -> None:
        """Compares each view whose time has come, one after the other."""
        for name, definition in self._recorder.read(lambda state: state.definitions).items():
            try:
                if self._loop.leads and self._due(definition):
                    self._compare(name)
            except (HeadwaterError, PySparkException, Py4JJavaError) as error:
                why = str(error) if isinstance(error, HeadwaterError) else self._shim.failure(error).text
                log.warning("a sample of %s was not compared: %s", name, why)
                self._note(name)

    def _due(self, definition: Definition) -> bool:
        """Whether a comparison is due. The first is due a while after the view was seen for the first time."""
        period = definition.policy.verify
        if period is None:
            return False
        last = self._store.noted(_about(definition.view))
        if last is None:
            self._note(definition.view)
            return False
        return self._recorder.clock.now() - int(last) >= period

    def _compare(self, name: str) -> None:
        """Compares a sample of a view that nothing is running for, and that is fresh; else the next check does."""
        if not self._recorder.read(partial(_is_idle, name=name)):
            return
        found = self._verifier.compared(name, Sample())
        if found is None:
            return
        self._note(name)
        if found != Difference():
            log.warning(
                "%s differed from its query in a sample: %d rows were missing, %d were too many; it is recomputed. "
                "A function of its query may not be deterministic: VERIFY MATERIALIZED VIEW %s",
                *(name, found.missing, found.surplus, anywhere(name)),
            )
            request(self._recorder, name, [WHOLE], WHY)

    def _note(self, name: str) -> None:
        self._store.note(_about(name), str(self._recorder.clock.now()))


def _is_idle(state: State, name: str) -> bool:
    """Whether nothing runs, and a view is one that refreshes keep fresh."""
    return not state.running and name in state.views and state.views[name].status is Status.ACTIVE


def _about(view: str) -> str:
    return f"verified {view}"
