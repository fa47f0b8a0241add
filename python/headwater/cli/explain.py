"""``headwater explain``: the next refresh of a view, or the plan of all pending refreshes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headwater.cli.shared import known_view, milliseconds, open_store, pictures, state_of, store_options, table
from headwater.engine.decide.flight import Flights
from headwater.engine.decide.schedule import pending_views
from headwater.engine.decide.starting import Capacity
from headwater.engine.requests.limits import TRACKS
from headwater.engine.tell import report
from headwater.memory.planning.means import Costs, Means, decode_means
from headwater.model.state import State, Status
from headwater.store.dialect import Where

if TYPE_CHECKING:
    from headwater.memory.planning.plan import Plan

COLUMNS = ("view", "track", "starts_s", "ends_s", "published_s", "output", "kept_until_s")
NOTHING = Means(Costs(0.0, 0.0, 0.0), 0, TRACKS)
"""The figures of an engine that keeps nothing in memory."""


@click.command()
@click.argument("view", required=False)
@click.option("--plan", is_flag=True, help="Show the order of all pending refreshes, and the rows that stay in memory.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Also draw the plan into this PNG.")
@store_options
def explain(view: str | None, plan: bool, plot: Path | None, path: Where | None, as_json: bool) -> None:
    """Shows the next refresh of VIEW and its reasons; or, with --plan, the refresh of all pending views."""
    store = open_store(path)
    state, _ = state_of(store)
    if plan or plot is not None:
        say_plan(state, store.noted("means"), plot, as_json)
        return
    if view is None:
        raise click.UsageError("name a view, or add --plan for all pending refreshes")
    name, means = known_view(state, view), decode_means(store.noted("means") or "null")
    mine, capacity = Flights(), report.IN_ORDER
    if means is not None and means.pays and state.views[name].pending:
        # Not at the top: the solver in it takes a second to import.
        from headwater.memory.planning.arrange import ByPlan

        capacity = Capacity(means.tracks, schedule := ByPlan(means))
        if (question := schedule.question(state, None)) is not None:
            mine.plan = schedule.solve(question)
    lines = report.explain(state, name, milliseconds(), mine, capacity)
    click.echo(json.dumps(lines, indent=2) if as_json else "\n".join(lines))


def say_plan(state: State, noted: str | None, plot: Path | None, as_json: bool) -> None:
    """Prints the plan of all pending refreshes, or of every view if none is pending; draws it into ``plot``."""
    # Not at the top: the solver in it takes a second to import.
    from headwater.memory.planning.arrange import pending_plan

    means = decode_means(noted) if noted else None
    pending = pending_views(state)
    views = state.views
    names = pending or tuple(n for n in state.index.order if n in views and views[n].status is Status.ACTIVE)
    if not names:
        raise click.ClickException("no view can be refreshed")
    plan, _ = pending_plan(state, names, means or NOTHING)
    if plot is not None:
        pictures().draw_plan(plan, plot)
    if as_json:
        click.echo(json.dumps({"pending": bool(pending), "method": plan.method, **_figures(plan), "runs": _rows(plan)}))
        return
    if not pending:
        click.echo("nothing is pending; this is the plan for a refresh of every view")
    if means is None:
        click.echo("nothing stays in memory, because no engine on this store may use any; set spark.headwater.memory")
    elif not means.pays:
        click.echo("nothing stays in memory, because the warehouse was as fast as memory when the engine started")
    table(COLUMNS, [list(row.values()) for row in _rows(plan)])
    click.echo(_conclusion(plan))


def _rows(plan: Plan) -> list[dict[str, Any]]:
    """A row for each run, in the order in which they start."""
    found = []
    spans = plan.timeline.spans
    for task in plan.by_start:
        each, span = plan.problem.tasks[task], spans[task]
        known = each.size != plan.problem.memory + 1  # so says ``problem`` what nobody knows
        values = (
            each.name,
            span.track + 1,
            _seconds(span.start),
            _seconds(span.end),
            _seconds(span.published),
            f"{each.size / 1e6:.1f} MB" if known else "?",
            None if span.released is None else _seconds(span.released),
        )
        found.append(dict(zip(COLUMNS, values, strict=True)))
    return found


def _figures(plan: Plan) -> dict[str, Any]:
    return {
        "seconds": _seconds(plan.timeline.makespan),
        "saved_seconds": _seconds(plan.score),
        "peak_bytes": plan.timeline.peak,
        "memory_bytes": plan.problem.memory,
    }


def _conclusion(plan: Plan) -> str:
    said = f"about {_seconds(plan.timeline.makespan)} s in all"
    if plan.flagged:
        said += (
            f"; {_kept(plan)} saves {_seconds(plan.score)} s of work and "
            f"takes at most {plan.timeline.peak / 1e6:.1f} MB of {plan.problem.memory / 1e6:.1f} MB"
        )
    return f"{said} ({plan.method})"


def _kept(plan: Plan) -> str:
    scans = sum(task.optional for task in plan.problem.tasks)  # a plan has those only that it makes
    outputs = len(plan.flagged) - scans
    found = [f"keeping {outputs} of {len(plan.order) - scans} outputs"] if outputs else []
    if scans:
        found.append(f"making {scans} scan{'s' if scans != 1 else ''} for several readers")
    return " and ".join(found)


def _seconds(micros: int) -> float:
    return round(micros / 1e6, 2)
