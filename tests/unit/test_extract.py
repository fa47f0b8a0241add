"""What one scan gives several queries."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from headwater.model.extract import Extract

COLUMNS = st.lists(st.sampled_from("abc"))
"""Each condition is that the column of its name is true."""
EXTRACTS = st.builds(Extract, COLUMNS, st.lists(COLUMNS))
TABLE = [dict(zip("abc", values, strict=True)) for values in product((False, True), repeat=3)]


def rows(extract: Extract) -> list[dict[str, bool]]:
    return [row for row in TABLE if any(all(row[each] for each in conditions) for conditions in extract.rows)]


@given(EXTRACTS, EXTRACTS)
def test_one_that_covers_another_has_all_its_columns_and_rows(one: Extract, other: Extract):
    if one.covers(other):
        assert set(one.columns) >= set(other.columns)
        assert all(row in rows(one) for row in rows(other))


@given(EXTRACTS, EXTRACTS)
def test_both_together_cover_each_and_have_no_other_rows(one: Extract, other: Extract):
    both = one | other
    assert both.covers(one) and both.covers(other)
    assert rows(both) == [row for row in TABLE if row in rows(one) or row in rows(other)]


@given(EXTRACTS)
def test_the_condition_in_sql_says_the_same(extract: Extract):
    said = extract.condition.replace("AND", "and").replace("OR", "or").replace("FALSE", "False") or "True"
    assert [row for row in TABLE if eval(said, {}, row)] == rows(extract)


def test_all_rows_leave_nothing_to_say():
    assert Extract(("a",), (("x",), ())).condition == ""
    assert (Extract(("a",), (("x = 1",),)) | Extract(("b",), (("x = 2", "y"),))).condition == "(x = 1) OR (x = 2 AND y)"
