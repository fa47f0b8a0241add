"""What the plan of all that is pending means for one view, in words."""

from __future__ import annotations

from headwater.model.state import State
from headwater.plan.arrange import pending_plan
from headwater.plan.wave import Means, wave


def said(state: State, name: str, means: Means) -> list[str]:
    """When the view is to be refreshed, and what of it and for it is kept in memory; nothing if it is not pending."""
    names = wave(state)
    if name not in names:
        return []
    plan, _ = pending_plan(state, names, means)
    tasks, spans = plan.problem.tasks, plan.timeline.spans
    [task] = [n for n, each in enumerate(tasks) if each.name == name]
    span = spans[task]
    views = [each for each in plan.order if not tasks[each].optional]
    starts = sorted(views, key=lambda each: (spans[each].start, plan.order.index(each))).index(task) + 1
    lines = [f"  planned as {starts} of {len(views)} refreshes, {_seconds(span.start)} after the first starts"]
    near = [tasks[source].name for source, _ in plan.problem.inputs[task] if source in plan.flagged]
    if near:
        lines.append(f"  reads from memory: {', '.join(near)}")
    if span.released is not None:
        size, readers = f"{tasks[task].size / 1e6:.1f} MB", len(plan.problem.readers[task])
        if state.views[name].estimate is not None:
            size += " by Spark's statistics"
        lines.append(
            f"  its output, about {size}, is kept in memory for {readers} reader{'s' if readers != 1 else ''} "
            f"for some {_seconds(span.released - span.start)}"
        )
    return lines


def _seconds(micros: int) -> str:
    return f"{micros / 1e6:.1f} s"
