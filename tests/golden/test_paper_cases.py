"""Two cases in which the letter of [Xu23] repeats or loses a change, and what Headwater does instead.

See docs/decisions/0003-origin-sets.md.
"""

from __future__ import annotations

from itertools import permutations

import pytest
from cases import A1, change, end, machine, sound, start, view
from machine import Machine

from benchmarks.papers.small import Literal
from headwater.engine.decide.readiness import ready
from headwater.engine.requests.limits import PATIENCE, SETTLE

FORGETS = (view("x", "a", "g"), view("k", "a", "g"), view("j", "a", "x", "g", "r"), view("d", "a", "j", "k"))
"""G→x→J, G→J, R→J, G→k, J→D, k→D: a change of G and one of R meet at J."""

BOUND = (view("m", "a", "s"), view("b", "a", "s"), view("c", "a", "m", "x"), view("d", "a", "b", "c"))
"""A→m→c, A→b→D, c→D, X→c, with the table A called s: X changes after A."""


def runs(made: Machine, name: str, since: int) -> list[frozenset[int]]:
    return [each.origins for each in made.record_book if each.view == name and each.version > since]


def reflected(made: Machine, name: str, origin: int, since: int) -> bool:
    return any(origin in origins for origins in runs(made, name, since))


@pytest.mark.parametrize("order", list(permutations(["x", "k", "j", "d"])), ids="".join)
def test_merging_at_the_common_descendant_does_not_forget_what_lies_beside_it(order):
    """[Xu23] §3.8 moves the merged origin to J; then D no longer waits for k, and runs twice for one
    change of G. D runs once, in whatever order the runs that are ready are started."""
    made = machine({"g": "a", "r": "a"}, *FORGETS)
    since = made.state.highest
    change(made, "g", A1)
    g = made.state.highest
    made.now += SETTLE // 2
    change(made, "r", A1)
    r = made.state.highest
    made.now += SETTLE
    assert {each.view for each in ready(made.state, made.now)} == {"x", "k"}
    while any(made.state.views[name].pending for name in order):
        started = next(name for name in order if start(made, name))
        end(made, started)
    assert runs(made, "j", since) == [frozenset({g, r})]
    assert runs(made, "d", since) == [frozenset({g, r})]
    sound(made)


def test_d_waits_for_k_although_j_is_done():
    made = machine({"g": "a", "r": "a"}, *FORGETS)
    change(made, "g", A1)
    change(made, "r", A1)
    made.now += SETTLE
    for name in ("x", "j"):
        assert start(made, name)
        end(made, name)
    assert [each.view for each in ready(made.state, made.now)] == ["k"]
    sound(made)


def test_at_least_this_version_is_not_contains_the_change():
    """c becomes newer than A's version by X's change alone. D does not take that for A's change: it
    runs when b and c reflect it, and once."""
    made = machine({"s": "a", "x": "a"}, *BOUND)
    since = made.state.highest
    change(made, "s", A1)
    a = made.state.highest
    made.now += SETTLE
    assert start(made, "m")  # a long run: A's change is not in c
    change(made, "x", A1)
    x = made.state.highest
    made.now += SETTLE
    assert not any(each.view in ("c", "d") for each in ready(made.state, made.now))
    assert start(made, "b")
    end(made, "b")
    assert not any(each.view == "d" for each in ready(made.state, made.now))
    end(made, "m")
    assert not any(each.view == "d" for each in ready(made.state, made.now))
    assert start(made, "c")
    end(made, "c")
    assert reflected(made, "b", a, since) and reflected(made, "c", a, since)
    assert start(made, "d")
    end(made, "d")
    assert runs(made, "d", since) == [frozenset({a, x})]
    sound(made)


def test_when_c_is_renewed_for_x_alone_d_still_waits_for_a():
    """A changes after c's patience with what comes later is over: c is renewed for X's change only, which
    makes it newer than A's version. The scalar bound c ≥ A would be met, and D would run without A's change
    in c."""
    made = machine({"s": "a", "x": "a"}, *BOUND)
    since = made.state.highest
    change(made, "x", A1)
    x = made.state.highest
    made.now += PATIENCE
    change(made, "s", A1)
    a = made.state.highest
    made.now += SETTLE
    assert start(made, "b")
    end(made, "b")
    assert start(made, "m")
    assert start(made, "c")  # for X alone: m is still renewed for A
    end(made, "c")
    assert runs(made, "c", since) == [frozenset({x})] and made.state.tables["c"].highest > a
    made.now += 60_000
    for each in ready(made.state, made.now):
        assert each.view != "d" or a not in each.origins
    end(made, "m")
    sound(made)
    assert sum(a in origins for origins in runs(made, "d", since)) == 1
    assert sum(x in origins for origins in runs(made, "d", since)) == 1


# --- the same cases under the paper's literal rules


def literal(graph: dict[str, tuple[str, ...]], seconds: dict[str, int], *backfills: tuple[int, str]) -> Literal:
    made = Literal(graph, lambda job: seconds.get(job, 1))
    for at, job in backfills:
        made.backfill(at, job)
    made.run()
    return made


def test_the_literal_merge_at_the_common_descendant_runs_d_twice_or_not_for_k():
    graph = {"g": (), "r": (), "x": ("g",), "k": ("g",), "j": ("x", "g", "r"), "d": ("j", "k")}
    made = literal(graph, {"k": 100, "x": 5}, (0, "r"), (0, "g"))
    assert made.runs["d"] == 2 and made.truth.converged()
    made = literal(graph, {"k": 100, "x": 5}, (0, "g"), (0, "r"))
    assert made.runs["d"] == 1 and not made.truth.converged(), "d's second run was rejected as outdated"


def test_the_literal_at_least_lets_d_run_without_a_change_and_then_wait_for_ever():
    graph = {"a": (), "x": (), "m": ("a",), "b": ("a",), "c": ("m", "x"), "d": ("b", "c")}
    made = literal(graph, {"m": 100, "b": 5}, (0, "a"), (1, "x"))
    assert not made.truth.converged() or made.pending
