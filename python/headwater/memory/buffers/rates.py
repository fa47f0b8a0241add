"""The cost of a byte in the warehouse and in memory, measured when an engine starts.

The engine times a few megabytes, as Spark would write and read them, through Hadoop's file systems. It takes as many
files as there are tasks side by side where these run on this machine, and one elsewhere. A local disk is mostly as fast
as memory, for the operating system keeps its files there. So nothing is gained, and nothing is kept.
"""

from __future__ import annotations

from attrs import frozen

from headwater.memory.planning.means import Costs
from headwater.spark.jvm.shim import Shim

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
