"""An engine that searches the files of small views for keys. It puts small totals into several buckets, and a range of
groups into a file, as any engine does with large ones. Tests run it."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from headwater.spark.process import engine_process
from headwater.spark.refreshing.methods import buckets, touched
from headwater.spark.tables import compaction, key_files
from headwater.spark.tables.delta import key_search as of_delta
from headwater.spark.tables.iceberg import key_search as of_iceberg


def python(folder: Path) -> Path:
    """A program that runs this engine, to be taken for a Python."""
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, os.path.abspath(__file__)])} "$@"\n')
    program.chmod(0o755)
    return program


if __name__ == "__main__":
    key_files.SMALL = of_delta.SMALL = of_iceberg.SMALL = 0
    touched.SMALL, compaction.LEAST = 0, 1 << 10
    buckets.count = lambda size: (1, 3, 7)[size % 3]
    engine_process.main()
