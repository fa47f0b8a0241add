"""What both methods by changes share: users see one, which adds to totals or to the view itself."""

from __future__ import annotations

from headwater.engine.methods import following
from headwater.model.event import Published
from headwater.model.reason import Code, Reason
from headwater.model.state import Run, State, ViewState
from headwater.model.view import Definition
from headwater.model.work import FollowsChanges

SAID = "by changes"

FIXED = 1.0
"""Seconds of such a run after a small change, before a warehouse has any. Its core-seconds are taken to be as many. On
two machines, runs after one row took 0.4 to 1.8 s (``benchmarks choices``)."""

QUICKER, SLOWER = 0.5, 0.1
"""How far this goes towards a run that took less, and towards one that took more: a first one, for which Spark
compiles code, takes more."""

LITTLE = 0.05
"""The part of the sources' bytes that a change has at most whose run tells of it."""


def fixed(state: State, view: ViewState) -> float:
    """Seconds of a run after a small change, as such runs of all views of this format tell."""
    return state.fixed.get(view.definition.format, FIXED)


def learn(state: State, view: ViewState, run: Run, event: Published) -> None:
    work = run.started.work
    assert isinstance(work, FollowsChanges)
    if not run.instead and work.churn <= LITTLE * following.read_in_full(view):
        before = fixed(state, view)
        weight = QUICKER if event.seconds < before else SLOWER
        state.fixed[view.definition.format] = before + weight * (event.seconds - before)
    following.learn(state, view, run, event)


def barred(definition: Definition) -> Reason | None:
    """Why a view could follow the changes of no source; ``None`` if it can follow those of one."""
    adding = [each.adding for each in definition.dependencies]
    if any(each.possible and each.below for each in adding):
        return None
    nothing = Reason(Code.QUERY_NO_TABLE, "it reads no table below an aggregate")
    return next((each.reason for each in adding if each.reason), nothing)
