"""A change costs what it reaches, however much its readers are made from besides."""

from __future__ import annotations

import pytest
from cases import A1, A2, change, end, machine, start, view

from headwater.algebra import dependency
from headwater.engine.requests import reach
from headwater.engine.requests.limits import SETTLE

MAPPED = "a,a"
"""Read twice, so that no map is an identity: each has to be evaluated."""


@pytest.fixture
def evaluated(monkeypatch) -> list[str]:
    """The sources of the maps that are evaluated."""
    found, forward = [], dependency.forward

    def noted(each, *arguments):
        found.append(each.source)
        return forward(each, *arguments)

    monkeypatch.setattr(dependency, "forward", noted)
    monkeypatch.setattr(reach, "forward", noted)
    return found


def beside_a_cone(views: int):
    """``v`` reads the table ``t`` and the foot of a cone over ``u``; ``w`` reads ``v``."""
    names = ["u", *(f"c{number}" for number in range(views))]
    cone = [
        view(name, "a", *((above, MAPPED) for above in names[max(0, number - 2) : number]))
        for number, name in enumerate(names)
        if number
    ]
    foot = names[-1]
    return machine(
        {"t": "a", "u": "a"}, *cone, view("v", "a", ("t", MAPPED), (foot, MAPPED)), view("w", "a", ("v", MAPPED))
    )


@pytest.mark.parametrize("views", [1, 10, 60])
def test_a_change_evaluates_only_the_maps_on_its_paths(evaluated, views):
    made = beside_a_cone(views)
    evaluated.clear()
    change(made, "t", A1)
    assert set(evaluated) == {"t", "v"}
    once = len(evaluated)
    change(made, "t", A2)
    assert len(evaluated) == 2 * once == 8, "twice: for the computed values it needs, and to record it"
    evaluated.clear()
    made.now += SETTLE
    assert start(made, "v")
    end(made, "v")
    assert set(evaluated) <= {"t", "v"} and len(evaluated) <= 8


@pytest.mark.parametrize("views", [1, 10, 60])
def test_a_change_that_covers_the_cone_evaluates_it(evaluated, views):
    made = beside_a_cone(views)
    evaluated.clear()
    change(made, "u", A1)
    assert len(set(evaluated)) == views + 2
