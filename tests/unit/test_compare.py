"""What changed in a table, from what was seen before and what is there now."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, partitions, slices

from headwater.engine.record.changes import differences, revisited, summary
from headwater.model.event import Observed
from headwater.model.partition import WHOLE, Slice
from headwater.model.state import PartitionRecord, TableRecord

A1, A2, A3 = (Slice.of(a=value) for value in "123")


def record(**seen: str | None) -> TableRecord:
    return TableRecord(partitions={Slice.of(a=key[1:]): PartitionRecord(1, print_) for key, print_ in seen.items()})


def test_new_changed_and_gone():
    found = differences(record(a1="x", a2="y"), {A1: "x2", A3: "z"})
    assert found == (Observed(A1, "x2"), Observed(A3, "z"), Observed(A2, None))


def test_nothing_when_nothing_changed():
    assert differences(record(a1="x"), {A1: "x"}) == ()
    assert differences(None, {}) == ()


def test_the_first_look_finds_everything():
    assert differences(None, {WHOLE: "x"}) == (Observed(WHOLE, "x"),)


def test_what_was_gone_and_stays_gone_is_no_difference_and_its_return_is_one():
    assert differences(record(a1=None), {}) == ()
    assert differences(record(a1=None), {A1: "x"}) == (Observed(A1, "x"),)


def test_only_what_was_looked_at_can_be_gone():
    assert differences(record(a1="x", a2="y"), {}, [A1]) == (Observed(A1, None),)
    assert differences(record(a1="x", a2="y"), {}, []) == ()
    assert len(differences(record(a1="x", a2="y"), {}, [WHOLE])) == 2


def test_what_a_statement_named_and_left_absent_may_have_been_read_meanwhile():
    gone = (Observed(A1, None),)
    assert revisited(record(a1=None), {}, (), [A1]) == gone
    assert revisited(record(), {}, (), [A1]) == revisited(None, {}, (), [A1]) == gone
    assert revisited(record(a1="x"), {}, (), [A1]) == (), "differs from the record already"
    assert revisited(record(a1="x"), {A1: "x"}, (), [A1]) == ()
    assert revisited(record(a1="x"), {A1: "x"}, [A1], [A1]) == (Observed(A1, "x"),)


def test_summaries():
    known = record(a1="x", a2=None)
    assert summary([Observed(A1, "x2")], known, "INSERT") == "changed (INSERT)"
    assert summary([Observed(A2, "y"), Observed(A3, "z")], known, "") == "appeared"
    assert summary([Observed(A1, None)], known, "DROP PARTITION") == "disappeared (DROP PARTITION)"
    assert summary([Observed(A1, None), Observed(A3, "z")], known, "") == "changed"
    assert summary([Observed(A1, "x")], None, "") == "appeared"


contents = st.dictionaries(partitions("ab"), st.sampled_from("xyz"), max_size=6)


@examples(100)
@given(before=contents, after=contents, asked=st.none() | st.lists(slices, max_size=3))
def test_recording_the_differences_leaves_none(before, after, asked):
    """Of what was looked at, the record afterwards says what is there; of the rest it says what it said."""
    table = TableRecord(partitions={each: PartitionRecord(1, stamp) for each, stamp in before.items()})
    looked = [each for each in {*before, *after} if asked is None or any(one.covers(each) for one in asked)]
    found = {each: after[each] for each in looked if each in after}
    for each in differences(table, found, asked):
        table.partitions[each.slice] = PartitionRecord(2, each.fingerprint)
    assert differences(table, found, asked) == ()
    now = {each: known.fingerprint for each, known in table.partitions.items() if known.fingerprint is not None}
    assert now == {each: stamp for each, stamp in before.items() if each not in looked} | found
