"""What is said of views, found once for a journal entry and told at any later time, against asking anew."""

from __future__ import annotations

from cases import A1, A2, change, machine, view
from hypothesis import given
from reference import replayed
from strategies import examples, graphs, play, scripts
from strategies import machine as machine_of

from headwater.engine.decide.readiness import ready
from headwater.engine.requests.ahead import blockers
from headwater.engine.requests.coverage import unresolved
from headwater.engine.requests.limits import TRACKS
from headwater.engine.tell.consistency import lacking, vertical
from headwater.engine.tell.load import load
from headwater.engine.tell.status import Condition, behind, existing, summary
from headwater.engine.tell.why_it_waits import waits
from headwater.engine.waits.freshness import hold
from headwater.model.state import Origin, State, Status, ViewState
from headwater.store.codec import decode_summary, encode_summary

FAR = 10**15
"""A time (ms) at which nothing waits for time any more."""


def waits_now(state: State, name: str, now: int) -> str:
    """Why a pending view does not run at this very moment, asked of the state."""
    known = state.views[name]
    if known.status is Status.SUSPENDED:
        return "suspended; ALTER MATERIALIZED VIEW … RESUME starts it again"
    if known.status is Status.BROKEN:
        return f"broken: {known.reason}"
    if known.status is Status.UNREADABLE:
        return str(known.reason)
    if known.retry_at > now and known.stopped:
        return f"{known.stopped}; it is tried again in {(known.retry_at - now) / 1000:.0f} s"
    if known.retry_at > now:
        return f"the last refresh failed; the next one starts in {(known.retry_at - now) / 1000:.0f} s: {known.reason}"
    if name in [each.view for each in ready(state, now)]:
        return "ready, waits for a free track"
    free = [origin for each in ready(state, FAR) if each.view == name for origin in each.origins]
    if free:
        waits = (_skips(state, known, each, now) or _settles(state, known, each, now) for each in sorted(free))
        return min(waits, key=lambda each: each[0])[1]
    holding = [each for each in known.definition.sources if each in state.views and behind(state, each)]
    stuck = (
        {Status.FAILED: "failed", Status.BROKEN: "is broken", Status.UNREADABLE: "cannot run"}
        if dict(known.definition.properties).get("headwater.upstream") == "hold"
        else {}
    )
    holding = [each for each in holding if state.views[each].status in (Status.ACTIVE, *stuck)]
    failed = [state.views[each] for each in holding if state.views[each].status in stuck]
    if failed and blockers(state, known):
        why = "; ".join(f"{each.definition.view} {stuck[each.status]}: {each.reason}" for each in failed)
        return f"waits, as headwater.upstream = hold: {why}"
    if holding and blockers(state, known):
        return f"waits for {', '.join(holding)}, so that one refresh takes all changes"
    return "waits for the refresh that runs" if name in state.running else "ready"


def _skips(state: State, known: ViewState, change: int, now: int) -> tuple[int, str] | None:
    asked, origin = dict(known.definition.properties), state.origins[change]
    if asked.get("headwater.overrun") != "skip" or "headwater.freshness" in asked or known.overran is None:
        return None
    began, ended = known.overran
    if not began < change <= ended or change <= state.hurried or origin.definition:
        return None
    until = origin.at + 10 * known.definition.policy.settle
    later = sorted({each for origins in known.pending.values() for each in origins if each > ended})
    if later:
        following = state.origins[later[0]]
        at_once = later[0] <= state.hurried or following.definition
        settled = following.at if at_once else following.at + known.definition.policy.settle
        until = min(until, settled if at_once else max(settled, _opens(known, following)[0]))
    opens, words = _opens(known, origin)
    left = max(until, origin.at + known.definition.policy.settle, opens) - now
    if words and opens - now >= left:
        return left, f"{words}; starts in {left / 1000:.1f} s"
    return left, f"waits for the next change, or starts in {left / 1000:.1f} s (headwater.overrun = skip)"


def _opens(known: ViewState, origin: Origin) -> tuple[int, str]:
    """When a view may start for a change by its own times, and the words for it; none if at any time."""
    policy, at, words = known.definition.policy, 0, ""
    if policy.gap is not None and known.began is not None:
        version, began = known.began
        at = (min(began, origin.at) if origin.version > version else began) + policy.gap
        words = f"headwater.gap is {policy.gap / 1000:g} s from start to start"
    if policy.schedule is not None:
        zone = policy.schedule.zone or known.definition.zone
        at = policy.schedule.following(max(at, origin.at) - 1, zone) or 0
        words = f"headwater.schedule is '{policy.schedule.cron}' in {zone}"
    return at, words


def _settles(state: State, known: ViewState, change: int, now: int) -> tuple[int, str]:
    origin, name = state.origins[change], known.definition.view
    held = hold(state, name) if origin.table in (name, *known.definition.sources) else None
    if change <= state.hurried or origin.definition:
        left = origin.at - now
    elif held is None:
        left = origin.at + known.definition.policy.settle - now
    else:
        left = (origin.at if origin.wave is None else origin.wave) + held.millis - now
    opens, words = _opens(known, origin)
    if words and opens - now >= left and change > state.hurried and not origin.definition:
        return opens - now, f"{words}; starts in {(opens - now) / 1000:.1f} s"
    if held is None:
        return left, f"starts in {left / 1000:.1f} s; further changes may join until then"
    return left, (
        f"waits {left / 1000:.1f} s more for further changes: {held.path[-1]} may be {held.bound / 1000:g} s behind, "
        f"and the refresh{'es' if len(held.path) > 1 else ''} of {', '.join(held.path)} "
        f"may take {held.needed / 1000:.1f} s"
    )


def rows_now(state: State, now: int) -> list[list]:
    rows = []
    for name, known in sorted(state.views.items()):
        ill = known.status is not Status.ACTIVE or known.failures
        why = str(known.reason or "") if ill else waits_now(state, name, now) if known.pending else ""
        halted = known.status in (Status.SUSPENDED, Status.BROKEN, Status.UNREADABLE)
        if ill and not halted and known.stopped and known.retry_at > now:
            why = f"{known.stopped}; it is tried again in {(known.retry_at - now) / 1000:.0f} s"
        lacked = [state.origins[one].at for origins in unresolved(state, name).values() for one in origins]
        stale = max(0.0, round((now - min(lacked)) / 1000, 1)) if lacked else 0.0
        counts = [len(existing(state, name)), len(behind(state, name))]
        bound = known.definition.policy.freshness
        attainable, late = load(state, TRACKS).attainable.get(name), []
        if bound and stale > bound / 1000:
            late = [f"late by {stale - bound / 1000:.1f} s"]
        if bound and attainable and attainable > bound / 1000:
            late.append(f"at this load {attainable:.0f} s can be kept, not {bound / 1000:g} s")
        why = "; ".join([*late, *([why] if why else [])])
        rows.append([*counts, stale, bound and bound / 1000, attainable, None, known.refreshed_at, why])
    return rows


@examples(40)
@given(graph=graphs(), script=scripts(30, without=("budget", "cadence")))
def test_what_was_kept_says_at_any_time_what_the_state_does(graph, script):
    made = machine_of(graph)

    def watch(each, step):
        kept = decode_summary(encode_summary(summary(each.state)))
        assert kept == summary(each.state)
        pending = [name for name, known in each.state.views.items() if known.pending]
        for now in (each.now, each.now + 700, each.now + 3_000, each.now + 61_000):
            rows = kept.rows(now)
            assert [row[3:-1] for row in rows] == rows_now(each.state, now), step
            assert all(bool(reason) == bool(codes) for *_, reason, codes in rows), step
            for name in pending:
                assert waits(each.state, name, now) == waits_now(each.state, name, now), step

    made.watch = watch
    play(made, graph, script)
    assert summary(replayed(made.journal)) == summary(made.state)


@examples(100)
@given(graph=graphs(), script=scripts(30))
def test_what_all_views_lack_is_what_each_lacks(graph, script):
    made = machine_of(graph)
    play(made, graph, script)
    by_view = {name: vertical(made.state, name) for name in sorted(made.state.views)}
    assert lacking(made.state) == {
        name: tuple(each for each in found if not each.consistent) for name, found in by_view.items()
    }


def test_a_kept_summary_counts_down():
    made = machine({"t": "a"}, view("v", "a", "t"))
    change(made, "t", A1)
    change(made, "t", A2)
    kept, now = summary(made.state), made.now
    assert [(each.state, each.partitions, each.behind) for each in kept.views] == [(Condition.BEHIND, 2, 2)]
    told = [kept.rows(now + pause)[0][-2] for pause in (0, 400, 999, 1_000, 60_000)]
    assert told == [
        "starts in 1.0 s; further changes may join until then",
        "starts in 0.6 s; further changes may join until then",
        "starts in 0.0 s; further changes may join until then",
        "ready, waits for a free track",
        "ready, waits for a free track",
    ]
