"""What the command line orders of a running engine: a backfill, or the end of a refresh."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headwater.model.event import FRESH, CancelAsked, Requested
from headwater.model.partition import Slice
from headwater.model.state import State
from headwater.runtime.loop import Loop
from headwater.runtime.recorder import Recorder
from headwater.store.sql_store import SqlStore


class Orders:
    """The orders that lie in the store for the engine that leads."""

    def __init__(self, recorder: Recorder, loop: Loop, store: SqlStore) -> None:
        self._recorder, self._loop, self._store = recorder, loop, store

    def obey(self) -> None:
        """Records what the command line ordered."""
        number = self._loop.mine.number
        if not self._loop.leads or number is None:
            return
        for order in self._store.take_orders(number):
            if order.kind == "backfill":
                self._backfill(json.loads(order.subject))
            else:
                self._cancel(order.subject)
            self._store.carried_out(order)

    def _cancel(self, view: str) -> None:
        def event(state: State) -> CancelAsked | None:
            return CancelAsked(self._recorder.clock.now(), view) if view in state.running else None

        self._recorder.sync()  # another engine may have begun the run a moment ago
        self._recorder.record(event)

    def _backfill(self, asked: Mapping[str, Any]) -> None:
        slices, why = tuple(Slice.of(each) for each in asked["slices"]), "was to be backfilled, by headwater backfill"
        self._recorder.record(
            lambda _: Requested(self._recorder.clock.now(), FRESH, asked["table"], slices, why, asked["downstream"])
        )
