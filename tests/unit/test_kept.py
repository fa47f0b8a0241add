"""What the warehouse may rely on of an engine's memory, whatever its buffer is."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from pyspark.errors import PySparkException
from test_blocks import Shim as Blocked

from headwater.memory.buffers.blocks import Blocks
from headwater.memory.buffers.buffer import HEADROOM, Buffer, NoBuffer
from headwater.memory.buffers.memory import SparkMemory
from headwater.memory.buffers.volume import Volume
from headwater.model.command import Launch, Written
from headwater.model.error import RefreshFailed
from headwater.model.event import Made, Started
from headwater.model.measure import Effort, Measured, Place
from headwater.model.partition import WHOLE
from headwater.model.state import Run
from headwater.model.view import Definition
from headwater.model.work import WholeView
from headwater.spark.jvm.counted import Counted
from headwater.spark.jvm.wire import Failure, FailureKind, Publication, Sum
from headwater.spark.tables.files import Files

LIMIT = 1_000_000
SUMS = [Sum({}, 3, "c" * 32)]


class Shim(Blocked):
    """Spark, of which a failure is of some kind."""

    kind = FailureKind.OTHER

    def is_gone(self, error: Exception) -> bool:
        return False

    def failure(self, error: Exception) -> Failure:
        return Failure(self.kind, str(error))

    def counted(self, frame: object, columns: object, hashed: bool) -> Counted:
        return Counted(frame, lambda: SUMS, dict)

    def held(self, session: object, version: int) -> str | None:
        return self.known.get(version)

    def effort(self, session: object, group: str) -> Effort:
        return Effort(1, 2, 0.5, 3)


class Writer:
    """Files in which a row takes 10 bytes; all rows are there but for those ``lost``."""

    def __init__(self) -> None:
        self.lost = 0

    def _found(self, places: dict[str, object] = {}) -> Written:  # noqa: B006 - nobody changes it
        left = 3 - self.lost
        return Written(
            (Made(WHOLE, left, "f"),), (), Files(Publication("v", "me", 1), places), measured=Measured(10 * left)
        )

    def write(self, launch: Launch, frame: object, place: str = "") -> tuple[Written, Counted]:
        if place:
            Path(place.removeprefix("file:")).mkdir(parents=True)
            (Path(place.removeprefix("file:")) / "part").write_bytes(b"x" * frame)
        return self._found(), Counted(frame, lambda: SUMS, dict)

    def rewrite(self, launch: Launch, frame: object, made: object) -> Written | None:
        return None if self.lost else self._found()

    def copy(self, launch: Launch, source: str, made: object) -> Written:
        return self._found()


def launch(kept: bool = True) -> Launch:
    run = Run(Started(0, 1, "v", (), (), WholeView(), "", kept=kept))
    return Launch(run, Definition("v", "query", ()), {}, size=300)


@pytest.fixture
def shim() -> Shim:
    return Shim(there=LIMIT, each=300)


@pytest.fixture(params=["volume", "blocks"])
def buffer(request, shim, tmp_path) -> Buffer:
    return Volume(tmp_path, LIMIT) if request.param == "volume" else Blocks(shim, LIMIT)


@pytest.fixture
def writer() -> Writer:
    return Writer()


@pytest.fixture
def memory(buffer, shim, writer) -> SparkMemory:
    return SparkMemory(buffer, shim, writer)


def keep(memory: SparkMemory, asked: Launch | None = None, frame=lambda: 300):
    return memory.keep(asked or launch(), frame, lambda: None)


def test_kept_rows_lie_in_the_buffer_until_they_are_released(memory, buffer):
    written, _ = keep(memory)
    assert memory.holds(written) and written.place is buffer.kind
    assert buffer.size(1) == 300 and buffer.free == int(LIMIT * (1 - HEADROOM)) - 300
    memory.release(1)
    memory.release(1)
    assert buffer.size(1) == 0 and buffer.free == int(LIMIT * (1 - HEADROOM))


def test_rows_are_brought_to_the_warehouse_with_all_that_was_measured(memory):
    written, _ = keep(memory)
    measured = evolve(written.measured, effort=Effort(1, 2, 0.5, 3))
    brought = memory.bring(None, launch(), evolve(written, measured=measured))
    assert not memory.holds(brought) and brought.place is Place.WAREHOUSE
    assert brought.measured == evolve(measured, size=30)


def test_rows_that_are_gone_are_not_published(memory, writer):
    written, _ = keep(memory)
    writer.lost = 1
    with pytest.raises(RefreshFailed, match="the rows of v that were kept in memory are not all there any more"):
        memory.bring(None, launch(), written)


def test_only_rows_that_are_to_be_kept_are(memory, buffer):
    assert keep(memory, launch(kept=False)) is None and buffer.size(1) == 0


def test_rows_that_are_foreseen_not_to_fit_are_not_computed(memory):
    assert keep(memory, evolve(launch(), size=LIMIT), lambda: pytest.fail("computed")) is None


def test_a_buffer_that_cannot_be_written_to_leaves_rows_to_the_warehouse(memory, shim, buffer, caplog):
    def full() -> None:
        raise PySparkException("no space left on device")

    shim.kind = FailureKind.UNWRITABLE
    assert keep(memory, frame=full) is None
    assert "v cannot be kept in memory (no space left on device); it is written to the warehouse" in caplog.text
    assert buffer.free == int(LIMIT * (1 - HEADROOM))


def test_a_query_that_fails_is_not_computed_again(memory):
    def wrong() -> None:
        raise PySparkException("division by zero")

    with pytest.raises(PySparkException, match="division by zero"):
        keep(memory, frame=wrong)


def test_an_engine_without_a_buffer_keeps_nothing(shim, writer):
    memory = SparkMemory(NoBuffer(), shim, writer)
    assert keep(memory, frame=lambda: pytest.fail("computed")) is None
    assert NoBuffer().means(None) is None
    memory.release(1)
    memory.close()
