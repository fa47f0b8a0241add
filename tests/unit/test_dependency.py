"""Partition maps: never narrower than what a query reads, and as narrow as the map says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import computed, image, recomputed
from strategies import definitions, examples, partitions, slices

from headwater.algebra.dependency import backward, forward, forward_all, missing
from headwater.model.calendar import DAY, HOUR, MONTH
from headwater.model.dependency import Dependency, Occurrence, Same, Windowed
from headwater.model.partition import WHOLE, Slice

HALF = computed("half", "a")


class All(dict):
    """Every image, evaluated when asked."""

    def __contains__(self, key):
        return True

    def __getitem__(self, key):
        return image(*key)


def reading(*columns) -> Dependency:
    return Dependency("t", tuple(Occurrence(tuple(each)) for each in columns))


def test_same_column():
    dependency = reading([("m", Same("a"))])
    assert forward(dependency, Slice.of(a="1"), {}) == (Slice.of(m="1"),)
    assert forward(dependency, Slice.of(a=None, b="2"), {}) == (Slice.of(m=None),)


def test_what_a_change_does_not_bind_stays_free():
    dependency = reading([("m", Same("a")), ("n", Same("b"))])
    assert forward(dependency, Slice.of(b="2"), {}) == (Slice.of(n="2"),)
    assert forward(dependency, WHOLE, {}) == (WHOLE,)


def test_computed_column():
    dependency = reading([("m", HALF)])
    key = (HALF.sql, ("3",))
    assert missing(dependency, Slice.of(a="3"), {}) == [key]
    assert forward(dependency, Slice.of(a="3"), {}) == (WHOLE,)
    assert forward(dependency, Slice.of(a="3"), {key: "1"}) == (Slice.of(m="1"),)
    assert forward(dependency, Slice.of(a="3"), {key: None}) == (Slice.of(m=None),)
    assert missing(dependency, Slice.of(a="3"), {key: None}) == []
    assert missing(dependency, Slice.of(b="3"), {}) == []


def test_a_self_join_reaches_the_union():
    dependency = reading([("m", Same("a"))], [("m", HALF)])
    images = {(HALF.sql, ("3",)): "1"}
    assert forward(dependency, Slice.of(a="3"), images) == (Slice.of(m="1"), Slice.of(m="3"))
    assert forward_all(dependency, [Slice.of(a="3"), Slice.of(b="1")], images) == (WHOLE,)


def test_a_constant_branch_is_bound_whatever_changed():
    """``Computed`` without inputs is a constant; a change of the whole source still reaches only its branch
    where the columns are known, and is never narrower than everything when they are not."""
    constant = computed("none")
    assert forward(reading([("m", constant)]), Slice.of(a="1"), {(constant.sql, ()): "x"}) == (Slice.of(m="x"),)


@examples(100)
@given(data=st.data())
def test_a_map_is_never_narrower_than_what_the_query_reads(data):
    """Wherever the result of a query differs after a change of one partition, the map reaches."""
    definition = data.draw(definitions("v", data.draw(st.sampled_from([("a",), ("a", "b")])), {"t": ("a", "b")}))
    content = data.draw(st.dictionaries(partitions("ab"), st.integers(0, 40), max_size=5))
    changed, value = data.draw(partitions("ab")), data.draw(st.none() | st.integers(0, 40))
    after = {each: held for each, held in content.items() if each != changed} | (
        {} if value is None else {changed: value}
    )
    old, new = recomputed(definition, {"t": content}), recomputed(definition, {"t": after})
    reached = forward(definition.dependencies[0], changed, All())
    for each in {*old, *new}:
        assert old.get(each) == new.get(each) or any(one.covers(each) for one in reached)


def test_backward_binds_what_is_taken_over_as_it_is():
    dependency = reading([("m", Same("a")), ("n", HALF)], [("m", Same("b"))])
    assert backward(dependency, Slice.of(m="1", n="2")) == (Slice.of(a="1"), Slice.of(b="1"))
    assert backward(dependency, Slice.of(n="2")) == (WHOLE,)
    twice = reading([("m", Same("a")), ("n", Same("a"))])
    assert backward(twice, Slice.of(m="1", n="1")) == (Slice.of(a="1"),)
    assert backward(twice, Slice.of(m="1", n="2")) == ()


@examples(200)
@given(data=st.data(), wanted=slices)
def test_backward_is_the_inverse_of_forward(data, wanted):
    """What reaches a slice lies in what the slice is made of; where columns are taken over as they are, nothing
    else does."""
    [dependency] = data.draw(definitions("v", ("a", "b"), {"t": ("a", "b")})).dependencies
    changed, wanted = data.draw(partitions("ab")), wanted.keep("ab")
    reaches = any(one.overlaps(wanted) for one in forward(dependency, changed, All()))
    made_of = any(one.covers(changed) for one in backward(dependency, wanted))
    assert made_of or not reaches
    copies = all(isinstance(each, Same) for one in dependency.occurrences for _, each in one.columns)
    assert reaches or not made_of or not copies


@examples(100)
@given(data=st.data(), changed=slices)
def test_a_smaller_change_and_a_known_image_reach_no_more(data, changed):
    [dependency] = data.draw(definitions("v", ("a", "b"), {"t": ("a", "b")})).dependencies
    wide = forward(dependency, changed.keep(("a",)), All())
    narrow = forward(dependency, changed, All())
    assert all(any(one.covers(each) for one in wide) for each in narrow)
    assert all(any(one.covers(each) for one in forward(dependency, changed, {})) for each in narrow)


def stated(window, spelled="date", **told) -> Dependency:
    return reading([("m", Windowed("a", window, spelled, **told))])


def test_a_window_of_many_periods_leaves_its_column_free():
    """They would be listed while nobody else can record anything."""
    assert len(forward(stated((DAY - 9_999).to(DAY)), Slice.of(a="2024-05-01"), {})) == 10_000
    assert forward(stated((DAY - 5_000_000).to(DAY)), Slice.of(a="2024-05-01"), {}) == (WHOLE,)
    assert len(forward(stated(DAY.hours("Europe/Berlin") - 10**12), Slice.of(a="2024-05-01 12:00:00"), {})) == 1
    months = Windowed("a", (DAY - 999).to(DAY)), Windowed("a", (DAY - 99).to(DAY))
    both = forward(reading([("m", months[0]), ("n", months[1])]), Slice.of(a="2024-05-01"), {})
    assert len(both) == 1_000 and {each.names for each in both} == {("m",)}


def test_a_zone_that_is_not_known_leaves_its_column_free():
    assert forward(stated(DAY.hours("nowhere")), Slice.of(a="2024-05-01 12:00:00"), {}) == (WHOLE,)


@pytest.mark.parametrize(
    ("spelled", "window", "text", "reached"),
    [
        ("string", DAY - 1, "2024-05-01", "2024-05-02"),
        ("string", DAY - 1, "20240501", None),
        ("string", HOUR - 1, "2024050113", None),
        ("string", HOUR - 1, "2024-05-01 13", "2024-05-01 14"),
        ("string", MONTH - 1, "202405", None),
        ("string", MONTH - 1, "2024-05", "2024-06"),
        ("int", DAY - 1, "20240501", "20240502"),
        ("int", MONTH - 1, "202405", "202406"),
        ("decimal(8,0)", DAY - 1, "20240501", None),
        ("smallint", MONTH - 1, "2405", None),
    ],
)
def test_periods_are_spelled_as_the_source_does_or_the_column_is_free(spelled, window, text, reached):
    found = forward(stated(window, spelled, alike=True), Slice.of(a=text), {})
    assert found == ((WHOLE,) if reached is None else (Slice.of(m=reached),))
