"""What a run is to compute, and from which rows.

Example: a view of 30 partitions reflects version 5 of ``sales``, and a row of customer 7 came since. By totals, a run
adds it to the totals of the view. By keys, it computes the rows of customer 7. Else it computes their partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import ClassVar

from attrs import frozen

from headwater.model.partition import WHOLE, Inputs, Slice, Version
from headwater.model.reason import Reason


class Mode(Enum):
    """The words that users see for the work of a run. A skipped one had no work, as no source came out different."""

    FULL = "full"
    PARTITION = "partition"
    KEYS = "keys"
    CHANGES = "incremental"
    SKIPPED = "skipped"


ASKED = (Mode.CHANGES, Mode.KEYS, Mode.FULL)
"""Those that a view's property names. What allows the whole view allows whole partitions, too."""

Since = tuple[tuple[str, str], ...]
"""The changed sources, each with a snapshot from which its changes are followed."""


@frozen
class LeftTotals:
    """What a run tells of the totals that it left.

    Attributes:
        digest: of their files.
        size: bytes of these.
        seconds: that it took to read and write them.
    """

    digest: str
    size: int = 0
    seconds: float = 0.0


@frozen
class Totals:
    """The totals of a view's aggregate, which lie beside the view where no reader sees them.

    Attributes:
        version: of the run that left them.
        inputs: the versions of the sources that they reflect.
        left: what the run told of them.
        took: seconds of the run in all.
    """

    version: Version
    inputs: Inputs
    left: LeftTotals
    took: float = 0.0


@frozen
class WholeView:
    """All rows of the view. ``leaves_totals``: the run leaves totals for later ones."""

    mode: ClassVar = Mode.FULL
    leaves_totals: bool = False


@frozen
class WholePartitions:
    """All rows of the run's slices. ``leaves_totals``: the run leaves totals for later ones."""

    mode: ClassVar = Mode.PARTITION
    leaves_totals: bool = False


@frozen
class ByKeys:
    """The rows of the view with keys that changed rows have. All others stay.

    Attributes:
        since: the changed sources, each with a snapshot that partitions reflect; one source may have several.
        churn: bytes of the files that came and went since then.
    """

    mode: ClassVar = Mode.KEYS
    since: Since
    churn: int


@frozen
class ByTotals:
    """The rows of the view by its totals, to which changed rows are added. The run leaves the new totals.

    Attributes:
        before: the totals that it goes on from.
        since: the changed sources, each with the snapshot that these totals reflect.
        churn: bytes of the files that came and went since then.
    """

    mode: ClassVar = Mode.CHANGES
    before: Totals
    since: Since
    churn: int


@frozen
class ByRows:
    """The rows of the view that changed rows of sources make or take away. All others stay. Only a view without an
    aggregate has such rows.

    Attributes:
        since: the changed sources, each with the snapshot that partitions reflect.
        churn: bytes of the files that came and went since then.
        takes: rows of the view may go; else only rows come.
    """

    mode: ClassVar = Mode.CHANGES
    since: Since
    churn: int
    takes: bool = False


@frozen
class NoMethod:
    """Nothing: the view's property allows no method that can renew the slices.

    Attributes:
        mode: the first of the methods that it allows.
        why: this one cannot.
    """

    mode: Mode
    why: Reason


FollowsChanges = ByKeys | ByTotals | ByRows
"""The work that starts from the rows that came and went."""

Whole = WholeView | WholePartitions
"""The work that computes all rows of some slices."""

Work = Whole | FollowsChanges | NoMethod


def only_adds(work: Work) -> bool:
    """Whether work leaves all rows of the view as they are. Only rows come."""
    return isinstance(work, ByRows) and not work.takes


def whole(work: Work, slices: Sequence[Slice]) -> Whole:
    """The work that makes the same slices as a run that cannot follow changes. It leaves totals if that one would."""
    leaves = isinstance(work, ByTotals)
    return WholeView(leaves) if WHOLE in slices else WholePartitions(leaves)
