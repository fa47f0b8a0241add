"""Whether the laws would notice: each of these wrong changes to the core must make a law's test fail.

A change is a piece of the source and what takes its place, in a copy of the package. The laws look twice as
hard as usual, which also leaves what they find as found: making it smaller takes minutes and helps nobody here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import headwater

SOURCE = Path(headwater.__file__).parent
LAWS = Path(__file__).parent
PLANS = LAWS / "test_plans.py"  # of the planner, which none of the changes is of

BY_EXAMPLE = {
    "what a renamed view is pending for is kept from its new readers": ("test_names_that_change_hands.py",),
    "readers of a view that is gone wait for ever": ("test_names_that_change_hands.py",),
    "a view that had no rows yet is no news to who read a table of its name": ("test_names_that_change_hands.py",),
    "a table takes the name of a view, and nobody compares them": ("test_names_that_change_hands.py",),
    "a view takes the name of a table, and its rows are no news": ("test_names_that_change_hands.py",),
    "a view has the versions that it had by another name": ("test_names_that_change_hands.py",),
    "a view that is created inherits the partitions of a table": ("test_names_that_change_hands.py",),
    "a suspended view that breaks is refreshed when it is mended": ("test_halts.py",),
    "a view goes back to an older state": ("test_common_cut.py",),
    "an older version lacks changes of shared tables only": ("test_common_cut.py",),
    "a view waits in vain for lake sources that run at other times": ("test_common_cut.py",),
    "a refresh that runs makes no end of a wait": ("test_common_cut.py",),
    "a source that is late will not come to where all others are": ("test_common_cut.py",),
    "what stops for the order of changes has no limit": ("test_common_cut.py",),
    "who asks for a refresh waits for newer changes": ("test_common_cut.py",),
    "a change passes an older one of another partition that waits": ("test_common_cut.py",),
    "changes that came out unchanged together are not held": ("test_common_cut.py",),
    "a view waits for a common cut that its sources never reach": ("test_common_cut.py",),
    "a change starts before an older one of another partition": ("test_common_cut.py",),
    "a run is for changes that a version lacks": ("test_common_cut.py",),
    "a partition that waits for a newer change holds up all others": ("test_common_cut.py",),
    "a run of some partitions holds all that it reads": ("test_common_cut.py",),
    "a state that is gone stays on record": ("test_common_cut.py",),
    "a failure strikes the state that was the newest": ("test_common_cut.py",),
    "a new partition inherits nothing of what is pending before it": ("test_succession.py",),
    "a run takes along a change that came after its snapshots": ("test_noticed.py",),
    "a snapshot moves past what was written past Headwater": ("test_noticed.py",),
    "whatever was computed anew counts as changed": ("test_early_cutoff.py",),
    "a lake view is prepared": ("test_pinned.py",),
    "a version of which a part is on no record is in an epoch": ("test_epochs.py",),
    "a member in files keeps no version of its rows of before": ("test_epochs.py",),
    "a view that keeps no version is asked again and again": ("test_epochs.py",),
    "a run does not look before it reads": ("test_pinned.py",),
    "a view starts at any time": ("test_starts_at_times.py",),
    "a gap counts from the end of a refresh": ("test_starts_at_times.py",),
    "readers run ahead of a view that became a lake table": ("test_pinned.py",),
    "a run by keys reads a table as it is at that moment": ("test_keys.py",),
    "an overwritten view says that no row of it went": ("test_appended.py",),
    "it is not on record that a run goes on with other work": ("test_fall_back.py",),
    "a view that allows nothing else gets whole partitions all the same": ("test_fall_back.py",),
    "rows are added to partitions of several states": ("test_appended.py",),
    "a run that adds rows goes on from the newest state of a source": ("test_appended.py",),
    "a new partition reflects what the others do": ("test_appended.py",),
    "one run ends the doubt about all that may have been published": ("test_unsure.py",),
    "a publication that failed is taken for none": ("test_unsure.py",),
    "rows that a lost run may have published are unchanged": ("test_unsure.py",),
    "an empty partition reflects what it did when it became empty": ("test_unsure.py",),
    "a run by changes reads a table as it is at that moment": ("test_totals.py",),
    "totals of another definition are used": ("test_totals.py",),
    "one place of a table decides for all of them": ("test_totals.py",),
    "a join is computed again for keys that it does not compare": ("test_totals.py",),
    "rows are computed again that may be others each time": ("test_totals.py",),
    "rows that went meet others than they met when they came": ("test_totals.py",),
    "values are computed again that may be others each time": ("test_totals.py",),
    "any of several equal values is the one that was": ("test_totals.py",),
    "an anti join is a NOT IN, whatever it compares": ("test_totals.py",),
    "joins in place of subqueries serve some tables only": ("test_totals.py",),
    "rows go from a view that keeps all that it has": ("test_appended.py",),
    "rows that a join takes away are followed by adding rows": ("test_appended.py",),
    "rows that went are followed by adding rows": ("test_appended.py",),
    "what came and went between two looks is no change": ("test_compare.py",),
    "partitions of a first fill miss changes of earlier ones": ("test_succession.py",),
    "a redefined view keeps older changes to itself": ("test_transition.py",),
    "rows of another state than the totals stay": ("test_may_stay.py",),
    "a new partition reflects what the totals do, whatever it lacks": ("test_totals.py",),
    "rows stay though a source changed that nobody follows": ("test_may_stay.py",),
    "a run removes totals that the record needs": ("test_buckets.py",),
    "a run removes what another engine wrote": ("test_buckets.py",),
    "a bucket keeps the groups that it had": ("test_buckets.py",),
    "totals that were replaced stay for good": ("test_buckets.py",),
    "what a run replaces is removed at once": ("test_buckets.py",),
    "a file of totals is read as it is": ("test_buckets.py",),
    "a manifest is read as it is": ("test_buckets.py",),
    "the totals of another Spark are read": ("test_buckets.py",),
    "a run goes on in what it left of other work": ("test_buckets.py",),
    "the totals of some buckets count as all": ("test_buckets.py",),
    "who asks for the rows of a view alone gets its totals": ("test_totals.py",),
    "totals in the driver are those of other buckets": ("test_buckets.py",),
    "a view counts for itself alone": ("test_urgency.py",),
    "a long refresh takes the last track": ("test_urgency.py",),
    "a refresh may wait for ever": ("test_urgency.py",),
    "a table has the watermark of another one of its name": ("test_noticed.py",),
    "a refresh starts though a promise must start before it ends": ("test_urgency.py",),
    "a promise counts as nothing": ("test_urgency.py",),
    "a function of another name has totals": ("test_totals.py",),
    "the order of the rows does not matter to an average": ("test_totals.py",),
    "equal values that differ in text count twice": ("test_totals.py",),
    "sums are exact without being asked for": ("test_totals.py",),
    "the sum of different values is exact": ("test_totals.py",),
    "copies of rows do not matter to a count": ("test_totals.py",),
    "an operation of bags is one of sets": ("test_totals.py",),
    "a frame goes back with the clock": ("test_window_frames.py",),
    "a frame has no end": ("test_window_frames.py",),
    "a join above a window makes a row of several": ("test_window_frames.py",),
    "one of several windows has frames": ("test_window_frames.py",),
    "rows below a window are others each time": ("test_window_frames.py",),
    "a view does not show what a window is ordered by": ("test_window_frames.py",),
    "a window of values whose order decides has frames": ("test_window_frames.py",),
    "rows are told apart by some columns of a window": ("test_window_neighbours.py",),
    "a row of any place is a neighbour": ("test_window_neighbours.py",),
    "a row before another one is not NULL": ("test_window_neighbours.py",),
    "a row knows how many come after it": ("test_window_foremost.py",),
    "equal rows have one rank": ("test_window_foremost.py",),
    "the first rows are as many as any condition says": ("test_window_foremost.py",),
    "what is kept of older versions goes stale": ("test_common_cut.py",),
    "members agree on a table without states at once": ("test_epochs.py",),
    "what an epoch names is deleted": ("test_epochs.py",),
    "a snapshot of another table is read": ("test_epochs.py",),
    "an epoch is read that came later": ("test_epochs.py",),
    "a dropped view stays in its epochs": ("test_epochs.py",),
    "the published epoch ends like others": ("test_publication.py",),
    "a publication divides a statement": ("test_publication.py",),
    "an older epoch is read for one that is gone": ("test_publication.py",),
    "the epoch ends at once that was published before": ("test_publication.py",),
    "readers see an epoch before its time": ("test_publication.py",),
    "readers go back as members ask for other times": ("test_publication.py",),
    "a group that convenes goes on as before": ("test_meeting.py",),
    "a group never convenes": ("test_meeting.py",),
    "the first rows are one more": ("test_window_foremost.py",),
    "a method that was dearer is taken again": ("test_regret.py",),
    "a dear method waits for the same change to be cheap": ("test_regret.py",),
    "totals of any size stay": ("test_totals.py",),
    "totals that are too large are left again": ("test_totals.py",),
    "a run that was slow by chance ends a method": ("test_regret.py",),
    "a dear method is tried again and again": ("test_regret.py",),
    "a loss of all sizes is one loss": ("test_regret.py",),
    "a dear run ends what smaller changes showed": ("test_regret.py",),
    "runs beside a run make its method dear": ("test_regret.py",),
    "sources that grew leave a method out": ("test_regret.py",),
    "the first refresh tells what whole partitions take": ("test_regret.py",),
    "a slow first refresh counts for good": ("test_regret.py",),
    "partitions of another method count as those of whole ones": ("test_whole_costs.py",),
    "one partition takes what all take": ("test_whole_costs.py",),
    "the time of totals is the time of all rows": ("test_whole_costs.py",),
    "partitions that may come out empty make a full refresh dear": ("test_whole_costs.py",),
    "whole partitions that were slow by chance stay dear": ("test_regret.py",),
    "a first run by keys goes on whatever its keys leave out": ("test_selective.py",),
    "files without keys are written anew": ("test_selective.py",),
    "a view that asked for keys is compared": ("test_selective.py",),
}
"""What no law has noticed but by chance: for these a unit test with such a story is asked first."""

RUNTIME, STORE = ("test_runtime.py", "test_runner.py", "test_nothing_waits.py"), ("test_store_contract.py",)
BY_CONTRACT = {
    "an engine runs on what another one prepared": RUNTIME,
    "a paused engine publishes without asking the store": RUNTIME,
    "an engine takes up the runs of others": RUNTIME,
    "a run that was cancelled counts as failed": RUNTIME,
    "a refresh that is always overtaken never fails": ("test_unsure.py",),
    "a refresh that hangs goes on": RUNTIME,
    "nothing that a run left is removed": RUNTIME,
    "two copies go on at the same time": RUNTIME,
    "a computed column is evaluated under the lock": RUNTIME,
    "an engine that was evicted appends": STORE,
    "an engine that is alive is evicted": STORE,
    "an append goes over another one": STORE,
    "versions go back with the clock": STORE,
    "an entry is appended twice when the connection breaks": ("test_store_postgresql.py",),
    "what is compacted is skipped silently": ("test_store_snapshots.py",),
    "an older copy that has grown is read on": STORE,
    "an append goes over another one of that number": STORE,
    "the state of another history is kept": ("test_store_snapshots.py",),
    "an engine does not see that a store as long is another one": RUNTIME,
    "an engine whose time is up counts as alive": STORE,
    "all engines lead": STORE,
}
"""The laws run one engine on a store of their own. For these, the tests of the runtime with threads and several engines
are asked, or the contract of all stores."""

MUTATIONS = {
    "what a renamed view is pending for is kept from its new readers": (
        "engine/record/names.py",
        "    readers.pass_on(state, event.to)\n",
        "",
    ),
    "readers of a view that is gone wait for ever": (
        "engine/record/names.py",
        "    if view in state.unreadable:\n        halts.unreadable(state, view, None)\n",
        "    state.unreadable.pop(view, None)\n",
    ),
    "a view that had no rows yet is no news to who read a table of its name": (
        "engine/record/transition.py",
        "together(itself, news) if known is None else itself)",
        "itself)",
    ),
    "a table takes the name of a view, and nobody compares them": (
        "engine/record/names.py",
        "    if record is not None and state.index.readers.get(name):\n",
        "    if False:\n",
    ),
    "a view takes the name of a table, and its rows are no news": (
        "engine/record/names.py",
        "    if state.index.readers.get(new):\n",
        "    if False:\n",
    ),
    "a view has the versions that it had by another name": (
        "engine/record/names.py",
        "evolve(known, version=event.version)",
        "known",
    ),
    "a view that is created inherits the partitions of a table": (
        "engine/record/transition.py",
        "        state.tables[name] = TableRecord()",
        "        state.tables.setdefault(name, TableRecord())",
    ),
    "a suspended view that breaks is refreshed when it is mended": (
        "engine/record/runs.py",
        "    if view.status is not Status.SUSPENDED:\n        release(view, Status.BROKEN, reason)\n",
        "    release(view, Status.BROKEN, reason)\n",
    ),
    "a first run by keys goes on whatever its keys leave out": (
        "engine/methods/selective.py",
        "    if part <= 1:\n",
        "    if True:\n",
    ),
    "files without keys are written anew": (
        "engine/methods/selective.py",
        "(trial.written if rewritten is None else min(rewritten, trial.written))",
        "trial.written",
    ),
    "a view that asked for keys is compared": (
        "engine/methods/selective.py",
        " or view.definition.policy.method is not None",
        "",
    ),
    "partitions that may come out empty make a full refresh dear": (
        "engine/methods/whole_costs.py",
        "    counts = {Mode.FULL: there, Mode.PARTITION: partitions}\n",
        "    counts = {Mode.FULL: partitions, Mode.PARTITION: partitions}\n",
    ),
    "whole partitions that were slow by chance stay dear": (
        "engine/methods/whole_costs.py",
        "    return lone or min(each.since for each in costs.whole.values()) >= PAID * (1 - price / whole)\n",
        "    return lone\n",
    ),
    "a method that was dearer is taken again": (
        "engine/methods/following.py",
        "        untried = losses.refused(known, work.churn, whole) or untried\n",
        "        pass\n",
    ),
    "a dear method waits for the same change to be cheap": (
        "engine/methods/losses.py",
        "    if loss is None or SMALLER * churn <= loss.churn:\n        return None\n",
        "    if loss is None:\n        return None\n",
    ),
    "a run that was slow by chance ends a method": (
        "engine/methods/losses.py",
        "    if loss.times < TRIALS and loss.since >= PAID * loss.more:\n",
        "    if False:\n",
    ),
    "a dear method is tried again and again": (
        "engine/methods/losses.py",
        "    if loss.times < TRIALS and loss.since >= PAID * loss.more:\n",
        "    if loss.since >= PAID * loss.more:\n",
    ),
    "a loss of all sizes is one loss": (
        "engine/methods/losses.py",
        "    if before is not None and SMALLER * churn > before.churn:",
        "    if before is not None:",
    ),
    "a dear run ends what smaller changes showed": (
        "engine/methods/losses.py",
        "    if known is None or known.seconds is None or churn <= known.churn:\n",
        "    if True:\n",
    ),
    "runs beside a run make its method dear": (
        "engine/methods/losses.py",
        "    if cores is not None and whole.cores is not None:\n",
        "    if False:\n",
    ),
    "sources that grew leave a method out": (
        "engine/methods/losses.py",
        "    return None if now is not None and GROWN * now <= 1 else ",
        "    return ",
    ),
    "the first refresh tells what whole partitions take": (
        "engine/methods/choice.py",
        "    return second if maybe_quicker(costs, prices[best], prices[second]) else best\n",
        "    return best\n",
    ),
    "a slow first refresh counts for good": (
        "engine/methods/whole_costs.py",
        "    if before.lone and took < known:\n        weight = 1.0\n    elif",
        "    if",
    ),
    "partitions of another method count as those of whole ones": (
        "engine/methods/whole.py",
        "    costs.partitions = newer(costs.partitions, made, RUN)\n",
        "    costs.partitions = 1.0\n",
    ),
    "one partition takes what all take": (
        "engine/methods/whole_costs.py",
        "    before = costs.whole.get(mode)\n",
        "    mode = Mode.FULL\n    before = costs.whole.get(mode)\n",
    ),
    "totals of any size stay": (
        "engine/methods/totals.py",
        "view.totals = None if _too_large(view) else view.totals",
        "pass",
    ),
    "totals that are too large are left again": ("engine/methods/totals.py", " or _too_large(view):\n", ":\n"),
    "the time of totals is the time of all rows": (
        "engine/methods/whole_costs.py",
        "    elif totals and took >= known:\n",
        "    elif False:\n",
    ),
    "a view holds only the changes that its run was for": (
        "engine/requests/cut.py",
        "        return tuple(newest(read, needs).items())\n",
        "        return tuple(needs.items())\n",
    ),
    "partitions of different states count as one": (
        "engine/tell/cuts.py",
        "    if holds >= owed[table]:\n",
        "    if False:\n",
    ),
    "a run reads the newest version of each source": (
        "engine/methods/basis.py",
        "    return found.versions if isinstance(found, Common) else {}\n",
        "    return {}\n",
    ),
    "a run is for changes that a version lacks": (
        "engine/decide/readiness.py",
        "    lacking = lacked(state, view, agreed) if isinstance(agreed, Common) else frozenset()\n",
        "    lacking: frozenset[int] = frozenset()\n",
    ),
    "an older version of a source lacks no more than the newest": (
        "engine/requests/spans.py",
        "        until = oldest(until, dict(first))\n",
        "        pass\n",
    ),
    "an older version lacks changes of shared tables only": (
        "engine/requests/common_cut.py",
        "evolve(known.chosen, until=known.lacks)",
        "evolve(known.chosen, until=known.chosen.until)",
    ),
    "what is kept of older versions goes stale": ("engine/requests/spans.py", " or kept.past != record.past:\n", ":\n"),
    "a table of which an older version holds more is searched as all others": (
        "engine/requests/spans.py",
        "if table in self.older.uneven:",
        "if False:",
    ),
    "the search goes back too far": (
        "engine/requests/spans.py",
        "_only(spans[at], self.tables)",
        "_only(spans[-1], self.tables)",
    ),
    "a view without a common cut waits for nothing": (
        "engine/waits/agreement.py",
        "    if split is None:\n        return due.at\n",
        "    if True:\n        return due.at\n",
    ),
    "a view waits in vain": (
        "engine/waits/agreement.py",
        "    within = patience(view) if ripe.in_vain else agrees_within(state, split)\n",
        "    within = agrees_within(state, split)\n",
    ),
    "a view waits in vain for lake sources that run at other times": (
        "engine/waits/agreement.py",
        "    return isinstance(newest_of(state, view, tables, walks), Apart)\n",
        "    return False\n",
    ),
    "a refresh that runs makes no end of a wait": (
        "engine/waits/agreement.py",
        "    return isinstance(newest_of(state, view, tables, walks), Apart)\n",
        "    return True\n",
    ),
    "a source that is late will not come to where all others are": (
        "engine/waits/agreement.py",
        "        unresolved(state, each) for each in showing if each != split.behind\n    ):\n        return False\n",
        "        unresolved(state, each) for each in showing if each != split.behind\n    ):\n        pass\n",
    ),
    "what stops for the order of changes has no limit": (
        "engine/decide/readiness.py",
        "        free, stopped = goes or _patient(state, view, each_asked), None if goes else split\n",
        "        free = goes or (_patient(state, view, each_asked) if nothing_goes else goes)\n"
        "        stopped = None if goes else split\n",
    ),
    "who asks for a refresh waits for newer changes": (
        "engine/decide/readiness.py",
        "    if any(each <= hurried for each in asked.alone):\n",
        "    if False:\n",
    ),
    "a view goes back to an older state": (
        "engine/requests/common_cut.py",
        "    own = StateSpan(0, {each: view.holds[each] for each in tables if each in view.holds}, later)\n",
        "    own = StateSpan(0, {}, later)\n",
    ),
    "a change passes an older one of another partition that waits": (
        "engine/decide/readiness.py",
        "    if len(asked) < 2 or not goes_in_order(state, view):\n",
        "    if True:\n",
    ),
    "a change starts before an older one of another partition": (
        "engine/requests/prefix.py",
        "            while numbers and first[numbers[-1]][table] <= newest:\n",
        "            while False:\n",
    ),
    "a view that others went past brings no changes": (
        "engine/requests/prefix.py",
        "        for table, version in (*own, *brought):\n",
        "        for table, version in own:\n",
    ),
    "a view waits for a common cut that its sources never reach": (
        "engine/requests/common_cut.py",
        "    return _stuck(state, view, found, walks, later) or found\n",
        "    return found\n",
    ),
    "a partition that waits for a newer change holds up all others": (
        "engine/decide/readiness.py",
        "if going and all(_waits",
        "if going and any(_waits",
    ),
    "a run of some partitions holds all that it reads": (
        "engine/requests/cut.py",
        "    if WHOLE in event.slices or any(",
        "    if True or any(",
    ),
    "a state that is gone stays on record": (
        "engine/record/runs.py",
        "    if event.error.code in STATE_GONE or ",
        "    if False and ",
    ),
    "a failure strikes the state that was the newest": (
        "engine/record/pinned_states.py",
        "    if any(version < each < started for each in record.past):\n",
        "    if version < record.highest:\n",
    ),
    "changes that came out unchanged together are not held": (
        "engine/requests/cut.py",
        "    return newest(view.holds, several)\n",
        "    return dict(view.holds)\n",
    ),
    "a request does not wait for its inputs": (
        "engine/decide/readiness.py",
        " if blocking else frozenset())\n",
        " if False else frozenset())\n",
    ),
    "an overtaken request takes the newer changes along": (
        "engine/decide/readiness.py",
        "        return self.origins - self.awaited\n",
        "        return self.origins\n",
    ),
    "a merge forgets the older changes": (
        "engine/record/queue.py",
        "        pending[each] = known | origins\n",
        "        pending[each] = origins\n",
    ),
    "a new change takes the place of what it joins": (
        "engine/record/queue.py",
        "                joined[id(known)] = known, known | origins\n",
        "                joined[id(known)] = known, origins\n",
    ),
    "changes go through views that cannot run, where all are alike": (
        "engine/requests/coverage.py",
        "    return not any(state.views[name].released for name in alike.views)\n",
        "    return True\n",
    ),
    "a failed run is not put back": (
        "engine/record/queue.py",
        "    for each, origins in run.needs if run.view in state.views else ():\n",
        "    for each, origins in ():\n",
    ),
    "a started run stays pending": (
        "engine/record/queue.py",
        "        known = pending.pop(each, NONE)\n",
        "        known = pending.get(each, NONE)\n",
    ),
    "a change reaches only its direct readers": (
        "engine/requests/coverage.py",
        "            changed[step.view] = hit\n",
        "            pass\n",
    ),
    "what a running input will renew is not awaited": (
        "engine/requests/coverage.py",
        "    for each, origins in run.needs if run is not None else ():\n",
        "    for each, origins in ():\n",
    ),
    "a window loses its last period": ("algebra/dependency.py", "range(first, last + 1)", "range(first, last)"),
    "only the first occurrence of a source counts": (
        "algebra/dependency.py",
        "for one in dependency.occurrences for each in _through",
        "for one in dependency.occurrences[:1] for each in _through",
    ),
    "a view that was let go past says nothing when it catches up": (
        "engine/record/runs.py",
        "        if changed or marked:\n",
        "        if False:\n",
    ),
    "readers are not told what came out changed": (
        "engine/record/runs.py",
        "    queue.tell(state, reader, reached)\n",
        "    pass\n",
    ),
    "whatever was computed anew counts as changed": (
        "engine/record/runs.py",
        "for made in event.made if not made.unchanged",
        "for made in event.made",
    ),
    "what is news is forgotten when a run fails": (
        "engine/record/queue.py",
        "    for each, origins in run.needs if run.view in state.views else ():\n",
        "    for each, origins in run.needs if run.view in state.views else ():\n"
        "        state.views[run.view].news.pop(each, None)\n",
    ),
    "slices that overlap run apart": (
        "engine/decide/readiness.py",
        "    every = overlapping(view.pending)\n",
        "    every = [[each] for each in view.pending]\n",
    ),
    "a run records inputs that it did not read": (
        "engine/decide/starting.py",
        "        reads.inputs,\n",
        "        tuple((source, version) for source in definition.sources),\n",
    ),
    "a redefined view keeps what is pending for partitions it has no more": (
        "engine/record/transition.py",
        "            queue.widen(state, name)  # slices of the old definition may mean nothing in the new one\n",
        "            pass\n",
    ),
    "what a view makes of its own earlier partitions is not covered": (
        "engine/requests/coverage.py",
        "    after = following(state, view, slices)\n",
        "    after = ()\n",
    ),
    "a later partition does not wait for the one that it reads": (
        "engine/decide/readiness.py",
        "        for each, origins in awaited(state, name):\n            blocking.add(each, origins)\n",
        "",
    ),
    "a later partition is not told that an earlier one changed": (
        "engine/record/runs.py",
        "    queue.tell(state, view.definition.view, reached)\n",
        "    pass\n",
    ),
    "a new partition inherits nothing of what is pending before it": (
        "engine/record/runs.py",
        "    for each, origins in inherited(state, name, slices):\n",
        "    for each, origins in ():\n",
    ),
    "a run takes along what it computes only some of": (
        "engine/record/queue.py",
        "    if wanted and all(",
        "    if wanted and any(",
    ),
    "what was read of a run that came to nothing counts": (
        "engine/record/queue.py",
        "    for reader in ahead.readers_of(state, run):\n        put_back(state, reader)\n    for each",
        "    for each",
    ),
    "a run is not on what it reads before that is published": (
        "engine/record/queue.py",
        "Run(event, on=ahead.read_by(state, event), holds",
        "Run(event, holds",
    ),
    "what may prove to be unchanged is prepared": (
        "engine/requests/ahead.py",
        "    return not any(same)\n",
        "    return True\n",
    ),
    "readers of what is prepared are not told what changed": (
        "engine/record/runs.py",
        "    queue.prepare(state, run)\n    for reader in state.index",
        "    queue.prepare(state, run)\n    for reader in () and state.index",
    ),
    "what is ready is not found out anew when an input ended": (
        "engine/record/queue.py",
        "(names, *(readers[name] for name in names if name in readers))",
        "(names)",
    ),
    # --- lake tables
    "it is not on record that a run goes on with other work": (
        "engine/record/runs.py",
        "        state.running[event.view] = evolve(run, work=event.work, instead=event.why)\n",
        "        pass\n",
    ),
    "a view that allows nothing else gets whole partitions all the same": (
        "engine/decide/kernel.py",
        "    if strict(definition):\n",
        "    if False:\n",
    ),
    "a run by changes goes on from the newest state of a source": (
        "engine/methods/totals.py",
        "        since[source] = old.snapshot\n",
        "        since[source] = new.snapshot\n",
    ),
    "a run by changes reads a table as it is at that moment": (
        "engine/methods/totals.py",
        "    return never(view.definition) or unpinned(state, view) or barred(view.definition)\n",
        "    return never(view.definition) or barred(view.definition)\n",
    ),
    "rows are added to partitions of several states": (
        "engine/methods/bags.py",
        "most=1)\n    if isinstance(states, Reason):\n        return states\n",
        "most=9)\n    if isinstance(states, Reason):\n        return states\n    states = sorted(states)[:1]\n",
    ),
    "a new partition reflects what the others do": (
        "engine/methods/basis.py",
        "    if not all(each in known for each in slices):\n",
        "    if not states:\n",
    ),
    "one run ends the doubt about all that may have been published": (
        "engine/record/runs.py",
        "    view.unsure = tuple(each for each in view.unsure if not region.covers(each))\n",
        "    view.unsure = ()\n",
    ),
    "rows that a lost run may have published are unchanged": (
        "spark/tables/view_tables.py",
        "known = {} if launch.unsure else launch.existing",
        "known = launch.existing",
    ),
    "a publication that failed is taken for none": (
        "engine/decide/flight.py",
        "            unsure = flight.stage is Stage.PUBLISH and not unseen\n",
        "            unsure = False\n",
    ),
    "an empty partition reflects what it did when it became empty": (
        "engine/record/runs.py",
        "            record.partitions[each] = evolve(known, inputs=run.inputs)  # it is still empty\n",
        "            pass\n",
    ),
    "rows that went are followed by adding rows": (
        "engine/methods/bags.py",
        "        takes = takes or dependency.adding.takes or new.went > old.went\n",
        "        takes = takes or dependency.adding.takes\n",
    ),
    "rows that a join takes away are followed by adding rows": (
        "engine/methods/bags.py",
        "        takes = takes or dependency.adding.takes or new.went > old.went\n",
        "        takes = takes or new.went > old.went\n",
    ),
    "a run that adds rows goes on from the newest state of a source": (
        "engine/methods/bags.py",
        "        since[source] = old.snapshot\n",
        "        since[source] = new.snapshot\n",
    ),
    "an overwritten view says that no row of it went": (
        "engine/record/runs.py",
        "    went = 0 if appends else max(1, event.measured.size)  # all rows may go, and none come\n",
        "    went = 0\n",
    ),
    "partitions of a first fill miss changes of earlier ones": (
        "engine/record/transition.py",
        "            if view is not None and view.definition.earlier:\n",
        "            if False:\n",
    ),
    "a redefined view keeps older changes to itself": (
        "engine/record/transition.py",
        "        readers.pass_on(state, name)\n",
        "",
    ),
    "rows of another state than the totals stay": (
        "spark/tables/key_files.py",
        "bool(common(keys)) and launch.as_totals\n",
        "bool(common(keys))\n",
    ),
    "a new partition reflects what the totals do, whatever it lacks": (
        "engine/methods/basis.py",
        "return view.whole == inputs or not any(",
        "return True or any(",
    ),
    "rows stay though a source changed that nobody follows": (
        "spark/tables/key_files.py",
        "bool(since) and changed == since and",
        "bool(since) and",
    ),
    "a run removes totals that the record needs": (
        "spark/refreshing/methods/buckets.py",
        "(before.runs if before is not None else set())",
        "set()",
    ),
    "a run removes what another engine wrote": (
        "spark/refreshing/methods/buckets.py",
        " and int(name[1:]) < self._version and ",
        " and ",
    ),
    "a bucket keeps the groups that it had": (
        "spark/refreshing/methods/buckets.py",
        "        changed = {each: written.get(each, Bucket()) for each in touched}\n",
        "        changed = dict(written)\n",
    ),
    "totals that were replaced stay for good": (
        "spark/refreshing/methods/buckets.py",
        "        for each in before.replaced if before is not None else ():\n",
        "        for each in ():\n",
    ),
    "what a run replaces is removed at once": (
        "spark/refreshing/methods/buckets.py",
        "        for each in before.replaced if before is not None else ():\n",
        "        for each in manifest.replaced:\n",
    ),
    "a file of totals is read as it is": (
        "spark/refreshing/methods/buckets.py",
        "        if not self._shim.are_there(files):\n",
        "        if False:\n",
    ),
    "a manifest is read as it is": (
        "spark/refreshing/methods/buckets.py",
        "        if text is None or digest(text) != known.left.digest:\n",
        "        if text is None:\n",
    ),
    "the totals of another Spark are read": (
        "spark/refreshing/methods/buckets.py",
        "        if found.spark != self._session.version:\n",
        "        if False:\n",
    ),
    "a run goes on in what it left of other work": (
        "spark/refreshing/methods/buckets.py",
        "        self._clear()\n        written = self._written(rows, FIRST, (0,), 1)\n",
        "        written = self._written(rows, FIRST, (0,), 1)\n",
    ),
    "a view that caught up without a refresh stays released": (
        "engine/record/transition.py",
        "            runs.caught_up(state, view)\n            if view is not None",
        "            if view is not None",
    ),
    "a strict view goes back past what it shows": (
        "engine/requests/common_cut.py",
        "    if any(change <= view.holds.get(table, 0) for table, change in walk.lacks.items()):\n",
        "    if False:\n",
    ),
    "a strict view reads what was replaced before it was defined": (
        "engine/requests/common_cut.py",
        "    return walk.next < defined\n",
        "    return False\n",
    ),
    "what a view holds back concerns its readers alone": (
        "engine/record/queue.py",
        "    for each in state.index.lenient.intersection(names):\n",
        "    for each in ():\n",
    ),
    "a view that skips a change is as before all others": (
        "engine/record/queue.py",
        "        there = {} if agreed.meets else passed(state, view, event)\n",
        "        there: dict[str, int] = {}\n",
    ),
    "a strict view of one source that skips a change is as before all others": (
        "engine/record/queue.py",
        "        agreeing = compared(state, event.view)\n",
        "        agreeing = state.tables if view.definition.policy.consistency.value == 'strict' else ()\n",
    ),
    "a view starts at any time": (
        "engine/waits/deadline.py",
        "        at = at if opens is None else max(at, opens.at)\n",
        "",
    ),
    "a gap counts from the end of a refresh": (
        "engine/record/runs.py",
        "    view.began = event.version, run.started.at\n",
        "    view.began = event.version, event.at\n",
    ),
    "a source that others went past tells what it shows": (
        "engine/requests/common_cut.py",
        "    return tuple(each for each in tables if each not in untold)\n",
        "    return tables\n",
    ),
    "a view that catches up showed each state": (
        "engine/record/runs.py",
        "    several = {table: change for table, change in newest_ones.items() if change > oldest[table]}\n",
        "    several: dict[str, int] = {}\n",
    ),
    "a view that is described anew stays released": (
        "engine/record/transition.py",
        "    if known is not None:\n        runs.caught_up(state, known)\n",
        "",
    ),
    "what a view shows after it was asked for is told to nobody": (
        "engine/record/transition.py",
        "    if event.downstream or view is not None:\n",
        "    if event.downstream:\n",
    ),
    "a source that goes on changing is waited for": (
        "engine/waits/cadence.py",
        "newest = max(newest, min(last, change.at + window))",
        "newest = max(newest, last)",
    ),
    "who asks for the rows of a view alone gets its totals": (
        "engine/methods/totals.py",
        "return ALL_ROWS if any(each.asked for each",
        "return ALL_ROWS if any(each.marked for each",
    ),
    "a version that was asked for is like any other": (
        "engine/requests/cut.py",
        "    if any(state.origins[each].asked for",
        "    if False and any(state.origins[each].asked for",
    ),
    "a table that gets snapshots concerns its readers alone": (
        "engine/record/transition.py",
        "    if record.pinned != event.pinned:\n",
        "    if False:\n",
    ),
    "a mark is told where rows changed": (
        "engine/record/runs.py",
        "        if changed or marked:\n",
        "        if changed:\n",
    ),
    "the totals of some buckets count as all": (
        "spark/refreshing/methods/totals.py",
        "        if self.near is not None and (few or len(self.touched) == len(self.manifest.buckets)):\n",
        "        if self.near is not None:\n",
    ),
    "totals in the driver are those of other buckets": (
        "spark/refreshing/methods/buckets.py",
        "        return self._spread(manifest), None\n",
        "        return self._spread(manifest), None if near is None else near.frame\n",
    ),
    "a view counts for itself alone": (
        "engine/decide/benefit.py",
        "        if more * takes < gain * longer:\n",
        "        if True:\n",
    ),
    "a long refresh takes the last track": (
        "engine/decide/urgency.py",
        "(free > 1 or tracks == 1 or not _blocks(state, each, now, weights))",
        "True",
    ),
    "a refresh starts though a promise must start before it ends": (
        "engine/decide/urgency.py",
        "        late = seconds > room and (tracks > 1 or each.asked)\n",
        "        late = False\n",
    ),
    "a refresh that hangs goes on": (
        "engine/requests/limits.py",
        "    if until is None or now < until:\n",
        "    if True:\n",
    ),
    "a refresh may wait for ever": ("engine/decide/urgency.py", "if now - self.since >= PATIENCE:", "if False:"),
    "a promise counts as nothing": (
        "engine/decide/urgency.py",
        "if self.latest is not None and now <= self.latest <= now + soon else Kind.PLAIN",
        "if False else Kind.PLAIN",
    ),
    "totals of another definition are used": (
        "engine/record/transition.py",
        "        known.definition, known.totals, known.whole = event.definition, None, None\n",
        "        known.definition, known.whole = event.definition, None\n",
    ),
    "totals are said to reflect what was recorded since the run began": (
        "engine/record/runs.py",
        "        view.totals = Totals(event.version, run.inputs, event.totals, event.seconds)\n",
        "        newest = tuple((table, state.tables[table].highest) for table, _ in run.inputs)\n"
        "        view.totals = Totals(event.version, newest, event.totals, event.seconds)\n",
    ),
    "a run by keys reads a table as it is at that moment": ("engine/methods/basis.py", "unpinned(state, view) or ", ""),
    "a run by keys goes on from one state of several": (
        "engine/methods/keys.py",
        "each.snapshot) for each in old)",
        "each.snapshot) for each in old[:1])",
    ),
    "one place of a table decides for all of them": (
        "algebra/derive/way.py",
        "next(filter(None, hurdles), None)",
        "next(hurdles, None)",
    ),
    "a function of another name has totals": (
        "algebra/derive/functions.py",
        "    if call.name not in _NAMES.get(call.call, ()):\n",
        "    if call.call not in _NAMES:\n",
    ),
    "the order of the rows does not matter to an average": (
        "algebra/derive/functions.py",
        """        case "Average" if not _AVERAGED.fullmatch(types[0]):\n""",
        """        case "Average" if False:\n""",
    ),
    "equal values that differ in text count twice": (
        "algebra/derive/functions.py",
        "    return comparable(type) or type.upper() in _FLOATING\n",
        "    return True\n",
    ),
    "an operation of bags is one of sets": ("algebra/derive/totals.py", """ and not node.facts["facts"][0]\n""", "\n"),
    "copies of rows do not matter to a count": (
        "algebra/derive/totals.py",
        "    return all(each.distinct or each.call in",
        "    return all(True or each.call in",
    ),
    "a join is computed again for keys that it does not compare": (
        "algebra/derive/way.py",
        "    return sorted(over) == [[0], [1]]\n",
        "    return any(over)\n",
    ),
    "rows are computed again that may be others each time": (
        "algebra/derive/way.py",
        "        if node.op not in LINEAR | _REPEATED:\n",
        "        if False:\n",
    ),
    "rows that went meet others than they met when they came": (
        "algebra/derive/way.py",
        '    if node.op != "Union" and (why',
        "    if False and (why",
    ),
    "values are computed again that may be others each time": (
        "algebra/derive/way.py",
        """(not each.deterministic or (each.kind == "aggregate" and _is_inexact(each)))""",
        "not each.deterministic",
    ),
    "any of several equal values is the one that was": (
        "algebra/derive/way.py",
        "        if not _are_comparable(grouped):\n",
        "        if False:\n",
    ),
    "an anti join is a NOT IN, whatever it compares": ("algebra/derive/way.py", "if equal == again:\n", "if again:\n"),
    "joins in place of subqueries serve some tables only": (
        "algebra/derive/totals.py",
        "    if any(found[each].possible and not through[each].possible for each in sources):\n",
        "    if False:\n",
    ),
    "rows go from a view that keeps all that it has": (
        "algebra/derive/totals.py",
        "followed(root, table, keyed=False).possible",
        "followed(root, table).possible",
    ),
    "a frame goes back with the clock": (
        "algebra/derive/frames.py",
        "            return all(map(_is_short, parts(bound)))\n",
        "            return True\n",
    ),
    "a frame has no end": ("algebra/derive/frames.py", "moves = bool(ends) and all(", "moves = all("),
    "a join above a window makes a row of several": (
        "algebra/derive/window.py",
        """        case "Join" if side in SIDES.get(node.facts["type"].upper(), ()):\n""",
        """        case "Join":\n""",
    ),
    "one of several windows has frames": (
        "algebra/derive/window.py",
        "    if len(windows) != 1:\n",
        "    if not windows:\n",
    ),
    "rows below a window are others each time": ("algebra/derive/window.py", "each.op in _BELOW and ", ""),
    "a view does not show what a window is ordered by": (
        "algebra/derive/window.py",
        "    if not all(columns) or ",
        "    if ",
    ),
    "rows are told apart by some columns of a window": (
        "algebra/derive/window.py",
        "len({*columns}) < grouped + several or ",
        "",
    ),
    "a row of any place is a neighbour": ("algebra/derive/neighbours.py", " and not any(map(is_open, frame.args))", ""),
    "a row before another one is not NULL": (
        "algebra/derive/neighbours.py",
        """return bool(json.loads(beside or "[]") == ["false"])""",
        "return True",
    ),
    "a row knows how many come after it": (
        "algebra/derive/foremost.py",
        "    if not all(_is(each, _BEFORE) for each in functions.values()):\n        return None\n",
        "",
    ),
    "equal rows have one rank": (
        "algebra/derive/foremost.py",
        """_RANKS = ("RowNumber", "Rank")""",
        """_RANKS = ("RowNumber", "Rank", "DenseRank")""",
    ),
    "the first rows are as many as any condition says": (
        "algebra/derive/foremost.py",
        "    most = min(found[1], default=0)",
        "    most = max(found[1], default=0)",
    ),
    "the first rows are one more": ("algebra/derive/foremost.py", "int(sql) - 1,", "int(sql),"),
    "sums are exact without being asked for": (
        "algebra/derive/functions.py",
        "return None if exact else _inexact(call)",
        "return None",
    ),
    "the sum of different values is exact": (
        "algebra/derive/functions.py",
        """if call.distinct and call.call not in ("Min", "Max"):""",
        "if False:",
    ),
    "a window of values whose order decides has frames": (
        "algebra/derive/frames.py",
        "            return _WHOLE.fullmatch(types[0]) is not None\n",
        "            return True\n",
    ),
    "a run pins nothing": (
        "engine/decide/starting.py",
        "        snapshots=reads.snapshots,\n",
        "        snapshots=(),\n",
    ),
    "a run takes along a change that came after its snapshots": (
        "engine/record/changes.py",
        "        before=0 if seen.pinned else before,",
        "        before=before,",
    ),
    "a look that another one overtook counts": (
        "engine/record/changes.py",
        "    return seen.pinned and record is not None and record.snapshot != seen.since\n",
        "    return False\n",
    ),
    "a change leaves the snapshot on record": (
        "engine/record/transition.py",
        "    record.snapshot, record.pinned = event.snapshot, event.pinned\n",
        "    record.snapshot, record.pinned = record.snapshot or event.snapshot, event.pinned\n",
    ),
    "a rearrangement leaves the snapshot on record": (
        "engine/record/transition.py",
        "                pinned_states.advance(state.tables[table], snapshot)\n",
        "                pass\n",
    ),
    "a publication leaves the snapshot on record": (
        "engine/record/runs.py",
        "    record.snapshot, record.pinned = event.snapshot, bool(event.snapshot)\n",
        "    record.snapshot, record.pinned = record.snapshot or event.snapshot, bool(event.snapshot)\n",
    ),
    "a publication tells no snapshot": (
        "engine/decide/flight.py",
        "        flight.replaced.snapshot,\n",
        '        "",\n',
    ),
    "a version of which a part is on no record is in an epoch": (
        "engine/groups/epochs.py",
        "    if view.unsure:\n",
        "    if False:\n",
    ),
    "a member in files keeps no version of its rows of before": (
        "engine/groups/epochs.py",
        "        if files and record.highest and",
        "        if False and",
    ),
    "a view that keeps no version is asked again and again": (
        "engine/groups/epochs.py",
        " and not view.keeps_none",
        "",
    ),
    "a lake view is prepared": (
        "engine/requests/ahead.py",
        "    return not definition.keeps_versions and (",
        "    return (",
    ),
    "a lake view is kept": (
        "engine/decide/starting.py",
        "        kept=choice.kept and not definition.keeps_versions and",
        "        kept=choice.kept and",
    ),
    "a run counts a pinned table as read at its current version": (
        "engine/decide/flight.py",
        "    known = [each for each in unpinned(state, flight) if each in state.tables]\n",
        "    known = [each for each in bases(state, flight) if each in state.tables]\n",
    ),
    "a run over lake tables looks": (
        "engine/decide/flight.py",
        "    return [each for each in bases(state, flight) if each not in pinned]\n",
        "    return [each for each in bases(state, flight) if each not in pinned or pinned]\n",
    ),
    "what a look did not tell of a view counts as gone": (
        "engine/record/changes.py",
        "    drifted = differences(record, seen.partitions, seen.looked)\n",
        "    drifted = differences(record, seen.partitions)\n",
    ),
    "what a look did not tell of a table counts as gone": (
        "engine/record/changes.py",
        "    differing = differences(record, seen.partitions, seen.looked)\n",
        "    differing = differences(record, seen.partitions)\n",
    ),
    "a snapshot moves past what was written past Headwater": (
        "engine/record/changes.py",
        "    if is_outdated(state, seen) or differences(record, seen.partitions, seen.looked):\n",
        "    if is_outdated(state, seen):\n",
    ),
    "readers run ahead of a view that became a lake table": (
        "engine/requests/ahead.py",
        "    if record.pinned:\n",
        "    if False:\n",
    ),
    # --- what is explained
    "a run is explained for all that is pending": (
        "engine/decide/starting.py",
        "    found = None if start is None else ready_of(state, name, start.at)\n",
        "    found = None\n",
    ),
    "a run is explained as if nothing of it was kept": (
        "engine/decide/starting.py",
        "    choice = next((each for each in (turn, *choices)",
        "    choice = next((evolve(each, kept=False) for each in (turn, *choices)",
    ),
    "a run starts for less than was explained": (
        "engine/decide/kernel.py",
        "decided(state, found, FRESH, now)",
        "decided(state, Choice(evolve(found.ready, needs=found.ready.needs[:1])), FRESH, now)",
    ),
    "a wait is said to end with its last change": (
        "engine/decide/readiness.py",
        "    at, change, number = min((at(each), each, n)",
        "    at, change, number = max((at(each), each, n)",
    ),
    # --- the interpreter
    "a run goes on although it is not wanted any more": (
        "engine/decide/kernel.py",
        "    if known is None or known.version != run.version:\n        return Reason",
        "    if False:\n        return Reason",
    ),
    "a run is published before the one that it is on": (
        "engine/requests/ahead.py",
        "    return any(other.version in run.on for other in state.running.values())\n",
        "    return False\n",
    ),
    "what a lost engine was running is nobody's": (
        "engine/record/queue.py",
        "    while lost := next((run for run in state.running.values() if run.engine == engine), None):\n",
        "    while lost := None:\n",
    ),
    "a run does not look before it reads": (
        "engine/decide/kernel.py",
        "        case Stage.LOOK if unpinned(state, flight):\n",
        "        case Stage.LOOK if False:\n",
    ),
    "whatever was published counts as unchanged": (
        "engine/decide/flight.py",
        "unchanged=each.slice in flight.replaced.unchanged",
        "unchanged=True",
    ),
    "readers are told before their computed columns are known": (
        "engine/decide/kernel.py",
        "    return Evaluate(frozenset(wanted), flight.version) if wanted else None\n",
        "    return None\n",
    ),
    "an engine runs on what another one prepared": (
        "engine/requests/ahead.py",
        "run is None or run.engine == engine for",
        "True for",
    ),
    "a paused engine publishes without asking the store": (
        "runtime/loop.py",
        "            case commands.Publish() if not self._is_confirmed():\n",
        "            case commands.Publish() if False:\n",
    ),
    "an engine takes up the runs of others": (
        "engine/decide/flight.py",
        "        if run.engine == mine.number and run.version not in mine.flights:\n",
        "        if run.version not in mine.flights:\n",
    ),
    "a run that was cancelled counts as failed": (
        "runtime/execute.py",
        "        cancelled, unseen = isinstance(error, RefreshCancelled), isinstance",
        "        cancelled, unseen = False, isinstance",
    ),
    "a refresh that is always overtaken never fails": (
        "engine/record/runs.py",
        "    cancelled = event.cancelled and not _lost_again(view, event)\n",
        "    cancelled = event.cancelled\n",
    ),
    "nothing that a run left is removed": ("engine/decide/kernel.py", "    if mine.readable:\n", "    if False:\n"),
    "two copies go on at the same time": (
        "engine/decide/kernel.py",
        "            return Bring(launch, flight.output) if copies > 0 else None\n",
        "            return Bring(launch, flight.output)\n",
    ),
    "a computed column is evaluated under the lock": (
        "runtime/recorder.py",
        "            refused |= self.evaluate(frozenset(wanted - refused))\n",
        "            with self.lock:\n                refused |= self.evaluate(frozenset(wanted - refused))\n",
    ),
    # --- the store
    "an engine that was evicted appends": (
        "store/journal.py",
        "        if attempt.by is not None and _until(connection, attempt.by) is None:\n",
        "        if False:\n",
    ),
    "an engine that is alive is evicted": (
        "store/journal.py",
        "            if until is not None and until > now:\n",
        "            if False:\n",
    ),
    "an append goes over another one": (
        "store/journal.py",
        "        if known.last != attempt.after.seq:\n",
        "        if False:\n",
    ),
    "versions go back with the clock": (
        "store/journal.py",
        "        return max(given or now - 1, known.highest), now\n",
        "        return given or now - 1, now\n",
    ),
    "an entry is appended twice when the connection breaks": (
        "store/journal.py",
        "                    if made and self._is_applied(connection, attempt):\n",
        "                    if False:\n",
    ),
    "what is compacted is skipped silently": (
        "store/journal.py",
        "            if end.seq < known.compacted:\n",
        "            if False:\n",
    ),
    "an older copy that has grown is read on": (
        "store/journal.py",
        "            require_end(connection, self.name, end)\n",
        "",
    ),
    "an append goes over another one of that number": (
        "store/journal.py",
        "        if attempt.after.token not in (None, known.token):\n",
        "        if False:\n",
    ),
    "the state of another history is kept": (
        "store/snapshots.py",
        "            require_end(connection, self.name, end)\n",
        "",
    ),
    "an engine does not see that a store as long is another one": (
        "runtime/loop.py",
        "if beat.end != self.recorder.end:",
        "if beat.last != self.recorder.seq:",
    ),
    "an engine whose time is up counts as alive": ("store/members.py", "if row.until <= now)", "if row.until <= 0)"),
    "all engines lead": (
        "store/members.py",
        "        leads = all(row.number > number for row in others if row.until > now)\n",
        "        leads = True\n",
    ),
    "a table has the watermark of another one of its name": (
        "engine/record/transition.py",
        "    if record.created != event.created:\n        record.watermark = None\n",
        "",
    ),
    # --- groups
    "a member of an epoch shows two states of a table": (
        "engine/groups/epochs.py",
        "    if apart := went_back(walks):\n        return",
        "    if apart := None:\n        return",
    ),
    "a base table has a state that came after an epoch": (
        "engine/groups/epochs.py",
        "    known = [each for each in (*record.past, record.highest) if each < until]\n",
        "    known = [*record.past, record.highest]\n",
    ),
    "members agree on a table without states at once": (
        "engine/groups/epochs.py",
        "            if table in above(state, name) and late:\n",
        "            if False:\n",
    ),
    "what an epoch names is deleted": (
        "engine/groups/kept.py",
        "    if oldest_named is None or record is None or oldest_named == record.highest:\n",
        "    if True:\n",
    ),
    "a snapshot of another table is read": ("engine/groups/epochs.py", " and known.version >= record.began\n", "\n"),
    "an epoch is read that came later": (
        "engine/groups/kept.py",
        "for each in reversed(kept(state, group, now)) if each.number <= moment), None)",
        "for each in reversed(kept(state, group, now))), None)",
    ),
    "an older epoch is read for one that is gone": (
        "engine/groups/kept.py",
        " or (found.until is not None and found.until <= moment) else found",
        " else found",
    ),
    "the published epoch ends like others": (
        "engine/groups/kept.py",
        "    return [each for each in known if each.number in recent | named or each is known[-1]]\n",
        "    return [each for each in known if each.number in recent or each is known[-1]]\n",
    ),
    "the epoch ends at once that was published before": (
        "engine/groups/kept.py",
        "    return [each for each, after in [*pairwise(known)][-MOST:] if after.at > since] + [*known[-1:]]\n",
        "    return [*known[-1:]]\n",
    ),
    "a publication divides a statement": (
        "engine/groups/kept.py",
        "for each in reversed(publications) if each.number <= moment), None)",
        "for each in reversed(publications)), None)",
    ),
    "readers see an epoch before its time": (
        "engine/record/membership.py",
        "    return not last.timed and not {each.table",
        "    return not {each.table",
    ),
    "readers go back as members ask for other times": (
        "engine/record/membership.py",
        "_publish(state, group, GroupPublication(state.numbered + 1, at, epochs[-1].number))",
        "_publish(state, group, GroupPublication(state.numbered + 1, at, epochs[0].number))",
    ),
    "a dropped view stays in its epochs": (
        "engine/record/membership.py",
        "        state.groups[each] = tuple(_without(known, name) for known in state.groups.get(each, ()))\n",
        "        pass\n",
    ),
    "a group that convenes goes on as before": (
        "engine/requests/meeting.py",
        "    return {} if waited_for or any(state.origins[each].asked for each in pending) else place.until\n",
        "    return {}\n",
    ),
    "a group never convenes": (
        "engine/decide/kernel.py",
        "    return Record(Convened(now, late[0])) if late else None\n",
        "    return None\n",
    ),
    # --- the observer
    "a partition that is gone is not noticed": (
        "engine/record/changes.py",
        "    return tuple(changed + gone)\n",
        "    return tuple(changed)\n",
    ),
    "a partition with other files is not noticed": (
        "engine/record/changes.py",
        "        if each not in known or known[each].fingerprint != fingerprint\n",
        "        if each not in known\n",
    ),
    "what came and went between two looks is no change": (
        "engine/record/changes.py",
        "        if (each not in found or each in empty)\n",
        "        if False\n",
    ),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_mutation_is_of_the_source_as_it_is(mutation: str) -> None:
    name, right, _ = MUTATIONS[mutation]
    assert (SOURCE / name).read_text().count(right) == 1, f"{name} has changed; state the mutation anew"


def _asked(mutation: str) -> list[str]:
    unit = LAWS.parent / "unit"
    if mutation in BY_CONTRACT:
        return [str(unit / each) for each in BY_CONTRACT[mutation]]
    return [*(str(unit / each) for each in BY_EXAMPLE.get(mutation, ())), str(LAWS)]


@pytest.mark.long
@pytest.mark.timeout(650)
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_the_laws_notice(mutation: str, tmp_path: Path) -> None:
    name, right, wrong = MUTATIONS[mutation]
    shutil.copytree(SOURCE, tmp_path / "headwater", ignore=shutil.ignore_patterns("__pycache__"))
    file = tmp_path / "headwater" / name
    file.write_text(file.read_text().replace(right, wrong))
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            *_asked(mutation),
            f"--ignore={PLANS}",
            f"--ignore={__file__}",  # whose look at the source would notice them all
            "-x",
            "-m",
            "not long",
            "-p",
            "no:cacheprovider",
            "--hypothesis-seed=0",  # chance finds a fault today and misses it tomorrow
        ],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "HEADWATER_EXAMPLES": "2"},
        cwd=LAWS.parents[1],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 1, f"no law noticed that {mutation}:\n{ran.stdout[-2000:]}"
    assert "FAILED" in ran.stdout
