"""What a byte costs in the warehouse and in memory, measured when an engine starts.

That is timed as Spark would do it, through Hadoop's file systems, with a file of a few megabytes. A
local disk is then mostly as fast as memory, for the operating system keeps what was written there: nothing is gained,
and nothing is kept.
"""

from __future__ import annotations

from attrs import frozen

from headwater.plan.wave import Costs
from headwater.spark.shim import Shim

PROBED = 8 << 20
"""Bytes that are written and read to measure a place."""
CLEAR = 2.0
"""A place is slower than memory if it takes so many times as long; less may be chance."""


@frozen
class Rates:
    """µs that writing and reading a byte takes one task."""

    write: float
    read: float


def measured(shim: Shim, directory: str) -> Rates:
    """The rates of a place, by its better of two trials; the first one also opens connections."""
    trials = [shim.probe(directory, PROBED) for _ in range(2)]
    return Rates(*(min(each[way] for each in trials) / PROBED for way in ("write", "read")))


def costs(warehouse: Rates, memory: Rates, cores: int) -> Costs:
    """What keeping a byte in memory saves a run whose tasks share ``cores``, and what its copy takes.

    The copy waits for the warehouse, which costs the run nothing, and moves the byte, which costs as much as in memory.
    """
    write = warehouse.write if warehouse.write > CLEAR * memory.write else memory.write
    read = warehouse.read if warehouse.read > CLEAR * memory.read else memory.read
    moved = memory.write + memory.read
    return Costs((write - memory.write - moved) / cores, (read - memory.read) / cores, warehouse.write + memory.read)
