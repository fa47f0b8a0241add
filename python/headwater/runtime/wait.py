"""Waiting until views are fresh: for statements, and for programs that embed the engine.

A statement that says how fresh views are waits for a look at all sources, but not for long.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from functools import partial

from headwater.engine.requests.coverage import upstream
from headwater.engine.requests.limits import HALTED
from headwater.engine.tell.refreshes import Outcome, Refresh, refreshes
from headwater.engine.tell.waiting import lacks, settled
from headwater.engine.tell.why_it_waits import held_by
from headwater.model.error import HeadwaterError, StatementError
from headwater.model.event import FRESH, Hurried
from headwater.model.name import anywhere
from headwater.model.partition import Version
from headwater.model.reason import Code, Reason
from headwater.model.state import State
from headwater.ports import Clock
from headwater.runtime.loop import Loop
from headwater.runtime.recorder import Recorder
from headwater.store.sql_store import SqlStore

LOOK_AGAIN = 5.0
"""Seconds between two looks of a waiting statement at whether an engine refreshes."""


class StoppedWaiting(HeadwaterError):
    """The user's session stopped waiting."""


class Waiting:
    """The waits in one engine."""

    def __init__(self, recorder: Recorder, loop: Loop, store: SqlStore) -> None:
        self._recorder, self._loop, self._store = recorder, loop, store
        self._abandoned: set[int] = set()

    def abandon(self, message_id: int) -> None:
        """Ends the wait for the answer to a message: the user pressed Ctrl-C."""
        self._abandoned.add(message_id)
        with self._recorder.lock:
            self._recorder.changed.notify_all()

    def hurry(self, views: Callable[[State], Collection[str]] | None = None, up_to: Version = FRESH) -> Version:
        """Lets the pending requests of some views, and of the views upstream, run without waiting for further changes,
        or for the pause after a failure; without ``views``, those of all. Returns the newest version among them:
        ``up_to``, if that is known. A run that began later is an attempt for whoever asks."""
        recorder = self._recorder

        def hurried(state: State) -> Hurried:
            if views is None:
                return Hurried(recorder.clock.now(), up_to)
            found = {each for view in views(state) for each in upstream(state, view)} & state.views.keys()
            return Hurried(recorder.clock.now(), up_to, tuple(sorted(found)))

        event = recorder.record(hurried)
        self._loop.step()
        return event.version

    def until_fresh(
        self,
        views: Callable[[State], set[str]],
        version: Version,
        *,
        since: int,
        token: int | None = None,
        only: str | None = None,
        timeout: float | None = None,
    ) -> list[Refresh]:
        """Waits until these views reflect every change up to ``version``, or cannot.

        Returns an entry for each partition whose refresh ended after the journal entry ``since``, in the
        order of the runs. With ``only``, these are partitions of that view. ``token`` is the name of
        the wait for ``abandon``.

        Raises:
            StoppedWaiting: the user stopped waiting.
            StatementError: no engine refreshes on this store.
        """
        self.until(lambda state: all(settled(state, name, version) for name in views(state)), token, timeout)
        entries = [entry.event for entry in self._store.history(only, ended_after=since)]
        ended = [each for each in refreshes(entries) if each.status is not Outcome.RUNNING]
        return sorted(ended, key=lambda each: each.run_id)

    def until(self, ended: Callable[[State], bool], token: int | None = None, timeout: float | None = None) -> None:
        """Waits until something is so, at most for ``timeout`` seconds. ``token`` is the name of the wait for
        ``abandon``.

        Raises:
            StoppedWaiting: the user stopped waiting.
            StatementError: no engine refreshes on this store.
        """
        recorder = self._recorder
        deadline = None if timeout is None else time.monotonic() + timeout
        with recorder.changed:
            self._require_actor()
            while not recorder.changed.wait_for(
                lambda: token in self._abandoned or ended(recorder.state), _slice(deadline)
            ):
                if deadline is not None and time.monotonic() >= deadline:
                    break
                self._require_actor()
        if token in self._abandoned:
            self._abandoned.discard(token)
            raise StoppedWaiting("the statement was cancelled; its refreshes go on in the background")

    def until_view_fresh(self, view: str, version: Version, *, since: int, token: int | None = None) -> list[Refresh]:
        """Waits for a view and the views upstream, as ``until_fresh`` does.

        Raises:
            StatementError: the refresh failed, or waits for a view that failed; or no engine refreshes.
        """
        ran = self.until_fresh(lambda state: upstream(state, view), version, since=since, token=token, only=view)
        why = self._recorder.read(partial(behind, view=view, version=version))
        if why:
            raise StatementError(why)
        return ran

    def _require_actor(self) -> None:
        if not self._loop.acts and not any(each.alive for each in self._store.engines()):
            raise StatementError(
                "this session only reports writes (spark.headwater.role=report), and no other application refreshes "
                "now; start one with `headwater run`"
            )


def behind(state: State, view: str, version: Version) -> str:
    """Why a view lacks a change up to a version after a wait for it; empty if it lacks none, or is gone."""
    if not lacks(state, view, version):
        return ""
    if held := held_by(state, view):
        return (
            f"{view} waits, because {', '.join(held)} cannot be refreshed; EXPLAIN REFRESH {anywhere(view)} shows the "
            f"error. To go on without it, set 'headwater.upstream' = 'release' on {view}"
        )
    known = state.views[view]
    if known.failures and known.status not in HALTED:
        return (
            f"{view} could not be refreshed: {known.reason}. Headwater tries again. SHOW REFRESHES FOR "
            f"{anywhere(view)} shows each attempt; DROP MATERIALIZED VIEW {anywhere(view)} ends them"
        )
    return ""


def _slice(deadline: float | None) -> float:
    return LOOK_AGAIN if deadline is None else max(0.0, min(LOOK_AGAIN, deadline - time.monotonic()))


class SharedLooks:
    """The looks of one engine at everything. Statements that ask at the same time share one that begins afterwards.

    Args:
        look: hears the store, and compares all sources with the record.
    """

    def __init__(self, look: Callable[[], object], clock: Clock) -> None:
        self._look, self._clock = look, clock
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, "headwater-look")
        self._next: Future[None] | None = None
        self._looked_at: int | None = None

    def now(self) -> None:
        """Looks, and raises what the look raises."""
        with self._lock:
            self._next = None  # who asks from now on needs another look
        began = self._clock.now()
        self._look()
        self._looked_at = began

    def first(self, patience: float) -> Reason | None:
        """Waits for a look that begins now, at most for ``patience`` seconds. Returns why what is on record may be
        old; ``None`` if it is as the sources are."""
        with self._lock:
            if self._next is None:
                self._next = self._thread.submit(self.now)
            mine = self._next
        try:
            mine.result(patience)
        except NotYet:
            return self._missed("the look at the sources is not over")
        except HeadwaterError as error:
            return self._missed(str(error).strip().splitlines()[0])
        except Exception as error:  # whatever it was, the statement says what is on record
            return self._missed(f"the sources could not be looked at ({type(error).__name__})")
        return None

    def _missed(self, why: str) -> Reason:
        since = "they were not looked at since this application began"
        if self._looked_at is not None:
            since = f"the last look at them was {max(0, self._clock.now() - self._looked_at) / 1000:.0f} s ago"
        return Reason(Code.LOOK_MISSED, f"{why}; {since}")
