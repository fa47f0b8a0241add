"""Keeps the store's summary up to date, so that ``headwater status`` need not replay the journal."""

from __future__ import annotations

import json
import logging

from headwater.engine.coverage import plan, unresolved
from headwater.engine.status import detail, summary
from headwater.model.error import HeadwaterError
from headwater.model.state import State
from headwater.ports import Clock, Store

log = logging.getLogger("headwater")

PAUSE = 1_000
"""At least so long (ms) between two summaries."""

SHARE = 20
"""A summary that takes t is made at most every ``SHARE`` t."""

DETAILED = 5_000
"""An engine keeps the detail of at most so many partitions, and requests with what they reach: some 50 ms."""


class Summaries:
    """Writes the summary of one engine's state, at a small share of its time."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._seq, self._next = 0, 0

    def keep(self, state: State, seq: int) -> None:
        """Writes what is said of the views as of journal entry ``seq``, unless that is kept or it is too soon."""
        began = self._clock.now()
        if seq == self._seq or began < self._next:
            return
        try:
            self._store.summarise(
                seq, summary(state), json.dumps(detail(state)) if _extent(state) <= DETAILED else None
            )
            self._seq = seq
        except HeadwaterError as error:
            log.warning("what `headwater status` shows at once could not be kept: %s", error)
        self._next = began + max(PAUSE, SHARE * (self._clock.now() - began))


def _extent(state: State) -> int:
    """How much there is to say in detail: partitions of views, and requests with the views that each reaches."""
    partitions = sum(len(state.tables[name].partitions) for name in state.views)
    return partitions + sum(len(unresolved(state, name)) * (1 + len(plan(state, name))) for name in state.views)
