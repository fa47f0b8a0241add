"""What a query yields, slow and obvious, and the laws by their definition.

The maps that the engine uses do not simulate a query. The content of each partition decides where its rows go. So the
true dependency is often narrower than the map, and it moves when content changes. ``recomputed`` is the truth of every
law of convergence. The laws hold of the record that ``machine.Machine`` keeps of everything that ever happened.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from headwater.engine.record.transition import transition
from headwater.model.calendar import Window
from headwater.model.dependency import Computed, Expression, Occurrence, Same, Windowed
from headwater.model.event import Declared, Event, Renamed, Started
from headwater.model.partition import WHOLE, Slice, Value
from headwater.model.state import State, Status
from headwater.model.view import Definition

if TYPE_CHECKING:
    from machine import Machine

Content = dict[Slice, int]
Tables = Mapping[str, Content]

SPREAD: tuple[tuple[Value, ...], ...] = (("2000",), ("2001",), ("2000", "2001"), (None,), ("2002",))
"""Values of a free column that a source partition's content can send rows to."""

IMAGES: dict[str, Callable[..., Value]] = {
    "half": lambda value: None if value is None else str(int(value) // 2),
    "flag": lambda value: "2000" if value in (None, "2000") else "2001",
    "sum": lambda left, right: str(int(left or 0) + int(right or 0)),
    "none": lambda value: None,
}


def computed(function: str, *inputs: str) -> Computed:
    return Computed(f"{function}({', '.join(f'`{each}`' for each in inputs)})", inputs)


def image(sql: str, inputs: Sequence[Value]) -> Value:
    return IMAGES[sql.split("(", 1)[0]](*inputs)


# --- what a query yields


def recomputed(definition: Definition, tables: Tables) -> Content:
    """The view's partitions as its query over these tables yields them. What it reads of earlier partitions of
    itself adds to those that the other tables make."""
    found: dict[Slice, list] = {} if definition.partitioned_by else {WHOLE: []}
    for dependency in definition.dependencies:
        for place, occurrence in enumerate(dependency.occurrences):
            known = dict(occurrence.columns)
            for source, content in tables.get(dependency.source, {}).items():
                if (content + place) % 7 == 0:
                    continue  # a filter keeps nothing of it
                for target in _targets(definition.partitioned_by, known, source, content):
                    found.setdefault(target, []).append((dependency.source, place, str(source), content))
    for place, occurrence in enumerate(definition.earlier):
        for target, rows in found.items():
            for earlier, content in tables.get(definition.view, {}).items():
                if is_earlier(occurrence, earlier, target):
                    rows.append(("itself", place, str(earlier), content))
    return {each: zlib.crc32(repr((definition.fingerprint, sorted(rows))).encode()) for each, rows in found.items()}


def _targets(columns: Sequence[str], known: Mapping[str, Expression], source: Slice, content: int) -> list[Slice]:
    targets = [WHOLE]
    for position, column in enumerate(columns):
        match known.get(column):
            case Same(name):
                values: tuple[Value, ...] = (source.value(name),)
            case Computed(sql, inputs):
                values = (image(sql, [source.value(each) for each in inputs]),)
            case Windowed(name, window):
                values = _years(source.value(name), window)
            case None:
                values = SPREAD[(content >> position) % len(SPREAD)]
        targets = [Slice((*each.bound, (column, value))) for each in targets for value in values]
    return targets


def _years(value: Value, window: Window) -> tuple[Value, ...]:
    """The years whose window, a shift, holds a year; rows of no year are of no window."""
    [shift], year = window.steps, _year(value)
    years = () if year is None else range(year - shift.last, year - shift.first + 1)
    return tuple(f"{each:04d}" for each in years)


def _year(value: Value) -> int | None:
    return int(value) if value is not None and len(value) == 4 else None


def is_earlier(occurrence: Occurrence, earlier: Slice, target: Slice) -> bool:
    """Whether a view's partition is one of those that ``target`` reads there."""
    for column, expression in occurrence.columns:
        before, now = earlier.value(column), target.value(column)
        if isinstance(expression, Same) and before != now:
            return False
        if isinstance(expression, Windowed):
            [shift], read, at = expression.window.steps, _year(before), _year(now)
            if read is None or at is None or read > at + shift.last:
                return False
            if shift.first is not None and read < at + shift.first:
                return False
    return True


def read_by(definition: Definition) -> tuple[str, ...]:
    return (*definition.sources, definition.view) if definition.earlier else definition.sources


def restricted(content: Content, slices: Iterable[Slice]) -> Content:
    asked = tuple(slices)
    return {each: value for each, value in content.items() if any(one.covers(each) for one in asked)}


# --- the record


@frozen
class Recorded:
    """A publication as journaled: what one partition's new version is made of, and for whom."""

    view: str
    partition: Slice
    version: int
    inputs: tuple[tuple[str, int], ...]
    origins: frozenset[int]


def replayed(journal: Iterable[Event]) -> State:
    state = State()
    for event in journal:
        state = transition(state, event)
    return state


# --- the laws, by definition


def lost(machine: Machine) -> list[str]:
    """Law 4: partitions that differ from their query over what readers see, and that nobody will renew.

    What the engine could not know yet does not count: sources whose last write is not recorded.
    """
    found = []
    for name, view in machine.state.views.items():
        if (
            not follows(view.definition)
            or machine.unseen(name)
            or any(machine.unseen(source) for source in view.definition.sources)
        ):
            continue
        truth, seen = recomputed(view.definition, machine.world.content), machine.world.content.get(name, {})
        run = machine.state.running.get(name)
        awaited = [*view.pending, *(run.slices if run else ())]
        found += [
            f"{name} {each}"
            for each in {*truth, *seen}
            if truth.get(each) != seen.get(each) and not any(one.overlaps(each) for one in awaited)
        ]
    return found


def follows(definition: Definition) -> bool:
    return dict(definition.properties).get("headwater.propagate") != "marked"


def wrong(machine: Machine, marked: bool = False) -> list[str]:
    """Law 5: active views that are not what their query over the current tables yields; ``marked`` when all
    changes were marked."""
    return [
        name
        for name, view in machine.state.views.items()
        if view.status is Status.ACTIVE
        and (marked or follows(view.definition))
        and not (view.pending and held(machine.state, name))
        and machine.world.content.get(name, {}) != recomputed(view.definition, machine.world.content)
    ]


def held(state: State, name: str) -> bool:
    """Whether a view waits, by its own property or that of one upstream, for one that cannot run."""
    definition = state.views[name].definition
    for source in definition.sources:
        status = state.views[source].status if source in state.views else Status.SUSPENDED
        if status is Status.ACTIVE and held(state, source):
            return True
        holds = dict(definition.properties).get("headwater.upstream") == "hold"
        if holds and status in (Status.FAILED, Status.BROKEN, Status.UNREADABLE):
            return True
    return False


def disordered(machine: Machine) -> list[Recorded]:
    """Law 1: versions of a partition that are not above the one before."""
    newest: dict[tuple[str, Slice], int] = {}
    found = []
    for each in machine.record_book:
        key = (each.view, each.partition)
        if each.version <= newest.get(key, 0):
            found.append(each)
        newest[key] = each.version
    return found


def backward(machine: Machine) -> list[tuple[Recorded, str]]:
    """Law 2: versions made of an older input than the version before."""
    newest: dict[tuple[str, Slice], dict[str, int]] = {}
    found = []
    for each in machine.record_book:
        known = newest.setdefault((each.view, each.partition), {})
        for source, version in each.inputs:
            if version < known.get(source, 0):
                found.append((each, source))
            known[source] = version
    return found


def repeated(machine: Machine) -> list[tuple[str, Slice, int]]:
    """Law 3: partitions published more than once on behalf of one origin.

    A definition starts anew: a view that was redefined, and everything downstream of it, is another
    job from then on, and a run that began before is one of the old job.
    """
    generation: Counter[str] = Counter()
    began: dict[int, int] = {}
    state = State()
    for event in machine.journal:
        state = transition(state, event)
        if isinstance(event, Declared):
            generation.update(_downstream(state, event.definition.view))
        elif isinstance(event, Renamed):
            generation[event.to] = max(generation[event.to], generation[event.view]) + 1
        elif isinstance(event, Started):
            began[event.version] = generation[event.view]
    counts = Counter(
        (each.view, each.partition, origin, began[each.version])
        for each in machine.record_book
        for origin in each.origins
    )
    return [key[:3] for key, count in counts.items() if count > 1]


def _downstream(state: State, view: str) -> set[str]:
    found, frontier = {view}, [view]
    while frontier:
        for reader in state.index.readers.get(frontier.pop(), ()):
            if reader not in found:
                found.add(reader)
                frontier.append(reader)
    return found
