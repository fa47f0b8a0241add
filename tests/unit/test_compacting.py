"""When the engine puts small files of a view together, whom it waits for, and what it does after a lost race."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
from cases import A1, change, machine, view
from test_appended import SETTLE

from headwater.model.error import CompactionFailed
from headwater.model.partition import WHOLE
from headwater.model.state import Status
from headwater.spark.process.compacting import Compactor
from headwater.spark.tables.compaction import FEW, PRESSING, UNREAD, Compaction, PutTogether
from headwater.spark.tables.delta.small_files import SmallFiles


class Tables:
    """A table with files of 1 KB, and what is to go wrong."""

    def __init__(self, files: int = FEW, *faults: Exception) -> None:
        self.files, self.faults = files, list(faults)

    def sizes(self, _definition) -> list[int]:
        return [1024] * self.files

    def compact(self, _definition, found: Compaction) -> PutTogether:
        if self.faults:
            raise self.faults.pop()
        self.files, before = 1, self.files
        return PutTogether(before, 1)


def shop():
    """The view ``v``, and ``w`` above it."""
    asked = {"format": "delta", "compaction": "on"}
    return machine({"t": "a"}, view("v", "", ("t", ""), **asked), view("w", "", "v"), lakes=("t",))


def compactor(made, tables: Tables) -> tuple[Compactor, list[str]]:
    """And the views that it looked at afterwards."""
    looked: list[str] = []
    recorder, loop = SimpleNamespace(read=lambda ask: ask(made.state)), SimpleNamespace(leads=True)
    formats, looks = SimpleNamespace(of_view=lambda _definition: tables), SimpleNamespace(look_again=looked.extend)
    return Compactor(recorder, loop, formats, looks, None), looked


def published(made) -> None:
    change(made, "t", A1, made.world.content["t"][A1] + 1)
    made.now += 2 * SETTLE
    made.drain()


def test_files_are_put_together_once_for_a_publication_and_the_new_snapshot_is_recorded():
    made, tables = shop(), Tables()
    compacting, looked = compactor(made, tables)
    compacting.compact()
    assert tables.files == 1 and looked == ["v"], "a clean-up may delete the snapshot that is on record"
    tables.files = FEW
    compacting.compact()
    assert tables.files == FEW
    published(made)
    compacting.compact()
    assert tables.files == 1


@pytest.mark.parametrize(("files", "status", "waits"), [
    (FEW, Status.ACTIVE, True),
    (UNREAD - 1, Status.ACTIVE, True),
    (UNREAD, Status.ACTIVE, False),
    (FEW, Status.SUSPENDED, False),
])  # fmt: skip
def test_a_view_above_that_is_behind_is_waited_for(files: int, status: Status, waits: bool):
    """A clean-up deletes the files in which rows came that it has not read yet."""
    made, tables = shop(), Tables(files)
    reader = made.state.views["w"]
    reader.pending[WHOLE], reader.status = frozenset(), status
    compacting, _ = compactor(made, tables)
    compacting.compact()
    assert (tables.files == files) is waits
    del reader.pending[WHOLE]
    compacting.compact()
    assert tables.files == 1, "and it is looked at again"


@pytest.mark.parametrize(("files", "waits"), [(FEW, True), (PRESSING, False)])
def test_a_stale_view_is_refreshed_first_unless_it_presses(files: int, waits: bool):
    made, tables = shop(), Tables(files)
    made.state.views["v"].pending[WHOLE] = frozenset()
    compactor(made, tables)[0].compact()
    assert (tables.files == files) is waits


def test_a_compaction_that_a_refresh_overtook_ends_quietly_and_is_tried_later(caplog):
    caplog.set_level(logging.INFO)
    made, tables = shop(), Tables(FEW, CompactionFailed("another commit was first", "v"))
    compacting, looked = compactor(made, tables)
    compacting.compact()
    compacting.compact()
    assert tables.files == FEW and looked == []
    assert {each.levelno for each in caplog.records if "small files" in each.message} == {logging.INFO}
    published(made)
    compacting.compact()
    assert tables.files == FEW, "it waits for one publication more"
    published(made)
    compacting.compact()
    assert tables.files == 1


def test_compactions_that_fail_again_and_again_become_rare():
    made, tables = shop(), Tables(FEW, *[CompactionFailed("another commit was first", "v")] * 3)
    compacting, _ = compactor(made, tables)
    left = []
    for _ in range(16):
        compacting.compact()
        left.append(len(tables.faults))
        published(made)
    tries = [n for n, (before, after) in enumerate(zip([3, *left], left, strict=False)) if after < before]
    assert tries == [0, 2, 6] and tables.files == 1


# --- the commit of Delta


class Conf(dict):
    """The settings of a session."""

    def set(self, name: str, value: str) -> None:
        self[name] = value

    def unset(self, name: str) -> None:
        del self[name]


@pytest.mark.parametrize("there", [True, False])
def test_files_that_a_clean_up_deleted_before_their_commit_are_not_committed(there: bool):
    committed, asked, times = [], [], iter([1_000, 8_000])
    together = SimpleNamespace(
        staged=lambda: "files", before=lambda: FEW, after=lambda: 1, commit=lambda _session: committed.append("files")
    )

    def are_there(staged: str, millis: int) -> bool:
        asked.append((staged, millis))
        return there

    opened = SimpleNamespace(together=lambda _below, _target: together, areThere=are_there)
    publications = SimpleNamespace(opened=lambda _definition: SimpleNamespace(opened=opened))
    session = SimpleNamespace(conf=Conf(), _jsparkSession=None)
    calls = SimpleNamespace(activate=lambda _session: None, restore=lambda _before: None)
    sessions = SimpleNamespace(of_table=lambda _settings, alone: session)
    files = SmallFiles(calls, sessions, publications, lambda: next(times))
    definition, compaction = view("v", "", "t", format="delta"), Compaction(1024, 4096, FEW)
    if there:
        assert files.compact(definition, compaction) == PutTogether(FEW, 1)
    else:
        with pytest.raises(CompactionFailed, match="delta.deletedFileRetentionDuration"):
            files.compact(definition, compaction)
    assert bool(committed) is there and asked == [("files", 7_000)] and not session.conf
