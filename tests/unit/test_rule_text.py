"""What the text of a stated map says: its rules, and the columns that they name."""

from __future__ import annotations

import pytest

from headwater.model.error import DefinitionError
from headwater.spark.defining.rule_text import assigned, rules, with_values


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a = 1; b = 2", ["a = 1", "b = 2"]),
        ("a = concat(x, ';'); b = `c;d`", ["a = concat(x, ';')", "b = `c;d`"]),
        (" ; a = 1 /* ; */ ;", ["a = 1 /* ; */"]),
        ("show = x; DAY - 1 .. DAY", ["show = x", "DAY - 1 .. DAY"]),
    ],
)
def test_semicolons_separate_rules_but_not_within_a_string(text: str, found: list[str]):
    assert rules(text) == found


def test_a_rule_has_a_column_and_an_expression():
    assert assigned("`date` = trunc(ts, 'MM')") == ("date", "trunc(ts, 'MM')")
    assert assigned("a day = x = 1") == ("a day", "x = 1")
    assert assigned("concat('a = b')") is None


@pytest.mark.parametrize("text", ["trunc(day, 'MM", "`day", "day /* the day"])
def test_what_does_not_end_is_refused(text: str):
    with pytest.raises(DefinitionError, match="end each quote") as refused:
        rules(text)
    assert refused.value.code == "PROPERTY"


KEYWORDS = [
    "date",
    "timestamp",
    "row",
    "index",
    "format",
    "first",
    "last",
    "range",
    "time",
    "end",
    "values",
    "year",
    "key",
]


@pytest.mark.parametrize("name", [*KEYWORDS, "day", "größe", "_x", "hour", "interval", "offset", "any", "by", "to"])
def test_a_column_may_be_called_like_a_keyword(name: str):
    for text in (
        "trunc({}, 'MM')",
        "1 + {}",
        "{}",
        "CASE WHEN {} > 1 THEN {} ELSE {} END",
        "coalesce({},{})",
        "-{} * 2",
    ):
        found, used = with_values(text.replace("{}", name), {name: "$"})
        assert (found, used) == (text.replace("{}", "$"), [name])
    assert with_values(f"`{name.title()}` IS NULL", {name: "$"}) == ("$ IS NULL", [name])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("day + INTERVAL 1 DAY", "$ + INTERVAL 1 DAY"),
        ("day - INTERVAL '1' day + INTERVAL -2 HOUR", "$ - INTERVAL '1' day + INTERVAL -2 HOUR"),
        ("day + INTERVAL '1 2' DAY TO HOUR", "$ + INTERVAL '1 2' DAY TO HOUR"),
        ("day + INTERVAL 1 DAY 2 HOUR - hour", "$ + INTERVAL 1 DAY 2 HOUR - $"),
        ("extract(DAY FROM day)", "extract(DAY FROM $)"),
        ("day(day)", "day($)"),
        ("date(date)", "date($)"),
        ("timestampadd(DAY, 1, day)", "timestampadd(DAY, 1, $)"),
        ("date_add(day, 1)", "date_add($, 1)"),
        ("date_diff(day, least(day, date))", "date_diff($, least($, $))"),
        ("CAST(day AS DATE)", "CAST($ AS DATE)"),
        ("day::date", "$::date"),
        ("date > DATE '2024-05-01'", "$ > DATE '2024-05-01'"),
        ("concat('day', \"day\", r'day', day)", "concat('day', \"day\", r'day', $)"),
        ("CASE day WHEN hour THEN 1 END", "CASE $ WHEN $ THEN 1 END"),
        ("day IS NOT DISTINCT FROM date", "$ IS NOT DISTINCT FROM $"),
        ("day BETWEEN date AND hour", "$ BETWEEN $ AND $"),
        ("t.day", "t.day"),
        ("day /* day */ + 1 -- day", "$ /* day */ + 1 -- day"),
        ("if(day = 1, null, case)", "if($ = 1, null, case)"),
        ("substring(day FROM 1 FOR hour)", "substring($ FROM 1 FOR $)"),
        ("make_date(year, month, day)", "make_date($, $, $)"),
        ("day DIV 7", "$ DIV 7"),
    ],
)
def test_units_types_functions_and_strings_are_no_columns(text: str, found: str):
    names = ("day", "date", "hour", "case", "null", "end", "and", "year", "month", "interval")
    assert with_values(text, dict.fromkeys(names, "$"))[0] == found
