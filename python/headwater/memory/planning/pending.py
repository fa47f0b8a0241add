"""The problem of a plan, from the engine's state: the bytes and the time of each refresh that is pending.

Scans that several runs read in place of a table are tasks of the same problem ([Golab11] §2.1). One scan reads the rows
that all of them need, once, and keeps them in memory. It is a task that is done only if its output is kept, so that it
is weighed against outputs of views that want the same memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from math import inf
from operator import or_

from attrs import evolve

from headwater.engine.methods.costs import saving
from headwater.engine.record.runs import expected_sizes
from headwater.memory.planning.means import Costs, Means
from headwater.memory.planning.plan import Plan
from headwater.memory.planning.problem import Problem, Read, Task
from headwater.model.costs import Reading
from headwater.model.extract import Extract, Shared
from headwater.model.measure import Place, Scanned
from headwater.model.partition import WHOLE, Region, Slice, sort_key
from headwater.model.state import State, ViewState
from headwater.model.view import Pairs

SMALLEST = 50_000
"""µs that keeping an output must save to be worth a second copy of it."""


def problem(state: State, names: tuple[str, ...], means: Means) -> Problem:
    """The refresh of these views. One whose size nobody knows, or that is redefined, takes more memory than there is,
    so that it is not kept; one of which nobody knows how long it takes takes no time."""
    sizes = {name: _sizes(state, name) for name in names}
    tasks = tuple(_task(state.views[name], sizes, means) for name in names)
    shares = [state.views[name].costs.share for name in names]
    return Problem(tasks, means.memory, means.tracks, _abreast(tasks, shares))


def _abreast(tasks: Sequence[Task], shares: Sequence[float]) -> float:
    """How many tasks fill all slots in the mean, by the share of them that each fills; without limit where nobody
    knows."""
    known = [(task.run, share) for task, share in zip(tasks, shares, strict=True) if share]
    filled = sum(run * share for run, share in known)
    return max(1.0, sum(run for run, _ in known) / filled) if filled else inf


def _task(view: ViewState, sizes: Mapping[str, tuple[int, int]], means: Means) -> Task:
    """The refresh of a view. Its savings are those that its own runs measured, as far as they did."""
    name, costs = view.definition.view, means.costs
    size, held = sizes[name]

    def saved(table: str, foreseen: float) -> float:
        return saving(view, table, means.place, foreseen)

    near = [each for each in view.definition.sources if each in sizes]
    kept = held if means.place is Place.BLOCKS else size
    return Task(
        name,
        kept or means.memory + 1,
        run=round(_run(view, costs)),
        reads=tuple(Read(each, round(sizes[each][0] * max(0.0, saved(each, costs.read)))) for each in near),
        spared=round(size * (saved(name, costs.written) - costs.moved)) - SMALLEST,
        copy=round(size * (view.costs.copying or costs.copied)),
    )


def _run(view: ViewState, costs: Costs) -> float:
    """µs that a view's run takes, as measured; of a first run, at least the time for storage."""
    if view.costs.unaided:
        return view.costs.unaided
    if view.costs.took is not None:
        return 1e6 * view.costs.took.mean
    if view.costs.estimate is not None:
        return view.costs.estimate.read * max(0.0, costs.read) + view.costs.estimate.size * max(0.0, costs.written)
    return 0


def _sizes(state: State, name: str) -> tuple[int, int]:
    """Bytes that a view's run writes, and that they take in blocks; 0 where nobody knows, or what it makes is not
    kept."""
    view = state.views[name]
    redefined = any(state.origins[origin].definition for origins in view.pending.values() for origin in origins)
    if view.definition.keeps_versions or (redefined and view.costs.estimate is None):
        return 0, 0
    return expected_sizes(state, name, view.pending or (WHOLE,))


MOST_SLICES = 1_000
"""A scan of more partitions than these is not worth its list of them."""


def shared_scans(state: State, run: Problem, means: Means) -> tuple[Shared, ...]:
    """The scans that could be made for two or more views of a run, by the last reads of these views. A table
    that the run itself makes, and may keep, needs none."""
    sizes = {task.name: task.size for task in run.tasks}
    found = []
    for table, views in _readers(state, sizes).items():
        if sizes.get(table, run.memory + 1) <= run.memory:
            continue
        saved = [view for view in views if _saved(view, table, means) > 0]
        slices = _slices(state, table, saved)
        if len(saved) > 1 and slices:
            extract = reduce(or_, (view.costs.readings[table].extract for view in saved))
            names = tuple(view.definition.view for view in saved)
            if extract.columns:
                found.append(Shared(table, extract, slices, names, _size(state, table, extract, saved)))
    return tuple(found)


def with_scans(state: State, run: Problem, shared: Sequence[Shared], means: Means) -> Problem:
    """The same run, in which these scans may be made: each comes before its first reader."""
    of: dict[str, list[Shared]] = {}
    for each in shared:
        for reader in each.readers:
            of.setdefault(reader, []).append(each)
    names, made, tasks = {task.name for task in run.tasks}, set[str](), list[Task]()
    for task in run.tasks:
        mine = of.get(task.name, ())
        for each in mine:
            if each.table not in made:
                made.add(each.table)
                read = (Read(each.table),) if each.table in names else ()
                spared = -_took(state, each) - SMALLEST
                tasks.append(Task(label(each), each.size, reads=read, spared=spared, optional=True))
        near = tuple(Read(label(each), _saved(state.views[task.name], each.table, means)) for each in mine)
        tasks.append(evolve(task, reads=(*task.reads, *near)) if near else task)
    return evolve(run, tasks=tuple(tasks))


def label(shared: Shared) -> str:
    """The name of the task that makes a scan, which no view can have."""
    return f"scan of {shared.table}"


def unmade_left_out(plan: Plan) -> Plan:
    """The same plan, without the scans that it does not make."""
    tasks = plan.problem.tasks
    stay = [n for n, task in enumerate(tasks) if n in plan.flagged or not task.optional]
    if len(stay) == len(tasks):
        return plan
    position, names = {old: new for new, old in enumerate(stay)}, {tasks[n].name for n in stay}
    left = [evolve(tasks[n], reads=tuple(read for read in tasks[n].reads if read.name in names)) for n in stay]
    return evolve(
        plan,
        problem=evolve(plan.problem, tasks=tuple(left)),
        order=tuple(position[n] for n in plan.order if n in position),
        flagged=frozenset(position[n] for n in plan.flagged),
    )


# --- inside


def _readers(state: State, names: Iterable[str]) -> dict[str, list[ViewState]]:
    """Of each table the views among these that are known to read something of its files, as many as have the same
    settings: a condition may mean something else with others."""
    found: dict[tuple[str, Pairs], list[ViewState]] = {}
    for view in (state.views[name] for name in names):
        if view.definition.reads_ahead:
            for table in sorted(view.costs.readings.keys() & set(view.definition.sources)):
                found.setdefault((table, view.definition.settings), []).append(view)
    most: dict[str, list[ViewState]] = {}
    for (table, _), views in found.items():
        most[table] = max(most.get(table, []), views, key=len)
    return most


def _saved(view: ViewState, table: str, means: Means) -> int:
    """µs that a view's run saves by reading a scan instead of a table: measured, or foreseen for as many bytes."""
    known = view.costs.readings[table]
    if known.near is not None:
        return max(0, round(known.micros - known.near))
    return round(min(known.micros, max(0.0, known.size * saving(view, table, means.place, means.costs.read))))


def _took(state: State, shared: Shared) -> int:
    """µs that making a scan takes: as long as the last one or, of the first, as the longest of those it replaces."""
    scanned = _last(state, shared.table, shared.extract)
    if scanned is not None:
        return scanned.micros
    return round(max(_known(state, reader, shared).micros for reader in shared.readers))


def _known(state: State, reader: str, shared: Shared) -> Reading:
    return state.views[reader].costs.readings[shared.table]


def _last(state: State, table: str, extract: Extract) -> Scanned | None:
    scanned = state.tables[table].scanned if table in state.tables else None
    return scanned if scanned is not None and scanned.extract == extract else None


def _size(state: State, table: str, extract: Extract, views: Iterable[ViewState]) -> int:
    """Bytes that a scan takes: as many as the last one or, of the first, as its readers' parts at most have."""
    scanned = _last(state, table, extract)
    if scanned is not None:
        return scanned.size
    scans = [view.costs.readings[table] for view in views]
    return round(min(1.0, sum(scan.share for scan in scans)) * max(scan.size for scan in scans))


def _slices(state: State, table: str, views: Iterable[ViewState]) -> tuple[Slice, ...]:
    """The partitions that a scan reads: those that changed, of a table of which not all readers read everything."""
    pending: list[Mapping[Slice, frozenset[int]]] = [view.pending for view in views]
    record = state.tables.get(table)
    if record is None or all(WHOLE in each for each in pending):
        return (WHOLE,)
    if table in state.views and state.views[table].pending:
        changed = Region(state.views[table].pending)
    else:
        origins = {origin for each in pending for some in each.values() for origin in some}
        changed = Region(
            each for origin in origins if state.origins[origin].table == table for each in state.origins[origin].slices
        )
    there = [each for each, known in record.partitions.items() if known.fingerprint is not None]
    if there == [WHOLE] or changed.covers(WHOLE):
        return (WHOLE,)
    found = [each for each in there if changed.covers(each)]
    return tuple(sorted(found, key=sort_key)) if len(found) <= MOST_SLICES else ()
