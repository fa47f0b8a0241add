"""A run whose query finds other views and functions than those on record publishes nothing."""

from __future__ import annotations

import pytest
from attrs import evolve
from cases import view

from headwater.model.error import RefreshCancelled, RefreshFailed
from headwater.model.view import Query
from headwater.spark.refreshing.recipe import Queries

V = evolve(view("v", "a", "t"), made_by=Query("SELECT 1"), through=("ordinary",))


@pytest.fixture
def queries() -> Queries:
    return Queries(None, None, lambda definition, meant: meant == "on record")


def test_what_passes_is_tried_again_and_what_stays_fails(queries: Queries):
    for meant, raised in (("another", RefreshCancelled), ("a third", RefreshCancelled), ("a third", RefreshFailed)):
        with pytest.raises(raised, match="v uses ordinary, and one of these"):
            queries._refuse_another_meaning(V, meant)


def test_a_query_as_on_record_ends_the_count(queries: Queries):
    for meant in ("another", "on record"):
        try:
            queries._refuse_another_meaning(V, meant)
        except RefreshCancelled:
            assert meant == "another"
    with pytest.raises(RefreshCancelled):
        queries._refuse_another_meaning(V, "another")
