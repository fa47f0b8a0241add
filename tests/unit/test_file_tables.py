"""Tables that are files: a look finds partitions by their values, whatever their names; and what is deleted."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from headwater.model.partition import Slice
from headwater.model.reason import Code, Reason
from headwater.model.seen import Seen, TableQuestion
from headwater.spark.jvm.facts import Asked, Fact, FoundPartition, NamedType
from headwater.spark.tables.files import FileTables

FIVE, SIX, NULL = Slice.of(month="5"), Slice.of(month="6"), Slice.of(month=None)

Partition = tuple[str, str | None, str, int]


def fact(*partitions: Partition, whole: bool = True, asked: Sequence[str] = ()) -> Fact:
    """Partitions as their names, values, fingerprints and numbers of files."""
    found = tuple(
        FoundPartition({"month": value}, state, {"month": name}, files=files)
        for name, value, state, files in partitions
    )
    columns, specs = (NamedType("month", "INT"),), tuple({"month": each} for each in asked)
    return Fact("t", created=1, schema="s", partition_columns=columns, whole=whole, asked=specs, partitions=found)


class Catalog:
    """A shim that answers a look with facts, one after the other, and notes what it was asked for."""

    def __init__(self, *facts: Fact) -> None:
        self._facts, self.asked_whole, self.asked_for = list(facts), [], []

    def observe(self, asked: Sequence[Asked]) -> list[Fact]:
        self.asked_whole += [each.whole for each in asked]
        self.asked_for += [each.partitions for each in asked]
        return [self._facts.pop(0) for _ in asked]


def seen(*partitions: Partition) -> Seen:
    [found] = FileTables(Catalog(fact(*partitions)), None).look([TableQuestion("t")])
    return found


def test_partitions_of_other_values_have_their_own_fingerprints():
    assert seen(("5", "5", "a", 1), ("6", "6", "b", 1)).partitions == {FIVE: "a", SIX: "b"}


def test_partitions_of_one_value_have_one_fingerprint_which_follows_each():
    def five(*states: str) -> str:
        several = zip(("5", "05", "+5"), states, strict=False)
        return seen(*((name, "5", state, 1) for name, state in several)).partitions[FIVE]

    assert len({five("a"), five("a", "b"), five("a", "c"), five("c", "b"), five("a", "b", "c")}) == 5
    assert five("a", "b") == five("b", "a"), "they are listed in any order"


def test_a_value_is_empty_if_no_partition_of_it_has_a_file():
    assert seen(("5", "5", "a", 0), ("05", "5", "b", 1), ("6", "6", "c", 0), ("06", "6", "d", 0)).empty == {SIX}


def test_partitions_are_looked_at_alone_only_where_all_are_known_to_have_sparks_names():
    usual, odd, null = ("5", "5", "a", 1), ("05", "5", "a", 1), ("__HIVE_DEFAULT_PARTITION__", None, "b", 1)
    some = {"whole": False, "asked": ["5"]}
    catalog = Catalog(
        fact(usual, **some), fact(usual, null), fact(usual, **some), fact(odd, **some), fact(odd, null), fact(usual)
    )
    tables = FileTables(catalog, None)
    for _ in range(6):
        tables.look([TableQuestion("t", (FIVE,))])
    assert catalog.asked_whole == [True, True, False, False, True, True]


def test_a_look_at_some_partitions_says_so():
    [found] = FileTables(Catalog(fact(("5", "5", "a", 1), whole=False, asked=["5"])), None).look(
        [TableQuestion("t", (FIVE,))]
    )
    assert (found.asked, found.looked, found.columns) == ((FIVE,), (FIVE,), {"month"})
    assert seen().looked is None


def test_a_look_at_the_whole_names_partitions_that_a_command_named():
    catalog = Catalog(fact(("5", "5", "a", 1), asked=["5"]), fact(("5", "5", "a", 1)))
    tables = FileTables(catalog, None)
    [named, other] = tables.look([TableQuestion("t", named=(FIVE,)), TableQuestion("t")])
    assert (catalog.asked_whole, catalog.asked_for) == ([True, True], [({"month": "5"},), None])
    assert (named.asked, named.looked) == ((FIVE,), None) and other.asked == ()


def test_a_lake_table_is_none_of_files():
    [found] = FileTables(Catalog(Fact("t", kind="delta", schema="delta", whole=False)), None).look([TableQuestion("t")])
    assert found.exists and str(found.unreadable) == "it is a table of Delta now"


def test_a_table_that_is_gone_or_cannot_be_looked_at():
    catalog = Catalog(Fact("t", exists=False), Fact("t", unreadable="no file system"))
    assert FileTables(catalog, None).look([TableQuestion("t"), TableQuestion("t")]) == [
        Seen("t", exists=False),
        Seen("t", unreadable=Reason(Code.SOURCE_UNREADABLE, "no file system")),
    ]


@pytest.mark.parametrize("there", [True, False])
def test_a_published_place_stays_with_all_that_it_lies_in(there: bool):
    places = [FoundPartition({}, "f", location=each) for each in ("file:///w/v/.v3/data/a=1", "file:/w/v/.v4/data")]
    deleted = []
    shim = SimpleNamespace(
        observe=lambda _asked: [Fact("v", exists=there, partitions=tuple(places))],
        delete_versions=lambda _root, _owner, gone: deleted.extend(gone),
    )
    definition = SimpleNamespace(view="v", root="file:/w/v", owner="me")
    old = [
        "file:/w/v/.v1/data",
        "file:/w/v/.v3",
        "file:/w/v/.v3/data/a=1",
        "file:/w/v/.v3/data/a=11",
        "file:///w/v/.v4",
    ]
    assert FileTables(shim, None).expire(definition, old) is there
    assert deleted == (["file:/w/v/.v1/data", "file:/w/v/.v3/data/a=11"] if there else [])
