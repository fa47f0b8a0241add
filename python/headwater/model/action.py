"""What the engine wants done. The runtime does it and reports back with an event."""

from __future__ import annotations

from attrs import frozen

from headwater.model.partition import Slice
from headwater.model.state import Run, Version
from headwater.model.view import Definition


@frozen
class Launch:
    """Compute and publish a run; answer with ``Published`` or ``Failed``.

    ``existing`` are the view's partitions, as last published, that lie in the run's slices: those
    that the run does not make again have become empty.
    """

    run: Run
    definition: Definition
    existing: tuple[Slice, ...]


@frozen
class Clean:
    """A view is gone: stop its run, if any, and remove its directories."""

    definition: Definition
    running: Version | None


Action = Launch | Clean
