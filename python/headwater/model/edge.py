"""How far the times of events reach in the rows of a view ([Golab11] §2.2, §2.3)."""

from __future__ import annotations

from attrs import frozen


@frozen
class Edge:
    """The times of events that a refresh found in the sources of its view.

    Attributes:
        at: the least of the newest times of the sources (µs since 1970), less ``headwater.lateness``; ``None``: some
            source has no row with a time.
        passed: rows of each source up to ``at``; of a view with a trailing edge only.
        late: rows that came up to the edge of the refresh before, after it: later than ``headwater.lateness`` allows.
    """

    at: int | None
    passed: tuple[tuple[str, int], ...] = ()
    late: int = 0
