"""The processes of a measured application, and the processors and the memory that each one takes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

ENGINE = "headwater.spark.process.engine_process"
"""What the command of an engine names."""
PATIENCE = 60
"""Seconds in which an engine must have started."""


def engine_of(pid: int) -> int:
    """The engine process below a program, as soon as there is one.

    Raises:
        RuntimeError: none started.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if (found := running_engine(pid)) is not None:
            return found
        time.sleep(0.05)
    raise RuntimeError(f"no engine started below process {pid} within {PATIENCE} s")


def running_engine(pid: int) -> int | None:
    """The engine process below a program, if there is one now."""
    for each in descendants(pid):
        command, *words = _command(each)
        if command.startswith("python") and any(ENGINE in word for word in words):
            return each
    return None


def driver_of(pid: int) -> int:
    """The JVM below a program.

    Raises:
        LookupError: there is none.
    """
    for each in descendants(pid):
        if _command(each)[0] == "java":
            return each
    raise LookupError(f"process {pid} has no JVM")


def descendants(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = [int(each) for each in (task / "children").read_text().split()]
        except OSError:
            continue
        for child in children:
            yield child
            yield from descendants(child)


def used(pid: int) -> float:
    """Seconds of processors that a process took so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    """Bytes of a process that are in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _command(pid: int) -> list[str]:
    """The words of a process's command, the first without its directory."""
    try:
        first, *rest = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return [""]
    return [first.rpartition("/")[2], *rest]
