"""An engine that is killed at a step of a publication; for test_publication_crashes.py.

The file that the environment names in ``HEADWATER_CRASH`` holds a step, as ``delta before the commit``. The engine
takes the file away and kills itself when it comes there: no handler of Python's and no clean-up runs.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headwater.spark.jvm.shim import Shim
from headwater.spark.process import engine_process
from headwater.spark.tables import catalog
from headwater.spark.tables.delta import DeltaTables, publications
from headwater.spark.tables.delta import retention as deltas
from headwater.spark.tables.delta.stage import Staging
from headwater.spark.tables.files import FileTables
from headwater.spark.tables.iceberg import IcebergTables, publishing
from headwater.spark.tables.iceberg import retention as icebergs

ORDER = Path(os.environ.get("HEADWATER_CRASH", "/nowhere"))
ALL_AT_ONCE = "clean up all"
"""An order that lets Iceberg's daily clean-up come with each one, and spare no file for its youth."""

BEFORE_FILES, AFTER_FILES = "before the files", "after the files"
BEFORE_COMMIT, AFTER_COMMIT = "before the commit", "after the commit"
BEFORE_SWAP, AFTER_SWAP = "before the swap", "after the swap"
BEFORE_CLEANING, AFTER_CLEANING = "before the clean-up", "after the clean-up"

Place = tuple[Any, str]
"""A class or a module, and the name of a function there."""

BEFORE: dict[str, dict[str, Place]] = {
    "parquet": {
        BEFORE_FILES: (FileTables, "write"),
        BEFORE_COMMIT: (Shim, "publish"),
        BEFORE_SWAP: (catalog, "swap"),
        BEFORE_CLEANING: (Shim, "delete_versions"),
    },
    "delta": {
        BEFORE_FILES: (Staging, "write"),
        AFTER_COMMIT: (publications, "_after"),
        BEFORE_CLEANING: (deltas.Retention, "expire"),
    },
    "iceberg": {BEFORE_FILES: (publishing.Publishing, "stage"), BEFORE_CLEANING: (icebergs.Retention, "expire")},
}
AFTER: dict[str, dict[str, Place]] = {
    "parquet": {
        AFTER_FILES: (FileTables, "written"),
        AFTER_COMMIT: (Shim, "publish"),
        AFTER_SWAP: (catalog, "swap"),
        AFTER_CLEANING: (Shim, "delete_versions"),
    },
    "delta": {
        AFTER_FILES: (DeltaTables, "written"),
        BEFORE_COMMIT: (publications.Publications, "_operation"),
        AFTER_CLEANING: (deltas.Retention, "expire"),
    },
    "iceberg": {
        AFTER_FILES: (IcebergTables, "written"),
        BEFORE_COMMIT: (publishing.Publishing, "_replace"),
        AFTER_COMMIT: (publishing.Publishing, "commit"),
        AFTER_CLEANING: (icebergs.Retention, "expire"),
    },
}


def steps(format: str) -> list[str]:
    return sorted({*BEFORE[format], *AFTER[format]})


def die_at(step: str) -> None:
    if ORDER.exists() and ORDER.read_text() == step:
        ORDER.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def watch(place: Place, before: str | None = None, after: str | None = None) -> None:
    """Has a function die before it begins, or after it ended."""
    of, name = place
    original: Callable = getattr(of, name)

    def watched(*arguments: Any, **named: Any) -> Any:
        if before:
            die_at(before)
        result = original(*arguments, **named)
        if after:
            die_at(after)
        return result

    setattr(of, name, watched)


def main() -> None:
    for format, places in BEFORE.items():
        for step, place in places.items():
            watch(place, before=f"{format} {step}")
    for format, places in AFTER.items():
        for step, place in places.items():
            watch(place, after=f"{format} {step}")
    if ORDER.exists() and ORDER.read_text() == ALL_AT_ONCE:
        icebergs.UNNAMED = icebergs.DAY = 0
    engine_process.main()


if __name__ == "__main__":
    main()
