"""Headwater beside Spark's own Declarative Pipelines, on the five workloads over TPC-DS, on local disk.

Pipelines run by their own command only, which computes every materialized view anew. So whole commands are
compared, by turns: ``spark-pipelines run`` and ``headwater run --once``, each a Spark application of its own, first
after all tables changed that a workload reads, and then after only its smallest one did. The first round does not
count, and what both made is compared. Headwater goes on downstream also of what turns out unchanged.

    python -m benchmarks.pipelines [--quick] [--scale 1] [--rounds 5] [--workloads profit,...] [--json FILE]

A workload that is in FILE already is not measured again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from benchmarks.parts import tpcds
from benchmarks.parts.harness import Goal, Row, Worker, console, extension, grown, parser, ratio, scratch, spread
from benchmarks.parts.workload import BASE, WORKLOADS, View, sources, workload

SPEC = """
name: {name}
storage: file://{home}/storage
libraries:
  - glob:
      include: transformations/**
"""
CORES = "local[2]"
WHICH = ("all tables", "one table")
SIDES = ("pipelines", "headwater")


@frozen
class Extent:
    """How much is measured.

    Attributes:
        scale: of TPC-DS.
        warm: rounds before, that do not count.
        changes: the ways in which tables change.
        views: the first views of each workload; ``None``: all.
    """

    scale: float
    rounds: int
    warm: int
    workloads: Sequence[str]
    changes: Sequence[str] = WHICH
    views: int | None = None


FULL = Extent(1, 5, 1, WORKLOADS)
QUICK = Extent(0.01, 1, 0, ("inventory",), WHICH[:1], views=5)
SMOKE = Extent(0, 1, 0, ("inventory",), WHICH[:1], views=1)

PARSER = parser(__doc__)
PARSER.add_argument("--scale", type=float, help="of TPC-DS; 1 unless quick")
PARSER.add_argument("--rounds", type=int, help="that count; 5 unless quick")
PARSER.add_argument("--workloads", type=lambda text: text.split(","), help=f"of {', '.join(WORKLOADS)}")


def main() -> None:
    told = PARSER.parse_args()
    named = {each: getattr(told, each) for each in ("scale", "rounds", "workloads")}
    extent = evolve(
        told.size.of(FULL, QUICK, SMOKE), **{name: each for name, each in named.items() if each is not None}
    )
    asked = [{"workload": name, "scale": extent.scale} for name in extent.workloads]
    grown(told, asked, lambda key: measured(key["workload"], extent), _goals)


def _goals(rows: Sequence[Row]) -> list[Goal]:
    different = [f"{name} of {row['workload']}" for row in rows for name in row["different"]]
    return [
        Goal("both make the same", "yes", ", ".join(different) or "yes", not different),
        *(_faster(row, which) for row in rows for which in WHICH if which in row),
    ]


def _faster(row: Row, which: str) -> Goal:
    theirs, ours = row[which]["pipelines"], row[which]["headwater"]
    gain = ratio(theirs, ours)
    seconds = f"{spread(theirs)['median']:.1f} s, Headwater {spread(ours)['median']:.1f} s"
    measured = f"{gain['median']:.2f}x ({gain['min']:.2f} to {gain['max']:.2f}): pipelines {seconds}"
    return Goal(f"{row['workload']}, {which} changed", ">= 1", measured, gain["median"] >= 1)


def measured(name: str, extent: Extent) -> dict[str, Any]:
    """Seconds of both commands, round by round, for each way in which tables changed."""
    views = workload(name)[: extent.views]
    with scratch() as home, ThreadPoolExecutor(len(SIDES)) as both:
        shutil.copytree(tpcds.tables(extent.scale), home / "tables", copy_function=os.link)
        tables = home / "tables"
        list(both.map(lambda side: _prepare(home / side, tables, views, side == "headwater"), SIDES))
        smallest = min(sources(views), key=lambda table: tpcds.size(tables / table))
        found: dict[str, Any] = {"changed": smallest}
        for which in extent.changes:
            times: dict[str, list[float]] = {side: [] for side in SIDES}
            for each in range(extent.warm + extent.rounds):
                counts = each >= extent.warm
                for table in sources(views) if which == "all tables" else (smallest,):
                    _change(tables, table, f"{which}-{each}".replace(" ", "-"))
                for side in SIDES if each % 2 else SIDES[::-1]:
                    seconds = _run(home / side, side)
                    console.print(f"{name}, {which}: {side} {seconds:.1f} s{'' if counts else ' (warming up)'}")
                    if counts:
                        times[side].append(seconds)
            found[which] = times
        made = dict(zip(SIDES, both.map(lambda side: _sums(home / side, views), SIDES), strict=True))
        found["different"] = [view.name for view in views if len({str(each[view.name]) for each in made.values()}) > 1]
    return found


def _sums(home: Path, views: Sequence[View]) -> dict[str, Any]:
    """Rows of each view, and the sum of their hashes."""
    worker = Worker(home, _settings(home) | {"spark.master": CORES})
    asked = (
        "SELECT count(*), CAST(sum(CAST(hash AS DECIMAL(38, 0))) AS STRING) FROM (SELECT xxhash64(*) AS hash FROM {})"
    )
    found = {view.name: worker.rows(asked.format(view.name)) for view in views}
    worker.close()
    return found


def _prepare(home: Path, tables: Path, views: Sequence[View], headwater: bool) -> None:
    """Makes a metastore with the tables, and the views of Headwater, or a pipeline of them."""
    worker = Worker(home, _settings(home) | {"spark.master": CORES} | (extension() | _store(home) if headwater else {}))
    worker.run(f"CREATE DATABASE {BASE}")
    for table in sources(views):
        worker.run(f"CREATE TABLE {BASE}.{table} USING parquet LOCATION 'file:{tables}/{table}'")
        types = worker.rows(f"DESCRIBE {BASE}.{table}")
        row = ", ".join(f"CAST(NULL AS {kind}) AS {column}" for column, kind, _ in types)
        if headwater:
            worker.run(f"INSERT OVERWRITE DIRECTORY 'file:{tables}/{table}.nulls' USING parquet SELECT {row}")
    if headwater:
        worker.run(*(view.statement(cutoff="off") for view in views))
    worker.close()
    if not headwater:
        (home / "conf").mkdir()
        settings = "".join(f"{key} {value}\n" for key, value in _settings(home).items())
        (home / "conf" / "spark-defaults.conf").write_text(settings)
        (home / "transformations").mkdir()
        text = ";\n".join(view.statement() for view in views)
        (home / "transformations" / "views.sql").write_text(f"{text};\n")
        (home / "spark-pipeline.yml").write_text(SPEC.format(name="benchmark", home=home))


def _change(tables: Path, table: str, name: str) -> None:
    """Adds a file with a row of nulls, which joins nothing."""
    [nulls] = (tables / f"{table}.nulls").glob("*.parquet")
    shutil.copyfile(nulls, tables / table / f"added-{name}.parquet")


def _run(home: Path, side: str) -> float:
    """Seconds of one command. That of pipelines takes no master, and settings from a file only."""
    commands, env = Path(sys.executable).parent, dict(os.environ)
    if side == "headwater":
        conf = _settings(home) | _store(home) | {"spark.master": CORES}
        command = [str(commands / "headwater"), "run", "--once"]
        command += [each for key, value in conf.items() for each in ("--conf", f"{key}={value}")]
    else:
        command = [str(commands / "spark-pipelines"), "run", "--remote", CORES]
        env |= {"PATH": f"{commands}:{os.environ['PATH']}", "SPARK_CONF_DIR": str(home / "conf")}
    began = time.perf_counter()
    ended = subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command[:3])} failed:\n{(ended.stdout + ended.stderr)[-3000:]}")
    return seconds


def _settings(home: Path) -> dict[str, str]:
    return {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"file:{home}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={home}/metastore;create=true",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={home}",
    }


def _store(home: Path) -> dict[str, str]:
    return {"spark.headwater.store": f"{home}/store.db"}


if __name__ == "__main__":
    main()
