"""The recipes of all methods, by the work of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.model.work import ByKeys, ByRows, ByTotals, WholePartitions, WholeView
from headwater.spark.refreshing.methods import bags, totals, whole, windows
from headwater.spark.refreshing.recipe import Ingredients, Recipe, Rows

RECIPES: Mapping[type[Any], Recipe] = {
    WholePartitions: whole.rows,
    WholeView: whole.rows,
    ByKeys: windows.rows,
    ByTotals: totals.rows,
    ByRows: bags.rows,
}


def rows(run: Ingredients) -> Rows:
    """The rows of a run.

    Raises:
        ChangesUnknown: it cannot follow the changes of its sources.
    """
    run.queries.renew(run.session, run.launch)
    work = run.launch.run.work
    return RECIPES[type(work)](run, work)
