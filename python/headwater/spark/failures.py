"""What Spark raised, or the way to it, in terms of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headwater.model.error import DriverGone, RefreshCancelled, RefreshFailed
from headwater.model.state import Run
from headwater.spark.shim import Shim, is_gone

UNWRITABLE = {
    "No space left on device": "free space there",
    "Disk quota exceeded": "free space there",
    "Read-only file system": "make its directory writable",
    "Permission denied": "make its directory writable",
    "Mkdirs failed": "make its directory writable",
}
UNREAD = re.compile(r"FAILED_READ_FILE\..*?reading file (?P<file>\S+?)\.?\s", re.DOTALL)
"""How Spark says that it could not read a file, whose path it encodes as in a URL."""


@contextmanager
def translating(run: Run, shim: Shim) -> Iterator[None]:
    """Raises what is raised in the block in terms of a run.

    Raises:
        DriverGone: there is no driver to talk to any more.
        RefreshCancelled: somebody cancelled it, or a source was overwritten while it was read.
        RefreshFailed: whatever else went wrong.
    """
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        if not is_gone(error) and _is_overwritten(str(error), shim):
            # No fault of the view's: the change is recorded, or will be, and the work is wanted all the more.
            raise RefreshCancelled(
                f"a source of {run.view} was overwritten while it was read; it is computed again"
            ) from error
        raise _translated(run, error) from error


def is_unwritable(error: Exception) -> bool:
    """Whether something could not be written where it was to be."""
    return any(mark in str(error) for mark in UNWRITABLE)


def is_cancelled(error: Exception) -> bool:
    """Whether somebody cancelled the job that raised it."""
    text = str(error).lower()
    return "cancelled" in text and "job" in text


def words(error: Exception) -> str:
    """The first line of Spark's own message."""
    java = getattr(error, "java_exception", None)
    text = (java.toString() if java is not None else str(error)) or type(error).__name__
    return text.strip().splitlines()[0][:500]


def _is_overwritten(text: str, shim: Shim) -> bool:
    """Whether Spark could not read a file that is not there any more. It says so, unless the file went between
    two steps of opening it."""
    if "FILE_NOT_EXIST" in text:
        return True
    unread = UNREAD.search(text)
    if unread is None:
        return False
    folder, _, name = unquote(unread["file"]).rpartition("/")
    return name not in shim.names(folder)


def _translated(run: Run, error: Exception) -> RefreshFailed | RefreshCancelled | DriverGone:
    text = str(error)
    if is_gone(error) or any(mark in text for mark in ("SparkContext was shut down", "stopped SparkContext")):
        return DriverGone("this application has ended")
    if is_cancelled(error):
        return RefreshCancelled(f"the refresh of {run.view} was cancelled; what it was for stays pending")
    for mark, remedy in UNWRITABLE.items():
        if mark in text:
            return RefreshFailed(f"{run.view} cannot be written: {mark.lower()}; {remedy}, the refresh is tried again")
    return RefreshFailed(f"{run.view}: {words(error)}")
