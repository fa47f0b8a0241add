"""Maps have exact inverses: t in forward(u) if and only if u in backward(t), on any calendar."""

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.algebra import calendar
from headwater.algebra.calendar import Range
from headwater.model.calendar import Into, Shift, Unit, Window

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "Pacific/Apia",
    "America/Moncton",
    "Antarctica/Casey",
)
OFFSETS = st.integers(-40, 40)

shifts = st.builds(lambda a, b: Shift(min(a, b), max(a, b)), OFFSETS, OFFSETS) | st.builds(
    Shift, st.none() | OFFSETS, st.none() | OFFSETS
)


def contains(found: Range, period: int) -> bool:
    first, last = found
    return (first is None or first <= period) and (last is None or period <= last)


@st.composite
def windows(draw) -> Window:
    steps = draw(st.lists(shifts | st.builds(Into, st.sampled_from(list(Unit))), max_size=4))
    return Window(draw(st.sampled_from(list(Unit))), tuple(steps), draw(st.sampled_from(ZONES)))


@settings(max_examples=300)
@given(windows(), st.dates(), st.integers(-60, 60))
def test_forward_is_the_inverse_of_backward(window: Window, near, offset: int) -> None:
    day = near.toordinal() - 719163
    upstream = day * 24 if window.upstream is Unit.HOUR else calendar.of_day(window.upstream, day)
    downstream = (day * 24 if window.of is Unit.HOUR else calendar.of_day(window.of, day)) + offset
    reached = contains(calendar.forward(window, upstream), downstream)
    assert reached == contains(calendar.backward(window, downstream), upstream)


@settings(max_examples=300)
@given(windows(), st.dates())
def test_both_ends_of_what_is_reached_are_the_last(window: Window, near) -> None:
    day = near.toordinal() - 719163
    upstream = day * 24 if window.upstream is Unit.HOUR else calendar.of_day(window.upstream, day)
    first, last = calendar.forward(window, upstream)
    if first is not None and last is not None and first > last:
        return
    for inside, outside in ((first, -1), (last, 1)):
        if inside is not None:
            assert contains(calendar.backward(window, inside), upstream)
            assert not contains(calendar.backward(window, inside + outside), upstream)
