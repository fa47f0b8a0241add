"""Each method of the engine has a work of its own, and each work a recipe."""

from __future__ import annotations

from typing import get_args

from headwater.engine.methods.all_methods import METHODS
from headwater.model.work import ASKED, Mode, NoMethod, Work
from headwater.spark.refreshing.methods.recipes import RECIPES


def test_each_work_is_that_of_one_method_and_has_a_recipe() -> None:
    works = [each.work for each in METHODS]
    assert len(works) == len({*works}) and {*works, NoMethod} == {*RECIPES, NoMethod} == {*get_args(Work)}


def test_methods_share_all_their_words_or_none() -> None:
    words = {(each.mode, each.said) for each in METHODS}
    assert len(words) == len({mode for mode, _ in words}) == len({said for _, said in words})
    assert {mode for mode, _ in words} == {*ASKED, Mode.PARTITION}, "each can be asked for"
