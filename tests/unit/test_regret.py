"""What ``auto`` costs beside whole partitions, where each method takes a fixed time and some for each changed byte."""

from __future__ import annotations

from attrs import Factory, define, evolve, frozen
from cases import view
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from headwater.engine.decide.readiness import Choice, ready
from headwater.engine.decide.starting import decided
from headwater.engine.methods.keys import FIXED
from headwater.engine.record.transition import transition
from headwater.model.dependency import Adding, Keys
from headwater.model.event import Changed, Declared, Made, Observed, Published
from headwater.model.measure import Effort, Measured, Moved, Place
from headwater.model.partition import WHOLE
from headwater.model.state import State
from headwater.model.work import LeftTotals, Mode, Whole

MB = 1_000_000
SOURCE = 1000 * MB
HOUR = 3_600_000


@frozen
class Truth:
    """What refreshes take, in core-seconds.

    Attributes:
        whole: of all rows.
        keys, changes: after a small change, and for each changed MB. ``None``: the view has no aggregate that can
            follow changes.
        cold: the first refresh of all takes so many times as long.
        slow: of each refresh by its number: what chance adds, in times of what it takes.
        beside: refreshes that follow changes take so many times as long in seconds, as others run beside them.
    """

    whole: float
    keys: tuple[float, float] = (1e6, 0.0)
    changes: tuple[float, float] | None = None
    cold: float = 1.0
    slow: dict[int, float] = Factory(dict)
    beside: float = 1.0

    def of(self, mode: Mode, churn: int) -> float:
        match mode:
            case Mode.KEYS:
                fixed, more = self.keys
            case Mode.CHANGES:
                assert self.changes is not None
                fixed, more = self.changes
            case _:
                fixed, more = self.whole, 0.0
        return fixed + more * churn / MB


@define
class Play:
    """A view of one partition in Delta that reads one table: its refreshes after one change each.

    Attributes:
        refreshed: the mode of each refresh, the bytes that changed before, and the core-seconds that it took.
    """

    truth: Truth
    state: State = Factory(State)
    at: int = 0
    refreshed: list[tuple[Mode, int, float]] = Factory(list)

    def __attrs_post_init__(self) -> None:
        self._changed(0)
        definition = view("v", "", ("t", ""), format="delta")
        [dependency] = definition.dependencies
        adding = Adding() if self.truth.changes is None else Adding(None, True)
        followed = evolve(dependency, keys=Keys(("k",), (("k",),)), adding=adding)
        self._record(Declared(self.at, self._next(), evolve(definition, dependencies=(followed,)), "was created"))
        self.refresh(0)

    def change(self, churn: int) -> None:
        self._changed(churn)
        self.refresh(churn)

    def refresh(self, churn: int) -> None:
        self.at += HOUR
        [chosen] = ready(self.state, self.at)
        started = decided(self.state, Choice(chosen), self._next(), self.at).event
        self._record(started)
        mode, number = started.work.mode, len(self.refreshed)
        took = self.truth.of(mode, churn) * (1 + self.truth.slow.get(number, 0.0)) * (1 if number else self.truth.cold)
        totals = mode is Mode.CHANGES or (isinstance(started.work, Whole) and started.work.leaves_totals)
        seconds = took if isinstance(started.work, Whole) else took * self.truth.beside
        effort = Effort(1, round(1e6 * seconds), 1.0, round(1e6 * took))
        measured = Measured(MB, (Moved("t", Place.WAREHOUSE, SOURCE, 1),), effort=effort)
        made, snapshot = (Made(WHOLE, 1, str(started.version)),), f"{started.version}@v"
        digest = LeftTotals("totals", 0) if totals else None
        self._record(Published(self.at, started.version, "v", made, (), seconds, measured, snapshot, digest))
        self.refreshed.append((mode, churn, took))

    def _changed(self, churn: int) -> None:
        version = self._next()
        seen, snapshot = (Observed(WHOLE, str(version)),), f"{version}@t"
        first = not self.state.tables
        self._record(
            Changed(self.at, version, "t", seen, "", 0, "changed", first, 0, snapshot, True, None if first else churn)
        )

    def _next(self) -> int:
        return self.state.highest + 1

    def _record(self, event) -> None:
        transition(self.state, event)


def modes(play: Play) -> list[Mode]:
    return [mode for mode, _, _ in play.refreshed]


def in_vain(play: Play) -> dict[Mode, list[tuple[int, int, float]]]:
    """Of each method that follows changes: the refreshes that took more than whole partitions, each with its number,
    the changed bytes, and the core-seconds more."""
    found: dict[Mode, list[tuple[int, int, float]]] = {}
    for number, (mode, churn, took) in enumerate(play.refreshed):
        if took > play.truth.whole and mode in (Mode.KEYS, Mode.CHANGES):
            found.setdefault(mode, []).append((number, churn, took - play.truth.whole))
    return found


lines = st.tuples(st.floats(0.2, 60.0), st.floats(0.0, 1.0))
churns = st.floats(3, 8.9).map(lambda power: round(10**power))


@examples(60)
@given(st.builds(Truth, st.floats(1.0, 60.0), lines, lines), st.lists(churns, min_size=5, max_size=40))
def test_a_wrong_guess_costs_once_and_again_when_it_is_paid_or_the_change_ten_times_smaller(truth, sizes):
    play = Play(truth)
    for churn in sizes:
        play.change(churn)
    for mode, losses in in_vain(play).items():
        size, number, cost, trials = float("inf"), 0, 0.0, 0
        for at, churn, more in losses:
            if 10 * churn > size:  # a second trial
                since = sum(took for other, _, took in play.refreshed[number + 1 : at] if other is not mode)
                assert since >= 40 * cost * (1 - 1e-6) and trials == 1
                size, number, cost, trials = min(size, churn), at, cost + more, trials + 1
            else:
                size, number, cost, trials = churn, at, more, 1


@examples(60)
@given(st.builds(Truth, st.floats(1.0, 60.0), lines, lines), churns, st.integers(10, 60))
def test_the_sum_is_that_of_whole_partitions_at_most_but_for_a_trial_of_each_method(truth, churn, count):
    """And a twentieth: 1.05."""
    play = Play(truth)
    for _ in range(count):
        play.change(churn)
    took = [took for _, _, took in play.refreshed[1:]]
    trials = sum(more for losses in in_vain(play).values() for _, _, more in losses[:1])
    assert sum(took) <= 1.05 * truth.whole * len(took) + trials + 1e-6
    assert all(len(losses) <= 2 for losses in in_vain(play).values())


@examples(60)
@given(st.builds(Truth, st.floats(1.0, 60.0), lines, lines), churns)
def test_of_the_methods_that_were_tried_the_cheapest_is_taken_in_the_end(truth, churn):
    play = Play(truth)
    for _ in range(12):
        play.change(churn)
    tried = set(modes(play))
    if any(more < 0.2 * truth.whole for losses in in_vain(play).values() for _, _, more in losses):
        return  # soon paid, so it may just be tried a second time
    best = min(truth.of(each, churn) for each in tried)
    assert play.refreshed[-1][2] <= 1.01 * best or truth.whole <= 2 * best, "whole partitions are looked at again"


KEYS, FULL = [Mode.KEYS], [Mode.FULL]


def played(truth: Truth, *sizes: int) -> list[Mode]:
    """The modes of the refreshes after changes of so many bytes. Whole partitions were computed twice before."""
    play = Play(truth)
    play.change(SOURCE)
    for churn in sizes:
        play.change(churn)
    return modes(play)[2:]


def test_a_method_is_tried_again_after_a_change_that_is_ten_times_smaller():
    """By keys takes 4 s and 1 s for each MB, and all rows 10 s."""
    truth = Truth(10.0, keys=(4.0, 1.0))
    assert played(truth, 40 * MB, 5 * MB, 3 * MB) == KEYS + FULL + KEYS
    assert played(truth, 5 * MB, 40 * MB, 30 * MB, 10 * MB, 5 * MB, 4 * MB) == KEYS * 2 + FULL * 2 + KEYS * 2
    assert played(Truth(10.0, keys=(20.0, 0.0)), 40 * MB, 3 * MB, 3 * MB, MB) == KEYS * 2 + FULL * 2
    again = played(Truth(10.0, keys=(12.0, 0.0)), 40 * MB, *[3 * MB] * 10)
    assert again == KEYS * 2 + FULL * 8 + KEYS, "twice after changes of each size"


def test_a_run_that_was_slow_by_chance_ends_no_method():
    """The first run by keys takes 15 s in place of 5 s, as Spark compiles its code. That is 0.5 refreshes in full too
    much, so by keys is tried again after twenty of them, and stays."""
    truth = Truth(10.0, keys=(5.0, 0.0), slow={2: 2.0})
    assert played(truth, *[MB] * 26) == KEYS + FULL * 20 + KEYS * 5


def test_other_runs_beside_a_run_do_not_make_its_method_dear():
    assert played(Truth(10.0, keys=(6.0, 0.0), beside=4.0), *[MB] * 4) == KEYS * 4


def test_a_method_that_is_dear_by_nature_is_tried_twice():
    assert played(Truth(10.0, keys=(15.0, 0.0)), *[MB] * 200).count(Mode.KEYS) == 2


def test_a_first_refresh_that_was_slow_does_not_make_other_methods_look_cheap():
    """All rows take 6 s, but 14 s the first time; by keys takes 8 s."""
    play = Play(Truth(6.0, keys=(8.0, 0.0), cold=14 / 6))
    for _ in range(6):
        play.change(MB)
    assert modes(play)[1:] == KEYS + FULL * 5
    play = Play(Truth(60.0, keys=(8.0, 0.0), cold=14 / 6))
    for _ in range(3):
        play.change(MB)
    assert modes(play)[1:] == KEYS * 3, "it is far cheaper in any case"


def test_whole_partitions_that_were_slow_by_chance_are_computed_again():
    """Beside a by-keys of 9 s, all rows took 12 s twice, and take 6 s."""
    truth = Truth(6.0, keys=(9.0, 0.0), slow={0: 1.0, 1: 1.0})
    assert played(truth, *[MB] * 20) == KEYS * 14 + FULL * 6


def test_sources_that_grew_are_worth_a_new_trial():
    play = Play(Truth(6.0, keys=(9.0, 0.0)))
    for _ in range(4):
        play.change(MB)
    play.truth = evolve(play.truth, whole=30.0)
    for _ in range(6):
        play.change(MB)
    assert modes(play)[4] is Mode.FULL and modes(play)[-2:] == KEYS * 2


def test_many_changed_bytes_are_not_even_tried():
    play = Play(Truth(10.0, keys=(0.1, 0.0), changes=(0.1, 0.0)))
    play.change(SOURCE // 2)
    assert modes(play) == [Mode.FULL] * 2


def test_a_quick_view_is_not_tried():
    play = Play(Truth(FIXED * 0.9, keys=(0.1, 0.0)))
    play.change(1000)
    assert Mode.KEYS not in modes(play)
