"""Each work of a run has a recipe, and each method of the engine makes some work."""

from __future__ import annotations

from typing import get_args

from headwater.engine.methods.choice import METHODS
from headwater.model.work import ByAppending, ByKeys, ByTotals, NoMethod, Totals, WholePartitions, WholeView, Work
from headwater.spark.refreshing.methods.recipes import RECIPES

WORKS = [WholeView(), WholePartitions(), ByKeys((), 0), ByTotals(Totals(1, (), ""), (), 0), ByAppending((), 0)]


def test_each_work_has_a_recipe() -> None:
    assert {*RECIPES, NoMethod} == set(get_args(Work))


def test_recipes_and_methods_have_the_same_modes() -> None:
    assert {type(each) for each in WORKS} == RECIPES.keys()
    assert {each.mode for each in WORKS} == {each.mode for each in METHODS}
