"""A source in another case may be the table of a view."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from attrs import evolve
from cases import view

from headwater.model.error import DefinitionError
from headwater.spark.statements.create import Declarations

V, SELF = evolve(view("lake.d.v", "a", "t"), owner="me"), view("lake.d.w", "a", "lake.d.V")


def declarations(owner: str | None) -> Declarations:
    return Declarations(None, None, None, None, SimpleNamespace(owner=lambda _: owner), None, None)


def test_the_table_of_a_view_is_read_by_the_name_that_its_catalog_has():
    with pytest.raises(DefinitionError, match=r"lake\.d\.w reads the materialized view lake\.d\.v as lake\.d\.V; its"):
        declarations("me")._refuse_other_case(SELF, {V.view: V})


@pytest.mark.parametrize("owner", [None, "", "you"])
def test_another_table_may_have_a_name_that_differs_in_case(owner: str | None):
    declarations(owner)._refuse_other_case(SELF, {V.view: V})
