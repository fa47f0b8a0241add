"""A run that read rows of its view from all of its table does not publish those of another program."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from cases import view

from headwater.model.command import Launch, Written
from headwater.model.error import ChangesUnknown, RefreshFailed
from headwater.model.event import Started
from headwater.model.reason import Code
from headwater.model.state import Run
from headwater.model.work import ByRows
from headwater.spark.jvm.job_groups import JobGroups
from headwater.spark.refreshing import warehouse
from headwater.spark.refreshing.methods import recipes
from headwater.spark.refreshing.recipe import Rows
from headwater.spark.refreshing.warehouse import SparkWarehouse

MEMORY = SimpleNamespace(
    overlaid=lambda *_: nullcontext(),
    share=lambda *_: (),
    keep=lambda *_: (Written((), ()), SimpleNamespace(spent=lambda: None)),
    transfers=lambda *_: (),
)


@pytest.mark.parametrize("format", ["delta", "parquet"])
@pytest.mark.parametrize(
    ("reads_itself", "by_files", "refused"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_what_another_program_wrote_meanwhile_is_not_published(
    format: str, reads_itself: bool, by_files: bool, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Single files are replaced only where they are as they were read."""
    made = Rows(lambda: None, SimpleNamespace() if by_files else None, reads_itself=reads_itself)
    monkeypatch.setattr(recipes, "rows", lambda _: made)
    monkeypatch.setattr(warehouse, "refuse_drift", drifted)
    shim = SimpleNamespace(effort=lambda *_: None)
    own = SparkWarehouse(None, shim, None, None, MEMORY, None, JobGroups())
    run = Run(Started(0, 5, "v", (), (), ByRows((("t", "7@x"),), 1, takes=True), ""))
    launch = Launch(run, view("v", "", "t", format=format), {})
    with pytest.raises(RefreshFailed, match="v was written .* while it was refreshed") if refused else nullcontext():
        own._computed(launch, SimpleNamespace(sparkContext=None), {}, None)


def drifted(*_: object) -> None:
    raise ChangesUnknown(Code.VIEW_WRITTEN_OUTSIDE, "v was written past Headwater")
