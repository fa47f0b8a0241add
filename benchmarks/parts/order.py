"""Queues of pending refreshes at random, in the order of the engine's rule and in the best one that CP-SAT finds."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping

from attrs import frozen
from ortools.sat.python import cp_model

from headwater.engine.decide.readiness import Choice, ready, wake_at
from headwater.engine.decide.starting import decided
from headwater.engine.decide.urgency import first
from headwater.engine.record.transition import transition
from headwater.model.costs import Took
from headwater.model.dependency import Dependency
from headwater.model.event import Changed, Declared, Made, Observed, Published
from headwater.model.partition import WHOLE
from headwater.model.state import State
from headwater.model.view import Definition

TRACKS, PRIORITIES, OLDEST = 2, (1, 10, 100), 300
SOON, LONG = 0.05, 5.0
"""Seconds in which CP-SAT has to answer."""


@frozen
class Queue:
    """Pending refreshes.

    Attributes:
        reads: of each view, one base table or some views.
        changed: when each base table changed, in seconds before now.
    """

    reads: Mapping[str, tuple[str, ...]]
    weight: Mapping[str, int]
    seconds: Mapping[str, int]
    changed: Mapping[str, int]

    def age(self, view: str) -> int:
        """The staleness of a view now (s)."""
        return max(self.changed[each] if each in self.changed else self.age(each) for each in self.reads[view])

    def area(self, ends: Mapping[str, float]) -> float:
        """The weighted staleness from now until each view is renewed."""
        return sum(
            self.weight[each] * ((self.age(each) + end) ** 2 - self.age(each) ** 2) / 2 for each, end in ends.items()
        )


def compared(queue: Queue) -> dict[str, float]:
    """The areas of a queue, and the seconds that the engine's rule takes for a decision."""
    began = time.perf_counter()
    ends = by_rule(queue)
    spent = (time.perf_counter() - began) / len(ends)
    found = {"engine": queue.area(ends), "decision": spent}
    for name, limit in (("soon", SOON), ("long", LONG)):
        planned = solved(queue, limit)
        found[name] = float("nan") if planned is None else queue.area(planned)
    return found


def drawn(views: int, seed: int) -> Queue:
    """A queue at random."""
    draw = random.Random(f"{views} {seed}")
    reads: dict[str, tuple[str, ...]] = {}
    levels: dict[str, int] = {}
    for n in range(views):
        name, below = f"v{n}", [each for each, level in levels.items() if level < 2]
        above = draw.sample(below, min(len(below), draw.randint(1, 2))) if below and draw.random() < 0.6 else []
        reads[name] = tuple(above) or (f"t{n}",)
        levels[name] = 1 + max((levels[each] for each in above), default=-1)
    return Queue(
        reads,
        {each: draw.choice(PRIORITIES) for each in reads},
        {each: round(10 ** draw.uniform(0, 2)) for each in reads},
        {each: draw.randint(2, OLDEST) for some in reads.values() for each in some if each.startswith("t")},
    )


def by_rule(queue: Queue) -> dict[str, float]:
    """When each view is renewed by the engine's rule (s from now)."""
    state, now = _pending(queue), 1000 * OLDEST
    running: dict[str, tuple[int, int]] = {}
    ends: dict[str, float] = {}
    while True:
        free = TRACKS - len(running)
        choices = [Choice(each) for each in ready(state, now)] if free else []
        choice = first(state, choices, now, free, TRACKS) if choices else None
        if choice is not None:
            event = decided(state, choice, state.highest + 1, now).event
            state, name = transition(state, event), choice.ready.view
            running[name] = now + 1000 * queue.seconds[name], event.version
        elif running:
            name = min(running, key=lambda each: running[each])
            now, version = running.pop(name)
            ends[name] = now / 1000 - OLDEST
            made = (Made(WHOLE, 1, str(version)),)
            state = transition(state, Published(now, version, name, made, (), float(queue.seconds[name])))
        else:
            wakes = wake_at(state, now)
            if wakes is None:
                assert ends.keys() == queue.reads.keys(), "a view was never renewed"
                return ends
            now = wakes


def solved(queue: Queue, limit: float) -> dict[str, float] | None:
    """When each view is renewed by the best plan that CP-SAT finds in so many seconds; ``None``: it finds none."""
    model, horizon = cp_model.CpModel(), sum(queue.seconds.values())
    ends = {each: model.new_int_var(queue.seconds[each], horizon, each) for each in queue.reads}
    tasks = [
        model.new_interval_var(ends[each] - queue.seconds[each], queue.seconds[each], ends[each], each)
        for each in queue.reads
    ]
    model.add_cumulative(tasks, [1] * len(tasks), TRACKS)
    terms = []
    for view, reads in queue.reads.items():
        for each in reads:
            if each in ends:
                model.add(ends[view] - queue.seconds[view] >= ends[each])
        late = model.new_int_var(0, horizon + OLDEST, f"{view} stale")
        model.add(late == ends[view] + queue.age(view))
        square = model.new_int_var(0, (horizon + OLDEST) ** 2, f"{view} area")
        model.add_multiplication_equality(square, [late, late])
        terms.append(queue.weight[view] * square)
    model.minimize(sum(terms))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds, solver.parameters.num_workers = limit, 2
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    return {each: float(solver.value(end)) for each, end in ends.items()}


def _pending(queue: Queue) -> State:
    state = State()
    for name, reads in queue.reads.items():
        properties = {"headwater.priority": str(queue.weight[name]), "headwater.settle": "1 millisecond"}
        definition = Definition(name, "", (), properties=properties, dependencies=tuple(map(Dependency, reads)))
        state = transition(state, Declared(0, state.highest + 1, definition, "was created", fill=False))
        state.views[name].costs.took = Took(float(queue.seconds[name]), 0.0)
    for table, ago in sorted(queue.changed.items(), key=lambda each: -each[1]):
        seen = (Observed(WHOLE, str(state.highest)),)
        state = transition(state, Changed(1000 * (OLDEST - ago), state.highest + 1, table, seen, "", 0, "changed"))
    return state
