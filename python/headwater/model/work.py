"""What a run is to compute, and from which rows.

Example: a view of 30 partitions reflects version 5 of ``sales``, and a row of customer 7 came since. By totals, a run
adds it to the totals of the view. By keys, it computes the rows of customer 7. Else it computes their partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from attrs import frozen

from headwater.model.partition import WHOLE, Slice
from headwater.model.version import Inputs, Version
from headwater.model.view import Pairs


class Mode(Enum):
    """The words that users see for the work of a run. A skipped one had no work, as no source came out different."""

    FULL = "full"
    PARTITION = "partition"
    KEYS = "keys"
    CHANGES = "incremental"
    SKIPPED = "skipped"


@frozen
class Totals:
    """The totals of a view's aggregate, which lie beside the view where no reader sees them.

    Attributes:
        version: of the run that left them.
        inputs: the versions of the sources that they reflect.
        digest: of their files.
    """

    version: Version
    inputs: Inputs
    digest: str


@frozen
class WholeView:
    """All rows of the view. ``leaves_totals``: the run leaves totals for later ones."""

    leaves_totals: bool = False

    @property
    def mode(self) -> Mode:
        return Mode.FULL


@frozen
class WholePartitions:
    """All rows of the run's slices. ``leaves_totals``: the run leaves totals for later ones."""

    leaves_totals: bool = False

    @property
    def mode(self) -> Mode:
        return Mode.PARTITION


@frozen
class ByKeys:
    """The rows of the view with keys that changed rows have. All others stay.

    Attributes:
        since: the changed sources, each with a snapshot that partitions reflect; one source may have several.
        churn: bytes of the files that came and went since then.
    """

    since: Pairs
    churn: int

    @property
    def mode(self) -> Mode:
        return Mode.KEYS


@frozen
class ByTotals:
    """The rows of the view by its totals, to which changed rows are added. The run leaves the new totals.

    Attributes:
        before: the totals that it goes on from.
        since: the changed sources, each with the snapshot that these totals reflect.
        churn: bytes of the files that came and went since then.
    """

    before: Totals
    since: Pairs
    churn: int

    @property
    def mode(self) -> Mode:
        return Mode.CHANGES


@frozen
class ByAppending:
    """The rows of the view that new rows of sources make. All rows that are there stay.

    Attributes:
        since: the changed sources, each with the snapshot that partitions reflect.
        churn: bytes of the files that came since then.
    """

    since: Pairs
    churn: int

    @property
    def mode(self) -> Mode:
        return Mode.CHANGES


@frozen
class NoMethod:
    """Nothing: the view's property allows no method that can renew the slices.

    Attributes:
        mode: the first of the methods that it allows.
        why: this one cannot.
    """

    mode: Mode
    why: str


FollowsChanges = ByKeys | ByTotals | ByAppending
"""The work that starts from the rows that came and went."""

Work = WholeView | WholePartitions | ByKeys | ByTotals | ByAppending | NoMethod


def whole(work: Work, slices: Sequence[Slice]) -> WholeView | WholePartitions:
    """The work that makes the same slices as a run that cannot follow changes. It leaves totals if that one would."""
    leaves = isinstance(work, ByTotals)
    return WholeView(leaves) if WHOLE in slices else WholePartitions(leaves)
