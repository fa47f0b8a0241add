"""The fast volume: where outputs of a run lie for their readers before they are in the warehouse.

A directory of this engine on a memory-backed file system that driver and executors share. An output is written there
once, in its final format; its bytes are copied to the warehouse later. What may lie there at any moment is bounded:
room is set aside before a run starts, and a run that needs more than was foreseen, and more than is left, is stopped
and written to the warehouse instead.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from headwater.model.error import RefreshFailed
from headwater.model.state import Version
from headwater.spark.settings import Memory

log = logging.getLogger("headwater")

HEADROOM = 0.1
"""The share of the limit that is left free: what a run writes between two looks, and while it is being stopped."""
LOOK = 0.02
"""Seconds between two looks at how much a run has written."""
LOCK = ".lock"
"""The suffix of the file whose lock says that an engine lives."""
IN_MEMORY = Path("/dev/shm")
"""Where Linux has a file system in memory."""


def opened(memory: Memory, named: str | None, local: bool, is_shared: Callable[[Path], bool]) -> Volume | None:
    """The volume of an application, if it is to have one and can; if it cannot, that is said once.

    Args:
        named: where it is to be; ``None``: in this machine's memory, if driver and executors run there.
        local: whether they do.
        is_shared: whether the executors see what the driver writes in a directory.
    """
    if not memory.of(1 << 40):
        return None
    root = Path(named.removeprefix("file:")) if named else IN_MEMORY
    problem = _problem(root, bool(named), local, is_shared)
    if problem:
        log.warning("nothing is kept in memory: %s", problem)
        return None
    usage = shutil.disk_usage(root)
    limit = memory.of(usage.total)
    if limit > usage.free:
        log.warning("%s has %d MB free, so that is what is kept there at most", root, usage.free >> 20)
    try:
        return Volume(root, min(limit, usage.free))
    except OSError as error:
        log.warning("nothing is kept in memory: %s: %s", error.filename, error.strerror)
        return None


def _problem(root: Path, named: bool, local: bool, is_shared: Callable[[Path], bool]) -> str:
    """Why there can be no volume in a directory, and what to do; empty if there can."""
    if not named and not local:
        return "the executors run on other machines; set spark.headwater.memory.path to a fast volume that all share"
    if not root.is_dir():
        return f"there is no directory {root}; set spark.headwater.memory.path to one on a fast volume"
    if not os.access(root, os.W_OK | os.X_OK):
        return f"{root} cannot be written to; set spark.headwater.memory.path to a directory that can"
    if not local and not is_shared(root):
        return f"the executors do not see what is written to {root}; set spark.headwater.memory.path to a shared volume"
    return ""


class OutOfRoom(RefreshFailed):
    """What a run makes needs more room than there is."""


class Volume:
    """What one engine may keep, and does.

    Attributes:
        limit: bytes that may lie there at any moment.

    Raises:
        OSError: nothing can be written there, or somebody else owns the directory that is this user's by its name.
    """

    def __init__(self, root: Path, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._reserved: dict[Version, int] = {}
        ours = root / f"headwater-{os.getuid()}"
        ours.mkdir(mode=0o700, exist_ok=True)
        if ours.is_symlink() or ours.stat().st_uid != os.getuid() or ours.stat().st_mode & 0o077:
            raise PermissionError(errno.EPERM, "somebody else could write there", str(ours))
        _remove_left(ours)
        self._directory = ours / uuid.uuid4().hex
        self._held = _locked(self._lock_file)
        self._directory.mkdir(mode=0o700)

    @property
    def free(self) -> int:
        """Bytes that no run has set aside."""
        with self._lock:
            return int(self.limit * (1 - HEADROOM)) - sum(self._reserved.values())

    def reserve(self, version: Version, size: int) -> bool:
        """Sets so much room aside for a run, instead of what it had; whether there is as much."""
        with self._lock:
            others = sum(held for each, held in self._reserved.items() if each != version)
            fits = others + size <= self.limit * (1 - HEADROOM)
            if fits:
                self._reserved[version] = size
            return fits

    def place(self, version: Version) -> str:
        """Where a run's output is written."""
        return f"file:{self._directory}/v{version}/data"

    @contextlib.contextmanager
    def watched(self, version: Version, stop: Callable[[], object]) -> Iterator[None]:
        """Looks at what a run writes: sets more room aside when that is more than was foreseen, and calls ``stop``
        when there is no more.

        Raises:
            OutOfRoom: it was stopped.
        """
        ended, full = threading.Event(), threading.Event()
        folder = self._directory / f"v{version}"

        def look() -> None:
            while not ended.wait(LOOK):
                written = size(folder)
                if written > self._reserved.get(version, 0) and not self.reserve(version, written):
                    full.set()
                    stop()

        watching = threading.Thread(target=look, daemon=True, name="headwater-volume")
        watching.start()
        try:
            yield
        except Exception as error:
            if full.is_set():
                raise OutOfRoom(f"its {size(folder) >> 20} MB and more do not fit") from error
            raise
        finally:
            ended.set()
            watching.join()
        if not self.reserve(version, size(folder)):
            raise OutOfRoom(f"its {size(folder) >> 20} MB do not fit")

    def remove(self, version: Version) -> None:
        """Removes a run's output."""
        shutil.rmtree(self._directory / f"v{version}", ignore_errors=True)
        with self._lock:
            self._reserved.pop(version, None)

    def close(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)
        self._lock_file.unlink(missing_ok=True)
        if self._held is not None:
            os.close(self._held)
            self._held = None

    @property
    def _lock_file(self) -> Path:
        return self._directory.with_suffix(LOCK)


def size(directory: Path) -> int:
    """Bytes in the files below a directory; one that goes meanwhile has none."""
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.stat(os.path.join(folder, name)).st_size
    return total


def _locked(path: Path) -> int | None:
    """A lock on a file, held as long as what is returned is open; ``None`` if a process that lives holds it."""
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def _remove_left(ours: Path) -> None:
    """Removes what engines left that are gone: nobody holds the lock on it."""
    for lock in ours.glob(f"*{LOCK}"):
        handle = _locked(lock)
        if handle is not None:
            log.info("%s, left by an engine that is gone, is removed", lock.with_suffix(""))
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            lock.unlink(missing_ok=True)
            os.close(handle)
