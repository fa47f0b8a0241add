"""What the engine wants done. The runtime does it and reports back with an event."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from headwater.model.partition import Slice
from headwater.model.state import PartitionRecord, Run, Version
from headwater.model.view import Definition


@frozen
class Launch:
    """Compute and publish a run; answer with ``Published`` or ``Failed``, and perhaps first with ``Prepared``.

    ``existing`` are the view's partitions in the run's slices, with the record of each: those that the
    run does not make again have become empty, and one that comes out as its record says is unchanged. ``size`` is how
    many bytes it will write, by what was written lately; 0 if nobody knows.
    """

    run: Run
    definition: Definition
    existing: Mapping[Slice, PartitionRecord]
    size: int = 0


@frozen
class Clean:
    """A view is gone: stop its run, if any, and remove its directories."""

    definition: Definition
    running: Version | None


Action = Launch | Clean
