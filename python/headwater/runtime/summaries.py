"""Keeps the store's summary up to date, so that ``headwater status`` need not replay the journal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate

from headwater.engine.requests.coverage import plan, unresolved, upstream
from headwater.engine.tell.detail import detail
from headwater.engine.tell.status import summary
from headwater.logger import log
from headwater.model.error import HeadwaterError
from headwater.model.state import State
from headwater.ports import Clock
from headwater.store.sql_store import SqlStore

PAUSE = 1_000
"""At least so long (ms) between two summaries."""

SHARE = 20
"""A summary that takes t is made at most every ``SHARE`` t."""

DETAILED = 10_000
"""An engine keeps the detail up to this number of partitions and requests: some 50 ms."""


class Summaries:
    """Writes the summary of one engine's state, at a small share of its time."""

    def __init__(self, store: SqlStore, clock: Clock, tracks: int) -> None:
        self._store, self._clock, self._tracks = store, clock, tracks
        self._seq, self._began, self._pause = 0, 0, 0

    def keep(self, state: State, seq: int) -> None:
        """Writes what is said of the views as of journal entry ``seq``, unless that is kept or it is too soon."""
        began = self._clock.now()
        if seq == self._seq or self._began <= began < self._began + self._pause:
            return
        try:
            # While runs are under way it would be out of date at once, and it takes more than all else together.
            said = json.dumps(detail(state)) if not state.running and _is_brief(state) else None
            self._store.summarise(seq, summary(state, self._tracks), said)
            self._seq = seq
        except HeadwaterError as error:
            log.warning("what `headwater status` shows at once could not be kept: %s", error)
        self._began, self._pause = began, max(PAUSE, SHARE * (self._clock.now() - began))


def _is_brief(state: State) -> bool:
    """Whether an engine may take the time to say everything in detail."""
    return all(total <= DETAILED for total in accumulate(_extents(state)))


def _extents(state: State) -> Iterator[int]:
    """How much there is to say: partitions of views; requests at each view that they reach, and there once for
    each table that the view is made from."""
    yield from (len(state.tables[name].partitions) for name in state.views)
    reaching: Counter[str] = Counter()
    for name in state.views:
        requests = len(unresolved(state, name))
        if requests:
            reached = (name, *(step.view for step in plan(state, name)))
            reaching.update(dict.fromkeys(reached, requests))
            yield requests * len(reached)
    yield from (requests * len(upstream(state, name)) for name, requests in reaching.items())
