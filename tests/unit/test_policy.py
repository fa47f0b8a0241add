"""The wishes of a view, and the engine's own times."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attrs import evolve

from headwater.engine.requests.limits import ATTEMPTS, back_off, gives_up
from headwater.model.error import DefinitionError, StatementError
from headwater.model.policy import PROPERTIES, Fill, Learned, Overrun, Policy, Propagate, Upstream, duration
from headwater.model.properties import check_properties
from headwater.model.view import Definition


def having(**properties: str) -> Definition:
    return Definition("v", "q", (), properties={f"headwater.{key}": value for key, value in properties.items()})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10 minutes", 600_000),
        ("1 minute", 60_000),
        ("1.5 hours", 5_400_000),
        (" 2   Seconds ", 2_000),
        ("250 milliseconds", 250),
        ("1 day", 86_400_000),
        ("2 weeks", 1_209_600_000),
        ("3second", 3_000),
    ],
)
def test_durations(text, expected):
    assert duration(text) == expected


@pytest.mark.parametrize("text", ["", "10", "minutes", "0 seconds", "-1 hour", "1 fortnight", "1 minute 3", "٣ x"])
def test_what_is_no_duration_is_refused_with_an_example(text):
    with pytest.raises(StatementError, match="such as '10 minutes'"):
        duration(text)


def test_a_duration_of_more_than_a_thousand_years_is_refused():
    assert duration("365000 days") == 31_536_000_000_000
    for text in ("999999999999 days", f"{'9' * 400} seconds", "365001 days"):
        with pytest.raises(StatementError, match="is longer than a thousand years; write a shorter time, such as"):
            duration(text)
    assert Policy.of([("headwater.retain", "999999999999 days")]) == Policy(), "written past Headwater"


def test_a_change_need_not_wait_and_rows_need_not_be_late():
    """`0 seconds` means at once where that is a meaning; elsewhere it is refused."""
    found = Policy.of([("headwater.settle", "0 seconds"), ("headwater.lateness", "0.0 minutes")])
    assert (found.settle, found.lateness) == (0, 0)
    assert PROPERTIES["freshness"].read("0 seconds") is None
    for name in ("timeout", "verify", "retain"):
        with pytest.raises(StatementError, match="'0 seconds' is not a duration"):
            PROPERTIES[name].read("0 seconds")
    for text in ("", "0", "0 fortnights"):
        with pytest.raises(StatementError, match="is not a duration"):
            PROPERTIES["settle"].read(text)


def test_the_pause_doubles_up_to_five_minutes():
    assert [back_off(n) for n in (1, 2, 3, 6, 7, 1000)] == [5_000, 10_000, 20_000, 160_000, 300_000, 300_000]


def test_a_view_holds_its_readers_until_its_fifth_failure():
    assert [gives_up(n) for n in range(ATTEMPTS + 1)] == [False] * ATTEMPTS + [True]


def test_a_view_without_properties_has_the_defaults():
    assert (
        having().policy
        == Policy()
        == Policy(
            freshness=None,
            settle=1_000,
            cadence=None,
            propagate=Propagate.ALL,
            cutoff=True,
            upstream=Upstream.RELEASE,
            overrun=Overrun.QUEUE,
            fill=Fill.NOW,
            retain=3_600_000,
        )
    )


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("freshness", "10 minutes", 600_000),
        ("settle", "5 seconds", 5_000),
        ("cadence", "45 minutes", 2_700_000),
        ("cadence", "Learned", Learned()),
        ("propagate", "MARKED", Propagate.MARKED),
        ("cutoff", "Off", False),
        ("upstream", "hold", Upstream.HOLD),
        ("overrun", "skip", Overrun.SKIP),
        ("fill", "Later", Fill.LATER),
        ("verify", "1 day", 86_400_000),
        ("retain", "1 day", 86_400_000),
        ("event_time", "ts", (("", "ts"),)),
        ("event_time", "orders.ordered_at, shop.clicks.`at`", (("orders", "ordered_at"), ("shop.clicks", "at"))),
        ("lateness", "5 minutes", 300_000),
        ("trailing_edge", "on", True),
    ],
)
def test_a_property_becomes_a_typed_value(name, text, value):
    assert getattr(having(**{name: text}).policy, name) == value


def malformed(name: str) -> str:
    """A text that is no value of a property. Nearly each word may be the name of a column, and each that of a group."""
    return {"event_time": "orders.", "group": " "}.get(name, "soon")


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_malformed_text_in_the_catalog_counts_as_not_stated(name):
    """Headwater refused it where it was stated; the engine's loop must not stop for all views because of one."""
    assert having(**{name: malformed(name)}).policy == having(**{name: ""}).policy == Policy()


def test_one_malformed_text_takes_no_other_property_along():
    assert having(freshness="soon", settle="5 seconds", fill="later").policy == Policy(settle=5_000, fill=Fill.LATER)


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_check_of_a_statement_reads_what_the_policy_reads(name):
    with pytest.raises(DefinitionError, match=f"v: property 'headwater.{name}': '{malformed(name)}' (is not|names no)"):
        check_properties("v", {f"headwater.{name}": malformed(name)})


def test_a_new_definition_has_a_policy_of_its_own():
    before = having(freshness="1 minute")
    assert before.policy.freshness == 60_000
    assert evolve(before, properties={}).policy.freshness is None and before == having(freshness="1 minute")


def test_the_documentation_lists_each_property_with_its_question_and_default():
    page = (Path(__file__).parents[2] / "docs/properties.md").read_text()
    for name, each in PROPERTIES.items():
        default = each.default if f"| {each.default} |" in page else f"`{each.default}`"
        anchor = name.replace(".", "")
        assert f"| [`headwater.{name}`](#headwater{anchor}) | {each.question} | {default} |" in page


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("Headwater.Retain", "headwater.retain"),
        ("HEADWATER.retain", "headwater.retain"),
        ("headwater.Retain", "headwater.retain"),
        ("Headwater.dependency.sales", "headwater.dependency.<table>"),
        ("headwater.Dependency.sales", "headwater.dependency.<table>"),
        ("headwater.dependencies.sales", "headwater.dependency.<table>"),
    ],
)
def test_a_property_in_another_case_is_refused(key, meant):
    with pytest.raises(DefinitionError, match=re.escape(f"did you mean '{meant}'?")) as refused:
        check_properties("v", {key: "1 hour"})
    assert refused.value.code == "PROPERTY"


def test_the_known_properties_are_told_with_that_of_a_table():
    with pytest.raises(DefinitionError, match=re.escape("headwater.dependency.<table>")):
        check_properties("v", {"headwater.xyz": "1"})
