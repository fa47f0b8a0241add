"""The state, as rows for statements and the command line. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.algebra.notation import spell_window
from headwater.engine.decide.flight import Flights
from headwater.engine.decide.schedule import InOrder
from headwater.engine.decide.starting import Capacity, next_run, under_way
from headwater.engine.decide.urgency import Claim, Kind
from headwater.engine.methods.all_methods import methods_of
from headwater.engine.methods.basis import ONE_PARTITION
from headwater.engine.methods.choice import Chosen
from headwater.engine.requests.limits import TRACKS
from headwater.engine.requests.reasons import of_origin, where
from headwater.engine.tell.columns import Columns, ColumnType
from headwater.engine.tell.consistency import Verdict, vertical
from headwater.engine.tell.cuts import Agreement, ReadTogether, TableCut, agreements, cuts, readings
from headwater.engine.tell.status import VIEWS, Condition, Row, behind, condition, existing, statuses, views
from headwater.engine.tell.why_it_waits import waits, why_it_waits
from headwater.model.dependency import (
    Computed,
    Dependency,
    Expression,
    Foremost,
    Frames,
    Neighbours,
    Occurrence,
    Same,
    Windowed,
    through_windows,
)
from headwater.model.format import Format
from headwater.model.name import FunctionName, anywhere, named
from headwater.model.partition import WHOLE, Slice, sort_key
from headwater.model.reason import Reason
from headwater.model.state import Origin, Run, State, Status, ViewState
from headwater.model.view import Definition, Job, Query
from headwater.model.work import ByKeys

MOST_LINES = 20
"""So many partitions that are behind are named."""


IN_ORDER = Capacity(TRACKS, InOrder())
"""What is taken for the capacity of an engine that is not asked."""


def explain(state: State, name: str, now: int, mine: Flights | None = None, capacity: Capacity = IN_ORDER) -> list[str]:
    """The next refresh of the view and its reasons, a line each; or the one that is under way.

    Args:
        mine: what the engine that is asked knows beside the record.
    """
    view, run, mine = state.views[name], state.running.get(name), mine or Flights()
    late, count = behind(state, name), len(existing(state, name))
    lines = []
    ill = _ill(state, name, now)
    decision = None
    if not late:
        lines += ill or [f"{name}: nothing to do, {count} of {count} partitions are fresh"]
    else:
        decision = under_way(state, run) if run else next_run(state, name, mine, capacity, now)
        of = "everything" if WHOLE in late else f"{len(late)} of {max(count, len(late))} partitions"
        lines.append(f"{name}: {of} behind, refresh {decision.method.method.said}{_estimate(run, decision.method)}")
        lines += _behind_lines(_needs(state, name))
        lines += [f"  {_coded(run.started.let_go)}"] if run and run.started.let_go else []
        if view.pending:
            lines.append(f"  {_coded(why_it_waits(state, name, now))}")
            lines += _place(name, decision.claims, mine.planned, now)
        if view.status is not Status.SUSPENDED:  # its wait says the same
            lines += [f"  {each.strip()}" for each in ill]
    lines += [f"  depends on {line}" for each in view.definition.dependencies for line in mapped(each, view.definition)]
    lines += [f"  depends on itself {_told(each)}, the earliest first" for each in view.definition.earlier]
    if decision is not None:
        lines += _method(decision.method, count, view.definition)
    return lines + mine.plan.explained(name) if mine.plan is not None and view.pending else lines


def _ill(state: State, name: str, now: int) -> list[str]:
    """Why a view is not kept fresh, and what is next; nothing of one that is."""
    view = state.views[name]
    match condition(state, name):
        case Condition.BROKEN:
            following = (
                "its query is analysed again at each check, and the view is refreshed when that succeeds; "
                f"CREATE OR REPLACE MATERIALIZED VIEW {anywhere(name)} gives it another query"
            )
        case Condition.UNREADABLE:
            following = "the source is looked at again at each check"
        case Condition.SUSPENDED:
            again = f"ALTER MATERIALIZED VIEW {anywhere(name)} RESUME starts it again"
            following = f"what changes meanwhile stays pending; {again}"
        case Condition.FAILED | Condition.FAILING as found:
            often = f"{view.failures} refreshes failed in a row" if view.failures > 1 else "the last refresh failed"
            wait = max(0, view.retry_at - now) / 1000
            next_one = f"the next one starts in {wait:.0f} s" if wait else "the next one starts at once"
            following = f"{often}; {next_one}, and REFRESH MATERIALIZED VIEW {anywhere(name)} does not wait for that"
            return [f"{name}: {found.value}: {_coded(view.reason)}", f"  {following}"]
        case _:
            return []
    return [f"{name}: {condition(state, name).value}: {_coded(view.reason)}", f"  {following}"]


def _coded(reason: Reason | None) -> str:
    return "" if reason is None else reason.coded


def _estimate(run: Run | None, chosen: Chosen) -> str:
    """The version of the run under way; or the duration of the next one, as far as past ones tell."""
    if run is not None and run.prepared:
        return f", computed as version {run.version}; its copy to the warehouse is under way"
    if run is not None:
        return f", running as version {run.version}"
    return "" if chosen.cost.seconds is None else f", about {chosen.cost.seconds:.1f} s"


def _method(chosen: Chosen, existing: int, definition: Definition) -> list[str]:
    """How the partitions that are behind are renewed, and why not otherwise."""
    count = chosen.cost.partitions
    written = "everything" if chosen.frame == (WHOLE,) else f"{count} of {max(existing, count)} partitions"
    others = [f"    {method.said} {why}" for method, why in chosen.rejected]
    if chosen.refused:
        said = f"'headwater.method' allows none; {chosen.method.said} is out: {chosen.refused.coded}"
    else:
        said = f"{chosen.method.said}, {written}, {chosen.cost.told}"
    return [f"  method: {said}", *_rows(chosen, definition), *others]


def _rows(chosen: Chosen, definition: Definition) -> list[str]:
    """Which rows a run by keys computes, if it leaves some out that have the keys of changed rows."""
    work = chosen.offer.work
    sources = {source for source, _ in work.since} if isinstance(work, ByKeys) else set()
    match through_windows(each.keys for each in definition.dependencies if each.source in sources):
        case Frames(columns=(*keys, order)):
            return [f"    of the keys ({', '.join(keys)}), the rows in whose frames of {order} a row changed"]
        case Neighbours(columns=columns, grouped=grouped):
            order = ", ".join(columns[grouped:])
            return [f"    of the keys ({', '.join(columns[:grouped])}), the rows next to a changed one by {order}"]
        case Foremost(columns=columns, grouped=grouped, most=most):
            first = f"the first {most} by {', '.join(columns[grouped:])}"
            return [f"    of the keys ({', '.join(columns[:grouped])}), those with a changed row among {first}"]
    return []


def _place(name: str, claims: Sequence[Claim], planned: bool, now: int) -> list[str]:
    """The place of a view's refresh among those that may start, and the reason why another one comes before it."""
    if len(claims) < 2:
        return []
    at = next((n for n, each in enumerate(claims) if each.choice.ready.view == name), None)
    if at is None:
        return [f"  comes after the {len(claims)} most urgent refreshes that may start"]
    said = f"  place {at + 1} of {len(claims)} refreshes that may start"
    if at == 0:
        return [said]
    mine, before = claims[at], claims[at - 1]
    match before.kind(now):
        case Kind.ASKED:
            why = "a statement waits for it"
        case Kind.PATIENT:
            why = "it waited longest"
        case Kind.PROMISED:
            why = "its promised freshness would be late otherwise"
        case _ if planned:
            why = "so says the plan" if before.weight == mine.weight else "it has a greater priority"
        case _:
            each = f"{before.benefit:.1f}, this view {mine.benefit:.1f}"
            why = f"it removes more weighted staleness per second of work ({each})"
    return [f"{said}; {before.choice.ready.view} comes before it: {why}"]


def _behind_lines(needs: Mapping[Slice, Sequence[Origin]]) -> list[str]:
    lines = [f"  {_named(each)}: {_because(needs[each])}{_codes(needs[each])}" for each in [*needs][:MOST_LINES]]
    return lines + ([f"  … and {len(needs) - MOST_LINES} more"] if len(needs) > MOST_LINES else [])


def _needs(state: State, name: str) -> dict[Slice, list[Origin]]:
    """What is behind of a view, with the changes that it lacks, the oldest one first."""
    run = state.running.get(name)
    needs = {each: set(origins) for each, origins in state.views[name].pending.items()}
    for each, origins in run.needs if run else ():
        needs.setdefault(each, set()).update(origins)
    return {
        each: [state.origins[v] for v in sorted(needs[each]) if v in state.origins]
        for each in sorted(needs, key=sort_key)
    }


def _named(each: Slice) -> str:
    return "everything" if each == WHOLE else str(each)


def _because(origins: Sequence[Origin]) -> str:
    return "; ".join(map(of_origin, origins))


def _codes(origins: Sequence[Origin]) -> str:
    found = dict.fromkeys(each.code.value for each in origins)
    return f" [{', '.join(found)}]" if found else ""


def mapped(dependency: Dependency, definition: Definition) -> list[str]:
    """How partitions of a source reach those of a view, a line for each place where the query reads it."""
    lines = []
    for occurrence in dependency.occurrences:
        by, why = ("", ONE_PARTITION) if not definition.partitioned_by else (_told(occurrence), occurrence.reason)
        line = f"{dependency.source} {by or 'as a whole'}"
        if why is not None:
            line += f"; {why}" if by else f": {why}"
        stated, code = " (stated)" if dependency.stated else "", f" [{why.code.value}]" if why is not None else ""
        lines.append(line + stated + code)
    return lines


def _told(occurrence: Occurrence) -> str:
    told = ", ".join(f"{column} = {spelled(expression)}" for column, expression in occurrence.columns)
    return f"by {told}" if told else ""


def spelled(expression: Expression) -> str:
    match expression:
        case Same(column):
            return column
        case Computed(sql=sql):
            return sql
        case Windowed(column, window):
            return f"{spell_window(window)} OF {column}"


DESCRIPTION: Columns = dict.fromkeys(("name", "value", "note"), ColumnType.STRING)
PLAN: Columns = {"plan": ColumnType.STRING}


def describe(state: State, name: str, extended: bool, now: int, formats: Mapping[str, str] | None = None) -> list[Row]:
    """The rows of ``DESCRIBE MATERIALIZED VIEW``: name, value and note; ``formats`` are those of its sources."""
    view = state.views[name]
    definition = view.definition
    rows: list[Row] = [[c.name, c.type, c.comment or None] for c in definition.columns]
    rows += [
        ["", "", ""],
        ["# view", name, condition(state, name).value],
        [_kind(definition), definition.query, None],
        ["format", definition.format, None],
        ["partitioned by", ", ".join(definition.partitioned_by) or "()", None],
        ["partitions", str(len(existing(state, name))), f"{len(behind(state, name))} behind"],
        *([["a refresh", costs, "lately"]] if (costs := _costs(view)) else []),
    ]
    if not extended:
        return rows
    rows += _totals(view)
    rows += [[key, value, "property"] for key, value in definition.properties]
    rows += [["location", definition.root, None]] if definition.root else []
    rows += [["session", f"{definition.catalog}.{definition.database}", None]]
    rows += [["", "", ""], ["# reads", "", ""]]
    for dependency in definition.dependencies:
        rows += [
            [dependency.source, line.removeprefix(dependency.source).strip(), _found(state, dependency.source, formats)]
            for line in mapped(dependency, definition)
        ]
    rows += [["itself", _told(each), "the earliest first"] for each in definition.earlier]
    rows += [_through(each) for each in definition.through]
    rows += [["", "", ""], ["# partition", "version", "reflects"]]
    for each in sorted(existing(state, name), key=sort_key):
        known = state.tables[name].partitions[each]
        reflects = ", ".join(f"{source} {version}" for source, version in known.inputs)
        rows.append([str(each), str(known.version), reflects])
    rows += [["", "", ""], ["# consistent", "", ""]]
    rows += [[f"with {each.other}", *_verdict(each, now)] for each in vertical(state, name)]
    rows += [["", "", ""], ["# cut", "state", ""]]
    rows += [[each.table, _state(each), each.note or None] for each in cuts(state, name)]
    if found := readings(state, name):
        rows += [["", "", ""], ["# reads together", "version", ""]]
        rows += [_reading(each) for each in found]
    rows += [["", "", ""], ["# agrees", "", ""]]
    rows += [_agreement(each, now) for each in agreements(state, name, MOST_LINES)]
    rows += [["", "", ""], ["# pending", "because", "waits"]]
    waiting, needs = waits(state, name, now) if view.pending else "running", _needs(state, name)
    for each in [*needs][:MOST_LINES]:
        stale = [f"stale for {max(0, now - origin.at) / 1000:.1f} s" for origin in needs[each][:1]]
        rows.append([_named(each), _because(needs[each]), "; ".join(filter(None, [*stale, waiting]))])
    return rows + ([["", f"… and {len(needs) - MOST_LINES} more", None]] if len(needs) > MOST_LINES else [])


def _found(state: State, source: str, formats: Mapping[str, str] | None) -> str:
    """The format of a source, its snapshot, and how its changes are found."""
    record, format = state.tables.get(source), (formats or {}).get(source, "")
    told = [format] if format else []
    if record is not None and record.pinned:
        told.append(f"snapshot {record.snapshot}")
    if source in state.views:
        told.append("its refreshes are its changes")
    elif record is not None and record.pinned and Format.of(format).tells_changes:
        told.append("changes come from its log")
    else:
        told.append("changes come from a listing")
    if record is not None and record.gap is not None:
        told.append(f"every {record.gap:.0f} s lately")
    return ", ".join(told)


def _costs(view: ViewState) -> str:
    """What refreshes of a view took, by their methods; empty before the first."""
    told = [f"{view.costs.took.mean:.1f} s as whole partitions"] if view.costs.took is not None else []
    for method in methods_of(view.definition):
        known = view.costs.narrow.get(method.mode)
        if known is not None and known.seconds is not None:
            told.append(f"{known.seconds:.1f} s {method.said} after {_size(known.churn)} of changed files")
        if known is not None and (lost := known.lost) is not None:
            told.append(f"{lost.seconds:.1f} s {method.said} after {_size(lost.churn)}, more than whole partitions")
    return "; ".join(told)


def _totals(view: ViewState) -> list[Row]:
    """The room that a view's totals take, and their part of its refreshes; nothing of a view without totals."""
    known, whole = view.totals, view.costs.size * max(1, view.costs.partitions)
    if known is None:
        return []
    beside = f", {known.left.size / whole:.2g} times the view" if whole else ""
    took = f"{known.left.seconds:.1f} s of the {known.took:.1f} s of the refresh that left them"
    return [["totals", f"{_size(known.left.size)}{beside}", took]]


def _size(bytes: float) -> str:
    return f"{bytes / 1e6:.1f} MB" if bytes >= 1e6 else f"{bytes / 1e3:.1f} KB"


def _kind(definition: Definition) -> str:
    match definition.made_by:
        case Query():
            return "query"
        case Job():
            return "job"


def _through(key: str) -> Row:
    """An ordinary view or a function that the query uses."""
    match named(key):
        case FunctionName(database=database, name=name):
            return [f"{database}.{name}", "function", None]
        case _:
            return [key, "ordinary view", None]


def _verdict(verdict: Verdict, now: int) -> list[str | None]:
    if verdict.consistent or verdict.since is None:
        return ["yes", None]
    lacks = "; ".join(of_origin(each) for each in verdict.lacks[:3])
    more = f"; and {len(verdict.lacks) - 3} more" if len(verdict.lacks) > 3 else ""
    requests = ", ".join(f"{table}{where((each,))}" for table, each in verdict.requests[:5])
    return [f"no, for {(now - verdict.since) / 1000:.0f} s: {lacks}{more}", f"pending: {requests}"]


def _state(cut: TableCut) -> str:
    """The state of a base table that a view shows."""
    if cut.version is None:
        return "none"
    return f"{cut.version}, snapshot {cut.snapshot}" if cut.snapshot else str(cut.version)


def _reading(found: ReadTogether) -> Row:
    version = f"{found.version}, not its newest" if found.older else str(found.version)
    return [found.source, version, f"may show another state: {found.reason.coded}" if found.reason else None]


def _agreement(found: Agreement, now: int) -> Row:
    said, note = _verdict(found.verdict, now)
    if found.verdict.consistent and found.since is not None:
        said = f"yes, for {max(0, now - found.since) / 1000:.0f} s"
    return [f"with {found.verdict.other}", said, note]


def reading(state: State, name: str) -> Sequence[str]:
    """The views that read a view."""
    return state.index.readers.get(name, ())


__all__ = [
    "DESCRIPTION",
    "PLAN",
    "VIEWS",
    "behind",
    "condition",
    "describe",
    "existing",
    "explain",
    "reading",
    "statuses",
    "views",
    "waits",
    "where",
]
