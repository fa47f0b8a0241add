"""Headwater beside other ways to keep views fresh: whole commands, by turns, each a Spark application of its own.

What all sides made is compared. A side whose views differ from their queries is named with them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from benchmarks.parts import tpcds
from benchmarks.parts.harness import Row, Worker, by_turns, checksum, console, extension, grown, ratios, scratch
from benchmarks.parts.models import MODELS, Model, changing, coming, tables
from benchmarks.parts.results import Figure, Report, figure, none
from benchmarks.parts.workload import BASE, WORKLOADS, View, sources, workload
from headwater.demo.session import DELTA

SPEC = """
name: benchmark
storage: file://{home}/storage
libraries:
  - glob:
      include: transformations/**
"""
CORES = "local[2]"
WHICH = ("all tables", "one table")

SIDES = ("headwater", "following", "pipelines", "statements")
OURS = {"headwater": "auto", "following": "incremental, keys, full"}
"""The sides of Headwater, with the methods that their views ask for."""
SIDES_SAID = {
    "headwater": "`headwater run --once`, views as they are by default",
    "following": "`headwater run --once`, views that are to follow changes",
    "pipelines": "`spark-pipelines run`",
    "statements": "`spark-sql` with the statements of dbt's incremental models",
}
CHANGES: dict[str, Callable[[int, int], list[str]]] = {"rows come": coming, "rows come, change and go": changing}

_TAKEN = re.compile(r"Time taken: ([\d.]+) seconds")
_LINE = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d): ", re.MULTILINE)


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


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--scale", type=float, help="of TPC-DS, for pipelines; 1 unless quick")
    parser.add_argument("--workloads", nargs="*", choices=WORKLOADS, help="for pipelines (all)")
    parser.add_argument(
        "--rows", type=int, help="of the changed table, for models (20 million; 2 million with --quick)"
    )
    parser.add_argument("--rounds", type=int, help="that count")


# --- Declarative Pipelines


def pipelines(asked: Namespace) -> Report:
    """Spark's Declarative Pipelines, on the five workloads over TPC-DS, on a local disk.

    Pipelines run by their own command only, which computes every materialized view anew. So ``spark-pipelines run`` and
    ``headwater run --once`` are compared, first after all tables changed that a workload reads, and then after only its
    smallest one did. The first round does not count. Headwater goes on downstream also of what turns out unchanged.
    """
    named = {each: getattr(asked, each) for each in ("scale", "rounds", "workloads")}
    extent = evolve(
        asked.size.of(FULL, QUICK, SMOKE), **{name: each for name, each in named.items() if each is not None}
    )
    keys = [{"workload": name, "scale": extent.scale} for name in extent.workloads]
    return grown(asked, keys, lambda key: _workload(key["workload"], extent), _of_workloads)


def _of_workloads(rows: Sequence[Row]) -> list[Figure]:
    figures = []
    for row in rows:
        for which in (each for each in WHICH if each in row):
            times = row[which]
            column = f"{which} changed: pipelines, in times of Headwater"
            gains = ratios(times["pipelines"], times["headwater"])
            figures.append(figure(row["workload"], gains, "times", column=column, least=1))
            for side, seconds in times.items():
                figures.append(figure(row["workload"], seconds, "s", column=f"{which} changed: {side}"))
    return [
        *figures,
        none("views that differ", [f"{name} of {row['workload']}" for row in rows for name in row["different"]]),
    ]


def _workload(name: str, extent: Extent) -> dict[str, Any]:
    """Seconds of both commands, round by round, for each way in which tables changed."""
    views, sides = workload(name)[: extent.views], ("pipelines", "headwater")
    with scratch() as home, ThreadPoolExecutor(len(sides)) as both:
        there = home / "tables"
        shutil.copytree(tpcds.tables(extent.scale), there, copy_function=os.link)
        list(both.map(lambda side: _prepare_workload(home / side, there, views, side == "headwater"), sides))
        smallest = min(sources(views), key=lambda table: tpcds.size(there / table))
        found: dict[str, Any] = {"changed": smallest}
        for which in extent.changes:
            some = sources(views) if which == "all tables" else (smallest,)

            def change(turn: int, which: str = which, some: Sequence[str] = some) -> None:
                """Adds a file with a row of nulls to each table, which joins nothing."""
                for table in some:
                    [nulls] = (there / f"{table}.nulls").glob("*.parquet")
                    shutil.copyfile(nulls, there / table / f"added-{which.replace(' ', '-')}-{turn}.parquet")

            found[which] = by_turns(
                {side: lambda _, side=side: _command(home / side, side)[0] for side in sides},
                extent.warm,
                extent.rounds,
                change,
            )
        made = dict(zip(sides, both.map(lambda side: _sums(home / side, views), sides), strict=True))
        found["different"] = [view.name for view in views if len({str(each[view.name]) for each in made.values()}) > 1]
    return found


def _sums(home: Path, views: Sequence[View]) -> dict[str, Any]:
    """Rows of each view, and the sum of their hashes."""
    worker = Worker(home, _settings(home) | {"spark.master": CORES})
    found = {view.name: checksum(worker, view.name) for view in views}
    worker.close()
    return found


def _prepare_workload(home: Path, tables: Path, views: Sequence[View], headwater: bool) -> None:
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
        _project(home, _settings(home), [view.statement() for view in views])


# --- incremental models


def models(asked: Namespace) -> Report:
    """Five views over Delta tables, also beside Pipelines, and beside what the author of incremental models writes.

    - ``headwater``: ``headwater run --once``, with views as they are by default;
    - ``following``: the same, with views that ask for ``'headwater.method' = 'incremental, keys, full'``;
    - ``pipelines``: ``spark-pipelines run``, with views in Parquet;
    - ``statements``: ``spark-sql`` with the statements of dbt's incremental models, by hand (``parts/models.py``). It
      is these statements alone: dbt's own start comes on top, and the filters are what their author must know.

    First rows only come, then they come, change and go. The first round of each kind does not count, but with
    ``--quick`` it does. The seconds within are those after the start of Spark, as each side tells them; pipelines tell
    whole ones.
    """
    rows = asked.rows or asked.size.of(20_000_000, 2_000_000, 2_000)
    rounds, warm = asked.rounds or asked.size.of(5, 2, 1), asked.size.of(1, 0, 0)
    with scratch() as home:
        console.log(f"making {rows:,} rows, and {len(MODELS)} views for each of {len(SIDES)} sides")
        writer = Worker(home / "writer", _lake_settings(home / "writer"))
        writer.run(*tables(rows, f"{home}/tables"))
        with ThreadPoolExecutor(len(SIDES)) as pool:
            list(pool.map(lambda side: _prepare_models(home, side), SIDES))
        found, first = [], 1
        for change, made in CHANGES.items():
            taken = by_turns(
                {side: lambda _, side=side: _within(home / side, side) for side in SIDES},
                warm,
                rounds,
                lambda turn, made=made, first=first: writer.run(*made(rows, first + turn)),
            )
            first += warm + rounds
            found.append({"change": change, "taken": taken, "differing": _differing(home, writer)})
        writer.close()
    return Report([each for one in found for each in of_change(one)], {"rows": rows, "found": found})


def of_change(found: Mapping[str, Any]) -> list[Figure]:
    """Of one kind of change: what each side took, and whose views differ."""
    change, figures = found["change"], []
    seconds = {
        key: {side: [run[key] for run in runs] for side, runs in found["taken"].items()}
        for key in ("seconds", "within")
    }
    for side, said in SIDES_SAID.items():
        figures.append(figure(said, seconds["seconds"][side], "s", column=change))
        figures.append(figure(said, seconds["within"][side], "s", column=f"{change}: within"))
        wrong = found["differing"][side]
        most = 0 if side in OURS else None
        note = ", ".join(wrong)
        figures.append(figure(said, len(wrong), column=f"{change}: wrong views", most=most, note=note))
    for ours in OURS:
        for rival in SIDES[2:]:
            gain = ratios(seconds["seconds"][rival], seconds["seconds"][ours])
            figures.append(figure(f"{rival}, in times of {ours}", gain, "times", column=change, least=1))
    return figures


def _prepare_models(home: Path, side: str) -> None:
    """Makes the metastore of a side, and its views, models or pipeline; the pipeline runs for the first time."""
    place = home / side
    worker = Worker(place, _lake_settings(place, side in OURS))
    for table in ("sales", "customers"):
        worker.run(f"CREATE TABLE {table} USING delta LOCATION '{home}/tables/{table}'")
    if side in OURS:
        properties = f"TBLPROPERTIES ('headwater.method' = '{OURS[side]}')"
        create = "CREATE MATERIALIZED VIEW {} USING delta {} AS {}"
        worker.run(*(create.format(each.name, properties, each.view) for each in MODELS))
    elif side == "statements":
        worker.run(*(each.first() for each in MODELS))
        later = [statement for each in MODELS for statement in each.later()]
        (place / "models.sql").write_text("".join(f"{each};\n" for each in later))
    worker.close()
    if side == "pipelines":
        views = [f"CREATE MATERIALIZED VIEW {each.name} AS {each.view}" for each in MODELS]
        _project(place, _lake_settings(place), views)
        _command(place, side)


def _within(home: Path, side: str) -> Row:
    """Seconds of one command, and those after the start of Spark, as a side tells them: from its record, its log or its
    clock."""
    seconds, ended = _command(home, side, _lake_settings(home, side in OURS))
    if side in OURS:
        rows = json.loads(ended.stdout)
        starts = [datetime.fromisoformat(row["started_at"]) for row in rows]
        ends = [start + timedelta(seconds=row["seconds"]) for start, row in zip(starts, rows, strict=True)]
        within = (max(ends) - min(starts)).total_seconds()
        return {"seconds": seconds, "within": within, "modes": {row["view"]: row["mode"] for row in rows}}
    if side == "statements":
        return {"seconds": seconds, "within": sum(map(float, _TAKEN.findall(ended.stderr)))}
    _, _, later = (ended.stdout + ended.stderr).partition("Creating dataflow graph")  # the session is there now
    times = [datetime.fromisoformat(each) for each in _LINE.findall(later)]
    return {"seconds": seconds, "within": (max(times) - min(times)).total_seconds()}


def _differing(home: Path, worker: Worker) -> dict[str, list[str]]:
    """For each side the views whose rows are not those of their query."""
    wanted = {each.name: checksum(worker, f"({each.view})", each.columns) for each in MODELS}
    return {
        side: [each.name for each in MODELS if _sum(worker, home / side, side, each) != wanted[each.name]]
        for side in SIDES
    }


def _sum(worker: Worker, place: Path, side: str, model: Model) -> list[list[Any]]:
    using = "parquet" if side == "pipelines" else "delta"
    return checksum(worker, f"{using}.`{place}/warehouse/{model.name}`", model.columns)


# --- commands


def _command(
    home: Path, side: str, settings: Mapping[str, str] | None = None
) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Seconds of one command, and what it said. That of pipelines takes no master, and settings from a file only."""
    commands, env = Path(sys.executable).parent, dict(os.environ)
    settings = {**(settings or _settings(home) | _store(home)), "spark.master": CORES}
    conf = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    if side in OURS:
        command = [str(commands / "headwater"), "run", "--once", "--json", *conf]
    elif side == "statements":
        command = [str(commands / "spark-sql"), *conf, "-f", "models.sql"]
    else:
        command = [str(commands / "spark-pipelines"), "run", "--remote", CORES]
        env |= {"SPARK_CONF_DIR": str(home / "conf")}
    env |= {"PATH": f"{commands}:{env['PATH']}"}
    began = time.perf_counter()
    ended = subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command[:3])} failed:\n{(ended.stdout + ended.stderr)[-3000:]}")
    console.log(f"{side}: {seconds:.1f} s")
    return seconds, ended


def _project(home: Path, settings: Mapping[str, str], views: Sequence[str]) -> None:
    """Makes the project of a pipeline, with its settings in a file."""
    (home / "conf").mkdir()
    (home / "conf" / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    (home / "transformations").mkdir()
    (home / "transformations" / "views.sql").write_text("".join(f"{each};\n" for each in views))
    (home / "spark-pipeline.yml").write_text(SPEC.format(home=home))


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


def _lake_settings(home: Path, headwater: bool = False) -> dict[str, str]:
    """Those of an application with Delta, and with Headwater if asked."""
    ours = extension() | _store(home) if headwater else {}
    extensions = [DELTA.extension, *([ours["spark.sql.extensions"]] if headwater else [])]
    delta = {"spark.driver.memory": "3g", "spark.jars.packages": DELTA.package, **dict(DELTA.settings)}
    return _settings(home) | delta | ours | {"spark.sql.extensions": ",".join(extensions)}


CASES = {"pipelines": pipelines, "models": models}
