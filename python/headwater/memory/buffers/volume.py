"""The fast volume: a buffer in files.

A directory of this engine on a memory-backed file system that driver and executors share. An output is written there
once, in its final format; its bytes are copied to the warehouse later.

The engine times a few megabytes, as Spark would write and read them, through Hadoop's file systems. It takes as many
files as there are tasks side by side where these run on this machine, and one elsewhere. A local disk is mostly as fast
as memory, for the operating system keeps its files there. So nothing is gained, and nothing is kept.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

from attrs import evolve, frozen
from pyspark.sql import DataFrame, SparkSession

from headwater.logger import log
from headwater.memory.buffers.buffer import Application, Buffer
from headwater.memory.planning.means import Costs
from headwater.model.command import Launch, Written
from headwater.model.error import HeadwaterError
from headwater.model.measure import Place
from headwater.model.partition import Version
from headwater.spark.jvm import paths
from headwater.spark.jvm.counted import Counted
from headwater.spark.jvm.settings import MemoryLimit
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.writer import Writer

LOCK = ".lock"
"""The suffix of the file whose lock says that an engine lives."""
IN_MEMORY = Path("/dev/shm")
"""Where Linux has a file system in memory."""


class NoVolume(HeadwaterError):
    """Outputs cannot be kept in a fast volume."""


def opened(memory: MemoryLimit, named: str | None, local: bool, is_shared: Callable[[Path], bool]) -> Volume:
    """The volume of an application.

    Args:
        named: where it is to be; ``None``: in this machine's memory, if driver and executors run there.
        local: whether they do.
        is_shared: whether the executors see what the driver writes in a directory.

    Raises:
        NoVolume: it can have none.
    """
    root = paths.local(named) if named else IN_MEMORY
    if root is None:
        raise NoVolume(f"{named} is not on a local disk; set spark.headwater.memory.path to a directory that is")
    problem = _problem(root, bool(named), local, is_shared)
    if problem:
        raise NoVolume(problem)
    usage = shutil.disk_usage(root)
    limit = memory.of(usage.total)
    if limit > usage.free:
        log.warning("%s has %d MB free, so that is what is kept there at most", root, usage.free >> 20)
    try:
        return Volume(root, min(limit, usage.free))
    except OSError as error:
        raise NoVolume(
            f"{error.filename}: {error.strerror}; set spark.headwater.memory.path to another directory"
        ) from error


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


class Volume(Buffer):
    """A directory of one engine.

    Raises:
        OSError: nothing can be written there, or somebody else owns the directory that is this user's by its name.
    """

    kind = Place.VOLUME

    def __init__(self, root: Path, limit: int) -> None:
        super().__init__(limit)
        ours = root / f"headwater-{os.getuid()}"
        ours.mkdir(mode=0o700, exist_ok=True)
        if ours.is_symlink() or ours.stat().st_uid != os.getuid() or ours.stat().st_mode & 0o077:
            raise PermissionError(errno.EPERM, "somebody else could write there", str(ours))
        _remove_left(ours)
        self._directory = ours / uuid.uuid4().hex
        self._held = _locked(self._lock_file)
        self._directory.mkdir(mode=0o700)

    def place(self, version: Version) -> str:
        """Where a run's output is written."""
        return f"file:{self._folder(version)}/data"

    def size(self, version: Version) -> int:
        return size(self._folder(version))

    def keep(self, launch: Launch, frame: DataFrame, writer: Writer) -> tuple[Written, Counted]:
        written, counted = writer.write(launch, frame, self.place(launch.run.version))
        return evolve(written, place=self.kind), counted

    def bring(self, session: SparkSession, launch: Launch, kept: Written, writer: Writer) -> Written | None:
        brought = writer.copy(launch, self.place(launch.run.version), kept.made)
        return brought if brought.measured.size == kept.measured.size else None

    def leave(self, frame: DataFrame, number: Version, writer: Writer) -> tuple[str, int]:
        place = self.place(number)
        frame.write.parquet(place)
        return place, writer.size(place)

    def costs(self, application: Application) -> Costs:
        """Where tasks run on this machine they share its way to the warehouse; others have theirs."""
        shim, tasks = application.shim, application.session.sparkContext.defaultParallelism
        streams = tasks if application.local else 1
        try:
            warehouse = measured(shim, application.warehouse, streams)
            memory = measured(shim, self.place(0), streams)
        finally:
            self.remove(0)
        return costs(warehouse, memory, streams / tasks, application.settings.bandwidth)

    def remove(self, version: Version) -> None:
        shutil.rmtree(self._folder(version), ignore_errors=True)
        super().remove(version)

    def close(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)
        self._lock_file.unlink(missing_ok=True)
        if self._held is not None:
            os.close(self._held)
            self._held = None
        super().close()

    def _folder(self, version: Version) -> Path:
        return self._directory / f"v{version}"

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
    """Removes the directories of engines that are gone. Nobody holds the lock of such a directory. Or it has no lock
    any more, because a task that outlived its engine has made it anew: an engine makes the lock first."""
    for directory in [each for each in ours.iterdir() if each.is_dir()]:
        if not directory.with_suffix(LOCK).exists():
            shutil.rmtree(directory, ignore_errors=True)
    for lock in ours.glob(f"*{LOCK}"):
        handle = _locked(lock)
        if handle is not None:
            log.info("%s, left by an engine that is gone, is removed", lock.with_suffix(""))
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            lock.unlink(missing_ok=True)
            os.close(handle)


PROBED = 8 << 20
"""Bytes that are written and read to measure a place."""
CLEAR = 2.0
"""A place is slower than memory if it takes so many times as long; less may be chance."""


@frozen
class Rates:
    """µs that a byte takes in a place.

    Attributes:
        write, read: when several streams share the work.
        alone: when one stream writes.
    """

    write: float
    read: float
    alone: float


def measured(shim: Shim, directory: str, streams: int) -> Rates:
    """The rates of a place. Two trials of all streams together, of which the better counts: the first one also opens
    connections."""
    trials = [shim.probe(directory, PROBED, streams) for _ in range(2)]
    write, read = (min(times) / PROBED for times in zip(*((each.write, each.read) for each in trials), strict=True))
    alone = shim.probe(directory, PROBED, 1).write / PROBED if streams > 1 else write
    return Rates(write, read, alone)


def costs(warehouse: Rates, memory: Rates, share: float = 1, bandwidth: int = 0) -> Costs:
    """The saving of a byte that is kept in memory, and the cost of its copy.

    The copy waits for the warehouse, which costs the run nothing, and moves the byte, which costs as much as in memory.

    Args:
        share: of the streams of a run, those that were measured; all run at the same rate.
        bandwidth: bytes a second that a copy may take; 0: all that go through.
    """
    write = warehouse.write if warehouse.write > CLEAR * memory.write else memory.write
    read = warehouse.read if warehouse.read > CLEAR * memory.read else memory.read
    moved = memory.write + memory.read
    copied = max(warehouse.alone + memory.read, 1e6 / bandwidth if bandwidth else 0)
    return Costs((write - memory.write) * share, (read - memory.read) * share, copied, moved * share)
