"""The tables of TPC-DS as Parquet files, made by the generator in DuckDB; made once and kept.

Newer versions of DuckDB download the generator when it is used; 0.10.3 has it built in. Tables of scale 0 need no
generator: each has a few rows of made-up values.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb

from benchmarks.parts.harness import console

GENERATOR = "duckdb==0.10.3"
MADE = """
import duckdb, pathlib, sys
scale, place = sys.argv[1:]
base = duckdb.connect()
base.execute("LOAD tpcds")
base.execute(f"CALL dsdgen(sf={scale})")
for (name,) in base.execute("SHOW TABLES").fetchall():
    folder = pathlib.Path(place, name)
    folder.mkdir(parents=True)
    base.execute(f"COPY {name} TO '{folder}/part-0.parquet' (FORMAT PARQUET, ROW_GROUP_SIZE 200000)")
"""


SCHEMA = Path(__file__).parent / "workloads" / "tables.sql"
ROWS = 5


def tables(scale: float) -> Path:
    """The directory with one directory for each table; a scale of 1 is 434 MB."""
    place = _home() / f"tpcds-{scale:g}"
    if not place.is_dir():
        console.print(f"making the tables of TPC-DS at scale {scale:g}, once, in {place}")
        unfinished = place.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        if scale:
            subprocess.run([generator(), "-c", MADE, f"{scale:g}", str(unfinished)], check=True)
        else:
            made_up(unfinished)
        unfinished.rename(place)
    return place


def made_up(place: Path) -> None:
    """The tables that the workloads read, with rows that are no data of TPC-DS. All keys are from 0 to 4."""
    base = duckdb.connect()
    base.execute(SCHEMA.read_text())
    for (name,) in base.execute("SHOW TABLES").fetchall():
        columns = base.execute(f"DESCRIBE {name}").fetchall()
        values = ", ".join(f"CAST({_made_up(kind)} AS {kind}) AS {column}" for column, kind, *_ in columns)
        folder = place / name
        folder.mkdir(parents=True)
        rows = f"SELECT {values} FROM range({ROWS}) AS rows(id)"
        base.execute(f"COPY ({rows}) TO '{folder}/part-0.parquet' (FORMAT PARQUET)")
    base.close()


def _made_up(kind: str) -> str:
    return "DATE '2000-01-01' + CAST(id AS INTEGER)" if kind == "DATE" else "id"


def generated(scale: float) -> int:
    """Bytes of the data, as [Li23] §VI-A gives shares of it: gigabytes are the scale. Parquet takes 45 % of them."""
    return round(scale * 10**9)


def size(place: Path) -> int:
    """Bytes of all tables as Parquet."""
    return sum(file.stat().st_size for file in place.rglob("*.parquet"))


def generator() -> str:
    """A Python with the generator. It is not this one, for other things here may need a newer DuckDB."""
    python = _home() / "generator" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", GENERATOR], check=True)
    return str(python)


def _home() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "headwater-benchmarks"
