"""Waiting until views are fresh: for statements, and for programs that embed the engine."""

from __future__ import annotations

import time
from collections.abc import Callable

from headwater.engine.coverage import upstream
from headwater.engine.history import Outcome, Refresh, refreshes
from headwater.engine.settled import settled
from headwater.engine.status import held_by
from headwater.model.error import HeadwaterError, StatementError
from headwater.model.event import Hurried
from headwater.model.state import State, Version
from headwater.runtime import Runtime
from headwater.store.sql import SqlStore

LOOK_AGAIN = 5.0
"""Seconds after which a waiting statement looks again whether anybody acts."""


class Abandoned(HeadwaterError):
    """The user's session stopped waiting."""


class Waiting:
    """Who waits for what, in one engine."""

    def __init__(self, runtime: Runtime, store: SqlStore) -> None:
        self._runtime, self._store = runtime, store
        self._abandoned: set[int] = set()

    def abandon(self, message_id: int) -> None:
        """The user pressed Ctrl-C: whatever waits for this message's answer need not go on."""
        self._abandoned.add(message_id)
        with self._runtime.lock:
            self._runtime.changed.notify_all()

    def hurry(self) -> Version:
        """Lets what is pending run without waiting for further changes; the version up to which."""
        runtime = self._runtime
        event = runtime.record(lambda _, version: Hurried(runtime.clock.now(), version))
        runtime.step()
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
        """Waits until these views reflect everything recorded up to ``version``, or cannot.

        Returns one entry for each partition whose refresh ended after journal entry ``since`` (of the
        view ``only``, if given), runs in their order. ``token`` is what ``abandon`` knows the wait by.

        Raises:
            Abandoned: the user gave up waiting.
            StatementError: nobody acts on this store.
        """
        runtime = self._runtime

        def done() -> bool:
            return token in self._abandoned or all(
                settled(runtime.state, name, version) for name in views(runtime.state)
            )

        deadline = None if timeout is None else time.monotonic() + timeout
        with runtime.changed:
            self._require_actor()
            while not runtime.changed.wait_for(done, _slice(deadline)):
                if deadline is not None and time.monotonic() >= deadline:
                    break
                self._require_actor()
        if token in self._abandoned:
            self._abandoned.discard(token)
            raise Abandoned("the statement was abandoned; what it asked for goes on in the background")
        entries = [entry.event for entry in self._store.history(only, ended_after=since)]
        ended = [each for each in refreshes(entries) if each.status is not Outcome.RUNNING]
        return sorted(ended, key=lambda each: each.run_id)

    def until_view_fresh(self, view: str, version: Version, *, since: int, token: int | None = None) -> list[Refresh]:
        """Waits for a view and all that it reads, as ``until_fresh`` does.

        Raises:
            StatementError: the refresh failed, and why, or waits for a view that did; or nobody acts on this store.
        """
        ran = self.until_fresh(lambda state: upstream(state, view), version, since=since, token=token, only=view)
        with self._runtime.lock:
            known = self._runtime.state.views.get(view)
            held = held_by(self._runtime.state, view) if known is not None else []
        if held:
            raise StatementError(
                f"{view} waits for {', '.join(held)}, which cannot be refreshed now; EXPLAIN REFRESH {view} tells why. "
                f"It follows when that is mended, or at once with 'headwater.upstream' = 'release'"
            )
        if known is not None and known.failures and not any(each.status is Outcome.PUBLISHED for each in ran):
            raise StatementError(
                f"{view} could not be refreshed: {known.reason}. It is tried again; SHOW REFRESHES FOR {view} "
                f"tells more, and DROP MATERIALIZED VIEW {view} gives it up"
            )
        return ran

    def _require_actor(self) -> None:
        _, until = self._store.holder()
        if not self._runtime.acts and until < self._runtime.clock.now():
            raise StatementError(
                "this session only reports (spark.headwater.role=report) and no engine refreshes this store now; "
                "start one with `headwater run`"
            )


def _slice(deadline: float | None) -> float:
    return LOOK_AGAIN if deadline is None else max(0.0, min(LOOK_AGAIN, deadline - time.monotonic()))
