"""By keys: from which states of its sources a run goes on that computes the rows which changes reach. All other rows of
the partitions stay as they are.

Example: the partitions of a view reflect version 5 of ``sales``, and ``sales`` has version 9 now. If both states can be
read, the rows between them tell which rows of the view differ.

[Adler20] §5.2 recomputes groups by their keys. Here each column of the view that a changed row determines is a key
(``algebra.derive.keys``).
"""

from __future__ import annotations

from headwater.engine.methods.basis import NO_CHANGE, inputs, reflected, states_between
from headwater.engine.methods.following import follow, learn
from headwater.engine.methods.method import Method, Offer, Slices, count
from headwater.model.dependency import Dependency, common
from headwater.model.partition import simplified
from headwater.model.reason import Code, Reason
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.model.work import ByKeys

MOST_STATES = 3
"""So many states of one source the partitions of a run may reflect. The rows since each of them are read."""

FIXED = 3.0
"""Seconds of a run after a small change. Its core-seconds are taken to be as many. On two machines, runs after one row
took 0.8 to 3.6 s (``benchmarks choices``). Views differ too much for one to tell of others: some runs took 30 s."""


def keyed(state: State, name: str, slices: Slices) -> ByKeys | Reason:
    """What a run by keys would go on from which renews these slices of a view; or why there can be none."""
    view = state.views[name]
    states = reflected(state, view, slices, MOST_STATES)
    if isinstance(states, Reason):
        return states
    now, since, churn = dict(inputs(state, view.definition)), dict[tuple[str, str], None](), 0
    changed: dict[str, Dependency] = {}
    for dependency in view.definition.dependencies:
        source = dependency.source
        before = {dict(each).get(source) for each in states}
        if before == {now[source]}:
            continue
        if not dependency.keys.columns:
            unknown = f"the rows that a change of {source} reaches are not known"
            return dependency.keys.reason or Reason(Code.QUERY_NOT_DERIVED, unknown)
        found = states_between(state, source, before, now[source])
        if isinstance(found, Reason):
            return found
        old, new = found
        changed[source] = dependency
        since.update(dict.fromkeys((source, each.snapshot) for each in old))
        churn += new.churn - min(each.churn for each in old)
    if not common(each.keys for each in changed.values()):
        if not changed:
            return NO_CHANGE
        return Reason(Code.METHOD_DIFFERENT_KEYS, f"{' and '.join(changed)} reach its rows by different columns")
    return ByKeys(tuple(since), churn)


def barred(definition: Definition) -> Reason | None:
    """Why a view could follow the changes of no source; ``None`` if it can follow those of one."""
    keys = [each.keys for each in definition.dependencies]
    if any(each.columns for each in keys):
        return None
    return next((each.reason for each in keys if each.reason), Reason(Code.QUERY_NO_TABLE, "it reads no table"))


def offer(state: State, name: str, slices: Slices) -> Offer | Reason:
    return follow(state, name, slices, keyed(state, name, slices), FIXED, _rewritten(state, name, slices))


BY_KEYS = Method(ByKeys, "by keys", offer, learn, barred=barred)


# --- inside


def _rewritten(state: State, name: str, slices: Slices) -> int:
    """Bytes of a view that a run writes anew, however few keys there are: whole partitions, where no single file can be
    replaced."""
    view, frame = state.views[name], simplified(slices)
    if view.definition.storage.replaces_files:
        return 0
    return round(view.costs.size * count(state, name, frame, slices))
