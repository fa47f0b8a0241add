"""A strict view waits for an older change of another partition within its limits, however long that one waits."""

from __future__ import annotations

from cases import A1, A2, change, machine, run_now, view

from headwater.engine.requests.limits import SETTLE
from headwater.engine.waits.agreement import AGREES_WITHIN

DAY = 86_400_000


def lake(name: str, *sources: str | tuple[str, str], **properties: str):
    return view(name, "a", *sources, format="delta", **properties)


def test_a_source_that_waits_for_its_time_holds_up_no_other_partition() -> None:
    """The second change leaves ``c`` as it is, so ``b`` has nothing to do for it, and waits for the first one."""
    views = lake("a", ("s", "a,a")), lake("c", "s"), lake("b", "c", schedule="06:00"), lake("d", "a", "b")
    made = machine({"s": "a"}, *views, lakes=("s",))
    for each in (A1, A2):
        change(made, "s", each, 7)
    made.now += DAY
    made.drain()
    made.now += DAY - made.now % DAY + 7 * 3_600_000  # seven o'clock, after the refresh of six
    change(made, "s", A1, 9)
    made.now += 2 * SETTLE
    assert [name for name in "acbd" if run_now(made, name)] == ["a", "c"]
    change(made, "s", A2, 14)
    made.now += 2 * SETTLE
    assert [name for name in "acbd" if run_now(made, name)] == ["a", "c"]
    state = made.state
    assert state.views["b"].pending.keys() == {A1} and state.views["d"].pending.keys() == {A1, A2}
    made.now += AGREES_WITHIN
    assert run_now(made, "d")
    assert state.views["d"].pending.keys() == {A1}
    made.now += DAY
    assert run_now(made, "b") and run_now(made, "d")
    assert not state.views["d"].pending
