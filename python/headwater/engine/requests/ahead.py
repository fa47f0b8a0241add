"""A run may read the rows of another run before these are published ([Li23] §III).

- *prepared*: a run has computed all of its rows, and other runs may read them. It is not published yet.
- *on*: a run is on the runs whose rows it reads where they lie. It is published after them, or not at all.
- *kept*: the rows of a run are in memory. They stay there after its publication, as long as some run may read them.
- *shared*: several runs read one scan in place of a table. It stays as long as some run may read it.

Rows that are not published are read by runs of the same engine only. ``Definition.reads_ahead`` says which views read
ahead at all; no run reads ahead of a lake view. What a request waits for follows from that, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from headwater.engine.requests.coverage import unresolved
from headwater.engine.requests.limits import awaits
from headwater.engine.requests.reach import Reached
from headwater.model.event import Prepared, Started
from headwater.model.partition import Version
from headwater.model.state import Run, State, Status, ViewState
from headwater.model.view import Definition

NONE: frozenset[Version] = frozenset()

# --- prepared


def prepared_by(state: State, view: str) -> Run | None:
    """The run of a view that has computed all that it is for, and is not published yet."""
    run = state.running.get(view)
    return run if run is not None and run.prepared else None


def prepares(state: State, run: Run, definition: Definition) -> bool:
    """Whether a run is to be prepared before it is published."""
    return not definition.keeps_versions and (run.kept or awaits_publication(state, run))


def may_be_read(state: State, run: Run, event: Prepared) -> bool:
    """Whether all that a run made certainly differs from what is published. Of rows that may prove to be unchanged
    readers wait for the publication, which tells."""
    record = state.tables[run.view]
    if record.pinned:
        return False  # another program made its table a lake table: readers read that at a snapshot until then
    known = record.partitions
    same = (each.content and (old := known.get(each.slice)) and old.content == each.content for each in event.made)
    return not any(same)


def is_open(state: State, definition: Definition, engine: int) -> bool:
    """Whether an engine can read all that is prepared of a view's sources."""
    runs = (prepared_by(state, each) for each in definition.sources)
    return all(run is None or run.engine == engine for run in runs)


# --- on


def read_by(state: State, event: Started) -> frozenset[Version]:
    """The runs that a run is on: those of its sources that are prepared or kept."""
    definition = state.views[event.view].definition
    if not definition.reads_ahead:
        return NONE
    wanted = wanted_of(state) if state.kept or state.sharing else NONE
    _forget(state, lambda run: run.version not in wanted)
    found = (prepared_by(state, each) or state.kept.get(each) for each in definition.sources)
    return frozenset(run.version for run in found if run is not None and run.engine == event.engine)


def awaits_publication(state: State, run: Run) -> bool:
    """Whether a run is on one that is not published yet."""
    return any(other.version in run.on for other in state.running.values())


def readers_of(state: State, run: Run) -> Iterator[Run]:
    """The runs that are on a run."""
    for name in state.index.readers.get(run.view, ()):
        reader = state.running.get(name)
        if reader is not None and run.version in reader.on:
            yield reader


# --- kept and shared


def leaves_rows(run: Run) -> bool:
    """Whether the engine of a run has rows of it that other runs may read."""
    return run.kept or bool(run.on) or bool(run.shared)


def wanted_of(state: State) -> frozenset[Version]:
    """The runs whose output, or whose shared scans, some run reads, or will read: a reader of either that can run is
    pending for what they were for."""
    found = {version for run in state.running.values() for version in (run.version, *run.on)}
    found |= {
        run.version for view, run in state.kept.items() if _is_read(state, run, state.index.readers.get(view, ()))
    }
    under_way = {each for run in state.running.values() for each in run.shared}
    for run in state.sharing.values():
        readers = {reader for each in run.shared for reader in each.readers}
        if not under_way.isdisjoint(run.shared) or _is_read(state, run, readers):
            found.add(run.version)
    return frozenset(found)


def remember(state: State, run: Run) -> None:
    """Notes what a run that is over leaves to others, in place of what its view's last run left."""
    forget(state, run.view)
    if run.kept:
        state.kept[run.view] = run
    if run.shared:
        state.sharing[run.view] = run


def forget(state: State, view: str) -> None:
    """Lets no run read what the last run of a view left."""
    forget_rows(state, view)
    state.sharing.pop(view, None)


def forget_rows(state: State, view: str) -> None:
    """Lets no run read kept rows of a view."""
    state.kept.pop(view, None)


def forget_engine(state: State, engine: int) -> None:
    """An engine is gone, with all that it kept."""
    _forget(state, lambda run: run.engine == engine)


def _forget(state: State, is_gone: Callable[[Run], bool]) -> None:
    for runs in (state.kept, state.sharing):
        for view in [view for view, run in runs.items() if is_gone(run)]:
            del runs[view]


def _is_read(state: State, run: Run, readers: Iterable[str]) -> bool:
    origins = frozenset().union(*(some for _, some in run.needs))
    found = [state.views[each] for each in readers if each in state.views]
    pending = [some for each in found if each.status is Status.ACTIVE for some in each.pending.values()]
    return any(not origins.isdisjoint(some) for some in pending)


def blockers(state: State, view: ViewState) -> Reached:
    """Where inputs that are views still to be renewed reach this one. What is prepared of them it need not wait for,
    unless it cannot read ahead."""
    awaited = Reached()
    for dependency in view.definition.dependencies:
        source = state.views.get(dependency.source)
        if source is None or not awaits(view.definition, source.status):
            continue
        prepared = view.definition.reads_ahead and prepared_by(state, dependency.source) is not None
        needs = source.pending if prepared else unresolved(state, dependency.source)
        awaited.reach(view.definition, dependency, needs.items(), state.images)
    return awaited
