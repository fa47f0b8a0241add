"""Slices and regions against brute force over every partition they may hold."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import VALUES, examples, slices

from headwater.model.partition import WHOLE, Region, Slice, overlapping, simplified, sort_key

UNIVERSE = [Slice(tuple(zip("abc", each, strict=True))) for each in product(VALUES, repeat=3)]
sets = st.lists(slices, max_size=6)


def inside(each: Slice) -> set[Slice]:
    """Every partition of a table with three columns that lies in the slice."""
    return {one for one in UNIVERSE if set(each.bound) <= set(one.bound)}


def test_equal_slices_are_equal_values():
    assert Slice.of(b="2", a="1") == Slice((("a", "1"), ("b", "2"))) == Slice.of({"a": "1"}, b="2")
    assert {Slice.of(a="1", b=None): 1}[Slice.of(b=None, a="1")] == 1
    assert str(Slice.of(b=None, a="1")) == "a=1, b=NULL" and str(WHOLE) == "()"


def test_a_slice_knows_its_values():
    assert Slice.of(a=None).value("a") is None
    with pytest.raises(KeyError):
        Slice.of(a="1").value("b")


@examples(100)
@given(given_slices=st.lists(slices, unique=True, max_size=12))
def test_a_region_keeps_the_order_of_its_slices(given_slices):
    """Of those with the same columns. A process with other hashes goes through them in the same order."""
    alike = [each for each in given_slices if each.columns == given_slices[0].columns]
    assert [*Region(alike)] == alike


@examples(100)
@given(left=slices, right=slices)
def test_covering_and_overlapping_are_those_of_sets(left, right):
    assert left.covers(right) == (inside(right) <= inside(left))
    assert left.overlaps(right) == right.overlaps(left) == bool(inside(left) & inside(right))


@examples(100)
@given(each=slices, columns=st.sets(st.sampled_from("abc")))
def test_keep_is_the_smallest_slice_of_those_columns(each, columns):
    kept = each.keep(columns)
    assert kept.covers(each) and kept.columns == each.columns & columns


@examples(100)
@given(held=sets, asked=slices)
def test_a_region_answers_like_its_slices(held, asked):
    region = Region(held)
    assert set(region) == set(held) and bool(region) == bool(held)
    assert region.covers(asked) == any(each.covers(asked) for each in held)


@examples(100)
@given(given_=sets, again=st.randoms(use_true_random=False))
def test_simplified_holds_the_same_partitions_with_nothing_covered(given_, again):
    short = simplified(given_)
    assert set().union(*map(inside, short)) == set().union(*map(inside, given_))
    assert not any(one.covers(other) for one in short for other in short if one != other)
    shuffled = list(given_)
    again.shuffle(shuffled)
    assert simplified(shuffled) == short == tuple(sorted(short, key=sort_key))


@examples(100)
@given(given_=sets)
def test_overlapping_groups_are_the_connected_ones(given_):
    groups = overlapping(given_)
    assert sorted((each for group in groups for each in group), key=sort_key) == sorted(set(given_), key=sort_key)
    place = {each: n for n, group in enumerate(groups) for each in group}
    for one, other in product(set(given_), repeat=2):
        assert place[one] == place[other] or not one.overlaps(other)
    for group in groups:
        reached = {group[0]}
        while more := {each for each in group if any(each.overlaps(one) for one in reached)} - reached:
            reached |= more
        assert reached == set(group)
