"""What runs take that follow changes, as it is foreseen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.engine.narrow import FIXED, foreseen
from headwater.model.event import Mode
from headwater.model.state import Narrow

MB = 1_000_000
modes = st.sampled_from(list(FIXED))
seconds, sizes = st.floats(0.01, 1e4), st.integers(1, 10**12)


@pytest.mark.parametrize(
    ("known", "churn", "whole", "read", "told"),
    [
        (Narrow(1.2, MB), 11 * MB, 4.0, 100 * MB, 2.0),  # the example of the module
        (None, 50 * MB, 4.0, 100 * MB, 5.0),  # half of the bytes changed: as long as the fixed part and a whole refresh
        (Narrow(9.0, 8 * MB), 0, 4.0, 100 * MB, 1.0),  # a small change after a large one
        (Narrow(0.5, 8 * MB), MB, 4.0, 100 * MB, 0.5),
        (Narrow(2.0, MB), 21 * MB, None, 0, 4.0),  # nobody knows what whole partitions read
        (None, MB, 4.0, 0, None),
        (Narrow(None, MB), MB, 4.0, 100 * MB, None),  # it had to compute whole partitions
    ],
)
def test_a_line_foresees_what_a_run_takes(known, churn, whole, read, told):
    assert foreseen(known, Mode.CHANGES, churn, whole, read) == (told if told is None else pytest.approx(told))


@given(modes, st.builds(Narrow, seconds, sizes), sizes, sizes, seconds | st.none(), sizes)
def test_more_changes_never_take_less_and_the_same_take_as_long_as_before(mode, known, one, other, whole, read):
    some, more = sorted((one, other))
    told = [foreseen(known, mode, each, whole, read) for each in (some, more)]
    assert told[0] <= told[1] * (1 + 1e-9)
    assert foreseen(known, mode, known.churn, whole, read) == pytest.approx(known.seconds)
