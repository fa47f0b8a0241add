"""What is foreseen of a refresh that nobody has measured."""

from __future__ import annotations

from attrs import frozen


@frozen
class Estimate:
    """A first refresh of a whole view, by Spark's statistics of its query.

    Attributes:
        size: bytes that it makes.
        read: bytes that it reads.
    """

    size: int
    read: int
