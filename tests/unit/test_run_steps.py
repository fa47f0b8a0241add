"""What a step of a run finds otherwise than on record is looked at before the step is answered."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from headwater.model.command import Compute, Publish, Replaced, Shown, Stopped, Written
from headwater.model.error import (
    DefinitionError,
    DriverGone,
    FilesReplaced,
    HeadwaterError,
    RefreshCancelled,
    RefreshEnded,
    RefreshFailed,
    ViewGone,
)
from headwater.model.reason import Code, Reason
from headwater.runtime.execute import performed

LAUNCH = SimpleNamespace(run=SimpleNamespace(version=7, view="v"))
CLOCK, STORE = SimpleNamespace(now=lambda: 1), SimpleNamespace(discard=lambda *_: None)


class Looked:
    """Notes what it is asked to look at."""

    def __init__(self) -> None:
        self.at: list[str] = []

    def look_again(self, tables) -> None:
        self.at += tables
        raise HeadwaterError("it cannot be looked at now")  # and the step is answered all the same

    def reshaped(self, view: str) -> None:
        self.at.append(f"readers of {view}")


@pytest.mark.parametrize(
    ("error", "cancelled", "looked"),
    [
        (ViewGone("it was dropped"), True, ["v"]),
        (RefreshFailed("t cannot be read", look_at=["t"]), False, ["t"]),
        (RefreshCancelled("it was redefined", look_at=["plain"]), True, ["plain"]),
        (RefreshFailed("no space"), False, []),
    ],
)
def test_a_step_that_failed_says_where_to_look(error: RefreshEnded, cancelled: bool, looked: list[str]):
    looks = Looked()

    def compute(launch, sees):
        raise error

    answer = performed(Compute(LAUNCH, {}), SimpleNamespace(compute=compute), looks, STORE, CLOCK)
    assert answer == Stopped(7, error.reason, cancelled) and looks.at == looked


def test_a_publication_that_was_refused_before_its_commit_is_seen_by_nobody():
    error = FilesReplaced("its table got other files meanwhile", "v")

    def publish(launch, written):
        raise error

    answer = performed(Publish(LAUNCH, Written((), ())), SimpleNamespace(publish=publish), Looked(), STORE, CLOCK)
    assert answer == Stopped(7, error.reason, cancelled=True, unseen=True)
    assert error.reason.code is Code.RUN_TABLE_CHANGED


def test_the_error_of_a_view_is_recorded_without_its_name():
    """Whatever shows the error names the view before it."""

    def compute(launch, sees):
        raise DefinitionError("STORAGE", "Parquet cannot hold a VARIANT", "v")

    answer = performed(Compute(LAUNCH, {}), SimpleNamespace(compute=compute), Looked(), STORE, CLOCK)
    assert answer == Stopped(7, Reason(Code.RUN_FAILED, "Parquet cannot hold a VARIANT"), False)


def test_nothing_is_looked_at_when_the_application_ends():
    def compute(launch, sees):
        raise DriverGone("it ends")

    looks = Looked()
    performed(Compute(LAUNCH, {}), SimpleNamespace(compute=compute), looks, STORE, CLOCK)
    assert looks.at == []


@pytest.mark.parametrize(("reshaped", "looked"), [(True, ["readers of v"]), (False, [])])
def test_readers_of_a_view_with_other_columns_are_analysed_before_they_run(reshaped: bool, looked: list[str]):
    looks, replaced = Looked(), Replaced(reshaped=reshaped)
    warehouse = SimpleNamespace(publish=lambda launch, written: replaced)
    answer = performed(Publish(LAUNCH, Written((), ())), warehouse, looks, STORE, CLOCK)
    assert isinstance(answer, Shown) and looks.at == looked
