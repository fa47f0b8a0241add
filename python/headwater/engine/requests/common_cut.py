"""The newest common cut of what a view reads: versions of its sources that show one state of every table.

Example: ``v1`` and ``v2`` read ``s``, and ``d`` joins both. ``s`` changed at 4 and at 9. ``v1`` has a version from
before each change and one with both, and ``v2`` lacks 9. The newest common cut is ``v1`` as it was at 4, and ``v2``.

A version of a source *spans* states of each table (see ``engine.requests.spans``). Versions have a common cut if their
spans meet, for every table. A version that holds more than the newest version of another source shows is in no common
cut. So the search begins with the newest versions. Of a source that is too new it takes the newest version that is not,
until all spans meet. The result is the newest one for all sources at once. That is the recovery line of [Randell75],
System structure for software fault tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from types import MappingProxyType

from attrs import Factory, evolve, frozen

from headwater.engine.requests.ahead import prepared_by
from headwater.engine.requests.coverage import unresolved, upstream
from headwater.engine.requests.cut import carried, newest
from headwater.engine.requests.limits import STUCK, follows
from headwater.engine.requests.meeting import left_for_later
from headwater.engine.requests.spans import Walk, has_states, older
from headwater.model.index import Apart, Older, StateSpan
from headwater.model.partition import Version
from headwater.model.policy import Consistency, Upstream
from headwater.model.reason import Code, Reason
from headwater.model.state import State, ViewState


@frozen
class Common:
    """Versions of a view's sources with a common cut.

    Attributes:
        versions: of the sources; those without one are read as they are.
        until: the first change of each table that some of them lacks.
        behind: the source that lacks it.
        meets: they lack what the view is to leave for a later run, so that its group meets.
    """

    versions: Mapping[str, Version] = Factory(dict)
    until: Mapping[str, Version] = Factory(dict)
    behind: Mapping[str, str] = Factory(dict)
    meets: bool = False

    def lacks(self, table: str, change: Version) -> bool:
        """Whether the versions lack a change of a table."""
        return change >= self.until.get(table, inf)


Chosen = Mapping[str, StateSpan]

MOST_PARTITIONS = 1_000
"""A view of more partitions takes all changes at once. What each of its partitions read is not looked up."""

NOTHING = Common()
"""No two sources of a view can disagree, or it does not ask whether they do."""


def common_cut(state: State, name: str) -> Common | Apart:
    """The versions that a run of a view reads which starts now, or why there are none."""
    view = state.views.get(name)
    if view is None:
        return NOTHING
    if later := left_for_later(state, name):
        found = _meeting(state, view, later)
        if isinstance(found, Common):
            return found
    if not is_strict(view):
        return NOTHING
    tables = shared(state, name)
    if not tables:
        return NOTHING
    ahead = view.definition.reads_ahead
    return newest_of(state, view, tables, {each: walk(state, each, tables, ahead) for each in view.definition.sources})


def _meeting(state: State, view: ViewState, later: Mapping[str, Version]) -> Common | Apart:
    """The newest common cut of a view's sources that lacks some changes."""
    name, ahead = view.definition.view, view.definition.reads_ahead
    known = state.tables[name].partitions
    if len(known) > MOST_PARTITIONS:
        return Apart(name, name, name, 0)
    tables = sorted({each for each in later if has_states(state, each)} | set(shared(state, name)))
    walks = {each: walk(state, each, tables, ahead) for each in view.definition.sources}
    found = newest_of(state, view, tables, walks, {each: later[each] for each in tables if each in later})
    if not isinstance(found, Common):
        return found
    read = newest(*(dict(each.inputs) for each in known.values()))
    back = next((each for each, version in found.versions.items() if version < read.get(each, 0)), None)
    return evolve(found, meets=True) if back is None else Apart(back, name, back, read[back])


def newest_of(
    state: State,
    view: ViewState,
    tables: Sequence[str],
    walks: Mapping[str, Walk],
    later: Mapping[str, Version] = MappingProxyType({}),
) -> Common | Apart:
    """The newest common cut of a view's sources, for the states of these tables. The walks end there. ``later``: the
    first change of each table that it is to lack."""
    own = StateSpan(0, {each: view.holds[each] for each in tables if each in view.holds}, later)
    apart = went_back(walks, {view.definition.view: own}, lambda known: _is_before(state, view, known))
    if apart is not None:
        return apart
    found = _common(
        {
            each: evolve(known.chosen, until=known.lacks)
            for each, known in walks.items()
            if known.chosen.holds or known.chosen.until
        }
    )
    return _stuck(state, view, found, walks, later) or found


def went_back(
    walks: Mapping[str, Walk], own: Chosen = MappingProxyType({}), is_before: Callable[[Walk], bool] = lambda _: False
) -> Apart | None:
    """Takes older versions of sources until all of them, and ``own``, show one state of each table. Why there are none;
    ``None`` if there are. ``is_before``: whether a walk went back too far."""
    while (apart := _apart({**own, **{each: known.chosen for each, known in walks.items()}})) is not None:
        known = walks.get(apart.ahead)
        if known is None or not known.back(apart.table, apart.change) or is_before(known):
            return apart
    return None


def disagreement(walks: Mapping[str, Walk]) -> Apart | None:
    """Why the versions that walks chose show no common state; ``None`` if they do."""
    return _apart({each: known.chosen for each, known in walks.items()})


def _is_before(state: State, view: ViewState, walk: Walk) -> bool:
    """Whether a version of a source is one that a view went past. It lacks a change, of whatever table, that the view
    shows and is pending for no more. Or there was a newer one when the view was defined: what this one lacks was
    recorded before that, so the view is not pending for it."""
    if any(change <= view.holds.get(table, 0) for table, change in walk.lacks.items()):
        return True
    pending = frozenset().union(*view.pending.values())
    defined = max((each for each in pending if state.origins[each].definition), default=0)
    return walk.next < defined


def is_strict(view: ViewState) -> bool:
    """Whether a view asks for one state of every table."""
    return view.definition.policy.consistency is Consistency.STRICT


def shared(state: State, name: str) -> tuple[str, ...]:
    """The tables that several sources of a view show, and whose states can be told apart."""
    return tuple(each for each in meeting(state, name) if has_states(state, each))


def compared(state: State, name: str) -> tuple[str, ...]:
    """The tables in whose states the sources of a view agree if they have a common cut: those that several show, and of
    which all of these tell what they show."""
    view = state.views[name]
    if not is_strict(view):
        return ()
    tables = shared(state, name)
    untold = {table for each in view.definition.sources for table in loose(state, each, tables)} if tables else ()
    return tuple(each for each in tables if each not in untold)


def meeting(state: State, name: str) -> tuple[str, ...]:
    """The tables that several sources of a view show, whether or not their states can be told apart."""
    found = state.index.shared.get(name)
    if found is None:
        sources = dict.fromkeys(state.views[name].definition.sources)
        counts: dict[str, int] = {}
        for source in sources if len(sources) > 1 else ():
            for table in above(state, source):
                counts[table] = counts.get(table, 0) + 1
        found = state.index.shared[name] = tuple(sorted(table for table, count in counts.items() if count > 1))
    return found


def above(state: State, source: str) -> frozenset[str]:
    """A table and all that it is made from; kept until the graph changes."""
    found = state.index.above.get(source)
    if found is None:
        found = state.index.above[source] = frozenset(upstream(state, source))
    return found


def loose(state: State, source: str, tables: Sequence[str]) -> dict[str, Reason]:
    """Those of some tables of which nothing tells the state that a source shows, each with the reason."""
    view, mine = state.views.get(source), above(state, source)
    found: dict[str, Reason] = {}
    for each in sorted(mine & state.index.lenient):
        why = lets_go(state, state.views[each])
        if why is not None:
            found.update((table, why) for table in tables if table in above(state, each))
    if view is not None and state.tables[source].highest:
        said = f"which states {source} shows is known after its next refresh of all partitions"
        unknown = Reason(Code.CUT_UNKNOWN, said)
        here = (table for table in tables if table in mine and table not in state.views)
        found.update((table, unknown) for table in here if table not in view.holds)
    return found


def is_lenient(view: ViewState) -> bool:
    """Whether ``lets_go`` may find a reason for a view, in whatever state others are."""
    policy = view.definition.policy
    return not follows(view.definition) or view.released or policy.upstream is Upstream.HOLD


def lets_go(state: State, view: ViewState) -> Reason | None:
    """Why a view's readers cannot wait for what it lacks, or nothing tells what that is; ``None`` if they can."""
    name, policy = view.definition.view, view.definition.policy
    if not follows(view.definition):
        return Reason(Code.CUT_PROPAGATE, f"{name} does not follow every change, as its headwater.propagate says")
    if view.released:
        return Reason(Code.CUT_RELEASED, f"{name} is {view.status.value}, and its readers go on past it")
    if policy.upstream is Upstream.HOLD and view.pending:
        sources = [each for each in view.definition.sources if each in state.views]
        stuck = [each for each in sources if state.views[each].status in STUCK]
        if stuck:
            said = f"{name} waits for {stuck[0]}, which is {state.views[stuck[0]].status.value}"
            return Reason(Code.CUT_RELEASED, said)
    return None


def walk(state: State, source: str, tables: Sequence[str], ahead: bool = False) -> Walk:
    """The versions of a source that a run can read, among them, if it reads ``ahead``, one that is prepared. One that
    shows nothing constrains nothing."""
    record, known = state.tables.get(source), state.views.get(source)
    if record is None or (known is None and source not in tables):
        return Walk(source, StateSpan())
    if known is None:
        return Walk(source, StateSpan(record.highest, {source: record.highest}), older(state, source), tables)
    free = loose(state, source, tables)
    mine = [each for each in tables if each in above(state, source) and each not in free]
    return _of_view(state, source, mine, ahead) if mine else Walk(source, StateSpan())


# --- inside


NONE: frozenset[Version] = frozenset()


def _apart(chosen: Chosen) -> Apart | None:
    """A source that holds a change of a table beyond what another one shows, or beyond what it shows itself."""
    first: dict[str, tuple[Version, str]] = {}
    for name, each in chosen.items():
        for table, change in each.until.items():
            first[table] = min(first.get(table, (change, name)), (change, name))
    for name, each in chosen.items():
        for table, change in each.holds.items():
            if table in first and change >= first[table][0]:
                return Apart(name, first[table][1], table, first[table][0])
    return None


def _common(chosen: Chosen) -> Common:
    until: dict[str, Version] = {}
    behind: dict[str, str] = {}
    for source, each in chosen.items():
        for table, change in each.until.items():
            if change < until.get(table, inf):
                until[table], behind[table] = change, source
    return Common({source: each.version for source, each in chosen.items()}, until, behind)


def _stuck(
    state: State, view: ViewState, found: Common, walks: Mapping[str, Walk], later: Mapping[str, Version]
) -> Apart | None:
    """Why a view would stand still: a table of which the newest versions of all sources show a change that it is
    pending for, while their newest common cut shows none. Such a cut may be as old as what the view shows. A table of
    which all is left for later may stand still while another one goes on.

    A source lacks each change after the first one that it is still to follow, in whatever partition. So it counts as
    showing a change that no source is still to follow: only the older one holds that up, perhaps for days."""
    newest = _common({each: known.newest for each, known in walks.items()})
    pending = NONE.union(*view.pending.values()) if found.until else ()
    counted = [each for each in map(state.origins.__getitem__, sorted(pending)) if not each.asked]
    going = {each.table for each in counted if not found.lacks(each.table, each.version)}
    if going:
        counted = [each for each in counted if each.version < later.get(each.table, inf)]
    waiting = [each for each in counted if each.table not in going]
    open_ = _followed_by_sources(state, view) if waiting else NONE
    for each in waiting:
        if each.version not in open_ or not newest.lacks(each.table, each.version):
            ahead = (source for source, known in walks.items() if known.at)
            return Apart(next(ahead, view.definition.view), found.behind[each.table], each.table, each.version)
    return None


def _followed_by_sources(state: State, view: ViewState) -> frozenset[Version]:
    """The changes that sources of a view are still to follow."""
    sources = (unresolved(state, each) for each in view.definition.sources if each in state.views)
    return NONE.union(*(origins for each in sources for origins in each.values()))


def _of_view(state: State, source: str, tables: Sequence[str], ahead: bool) -> Walk:
    view, record = state.views[source], state.tables[source]
    run = prepared_by(state, source) if ahead else None
    if run is not None:
        made = newest(view.holds, dict(run.holds), carried(state, (some for _, some in run.needs), max))
        return Walk(source, StateSpan(run.version, made, carried(state, view.pending.values(), min)), Older(), tables)
    until = carried(state, unresolved(state, source).values(), min)
    owes_itself = until.keys() & state.views.keys()
    before = older(state, source) if record.pinned and not owes_itself else Older()
    return Walk(source, StateSpan(record.highest, view.holds, _unknown(state, until, owes_itself)), before, tables)


def _unknown(state: State, until: Mapping[str, Version], views: Iterable[str]) -> dict[str, Version]:
    """A source that has yet to follow views which changed by themselves may lack any change of what these are made
    from."""
    return {**until, **{table: 0 for each in views for table in above(state, each)}}
