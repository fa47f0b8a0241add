"""The rule by which small files are put together: how many may stay, and how often a byte is written again."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.spark.tables.compaction import FEW, LEAST, Compaction, due


def bins(sizes: list[int], most: int) -> list[list[int]]:
    """As Delta fills files: the smallest first, each up to the target."""
    found: list[list[int]] = [[]]
    for each in sorted(sizes):
        if found[-1] and sum(found[-1]) + each > most:
            found.append([])
        found[-1].append(each)
    return found


def compacted(sizes: list[int], found: Compaction) -> tuple[list[int], int]:
    """The files of a table afterwards, and the bytes that were written."""
    stay = [each for each in sizes if each >= found.below]
    made = bins([each for each in sizes if each < found.below], found.target)
    return [*stay, *map(sum, made)], sum(sum(each) for each in made if len(each) > 1)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 200_000), min_size=1, max_size=30), st.integers(1, 1500))
def test_a_byte_is_written_again_for_each_power_at_most(kinds: list[int], refreshes: int) -> None:
    sizes: list[int] = []
    written = again = 0
    for n in range(refreshes):
        sizes.append(kinds[n * n % len(kinds)])
        written += sizes[-1]
        if found := due(sizes):
            sizes, cost = compacted(sizes, found)
            again += cost
    small = [each for each in sizes if each < LEAST // 2]
    assert sum(sizes) == written
    assert len(small) < FEW + 4 * LEAST.bit_length()
    assert again <= 2 * LEAST.bit_length() * written


def test_a_thousand_equal_files_cost_a_fraction_of_that() -> None:
    """Ten thousand refreshes of 1 KB: nobody counts more than 40 files, and each byte is written four times again."""
    sizes: list[int] = []
    again = most = 0
    for _ in range(10_000):
        sizes.append(1024)
        if found := due(sizes):
            sizes, cost = compacted(sizes, found)
            again += cost
        most = max(most, len(sizes))
    assert most <= 60
    assert again <= 8 * sum(sizes)


def test_files_of_a_full_refresh_stay() -> None:
    """Those with ranges of keys are no small ones, even if some came out at half their size."""
    assert due([1 << 20] * 40) is None
    assert due([3 << 20, 4 << 20, 5 << 20] * 100) is None


def test_few_small_files_and_one_large_one_stay() -> None:
    assert due([1024] * (FEW - 1)) is None
    assert due([]) is None
    assert due([1024] * FEW) == Compaction(below=16384, target=LEAST, files=FEW)
    assert due([100_000, *[1024] * FEW]) == Compaction(below=16384, target=LEAST, files=FEW)
