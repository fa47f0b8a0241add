"""A look at all sources before a statement says how fresh views are. It is waited for, but not for long."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet

from headwater.model.error import HeadwaterError
from headwater.model.reason import Code, Reason
from headwater.ports import Clock


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
