"""What runs take that follow changes, as it is foreseen."""

from __future__ import annotations

import pytest
from attrs import evolve
from cases import costing, warehouse
from hypothesis import given
from hypothesis import strategies as st

from headwater.engine.methods import following
from headwater.engine.methods.all_methods import learn
from headwater.engine.methods.by_changes import FIXED, fixed
from headwater.engine.methods.following import foreseen
from headwater.model.costs import Loss, Narrow
from headwater.model.event import Published, Started
from headwater.model.measure import Effort, Measured
from headwater.model.reason import Code, Reason
from headwater.model.state import Run
from headwater.model.work import ByKeys, ByRows, Mode

MB = 1_000_000
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
        (None, 700, 4.0, 1400, pytest.approx(1.0, abs=0.01)),  # a table of four rows, whose first refresh was cold
        (Narrow(None, MB), MB, 4.0, 100 * MB, 1.08),  # it had to compute whole partitions
    ],
)
def test_a_line_foresees_what_a_run_takes(known, churn, whole, read, told):
    assert foreseen(known, FIXED, churn, whole, read) == (told if told is None else pytest.approx(told))


@given(seconds, st.builds(Narrow, seconds, sizes), sizes, sizes, seconds | st.none(), sizes)
def test_more_changes_never_take_less_and_the_same_take_as_long_as_before(least, known, one, other, whole, read):
    some, more = sorted((one, other))
    told = [foreseen(known, least, each, whole, read) for each in (some, more)]
    assert told[0] <= told[1] * (1 + 1e-9)
    assert foreseen(known, least, known.churn, whole, read) == pytest.approx(known.seconds)


WORK = ByRows((("t", "5@x"),), MB)
LOST = Reason(Code.SOURCE_ROWS_REMOVED, "rows of t went or changed")
RUN = Run(Started(0, 5, "v", (), (), WORK, "", foreseen=1.0, foreseen_cores=2.0))
END = Published(9, 5, "v", (), (), 1.8, Measured(effort=Effort(0, 1_800_000, 1.0, 3_000_000)))


def test_a_run_moves_the_line_halfway_or_if_it_was_far_from_it_all_the_way():
    state = warehouse({"v": (("t",), {}, None)})
    view = state.views["v"]

    def learned(run: Run, end: Published) -> Narrow:
        view.costs.narrow.clear()
        following.learn(state, view, run, end)
        return view.costs.narrow[Mode.CHANGES]

    assert learned(RUN, END) == Narrow(1.8, MB, 3.0), "1.0 s and 2.0 core-seconds were foreseen"
    unforeseen = Run(evolve(RUN.started, foreseen=None, foreseen_cores=None))
    assert learned(unforeseen, END) == Narrow(1.8, MB, 3.0)
    assert learned(RUN, evolve(END, measured=Measured())).cores is None
    assert learned(RUN, evolve(END, seconds=1.4)).seconds == pytest.approx(1.2)
    assert learned(RUN, evolve(END, seconds=0.6)).seconds == 0.6


def test_a_run_that_was_dearer_than_whole_partitions_is_a_loss():
    """3.0 core-seconds are 1.5 times 2.0; its seconds are less, but beside others they tell little."""
    state = warehouse({"v": (("t",), {}, None)})
    view = state.views["v"]
    costing(view, 1.9, cores=2.0)
    following.learn(state, view, RUN, END)
    assert view.costs.narrow[Mode.CHANGES] == Narrow(None, MB, lost=Loss(MB, 1.8, 3.0, 0.5))
    view.costs.narrow.clear()
    costing(view, 1.9, cores=4.0)
    following.learn(state, view, evolve(RUN, instead=LOST), END)
    assert view.costs.narrow[Mode.CHANGES] == Narrow(None, MB, lost=Loss(MB, 1.8, 3.0, 0.25, stopped=True))


def test_a_warehouse_learns_what_runs_take_after_small_changes():
    """Quicker runs tell more. One of a large change tells nothing."""
    state = warehouse({"v": (("t",), {}, None), "w": (("t",), {}, None)})
    view = state.views["v"]

    def ended(seconds: float, run: Run = RUN) -> None:
        learn(state, view, run, evolve(END, seconds=seconds))

    ended(3.0)
    assert not state.fixed, "nobody knows how large the change was"
    view.costs.reads = {"t": 100 * MB}
    ended(30.0, Run(evolve(RUN.started, work=evolve(WORK, churn=6 * MB))))
    assert fixed(state, view) == FIXED == 1.0
    ended(3.0)
    assert fixed(state, view) == pytest.approx(1.2)
    for _ in range(6):
        ended(0.5)
    assert fixed(state, state.views["w"]) == pytest.approx(0.5, abs=0.02), "of another view"
    ended(0.1, Run(evolve(RUN.started, work=ByKeys(WORK.since, MB))))
    assert fixed(state, view) == pytest.approx(0.5, abs=0.02) and len(state.fixed) == 1, "another method"
    lake = evolve(view, definition=evolve(view.definition, format="delta"))
    assert fixed(state, lake) == FIXED, "another format"
    ended(0.1, evolve(RUN, instead=LOST))
    assert fixed(state, view) == pytest.approx(0.5, abs=0.02)
