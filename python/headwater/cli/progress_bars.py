"""Refreshes under way, a bar for each, where a terminal is attached."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from headwater.spark.jvm.facts import RunProgress

LOOK = 0.5
"""Seconds between two looks."""


@contextmanager
def shown(look: Callable[[], Sequence[RunProgress]], console: Console | None = None) -> Iterator[None]:
    """Shows the refreshes that ``look`` finds until the block ends, if a terminal is attached. The first look that
    fails is the last one."""
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    ended = threading.Event()
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}"), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as bars:
        watching = threading.Thread(target=_watch, args=(look, bars, ended), daemon=True)
        watching.start()
        try:
            yield
        finally:
            ended.set()
            watching.join()


def _watch(look: Callable[[], Sequence[RunProgress]], bars: Progress, ended: threading.Event) -> None:
    known: dict[int, TaskID] = {}
    while not ended.wait(LOOK):
        try:
            found = {each.version: each for each in look()}
        except Exception:  # the application ends, or Spark does: whoever waits for the refresh sees why
            return
        for version in known.keys() - found.keys():
            bars.remove_task(known.pop(version))
        for version, each in found.items():
            if version not in known:
                known[version] = bars.add_task(each.view, said="")
            done, total = (each.copied, each.size) if each.size else (each.done, each.tasks)
            bars.update(known[version], completed=done, total=total or None, said=said(each))


def said(each: RunProgress) -> str:
    """The progress of a refresh, in words."""
    if each.size:
        return f"{_bytes(each.copied)} of {_bytes(each.size)} copied to the warehouse"
    words = [f"{each.done} of {each.tasks} tasks"]
    if each.bytes_read:  # Spark tells of a task when it is done, and every ten seconds
        words.append(f"read {each.rows_read:,} rows, {_bytes(each.bytes_read)}")
    if each.bytes:
        words.append(f"wrote {each.rows:,} rows, {_bytes(each.bytes)}")
    return "; ".join(words)


def _bytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
