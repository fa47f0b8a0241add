"""A reason that users see: a sentence for people, and a stable code for programs (``docs/reasons.md``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    VIEW_PUBLISHED_ELSEWHERE = "view.published_elsewhere"

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
    WAIT_SCHEDULE = "wait.schedule"
    WAIT_GAP = "wait.gap"
    WAIT_READERS = "wait.readers"
    WAIT_BUDGET = "wait.budget"
    WAIT_UPSTREAM = "wait.upstream"
    WAIT_COMMON_CUT = "wait.common_cut"
    WAIT_UPSTREAM_STUCK = "wait.upstream_stuck"
    WAIT_RUN = "wait.run"
    WAIT_RETRY = "wait.retry"
    WAIT_TRACK = "wait.track"
    WAIT_READY = "wait.ready"
    WAIT_ENGINE = "wait.engine"

    # Why nothing tells which state of a table a view shows.
    CUT_LET_GO = "cut.let_go"
    CUT_EVENTUAL = "cut.eventual"
    CUT_RELEASED = "cut.released"
    CUT_PROPAGATE = "cut.propagate"
    CUT_UNKNOWN = "cut.unknown"

    # Why a group has no newer epoch.
    GROUP_APART = "group.apart"
    GROUP_UNFILLED = "group.unfilled"

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

    # Why a method or a map of partitions cannot follow a change: what the query does.
    QUERY_NOT_PARTITIONED_BY = "query.not_partitioned_by"
    QUERY_NO_EQUALITY = "query.no_equality"
    QUERY_AGGREGATE = "query.aggregate"
    QUERY_AGGREGATE_WITHOUT_GROUP = "query.aggregate_without_group"
    QUERY_AGGREGATE_NOT_ADDITIVE = "query.aggregate_not_additive"
    QUERY_WINDOW = "query.window"
    QUERY_WINDOW_WITHOUT_PARTITION = "query.window_without_partition"
    QUERY_SUBQUERY = "query.subquery"
    QUERY_FUNCTION = "query.function"
    QUERY_EXPRESSION = "query.expression"
    QUERY_CONSTANT = "query.constant"
    QUERY_GENERATED = "query.generated"
    QUERY_GROUPING_SETS = "query.grouping_sets"
    QUERY_OUTER_JOIN = "query.outer_join"
    QUERY_JOIN_TYPE = "query.join_type"
    QUERY_ROWS_TOGETHER = "query.rows_together"
    QUERY_ONLY_PARTITIONS = "query.only_partitions"
    QUERY_INEXACT_TYPE = "query.inexact_type"
    QUERY_TIME_ZONE = "query.time_zone"
    QUERY_PERIODS = "query.periods"
    QUERY_NONDETERMINISTIC = "query.nondeterministic"
    QUERY_ASPECT = "query.aspect"
    QUERY_HIDDEN_COLUMN = "query.hidden_column"
    QUERY_NO_TABLE = "query.no_table"
    QUERY_NOT_DERIVED = "query.not_derived"

    # The same: what the view and its source are.
    VIEW_UNPARTITIONED = "view.unpartitioned"
    VIEW_JOB = "view.job"
    VIEW_READS_ITSELF = "view.reads_itself"
    VIEW_FORMAT = "view.format"
    VIEW_COLUMN_TYPE = "view.column_type"
    VIEW_TRAILING_EDGE = "view.trailing_edge"
    VIEW_DEPENDENCY_ALL = "view.dependency_all"
    VIEW_DEPENDENCY_SPELLING = "view.dependency_spelling"
    SOURCE_UNPARTITIONED = "source.unpartitioned"
    SOURCE_TRANSFORM = "source.transform"
    SOURCE_NO_SNAPSHOTS = "source.no_snapshots"
    SOURCE_NO_CHANGED_ROWS = "source.no_changed_rows"
    SOURCE_SNAPSHOT_NOT_KEPT = "source.snapshot_not_kept"
    SOURCE_ROWS_REMOVED = "source.rows_removed"
    SOURCE_ANOTHER_TABLE = "source.another_table"

    # The same: what is on record, and what the method would cost.
    METHOD_ALL_BEHIND = "method.all_behind"
    METHOD_NO_CHANGE = "method.no_change"
    METHOD_DIFFERENT_KEYS = "method.different_keys"
    METHOD_TOO_MANY_KEYS = "method.too_many_keys"
    METHOD_TOO_MUCH_CHANGED = "method.too_much_changed"
    METHOD_MANY_STATES = "method.many_states"
    METHOD_STATE_UNKNOWN = "method.state_unknown"
    METHOD_OLDER_STATE = "method.older_state"
    METHOD_NO_TOTALS = "method.no_totals"
    METHOD_TOTALS_LOST = "method.totals_lost"
    METHOD_TOTALS_LARGE = "method.totals_large"
    METHOD_ROWS_MISSING = "method.rows_missing"
    METHOD_PLACE_UNKNOWN = "method.place_unknown"
    METHOD_AFTER_FAILURE = "method.after_failure"
    METHOD_DEARER = "method.dearer"
    METHOD_LAST_RUN = "method.last_run"
    METHOD_SMALL = "method.small"
    METHOD_COST_UNKNOWN = "method.cost_unknown"
    METHOD_LENIENT_SETTING = "method.lenient_setting"
    METHOD_SPARK_FAILED = "method.spark_failed"


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


def together(reasons: Sequence[Reason], more: str = "") -> Reason | None:
    """Several reasons in one sentence that ends with ``more``, with the code of the first; ``None`` without any."""
    return Reason(reasons[0].code, "; ".join(each.text for each in reasons) + more) if reasons else None


def codes(reasons: Iterable[Reason]) -> str:
    """The codes of several reasons, each once, as a column of rows shows them."""
    return ", ".join(dict.fromkeys(each.code.value for each in reasons))
