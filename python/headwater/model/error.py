"""Errors that a user sees. Each names the object and the next step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from headwater.model.reason import Code, Reason


class HeadwaterError(Exception):
    """Base of every error that Headwater raises on purpose; its text is for the user."""


class JarError(HeadwaterError):
    """The shim's jar cannot be built."""


class StatementError(HeadwaterError):
    """A Headwater statement is malformed, or names something that does not exist."""


class ViewError(HeadwaterError):
    """Something is wrong with a view, or with its refresh.

    Attributes:
        fault: what is wrong, in one sentence or more. The message names the ``view`` before it, where the fault does
            not do so.
    """

    def __init__(self, fault: str, view: str = "") -> None:
        super().__init__(f"{view}: {fault}" if view else fault)
        self.fault = fault


class DefinitionError(ViewError):
    """A view cannot have this definition. ``code`` is stable, for programs."""

    def __init__(self, code: str, fault: str, view: str = "") -> None:
        super().__init__(fault, view)
        self.code = code


class StoreError(HeadwaterError):
    """The store cannot be opened, or an entry of it cannot be read."""


class JournalError(StoreError):
    """An entry of the journal is malformed; ``position`` is its sequence number."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(f"journal entry {position}: {message}")
        self.position = position


class TakenOver(HeadwaterError):
    """Another engine took over the runs of this one; its rows are not published."""


class StillAlive(HeadwaterError):
    """The engine that was to be evicted has renewed its time; its runs are its own."""


class DriverGone(TakenOver):
    """The Spark application of this engine ends; the pending requests go on in the next one."""


class AnalysisFailed(ViewError):
    """Spark's analysis refuses a view's query: a table or column is missing, a function unknown."""


class NotNow(HeadwaterError):
    """Spark could not answer, for a reason that may pass: a metastore or a file system did not. It is tried again."""


class RefreshEnded(ViewError):
    """A refresh came to nothing, for a ``reason``. ``look_at``: tables that it did not find as they are on record."""

    usually: ClassVar[Code]

    def __init__(self, fault: str, view: str = "", code: Code | None = None, look_at: Iterable[str] = ()) -> None:
        super().__init__(fault, view)
        self.reason, self.look_at = Reason(code or self.usually, fault), tuple(look_at)


class RefreshFailed(RefreshEnded):
    """The Spark job of a refresh failed; the message is Spark's own."""

    usually = Code.RUN_FAILED


class RefreshCancelled(RefreshEnded):
    """A refresh was cancelled, or a write overwrote a source that it read; its changes stay pending."""

    usually = Code.RUN_CANCELLED


class FilesReplaced(RefreshCancelled):
    """Other files took the place of those that a refresh was to replace, before its commit: a compaction or another
    program was first. Nobody sees the rows of the refresh, and it is tried again."""

    usually = Code.RUN_TABLE_CHANGED


class Overtaken(FilesReplaced):
    """Another store published a ``version`` of a replica first. The next run looks at what it finds there."""

    def __init__(self, fault: str, view: str, version: int) -> None:
        super().__init__(fault, view, look_at=(view,))
        self.version = version


class ViewGone(RefreshCancelled):
    """The table of a view was dropped, or has another name, or another table has its name. No run makes it again."""

    usually = Code.RUN_VIEW_GONE


class CompactionFailed(ViewError):
    """Small files of a view were not put together. Its table is as it was."""


class PlanError(HeadwaterError):
    """The description of a run cannot be planned."""


class ChangesUnknown(HeadwaterError):
    """A run cannot follow the changes of its sources, for a ``reason``: a clause without a full stop."""

    def __init__(self, code: Code, clause: str) -> None:
        super().__init__(clause)
        self.reason = Reason(code, clause)
