"""Spark's failures in terms of a run. The shim tells their kinds, by the types of exceptions (``Failures.scala``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headwater.model.error import ChangesUnknown, DriverGone, RefreshCancelled, RefreshEnded, RefreshFailed
from headwater.model.reason import Code
from headwater.model.state import Run
from headwater.spark.jvm.shim import SPARK_ERRORS, Shim
from headwater.spark.jvm.wire import FailureKind


@contextmanager
def translating(run: Run, shim: Shim) -> Iterator[None]:
    """Raises the errors of the block in terms of a run.

    Raises:
        DriverGone: the application ends, or nobody answers.
        RefreshCancelled: somebody cancelled the run, or a source was overwritten while the run read it.
        RefreshFailed: any other failure.
    """
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise translated(run, error, shim) from error


@contextmanager
def finding_changes(shim: Shim) -> Iterator[None]:
    """Raises the errors of a block that finds out what changed.

    Raises:
        ChangesUnknown: Spark cannot find out now.
    """
    try:
        yield
    except SPARK_ERRORS as error:
        if shim.is_gone(error):
            raise
        failure = shim.failure(error)
        if failure.kind in (FailureKind.STOPPED, FailureKind.CANCELLED):
            raise
        raise ChangesUnknown(Code.METHOD_SPARK_FAILED, failure.text) from error


def first_line(error: Exception) -> str:
    """The first line of what Spark says that is not empty."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def translated(run: Run, error: Exception, shim: Shim, look_at: Iterable[str] = ()) -> RefreshEnded | DriverGone:
    """An error of Spark's in terms of a run. ``look_at``: the tables that may not be as they are on record then."""
    made = _translated(run, error, shim)
    if isinstance(made, RefreshEnded):
        made.look_at = tuple(look_at)
    return made


def _translated(run: Run, error: Exception, shim: Shim) -> RefreshEnded | DriverGone:
    ended = DriverGone("this application has ended")
    if shim.is_gone(error):
        return ended
    failure = shim.failure(error)
    match failure.kind:
        case FailureKind.STOPPED:
            return ended
        case FailureKind.CANCELLED:
            return RefreshCancelled(f"the refresh of {run.view} was cancelled; its changes stay pending")
        case FailureKind.SOURCE_GONE | FailureKind.OVERLAY_GONE:
            # No fault of the view's: the change is recorded, or will be, and the work is wanted all the more.
            said = f"a source of {run.view} was overwritten while it was read; the refresh runs again"
            return RefreshCancelled(said, code=Code.RUN_SOURCE_REPLACED)
        case FailureKind.UNWRITABLE:
            remedy = "free space there or make its directory writable; the refresh is tried again"
            said = f"{run.view} cannot be written: {failure.text}; {remedy}"
            return RefreshFailed(said, code=Code.RUN_UNWRITABLE)
        case FailureKind.ANALYSIS | FailureKind.OTHER:
            return RefreshFailed(failure.text, run.view)
