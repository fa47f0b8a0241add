"""A run may read an older state of a source than its view shows, if that one agrees with other sources. Then no changed
rows are followed."""

from __future__ import annotations

import pytest
import test_appended
import test_keys
import test_totals
from cases import A1

from headwater.engine.methods import bags, keys, totals
from headwater.model.reason import Code, Reason


@pytest.mark.parametrize(
    ("build", "method", "follow"),
    [
        (test_keys.keyed, keys, keys.keyed),
        (test_appended.copied, bags, bags.by_rows),
        (test_totals.totalled, totals, totals.added),
    ],
    ids=["keys", "rows", "totals"],
)
def test_a_source_that_is_read_at_an_older_state_is_not_followed(build, method, follow, monkeypatch):
    made = build()
    older = made.state.tables["t"].highest
    test_keys.later(made, A1).drain()
    monkeypatch.setattr(method, "inputs", lambda state, definition: (("t", older),))
    why = follow(made.state, "v", (A1,))
    assert isinstance(why, Reason) and why.code is Code.METHOD_OLDER_STATE
    test_keys.later(made, A1)
    monkeypatch.undo()
    assert not isinstance(follow(made.state, "v", (A1,)), Reason), "the next change is followed"
