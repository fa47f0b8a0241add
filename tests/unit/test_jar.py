"""The jar of the shim is compiled once, however many programs ask for it at the same time."""

from __future__ import annotations

import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headwater.model.error import JarError
from headwater.spark.jvm import jar


@pytest.fixture
def sources(tmp_path, monkeypatch) -> Path:
    """A directory of one source, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "One.scala").write_text("class One")
    return tmp_path / "sources"


def test_two_that_ask_at_once_compile_once(sources: Path, monkeypatch) -> None:
    compiled, both = [], threading.Barrier(2)

    def compiling(_sources: list[Path], classes: Path) -> None:
        compiled.append(classes)
        time.sleep(0.2)
        (classes / "One.class").write_bytes(b"")

    def asks() -> Path:
        both.wait()
        return jar.built("one", sources)

    monkeypatch.setattr(jar, "_compile", compiling)
    with ThreadPoolExecutor(2) as pool:
        one, other = (each.result() for each in [pool.submit(asks), pool.submit(asks)])
    assert one == other and one.exists()
    assert len(compiled) == 1


def test_after_one_that_failed_the_next_compiles(sources: Path, monkeypatch) -> None:
    def failing(_sources: list[Path], _classes: Path) -> None:
        raise JarError("does not compile")

    with monkeypatch.context() as patch, pytest.raises(JarError, match="does not compile"):
        patch.setattr(jar, "_compile", failing)
        jar.built("one", sources)
    monkeypatch.setattr(jar, "_compile", lambda _sources, classes: (classes / "One.class").write_bytes(b""))
    built = jar.built("one", sources)
    assert built.exists()
    assert sorted(each.suffix for each in built.parent.iterdir()) == [".jar", ".lock"]


def test_what_the_classes_read_is_in_the_jar_and_another_text_makes_another_jar(sources: Path, monkeypatch) -> None:
    monkeypatch.setattr(jar, "_compile", lambda _sources, classes: (classes / "One.class").write_bytes(b""))
    table = sources / "resources/headwater/table.json"
    table.parent.mkdir(parents=True)
    made = []
    for text in ("[]", "[1]"):
        table.write_text(text)
        made.append(jar.built("one", sources))
        with zipfile.ZipFile(made[-1]) as archive:
            assert archive.read("headwater/table.json").decode() == text and "One.class" in archive.namelist()
    assert made[0] != made[1]


def test_a_cache_that_cannot_be_written_is_named(sources: Path, monkeypatch) -> None:
    taken = sources / "One.scala"  # a file where the directory should be
    monkeypatch.setenv("XDG_CACHE_HOME", str(taken))
    with pytest.raises(JarError, match="set XDG_CACHE_HOME"):
        jar.built("one", sources)


def test_an_installation_without_sources_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(JarError, match="has no Scala sources; install Headwater again"):
        jar.built("none", tmp_path)
