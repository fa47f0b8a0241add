"""Histories in which a strict view went back past a change that it had shown, or said that it was of a state that never
was. Each has rare steps, so random ones hardly find them. ``test_varied_histories.py`` varies them."""

from __future__ import annotations

import pytest
from attrs import evolve
from cases import change, converged, machine, run_now, view
from histories import History, history, law
from reference import wrong
from test_law_9_no_state_that_never_was import States

from headwater.model.dependency import Dependency, Occurrence, Same
from headwater.model.event import Resumed, Suspended
from headwater.model.partition import Slice

STRICT, EVENTUAL = {"consistency": "strict"}, {"consistency": "eventual"}


def lake(name: str, *sources: str, **properties: str):
    """A view in Delta. A source with two stars is read in two places: so 7 and 14 make other rows than each other."""
    read = [(each[:-2], "a,a") if each.endswith("**") else each for each in sources]
    return view(name, "a", *read, format="delta", **properties)


def three_sources(**of_r: str):
    """``r`` reads ``s`` over ``t`` and ``u``, ``s2`` over ``t``, and ``w``."""
    return lake("s", "t", "u"), lake("s2", "t"), lake("r", "s", "s2", "w", **of_r)


BOTH = "change u 1 9; change t 2 5; wait 2; run s"
"""One refresh of ``s`` shows a change of ``u`` in ``a=1`` and one of ``t`` in ``a=2``."""

GOES_ON = "change w 1 6; wait 5; try r"
"""``w`` changes, and ``r`` runs for that if it can. What it showed of ``u`` stays."""

P_STAYS = lake("p", "t"), lake("s", "p", "u"), lake("s2", "t")
"""Two changes of ``t`` leave ``p`` as it is. So a version of ``s`` counts as newer without a refresh."""

BEFORE_R = "change t 1 7; settle; change u 1 9; settle; create r"
R = lake("r", "s", "s2", **STRICT)
AFTER_R = "wait 61; change t 1 8; wait 2; change t 1 14; wait 2; run p; look; try r"


HELD = (
    lake("s", "b"),
    lake("x", "s", "t", upstream="hold"),
    lake("n", "x"),
    lake("s2", "t"),
    lake("r", "n", "s2", **STRICT),
)
"""``x`` holds its rows while ``s`` is broken or failing. ``r`` is above ``x`` by two views, and is looked at while
``x`` has requests: nothing tells then which states of ``t`` they show."""

WHILE_HELD = """
    change t 1 4; wait 2; run x; run n; run s2
    change t 1 5; wait 2; run x; run n
    change t 2 14; wait 2; run s2; look
"""

SKIPS = (
    lake("p", "t**"),
    lake("q", "t"),
    lake("s", "p", "q"),
    view("z", "a", "t", ("t", "a,a"), format="delta"),
    lake("r", "s", "z", **STRICT),
)

NEVER = lake("p", "t"), lake("s", "p"), lake("s2", "t"), R
LATE = "change t 1 7; settle; suspend p; change t 1 8; wait 5; run s2; wait 5"

DIAMOND = lake("v1", "s"), lake("v2", "s"), lake("d", "v1", "v2", **STRICT)
OVERTAKEN = """
    change s 1 11; wait 2; run v1; wait 2; start v2; wait 70
    change s 1 12; wait 2; run v1; wait 2; end v2
"""
"""``v2`` takes longer than any patience, and ``s`` changes again meanwhile; ``v1`` has both changes."""

ASKED = (lake("v", "t"), lake("s2", "t"), lake("s", "v", "t**"), lake("r", "s", "s2", **STRICT))

HISTORIES: dict[str, History] = {
    # ``s2`` is late, so ``r`` shows the change of ``u`` by a version that does not agree with ``s2``.
    "a view that was let go does not go back": history(three_sources(**STRICT), BOTH, "wait 700; run r", GOES_ON),
    "a view that becomes strict does not go back": history(
        three_sources(**EVENTUAL), BOTH, "wait 61; run r; alter r consistency strict", GOES_ON
    ),
    # ``s`` is suspended when ``r`` reads it, and binds nobody then.
    "a view does not go back to where it went past a source": history(
        three_sources(**STRICT), BOTH, "suspend s; wait 1; try r; resume s", GOES_ON
    ),
    # It is pending for no change from before, so it would never show the one of ``u``.
    "a view does not read what was replaced before it was defined": history((*P_STAYS, R), BEFORE_R, AFTER_R),
    "a view does not read what was replaced before it was filled": history(
        (*P_STAYS, R), BEFORE_R, "settle; ask r 1", AFTER_R
    ),
    "what is looked at while a view holds is looked at again when it runs": history(
        HELD, "change t 2 7; settle; break s", WHILE_HELD, "start x; try r; end x"
    ),
    "what is looked at while a view holds is looked at again when its source is asked for": history(
        HELD, "change t 2 7; settle; change b 2 9; wait 2; fail s for-good", WHILE_HELD, "ask s 2; try r"
    ),
    # ``p`` came out unchanged by both at once. ``s`` skips the first one, and is pending for the second by ``q``.
    "a view that skips one of two changes may show the other": history(
        SKIPS,
        "change t 1 7; settle; change t 1 14; wait 5; run q; run z; wait 61",
        "change t 1 7; wait 5; run p; wait 61; look; try r",
    ),
    # ``r`` has one source, so it asks for no common cut.
    "a strict view of one source that skips one of two changes may show the other": history(
        (*SKIPS[:3], lake("r", "s", **STRICT)),
        "change t 1 7; settle; change t 1 14; wait 5; run q; wait 61; change t 1 7",
    ),
    # Readers go on past ``q``. So only ``p`` tells of ``t``, and it came out unchanged by two changes at once.
    "a view that skips a change is not said to agree with a source that was gone past": history(
        (lake("p", "t**"), lake("q", "t"), lake("r", "q", "p", **STRICT)),
        "change t 1 7; settle; change t 1 14; wait 5; run q; wait 61; change t 1 7; suspend q; resume q",
    ),
    # ``p`` is suspended during two changes of ``t``, and comes out unchanged by both at once.
    "nothing is said of a state that a view never showed": history(
        NEVER, LATE, "run r; wait 56; change t 1 14; resume p; wait 2; run p; wait 1; try r"
    ),
    "nothing is read of a state that a view never showed": history(
        NEVER, LATE, "wait 56; change t 1 14; resume p; wait 2; run p; wait 1; try r"
    ),
    # ``s`` shows the change of ``t`` that it awaits by ``v``. ``r`` must not go back, and say that it did that.
    "a refresh that was asked for shows what its view is pending for": history(
        ASKED, "change t 1 7; settle; ask s 1 downstream; wait 61; change t 1 14; wait 1; run s; wait 1; try r"
    ),
    "what a view shows after it was asked for reaches its readers": history(
        (lake("u", "t"), lake("v", "u", "t**"), lake("r", "v")),
        "change t 1 7; settle; wait 100; ask v 1; wait 61; change t 1 14; wait 0.1; run v",
    ),
    # ``t`` is emptied, and made anew in a lake format. That changes no row, but its states can be told apart now.
    "a table that gets snapshots concerns all that is made from it": history(
        (lake("s", "t"), lake("s2", "t", "u"), R),
        "empty t 1; wait 5; settle; change u 1 5; wait 5; run s2; change u 1 6; wait 61",
        "empty t 2; wait 5; run s2; wait 61; anew t delta; wait 5; try r",
        files="t",
    ),
    "the versions that agree are read though one source is newer": history(
        DIAMOND, OVERTAKEN, "wait 2; run d; wait 2; run v2; wait 2; run d"
    ),
    "a view that was eventual does not go back": history(
        (*DIAMOND[:2], lake("d", "v1", "v2", **EVENTUAL)),
        OVERTAKEN,
        "wait 2; run d; alter d consistency strict; run v2; try d",
    ),
    "without older versions it waits until the newest agree": history(
        (view("v1", "a", "s"), view("v2", "a", "s"), DIAMOND[2]), OVERTAKEN, "wait 2; run v2; wait 2; run d"
    ),
    # The slow view never ends; after a while the newest versions are read, and the view has no cut.
    "a view does not wait for ever": history(
        (view("v1", "a", "s"), view("v2", "a", "s"), DIAMOND[2]), OVERTAKEN, "wait 2; start v2; wait 700; run d; end v2"
    ),
    "a base table is read as it was": history(
        (lake("v", "s"), lake("d", "s", "v", **STRICT)),
        "change s 1 11; wait 2; run v; wait 60; change s 1 12; wait 2; run d",
    ),
    # Who reads the older version of ``v`` for the change of ``t`` never shows it.
    "an older version lacks changes of tables that no other source shows": history(
        (lake("v", "s", "t"), lake("w", "s"), lake("d", "v", "w", **STRICT)),
        "change t 1 11; change s 2 12; wait 2; run v; wait 2; try d; run w; wait 2; run d",
    ),
    # ``v2`` is late for the change of ``a=1``; that of ``a=2`` came later, and both sources have it.
    "a partition does not pass an older change of another one": history(
        DIAMOND,
        "change s 1 11; wait 2; run v1; wait 2; start v2; wait 60",
        "change s 2 12; wait 2; run v1; wait 2; try d; end v2; wait 2; run d",
    ),
    # The change of ``a=1`` would wait for one that came soon after it. That of ``a=2`` came between, and both go.
    "what stops for the order of changes goes on after a while": history(
        (lake("v", "s"), lake("d", "v", "t", **STRICT)),
        "change s 2 11; wait 1.9; change s 1 12; change s 2 13; wait 0.1; run v; wait 2; start v",
        "change t 1 5; wait 2; try d; wait 130; change t 1 6; wait 2; try d; end v",
    ),
    # Its runs are for other states of ``s`` than those of the other one, and so are its versions.
    "sources that run at other times are not waited for": history(
        DIAMOND,
        "change s 1 11; wait 2; start v1; change s 1 12; wait 2; start v2; change s 1 13",
        *("end v1; wait 2; change s 1 14; wait 2; start v1; end v2; wait 2; change s 1 15; wait 2; start v2",) * 2,
        "wait 61; try d",
    ),
    # Nothing is left for ``s`` to do when it is resumed. Readers went on past it, and wait for it again.
    "a view that caught up without a refresh is waited for again": history(
        (lake("p", "t"), lake("s", "p", "u"), lake("m", "s", propagate="marked")),
        "change t 1 7; settle; change u 2 5; settle; suspend s; change t 1 14; settle; resume s; settle",
        "mark t; mark u",
    ),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_a_strict_view_is_of_states_that_were(name: str):
    law(HISTORIES[name], exact=True)


def test_a_view_that_others_went_past_brings_the_changes_that_it_ran_for():
    """``p`` is suspended during two changes of ``t``. Its rows with both of them reach ``a=1`` of ``r``, and ``a=2`` of
    ``r`` waits for the second one of ``t`` itself."""
    by_b = evolve(view("r", "a", "t", "p", format="delta", consistency="strict"), dependencies=(
        Dependency("t", (Occurrence((("a", Same("a")),)),)),
        Dependency("p", (Occurrence((("a", Same("b")),)),)),
    ))  # fmt: skip
    made = machine({"t": "ab"}, view("p", "b", "t", format="delta"), by_b, lakes=["t"])
    states = States(made)
    states.follow()
    made.record(lambda _: Suspended(made.now, "p"))
    change(made, "t", Slice.of(a="1", b="1"), 5)
    made.now += 1_000
    change(made, "t", Slice.of(a="2", b="1"), 6)
    made.record(lambda _: Resumed(made.now, "p"))
    assert run_now(made, "p")
    assert run_now(made, "r")
    assert not states.follow()
    converged(made)
    assert not wrong(made)
