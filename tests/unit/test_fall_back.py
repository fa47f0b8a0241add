"""A run that cannot follow changes: the kernel decides what it does instead, by the policy of its view."""

from __future__ import annotations

import pytest
from test_appended import came, copied, started

from headwater.engine.tell.refreshes import refreshes
from headwater.model.error import ChangesUnknown
from headwater.model.event import Failed, Published, Reworked, Started
from headwater.model.partition import Slice
from headwater.model.reason import Code, Reason
from headwater.model.work import FollowsChanges, Mode, WholePartitions

A1, WHY = Slice.of(a="1"), "rows of t went or changed"


def lost(asked: str):
    """``v``, and rows came to ``t`` that no run can follow."""
    made = came(copied(asked=asked), A1)
    compute = made.world.compute

    def follow(launch, sees):
        if isinstance(launch.run.work, FollowsChanges):
            raise ChangesUnknown(Code.SOURCE_ROWS_REMOVED, WHY)
        return compute(launch, sees)

    made.world.compute = follow
    return made


def test_it_computes_whole_partitions_and_says_so():
    made = lost("incremental, full")
    made.drain()
    *_, begun, reworked, published = (each for each in made.journal if isinstance(each, Started | Reworked | Published))
    assert begun.version == reworked.version == published.version
    assert (reworked.work, reworked.why) == (WholePartitions(), Reason(Code.SOURCE_ROWS_REMOVED, WHY))
    [shown, *_] = refreshes(reversed(made.journal))
    assert (shown.mode.value, shown.reason) == ("partition", f"{begun.reason}; not by changes, as {WHY}")
    assert shown.codes == "source.changed, source.rows_removed"
    assert made.state.views["v"].costs.narrow[Mode.CHANGES].seconds is None, (
        "the last run by changes computed whole partitions"
    )


def test_it_fails_if_its_view_allows_nothing_else():
    made = lost("incremental")
    with pytest.raises(AssertionError, match="it never drains"):
        made.drain()
    assert not [each for each in made.journal if isinstance(each, Reworked)]
    failed = next(each for each in made.journal if isinstance(each, Failed))
    assert failed.error.text == (
        f"v cannot be refreshed by changes: {WHY}. REFRESH MATERIALIZED VIEW v FULL computes all its rows. "
        "With 'headwater.method' = 'incremental, full' a refresh does so by itself"
    )


def test_a_view_that_allows_no_method_that_can_fails_before_anything_is_computed():
    made = came(copied(asked="incremental"), A1)
    made.state.tables["t"].past.clear()
    made.world.compute = None
    with pytest.raises(AssertionError, match="it never drains"):
        made.drain()
    failed = next(each for each in made.journal if isinstance(each, Failed))
    assert failed.error.text.startswith("v cannot be refreshed by changes: the changed rows of t are not known, ")
    assert started(made).work.mode.value == "incremental"
