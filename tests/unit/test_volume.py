"""The fast volume: what may lie there, who removes it, and what is said when there can be none."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from headwater.memory.buffers import volume as volumes
from headwater.memory.buffers.buffer import HEADROOM, BufferFull
from headwater.memory.buffers.volume import NoVolume, Volume, opened
from headwater.model.error import StatementError
from headwater.spark.jvm.settings import MemoryLimit, Settings

LIMIT = 1_000_000


def write(volume: Volume, version: int, size: int) -> None:
    folder = Path(volume.place(version).removeprefix("file:"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "part").write_bytes(b"x" * size)


class VolumeWatch:
    """Waits until whoever watches a volume has looked again."""

    def __init__(self, volume: Volume, monkeypatch: pytest.MonkeyPatch) -> None:
        self._looked, self._size = threading.Semaphore(0), volume.size
        monkeypatch.setattr(Volume, "size", lambda _, version: self._look(version))

    def again(self) -> None:
        while self._looked.acquire(blocking=False):
            pass
        for _ in range(2):  # the first one may have begun before
            assert self._looked.acquire(timeout=30)

    def _look(self, version: int) -> int:
        found = self._size(version)
        self._looked.release()
        return found


def test_room_is_set_aside_before_a_run_and_corrected_after(tmp_path):
    volume = Volume(tmp_path, LIMIT)
    assert volume.reserve(1, 600_000) and not volume.reserve(2, 600_000)
    with volume.watched(1, lambda: None):
        write(volume, 1, 100_000)
    assert volume.reserve(2, 600_000)
    assert volume.free == int(LIMIT * (1 - HEADROOM)) - 700_000
    volume.remove(1)
    volume.remove(2)
    assert volume.free == int(LIMIT * (1 - HEADROOM))


def test_a_run_that_grew_is_stopped_before_there_is_more_than_may_be(tmp_path, monkeypatch):
    volume, others = Volume(tmp_path, LIMIT), 300_000
    looks = VolumeWatch(volume, monkeypatch)
    volume.reserve(1, 10)
    volume.reserve(2, others)
    stopped = []

    def grow() -> None:
        for step in range(1, 200):
            if stopped:
                raise OSError("the job was cancelled")
            write(volume, 1, step * 50_000)
            looks.again()

    with pytest.raises(BufferFull, match="do not fit"), volume.watched(1, lambda: stopped.append(True)):
        grow()
    [file] = tmp_path.rglob("part")
    assert file.stat().st_size <= LIMIT - others


def test_a_run_that_grew_has_more_set_aside_while_there_is_some(tmp_path, monkeypatch):
    volume = Volume(tmp_path, LIMIT)
    looks = VolumeWatch(volume, monkeypatch)
    volume.reserve(1, 10)
    with volume.watched(1, lambda: pytest.fail("there is room")):
        write(volume, 1, 700_000)
        looks.again()
        assert not volume.reserve(2, 300_000)


def test_a_directory_that_somebody_else_could_write_to_is_not_used(tmp_path, caplog):
    (tmp_path / f"headwater-{os.getuid()}").mkdir(mode=0o777)
    (tmp_path / f"headwater-{os.getuid()}").chmod(0o777)
    with pytest.raises(NoVolume, match="somebody else could write there"):
        asked(tmp_path, caplog)


def test_what_was_found_to_be_too_large_at_the_end_does_not_stay(tmp_path):
    volume = Volume(tmp_path, LIMIT)
    volume.reserve(1, 10)
    with pytest.raises(BufferFull), volume.watched(1, lambda: None):
        write(volume, 1, LIMIT)


def test_what_fails_for_another_reason_is_told_as_it_is(tmp_path):
    volume = Volume(tmp_path, LIMIT)
    with pytest.raises(ValueError, match="no such column"), volume.watched(1, lambda: None):
        raise ValueError("no such column")


def test_nobody_else_may_read_it_and_it_goes_with_its_engine(tmp_path):
    volume = Volume(tmp_path, LIMIT)
    write(volume, 1, 10)
    [ours] = tmp_path.iterdir()
    [mine] = [each for each in ours.iterdir() if each.is_dir()]
    assert stat.S_IMODE(ours.stat().st_mode) == stat.S_IMODE(mine.stat().st_mode) == 0o700
    volume.close()
    assert not list(ours.iterdir())


def test_what_a_killed_engine_left_is_removed_at_the_next_start(tmp_path):
    """Whether it lives is told by a lock that goes with its process, not by a number that another one may have."""
    program = (
        "import os, pathlib, sys, time; from headwater.memory.buffers.volume import Volume; "
        "made = Volume(pathlib.Path(sys.argv[1]), 1000); os.makedirs(made.place(1)[5:]); print('made', flush=True); "
        "time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE) as engine:
        assert engine.stdout.readline() == b"made\n"
        [ours] = tmp_path.iterdir()
        [left] = [each for each in ours.iterdir() if each.is_dir()]
        Volume(tmp_path, LIMIT).close()
        assert left.exists(), "its engine lives"
        engine.kill()
    Volume(tmp_path, LIMIT).close()
    assert not list(ours.iterdir())


def test_what_tasks_wrote_after_their_engine_was_cleared_away_is_removed_too(tmp_path):
    lives = Volume(tmp_path, LIMIT)
    write(lives, 1, 10)
    [ours] = tmp_path.iterdir()
    (ours / "0123abcd" / "v7" / "data").mkdir(parents=True)
    Volume(tmp_path, LIMIT).close()
    assert not (ours / "0123abcd").exists() and lives.size(1) == 10
    lives.close()


SOME = MemoryLimit(LIMIT)


def asked(tmp_path, caplog, memory=SOME, named="here", local=True, shared=True):
    found = opened(memory, str(tmp_path) if named == "here" else named, local, lambda _: shared)
    return found, caplog.text


def test_more_than_there_is_is_what_there_is(tmp_path, caplog):
    found, said = asked(tmp_path, caplog, MemoryLimit(1 << 60))
    assert found.limit <= shutil.disk_usage(tmp_path).total
    assert "free, so that is what is kept there at most" in said


def test_a_share_is_of_the_volume(tmp_path, caplog):
    found, _ = asked(tmp_path, caplog, MemoryLimit(share=0.01))
    assert found.limit == round(0.01 * shutil.disk_usage(tmp_path).total)


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        ({"named": "/no/such/place"}, "there is no directory /no/such/place; set spark.headwater.memory.path"),
        ({"named": None, "local": False}, "the executors run on other machines; set spark.headwater.memory.path"),
        ({"local": False, "shared": False}, "the executors do not see what is written to"),
    ],
)
def test_why_there_can_be_none_is_said(tmp_path, caplog, case, sentence):
    with pytest.raises(NoVolume, match=sentence):
        asked(tmp_path, caplog, **case)


def test_a_volume_that_cannot_be_written_to_is_none(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(volumes.os, "access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(NoVolume, match="cannot be written to"):
        asked(tmp_path, caplog)


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("0", MemoryLimit()),
        ("512m", MemoryLimit(512 << 20)),
        ("2g", MemoryLimit(2 << 30)),
        ("20%", MemoryLimit(share=0.2)),
    ],
)
def test_memory_is_spelled_as_spark_does(text, memory):
    assert Settings.of({"spark.headwater.memory": text}).memory == memory


@pytest.mark.parametrize("text", ["-1", "-5%", "120%", "much", ""])
def test_no_such_memory(text):
    with pytest.raises(StatementError, match=r"spark.headwater.memory is .*such as 2g"):
        Settings.of({"spark.headwater.memory": text})


@pytest.mark.parametrize(("text", "bandwidth"), [("0", 0), ("50m", 50 << 20), ("1g/s", 1 << 30), ("800", 800)])
def test_bandwidth_is_spelled_as_memory_is(text, bandwidth):
    assert Settings.of({"spark.headwater.memory.bandwidth": text}).bandwidth == bandwidth


@pytest.mark.parametrize("text", ["-1", "20%", "fast", ""])
def test_no_such_bandwidth(text):
    with pytest.raises(StatementError, match=r"spark.headwater.memory.bandwidth is .*such as 50m"):
        Settings.of({"spark.headwater.memory.bandwidth": text})
