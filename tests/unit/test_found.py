"""What a look found: partitions by their values, whatever their names."""

from __future__ import annotations

from headwater.model.partition import Slice
from headwater.spark import found

FIVE, SIX, NULL = Slice.of(month="5"), Slice.of(month="6"), Slice.of(month=None)


def fact(*partitions: tuple[str, str | None, str, int]) -> found.Fact:
    """Partitions as their names, values, fingerprints and numbers of files."""
    return {
        "partitions": [
            {"spec": {"month": name}, "values": {"month": value}, "fingerprint": state, "files": files}
            for name, value, state, files in partitions
        ]
    }


def test_partitions_of_other_values_have_their_own_fingerprints():
    assert found.fingerprints(fact(("5", "5", "a", 1), ("6", "6", "b", 1))) == {FIVE: "a", SIX: "b"}


def test_partitions_of_one_value_have_one_fingerprint_which_follows_each():
    def five(*states: str) -> str:
        several = zip(("5", "05", "+5"), states, strict=False)
        return found.fingerprints(fact(*((name, "5", state, 1) for name, state in several)))[FIVE]

    assert len({five("a"), five("a", "b"), five("a", "c"), five("c", "b"), five("a", "b", "c")}) == 5
    assert five("a", "b") == five("b", "a"), "they are listed in any order"


def test_a_value_is_empty_if_no_partition_of_it_has_a_file():
    partitions = fact(("5", "5", "a", 0), ("05", "5", "b", 1), ("6", "6", "c", 0), ("06", "6", "d", 0))
    assert found.empty(partitions) == {SIX}


def test_names_as_spark_spells_them():
    assert found.is_spelled_as_spark_does(fact(("5", "5", "a", 1), ("__HIVE_DEFAULT_PARTITION__", None, "b", 1)))
    assert not found.is_spelled_as_spark_does(fact(("05", "5", "a", 1)))
    assert not found.is_spelled_as_spark_does(fact(("five", None, "a", 1)))
