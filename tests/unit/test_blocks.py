"""Room in Spark's own memory, with a shim that only counts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError

from headwater.spark import keeping
from headwater.spark.blocks import LEVEL, Blocks, opened
from headwater.spark.room import OutOfRoom
from headwater.spark.settings import Memory, Settings


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
        del self.known[version]

    def release_all_held(self) -> None:
        self.known.clear()


def test_what_a_gone_engine_left_is_released():
    shim = Shim()
    assert opened(shim, Memory(500)).limit == 500 and not shim.known


def test_never_more_than_spark_has(caplog):
    assert opened(Shim(), Memory(5000)).limit == 1000
    assert "that is what is kept there at most" in caplog.text
    assert opened(Shim(), Memory(share=0.2)).limit == 200
    assert opened(Shim(), Memory()) is None


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
    with pytest.raises(OutOfRoom), blocks.watched(1, lambda: None):
        blocks.hold("frame", 1)
    blocks.remove(1)
    assert blocks.free == 900


def test_an_engine_that_leaves_after_its_driver_has_nothing_to_release():
    def gone(version: int) -> None:
        raise Py4JNetworkError("Answer is empty")

    shim = Shim()
    blocks = Blocks(shim, 1000)
    blocks.hold("frame", 1)
    shim.release_held = gone
    blocks.close()


def session(master: str) -> SimpleNamespace:
    return SimpleNamespace(sparkContext=SimpleNamespace(master=master, defaultParallelism=2))


@pytest.mark.parametrize(
    ("master", "settings", "kind"),
    [
        ("local[2]", {}, "NoneType"),
        ("local[2]", {"memory": "500"}, "Volume"),
        ("local[2]", {"memory": "500", "memory.path": "spark"}, "Blocks"),
        ("local[2]", {"memory": "500", "memory.path": "/no/such/place"}, "Blocks"),
        ("yarn", {"memory": "500"}, "Blocks"),
        ("yarn", {"memory": "500", "role": "report"}, "NoneType"),
    ],
)
def test_spark_keeps_outputs_where_there_is_no_fast_volume(monkeypatch, tmp_path, master, settings, kind):
    monkeypatch.setattr("headwater.spark.volume.IN_MEMORY", tmp_path)
    told = Settings.of({f"spark.headwater.{key}": value for key, value in settings.items()})
    found = keeping.room(session(master), Shim(), told)
    assert type(found).__name__ == kind
    if found is not None:
        found.close()
