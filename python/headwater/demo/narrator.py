"""Shows the progress of the demo: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Item = TypeVar("Item")
Result = TypeVar("Result")


class Narrator:
    """Use ``showing()`` in ``with``; every call inside it is one bar, or one line."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started = time.monotonic()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
        )

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._started

    def showing(self) -> AbstractContextManager[object]:
        return self._progress if self._console.is_terminal else nullcontext()

    def once(self, title: str, work: Callable[[], Result]) -> Result:
        """Shows one piece of work, and returns its result."""
        return [each() for each in self.through(title, [work])][0]

    def through(self, title: str, items: Iterable[Item]) -> Iterator[Item]:
        """Yields the items one by one, and shows the number of the finished ones."""
        work = list(items)
        if not self._console.is_terminal:
            self._console.print(f"{self.elapsed:6.1f} s  {title}", highlight=False, soft_wrap=True)
            yield from work
            return
        bar = self._progress.add_task(title, total=len(work))
        for item in work:
            yield item
            self._progress.advance(bar)
