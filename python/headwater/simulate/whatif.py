"""Scenarios under several policies: the runs of each, their cost, and the staleness of views."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from headwater.model.view import Pairs
from headwater.simulate.accounts import Accounts
from headwater.simulate.naive import Triggering
from headwater.simulate.replay import Override, Replay
from headwater.simulate.scenario import Scenario
from headwater.simulate.staleness import Staleness

SECOND = 1000
Tell = Callable[[int], object]
"""Called with the part of a scenario (ms) that was played since the last call."""


@frozen
class Table:
    """One view's account over all trials: means of counts, and its staleness in all of them together."""

    runs: float
    partitions: float
    seconds: float
    staleness: Staleness | None = None


@frozen
class Row:
    """The result of a policy.

    Attributes:
        tables: by view.
        runs: in each trial.
        pending: the views that are behind when nothing more can run, in any trial: suspended or broken ones.
    """

    policy: str
    tables: Mapping[str, Table]
    runs: tuple[int, ...]
    properties: Pairs = ()
    pending: tuple[str, ...] = ()

    @property
    def total(self) -> Table:
        """All views together; their staleness is that of one of them at some time, both chosen at random."""
        each = self.tables.values()
        known = [table.staleness for table in each if table.staleness is not None]
        return Table(
            sum(table.runs for table in each),
            sum(table.partitions for table in each),
            sum(table.seconds for table in each),
            Staleness.pooled(known) if known else None,
        )


def simulated(scenarios: Sequence[Scenario], policy: Override, tracks: int, tell: Tell) -> Row:
    """A policy played on each scenario; its position in the sequence is the seed."""
    played = []
    for seed, scenario in enumerate(scenarios):
        replay, seen = Replay(scenario, policy, tracks, seed), scenario.begin
        while replay.step():
            now = min(replay.now, scenario.end)
            tell(now - seen)
            seen = now
        played.append(replay)
    return Row(
        policy.name,
        _tables([replay.accounts for replay in played]),
        tuple(sum(account.runs for account in replay.accounts.views.values()) for replay in played),
        policy.properties,
        tuple(sorted({name for replay in played for name in replay.pending})),
    )


def ran(accounts: Accounts) -> Row:
    """The row of the recorded refreshes."""
    runs = sum(account.runs for account in accounts.views.values())
    return Row("as it ran", _tables([accounts]), (runs,))


def naive(scenarios: Sequence[Scenario], tell: Tell) -> Row:
    """Immediate triggering, counted; how stale views would be depends on how it keeps up, which is not known."""
    played = [Triggering(scenario) for scenario in scenarios]
    for each in played:
        for event in each.scenario.events:
            each.happen(event)
        tell(each.scenario.end - each.scenario.begin)
    views = {view for each in played for view in each.runs}
    return Row(
        "naive",
        {
            view: Table(
                statistics.fmean(each.runs[view] for each in played),
                statistics.fmean(each.partitions[view] for each in played),
                statistics.fmean(each.seconds.get(view, 0.0) for each in played),
            )
            for view in sorted(views)
        },
        tuple(each.runs.total() for each in played),
    )


def report(about: Mapping[str, Any], scenarios: Sequence[Scenario], tracks: int, rows: Sequence[Row]) -> dict[str, Any]:
    """All of it, as JSON has it; times in seconds, counts as means over the seeds."""
    first = scenarios[0]
    return {
        **about,
        "hours": (first.end - first.begin) / 3_600_000,
        "views": len({view for row in rows for view in row.tables}),
        "events": {
            kind: statistics.fmean(each.kinds[kind] for each in scenarios)
            for kind in sorted(set().union(*(each.kinds for each in scenarios)))
        },
        "tracks": tracks,
        "seeds": len(scenarios),
        "policies": [_row(row) for row in rows],
    }


def _tables(accounts: Sequence[Accounts]) -> dict[str, Table]:
    found = {}
    for view in sorted({view for each in accounts for view in each.views}):
        parts = [each.views[view] for each in accounts if view in each.views]
        found[view] = Table(
            sum(each.runs for each in parts) / len(accounts),
            sum(each.partitions for each in parts) / len(accounts),
            sum(each.seconds for each in parts) / len(accounts),
            Staleness.pooled(each.meter.staleness for each in parts),
        )
    return found


def _row(row: Row) -> dict[str, Any]:
    return {
        "policy": row.policy,
        "properties": dict(row.properties),
        **_table(row.total),
        "least_runs": min(row.runs),
        "most_runs": max(row.runs),
        "pending": list(row.pending),
        "tables": [{"table": name, **_table(table)} for name, table in row.tables.items()],
    }


def _table(table: Table) -> dict[str, Any]:
    stale = table.staleness
    return {
        "runs": table.runs,
        "partitions": table.partitions,
        "seconds": table.seconds,
        "staleness": None if stale is None else staleness(stale),
    }


def staleness(stale: Staleness) -> dict[str, float | None]:
    """Quantiles, mean and most, in seconds; shares of the time in which all was reflected, and in which the
    promised freshness was kept (``None`` where none was promised)."""
    return {
        "p50": stale.quantile(0.5) / SECOND,
        "p95": stale.quantile(0.95) / SECOND,
        "max": stale.most / SECOND,
        "mean": stale.mean / SECOND,
        "fresh": stale.fresh / stale.span if stale.span else 1.0,
        "within_promise": stale.within,
    }
