"""The refresh methods. ``spark/refreshing/methods/recipes.py`` has the recipe of each."""

from __future__ import annotations

from headwater.engine.methods import costs
from headwater.engine.methods.bags import BY_ROWS
from headwater.engine.methods.keys import BY_KEYS
from headwater.engine.methods.method import Method
from headwater.engine.methods.totals import BY_TOTALS
from headwater.engine.methods.whole import BY_PARTITION, IN_FULL
from headwater.model.event import Published
from headwater.model.state import Run, State, ViewState
from headwater.model.view import Definition
from headwater.model.work import Mode

METHODS: tuple[Method, ...] = (BY_PARTITION, IN_FULL, BY_KEYS, BY_TOTALS, BY_ROWS)
"""All methods. Of two that cost the same, the earlier one runs."""


def methods_of(definition: Definition) -> tuple[Method, ...]:
    """Those for a view: one for each mode."""
    return tuple(each for each in METHODS if each.suits(definition))


def said(mode: Mode) -> str:
    """How a sentence says the work of a run."""
    return next(each.said for each in METHODS if each.mode is mode)


def learn(state: State, view: ViewState, run: Run, event: Published) -> None:
    """Adds what a run took and measured to what is known of its view, and of the tables that it scanned."""
    if event.measured.found:
        return
    began = type(run.started.work)  # what it took tells of this method, even if it had to compute whole partitions
    for method in METHODS:
        if method.work is began:
            method.learn(state, view, run, event)
    costs.learn_sizes(state, view, run, event)
