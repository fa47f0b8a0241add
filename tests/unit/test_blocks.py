"""Buffer in Spark's own memory, with a shim that only counts."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException

from headwater.memory.buffers import wiring
from headwater.memory.buffers.blocks import LEVEL, Blocks, opened
from headwater.memory.buffers.buffer import BufferFull
from headwater.spark.jvm.settings import MemoryLimit, Settings


class Shim:
    """Spark with so many bytes of memory; every version that is held takes ``each`` of them."""

    def __init__(self, there: int = 1000, each: int = 300) -> None:
        self.there, self.each = there, each
        self.known: dict[int, str] = {5: "left"}

    def held_room(self) -> int:
        return self.there

    def held_size(self, version: int) -> int:
        return self.each if version in self.known else 0

    def hold(self, frame: object, version: int, level: str) -> None:
        self.known[version] = level

    def release_held(self, version: int) -> None:
        self.known.pop(version, None)

    def release_all_held(self) -> None:
        self.known.clear()


def test_what_a_gone_engine_left_is_released():
    shim = Shim()
    assert opened(shim, MemoryLimit(500)).limit == 500 and not shim.known


def test_never_more_than_spark_has(caplog):
    assert opened(Shim(), MemoryLimit(5000)).limit == 1000
    assert "that is what is kept there at most" in caplog.text
    assert opened(Shim(), MemoryLimit(share=0.2)).limit == 200


def test_rows_are_held_until_they_are_removed():
    shim = Shim()
    blocks = Blocks(shim, 1000)
    assert blocks.reserve(1, 100) and blocks.reserve(2, 100)
    for version in (1, 2):
        with blocks.watched(version, lambda: pytest.fail("stopped")):
            blocks.hold("frame", version)
    assert blocks.free == 900 - 600 and shim.known[1] == LEVEL
    blocks.remove(1)
    blocks.remove(1)
    assert blocks.free == 600 and 1 not in shim.known
    blocks.close()
    assert blocks.free == 900 and 2 not in shim.known


def test_what_needs_more_than_there_is_leaves():
    shim = Shim(each=950)
    blocks = Blocks(shim, 1000)
    assert blocks.reserve(1, 100)
    with pytest.raises(BufferFull), blocks.watched(1, lambda: None):
        blocks.hold("frame", 1)
    blocks.remove(1)
    assert blocks.free == 900


def test_it_is_said_how_much_did_not_fit_though_spark_released_it():
    """A run that is stopped takes with it what it has made so far."""
    shim = Shim(there=8 << 20, each=9 << 20)
    blocks, stopped = Blocks(shim, 8 << 20), Event()

    def run() -> None:
        blocks.hold("frame", 1)
        assert stopped.wait(10)
        shim.known.clear()
        raise PySparkException("Job 1 cancelled")

    assert blocks.reserve(1, 100)
    with pytest.raises(BufferFull, match="its 9 MB and more do not fit"), blocks.watched(1, stopped.set):
        run()


def test_an_engine_that_leaves_after_its_driver_has_nothing_to_release():
    def gone(*_: int) -> None:
        raise Py4JNetworkError("Answer is empty")

    shim = Shim()
    blocks = Blocks(shim, 1000)
    assert blocks.reserve(1, 100)
    blocks.hold("frame", 1)
    shim.release_held = shim.release_all_held = gone
    blocks.remove(1)
    blocks.close()
    assert blocks.free == 900


def session(master: str) -> SimpleNamespace:
    return SimpleNamespace(sparkContext=SimpleNamespace(master=master, defaultParallelism=2))


@pytest.mark.parametrize(
    ("master", "settings", "kind", "why"),
    [
        ("local[2]", {}, "NoBuffer", ""),
        ("local[2]", {"memory": "0"}, "NoBuffer", ""),
        ("local[2]", {"memory": "500"}, "Volume", ""),
        ("local[2]", {"memory": "500", "memory.path": "spark"}, "Blocks", ""),
        ("local[2]", {"memory": "500", "memory.path": "/no/such/place"}, "Blocks", "no directory /no/such/place"),
        ("yarn", {"memory": "500"}, "Blocks", "the executors run on other machines"),
        ("yarn", {"memory": "500", "role": "report"}, "NoBuffer", ""),
    ],
)
def test_spark_keeps_outputs_where_there_is_no_fast_volume(monkeypatch, tmp_path, caplog, master, settings, kind, why):
    """That is said once, where a volume was wanted."""
    monkeypatch.setattr("headwater.memory.buffers.volume.IN_MEMORY", tmp_path)
    told = Settings.of({f"spark.headwater.{key}": value for key, value in settings.items()})
    found = wiring.buffer(session(master), Shim(), told)
    assert type(found).__name__ == kind
    assert caplog.text.count("kept in Spark's own memory") == bool(why) and why in caplog.text
    if found is not None:
        found.close()
