"""The looks that runs ask for: the port ``RunObserver`` over an observer."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark import SparkContext

from headwater.algebra.dependency import backward
from headwater.model.command import Launch
from headwater.model.error import RefreshCancelled
from headwater.model.name import PathName, named
from headwater.model.partition import WHOLE, simplified
from headwater.runtime.recorder import Recorder
from headwater.spark.jvm.failures import translating
from headwater.spark.jvm.job_groups import JobGroups
from headwater.spark.jvm.shim import Shim
from headwater.spark.observing.hints import Target
from headwater.spark.observing.observer import Observer


class RunLooks:
    """Looks on behalf of the runs of one Spark application. Files cannot be read as they once were, so the state that a
    run may have seen of them is compared with the record."""

    def __init__(
        self, context: SparkContext, shim: Shim, recorder: Recorder, observer: Observer, groups: JobGroups
    ) -> None:
        self._context, self._shim, self._recorder = context, shim, recorder
        self._observer, self._groups = observer, groups

    def look(self, launch: Launch, before: bool) -> None:
        """Looks at the base tables that a run reads, before it reads them and after. So the record has all that it may
        have seen, and a request remains if that changed meanwhile or goes away again.

        Raises:
            RefreshCancelled: one of them cannot be looked at any more, so what the run sees is unknown. A program may
                be overwriting it: the view waits until it can be read, and the run is no failure.
        """
        run = launch.run
        with translating(run, self._shim):
            self._groups.take_up(self._context, run, "refresh")
            views = self._recorder.read(lambda state: {*state.views})
            target = Target(before=run.version if before else 0)
            for dependency in [each for each in launch.definition.dependencies if each.source not in views]:
                read = simplified(each for one in run.slices for each in backward(dependency, one))
                target.add(dependency.source, None if WHOLE in read else read)
            self._observer.look_after_hints(target)
            for table, why in self._observer.unreadable(target.tables).items():
                raise RefreshCancelled(f"{run.view} reads {table}, which cannot be read: {why}", code=why.code)

    def look_again(self, tables: Iterable[str]) -> None:
        asked = dict.fromkeys(tables)
        self._observer.look(Target(asked))
        for each in asked:
            if isinstance(named(each), PathName):  # no look tells that its columns are others
                self._observer.reanalyse(each)

    def reshaped(self, view: str) -> None:
        self._observer.reanalyse(view)
