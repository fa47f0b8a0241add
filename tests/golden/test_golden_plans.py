"""Each case of derivation, from its golden plan, without Spark.

The record holds what a recomputation by Spark accepted. A rule that derives anything else fails here, until
``make golden`` recomputes all cases and writes the record anew.
"""

from __future__ import annotations

import pytest
from derive_cases import Case
from golden_plans import ALL, derived, kept


def test_each_case_has_a_golden_plan_and_no_other_has_one() -> None:
    assert sorted(kept()) == sorted(case.name for case in ALL)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_what_is_derived_is_what_recomputation_accepted(case: Case) -> None:
    plan, accepted = kept()[case.name]
    assert derived(case, plan) == accepted, "after a look at the change, run make golden"


@pytest.mark.parametrize("case", [each for each in ALL if each.reason], ids=lambda case: case.name)
def test_reasons_name_the_column_and_the_operator(case: Case) -> None:
    plan, _ = kept()[case.name]
    reasons = [
        place.get("reason", {}).get("text", "")
        for each in derived(case, plan)["dependencies"]
        for place in each["occurrences"]
    ]
    assert any(case.reason in reason for reason in reasons), reasons
