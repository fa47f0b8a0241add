"""When small files of a lake view are put together, and which.

Example: each refresh adds a file of 1 KB to a view. The 32nd makes them due, and they become one file of 32 KB. That
one is written again when as many bytes have come after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

LEAST, MOST = 1 << 20, 4 << 20
"""Bytes of a file with a range of keys: one that is written anew in a fraction of a second."""

LISTED_FILES = 48
"""So many files a checksum of Delta lists, and some more."""

FEW = 32
"""Of fewer small files, a commit costs more than it spares."""

PRESSING = 10 * FEW
"""So many are put together although other refreshes run."""

UNREAD = 10 * PRESSING
"""So many are put together although a view above has not followed the rows in them."""


@frozen
class Compaction:
    """What is to be done to a view's table.

    Attributes:
        below: the bytes that a file has which is too small.
        target: those that one is to have.
        files: so many are too small.
    """

    below: int
    target: int
    files: int


@frozen
class PutTogether:
    """What was done: so many files took the place of so many."""

    before: int
    after: int


def files(size: int) -> int:
    """In how many files so many bytes lie."""
    return max(1, min(LISTED_FILES, -(-size // LEAST)), size // MOST)


def due(sizes: Sequence[int]) -> Compaction | None:
    """Which files of a table without partitions are to be put together; ``None``: it has few small ones.

    The files below a power of two are chosen if all together have twice as many bytes. So the bytes that are written
    again come into a file above the power, and are written once for each power: the rule of size-tiered stores (O'Neil
    et al., The Log-Structured Merge-Tree, 1996). Where files become smaller together, the bytes that they lose pay.

    Args:
        sizes: the bytes of all files.
    """
    total = sum(sizes)
    target = max(LEAST, total // files(total))
    below = 1 << (target // 2).bit_length() - 1
    while below:
        small = [each for each in sizes if each < below]
        if len(small) < FEW:
            return None
        if sum(small) >= 2 * below:
            return Compaction(below, target, len(small))
        below >>= 1
    return None
