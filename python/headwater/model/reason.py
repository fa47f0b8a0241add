"""A reason that users see: a sentence for people, and a stable code for programs (``docs/reasons.md``)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from attrs import frozen


class Code(Enum):
    """All codes. A code keeps its meaning; the sentence beside it may be put better."""

    # Why a run happens.
    SOURCE_CHANGED = "source.changed"
    SOURCE_HISTORY_LOST = "source.history_lost"
    SOURCE_COLUMNS_CHANGED = "source.columns_changed"
    SOURCE_GONE = "source.gone"
    VIEW_DEFINED = "view.defined"
    VIEW_REQUESTED = "view.requested"
    VIEW_REFRESHED = "view.refreshed"
    VIEW_WRITTEN_OUTSIDE = "view.written_outside"

    # Why a view stands still.
    VIEW_SUSPENDED = "view.suspended"
    QUERY_NOT_ANALYSED = "query.not_analysed"
    QUERY_REFUSED = "query.refused"
    SOURCE_UNREADABLE = "source.unreadable"
    SOURCE_FILES_MISSING = "source.files_missing"
    SOURCE_FORMAT_CHANGED = "source.format_changed"

    # Why a view waits.
    WAIT_MORE_CHANGES = "wait.more_changes"
    WAIT_NEXT_CHANGE = "wait.next_change"
    WAIT_CADENCE = "wait.cadence"
    WAIT_READERS = "wait.readers"
    WAIT_BUDGET = "wait.budget"
    WAIT_UPSTREAM = "wait.upstream"
    WAIT_UPSTREAM_STUCK = "wait.upstream_stuck"
    WAIT_RETRY = "wait.retry"
    WAIT_TRACK = "wait.track"
    WAIT_READY = "wait.ready"
    WAIT_ENGINE = "wait.engine"

    # What a view misses although it is refreshed.
    FRESHNESS_LATE = "freshness.late"
    FRESHNESS_UNATTAINABLE = "freshness.unattainable"
    ROWS_LATE = "rows.late"
    LOOK_MISSED = "look.missed"

    # Why a run came to nothing.
    RUN_FAILED = "run.failed"
    RUN_CANCELLED = "run.cancelled"
    RUN_TIMEOUT = "run.timeout"
    RUN_PREEMPTED = "run.preempted"
    RUN_UNWANTED = "run.unwanted"
    SOURCE_SNAPSHOT_EXPIRED = "source.snapshot_expired"
    RUN_SOURCE_REPLACED = "run.source_replaced"
    RUN_ENGINE_ENDED = "run.engine_ended"
    RUN_VIEW_GONE = "run.view_gone"
    RUN_UNWRITABLE = "run.unwritable"
    RUN_REDEFINED = "run.redefined"
    RUN_TABLE_CHANGED = "run.table_changed"
    RUN_FILES_DELETED = "run.files_deleted"
    RUN_JOB_FAILED = "run.job_failed"
    RUN_METHOD_REFUSED = "run.method_refused"


@frozen
class Reason:
    """Why something is so.

    Attributes:
        text: the sentence, whose subject is not named if it stands before it wherever the sentence is shown.
    """

    code: Code
    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def coded(self) -> str:
        """The sentence with its code, as a line of ``EXPLAIN`` shows it."""
        return f"{self.text} [{self.code.value}]"


def codes(reasons: Iterable[Reason]) -> str:
    """The codes of several reasons, each once, as a column of rows shows them."""
    return ", ".join(dict.fromkeys(each.code.value for each in reasons))
