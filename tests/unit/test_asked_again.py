"""A statement that waits has an attempt of its own: what failed before it says nothing about now."""

from __future__ import annotations

from cases import A1, change, fail_for_good, machine, sound, start, view

from headwater.engine.decide.readiness import ready
from headwater.engine.requests.limits import SETTLE
from headwater.engine.tell.report import explain
from headwater.engine.tell.status import statuses
from headwater.engine.tell.waiting import failing, settled
from headwater.engine.tell.why_it_waits import waits
from headwater.model.event import Broken, CancelAsked, Hurried, Suspended, Unreadable
from headwater.model.reason import Code, Reason


def behind():
    made = machine({"t": "a"}, view("v", "a", "t"))
    change(made, "t", A1)
    made.now += SETTLE
    return made


def failed():
    made = behind()
    assert start(made, "v")
    made.fail(made.flights["v"])
    return made


def hurry(made, *views: str) -> int:
    made.record(lambda version: Hurried(made.now, version, views or None))
    return made.state.highest


def reason(made) -> str:
    return statuses(made.state, made.now)[0].row(made.now)[-2]


def test_who_waits_for_a_view_that_failed_waits_for_an_attempt_that_begins_now():
    for views in ((), ("v",)):
        made = failed()
        assert not ready(made.state, made.now), "it waits for its next attempt"
        asked = hurry(made, *views)
        assert not settled(made.state, "v", asked) and not failing(made.state, ["v"], asked)
        assert start(made, "v")
        made.fail(made.flights["v"])
        assert settled(made.state, "v", asked)
        assert failing(made.state, ["v"], asked) == {"v": "v could not be refreshed: no luck"}
        assert not ready(made.state, made.now), "it pauses again"
        sound(made)


def test_a_view_that_was_given_up_is_tried_too():
    made = behind()
    fail_for_good(made, "v")
    asked = hurry(made)
    assert not settled(made.state, "v", asked)
    assert start(made, "v")
    made.finish(made.flights["v"])
    assert settled(made.state, "v", asked) and not failing(made.state, ["v"], asked)


def test_a_run_that_began_before_the_statement_and_fails_is_followed_by_one_at_once():
    made = behind()
    assert start(made, "v")
    asked = hurry(made)
    made.fail(made.flights["v"])
    assert not settled(made.state, "v", asked)
    assert start(made, "v"), "no pause lies between"
    made.fail(made.flights["v"])
    assert settled(made.state, "v", asked) and not ready(made.state, made.now)


def test_a_view_that_failed_is_not_settled_through_its_reader_either():
    made = machine({"t": "a"}, view("v", "a", "t"), view("w", "a", "v"))
    change(made, "t", A1)
    made.now += SETTLE
    assert start(made, "v")
    made.fail(made.flights["v"])
    asked = hurry(made)
    assert not settled(made.state, "w", asked)
    assert start(made, "v")
    made.fail(made.flights["v"])
    assert settled(made.state, "w", asked), "w waits for v, which failed for this statement"


def test_a_run_that_somebody_cancelled_says_so_and_when_it_is_tried_again():
    made = behind()
    assert start(made, "v")
    made.record(lambda _: CancelAsked(made.now, "v"))
    made.fail(made.flights["v"], cancelled=True)
    said = (
        "the refresh of v was cancelled, by headwater cancel; ALTER MATERIALIZED VIEW v SUSPEND keeps it stopped; "
        "it is tried again in 5 s"
    )
    assert reason(made) == waits(made.state, "v", made.now) == said
    assert f"  {said} [run.cancelled]" in explain(made.state, "v", made.now)
    hurry(made)
    assert start(made, "v")
    made.finish(made.flights["v"])
    assert reason(made) == ""


def test_a_cancelled_run_of_a_view_that_failed_before_says_so_too():
    made = failed()
    made.now += 60_000
    assert start(made, "v")
    made.record(lambda _: CancelAsked(made.now, "v"))
    made.fail(made.flights["v"], cancelled=True)
    assert "was cancelled, by headwater cancel" in reason(made)
    made.now += 60_000
    assert reason(made) == "no luck"


def test_explain_says_why_a_view_is_ill_and_what_is_next():
    made = machine({"t": "a"}, view("v", "a", "t"))
    ill = {
        Broken(made.now, "v", Reason(Code.QUERY_NOT_ANALYSED, "a column is gone")): (
            "v: broken: a column is gone",
            "analysed again at each check",
        ),
        Suspended(made.now, "v"): (
            "v: suspended: ALTER MATERIALIZED VIEW … SUSPEND stopped it",
            "RESUME starts it again",
        ),
    }
    for event, (why, following) in ill.items():
        made.record(lambda _, event=event: event)
        first, second, *rest = explain(made.state, "v", made.now)
        assert first.startswith(why) and following in second
        assert not any("nothing to do" in each for each in (first, second, *rest))
    made = machine({"t": "a"}, view("v", "a", "t"))
    made.record(lambda _: Unreadable(made.now, "t", Reason(Code.SOURCE_UNREADABLE, "nobody answers")))
    assert explain(made.state, "v", made.now)[0].startswith("v: unreadable: t cannot be read: nobody answers")
    made = failed()
    behind, *lines = explain(made.state, "v", made.now)
    assert " behind, refresh " in behind and "  v: failing: no luck [run.failed]" in lines
    following = "the next one starts in 5 s, and REFRESH MATERIALIZED VIEW v does not wait for that"
    assert f"  the last refresh failed; {following}" in lines


def test_who_waits_hears_of_a_view_that_cannot_run_and_not_of_one_that_its_owner_suspended():
    ill = {
        Broken(0, "v", Reason(Code.QUERY_NOT_ANALYSED, "a column is gone")): (
            "v is broken: a column is gone; CREATE OR REPLACE MATERIALIZED VIEW v gives it another query"
        ),
        Unreadable(0, "t", Reason(Code.SOURCE_UNREADABLE, "nobody answers")): (
            "v cannot be refreshed now: t cannot be read: nobody answers. The view follows when it can be read again"
        ),
    }
    for event, said in ill.items():
        made = behind()
        made.record(lambda _, event=event: event)
        asked = hurry(made)
        assert settled(made.state, "v", asked)
        assert failing(made.state, ["v"], asked) == {"v": said}
        made.record(lambda _, at=made.now: Suspended(at, "v"))
        assert failing(made.state, ["v"], asked) == {}
