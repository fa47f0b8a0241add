"""The demo from end to end."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from rich.console import Console

from headwater.demo.data import SOURCES, generate, load_statements
from headwater.demo.immediate import from_store
from headwater.demo.life import DAYS
from headwater.demo.narrator import Narrator
from headwater.demo.play import Play, prove
from headwater.demo.report import Report, show, write_json
from headwater.demo.session import SparkSql
from headwater.demo.views import read_views
from headwater.model.error import HeadwaterError
from headwater.spark.jar import build_jar


def run_demo(scale: float, json_path: Path | None, keep: Path | None) -> int:
    """Plays the demo on the terminal. Returns the exit code, 1 when a view is wrong.

    ``keep`` names the directory to work in and to leave behind; without it a temporary one is used.
    """
    console = Console()
    with _stage(keep) as folder:
        report = perform(scale, folder, Narrator(console))
    show(report, console)
    if json_path:
        write_json(report, json_path)
    return 0 if report.equal else 1


def perform(scale: float, folder: Path, narrator: Narrator) -> Report:
    """Makes the data and the warehouse in ``folder``, plays the days, and compares."""
    views, raw = read_views(), folder / "tpch"

    with narrator.showing():
        jar = narrator.once("build the extension's jar", build_jar)
        narrator.once(f"generate TPC-H at scale {scale:g}", partial(generate, scale, raw))
        play = Play(views, load_statements(raw), from_store(folder / "warehouse"), narrator)
        play.live(DAYS, partial(SparkSql, folder, jar))
        with SparkSql(folder) as stock:
            differences = prove(stock, views, SOURCES, narrator)
    return Report(scale, play.figures, differences, narrator.elapsed)


@contextmanager
def _stage(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="headwater-demo-") as folder:
            yield Path(folder).resolve()
        return
    keep.mkdir(parents=True, exist_ok=True)
    if any(keep.iterdir()):
        raise HeadwaterError(f"{keep} is not empty; name a new directory to keep the demo in")
    yield keep.resolve()
