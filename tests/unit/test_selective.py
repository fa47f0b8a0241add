"""What a first run by keys is compared with, once its keys and the files that hold them are known."""

from __future__ import annotations

import pytest
from attrs import evolve
from cases import A1, costing
from hypothesis import given
from hypothesis import strategies as st
from test_keys import keyed, later, started

from headwater.engine.methods.selective import trial, unselective
from headwater.engine.record.runs import launched
from headwater.model.command import Trial
from headwater.model.costs import Loss, Narrow
from headwater.model.error import ChangesUnknown
from headwater.model.reason import Code
from headwater.model.work import Mode
from headwater.spark.refreshing.methods.keys import refuse_unselective
from headwater.spark.tables.key_files import KeyFiles

MB = 1_000_000
EXAMPLE = Trial(6.0, 100 * MB, 20 * MB)


@pytest.mark.parametrize(
    ("trial", "keys", "rows", "rewritten", "goes_on"),
    [
        (EXAMPLE, 50, 100, None, False),  # the example of the module
        (EXAMPLE, 1, 1000, None, False),  # one of a thousand, but all is read, and the view written anew
        (EXAMPLE, 1, 1000, MB, True),
        (EXAMPLE, 200, 1000, MB, False),
        (evolve(EXAMPLE, seconds=27.0), 1, 1000, None, True),
        (evolve(EXAMPLE, seconds=27.0), 1000, 1000, None, False),
        (evolve(EXAMPLE, seconds=27.0), 9, None, None, True),  # nobody knows how many rows there are
        (evolve(EXAMPLE, seconds=2.0), 1, 1000, 0, False),
    ],
)
def test_keys_and_files_tell_whether_a_run_goes_on(trial, keys, rows, rewritten, goes_on):
    assert (unselective(trial, keys, rows, rewritten) is None) is goes_on


@given(st.builds(Trial, st.floats(0, 1e4), *[st.integers(0, 10**12)] * 2), *[st.integers(0, 10**9)] * 4)
def test_fewer_keys_and_fewer_bytes_never_stop_a_run(trial, keys, rows, rewritten, fewer):
    if unselective(trial, keys, rows, rewritten) is None:
        assert unselective(trial, min(keys, fewer), rows, min(rewritten, fewer)) is None


def running(**properties: str):
    """A view that begins a run by keys, which takes 10 s as whole partitions."""
    made = keyed(**properties)
    view = made.state.views["v"]
    costing(view, 10.0)
    view.costs.reads, view.costs.size = {"t": 1e8}, 2e7
    later(made, A1)
    made.start()
    assert started(made).work.mode is Mode.KEYS
    return made


def test_a_first_run_is_compared_with_whole_partitions():
    made = running(method="auto")
    state, view = made.state, made.state.views["v"]
    assert launched(state, "v").trial == Trial(10.0, 100 * MB, 20 * MB)
    view.costs.narrow[Mode.KEYS] = Narrow(None, 1, lost=Loss(1, 12.0, None, 0.25))
    assert launched(state, "v").trial is not None, "none was cheaper yet"
    view.costs.narrow[Mode.KEYS] = Narrow(3.0, 1)
    assert launched(state, "v").trial is None
    made = running(method="keys, full")
    assert trial(made.state, made.state.running["v"]) is None, "it asks for keys"


def test_a_run_that_leaves_too_little_out_computes_whole_partitions():
    launch = evolve(launched(running(method="auto").state, "v"), trial=EXAMPLE)
    launch = evolve(launch, existing={each: evolve(record, rows=50) for each, record in launch.existing.items()})
    with pytest.raises(ChangesUnknown) as caught:
        refuse_unselective(launch, 40, None)
    assert caught.value.reason.code is Code.METHOD_TOO_MUCH_CHANGED
    refuse_unselective(launch, 1, KeyFiles(None, (), MB))
    refuse_unselective(evolve(launch, trial=None), 40, None)
