"""Headwater beside other ways to keep five views fresh: whole commands after the same change of Delta tables.

Four sides refresh the same views by turns, each in a Spark application of its own:

- ``headwater``: ``headwater run --once``, with views as they are by default;
- ``following``: the same, with views that ask for ``'headwater.method' = 'incremental, keys, full'``;
- ``pipelines``: ``spark-pipelines run`` of Spark's Declarative Pipelines, with views in Parquet;
- ``statements``: ``spark-sql`` with the statements of dbt's incremental models, by hand (``benchmarks.parts.models``).
  It is these statements alone: dbt's own start comes on top, and the filters are what their author must know.

First rows only come, then they come, change and go. The first round of each kind does not count, but with ``--quick``
it does. The seconds within are those after the start of Spark, as each side tells them; pipelines tell whole ones.
After each kind the views of all sides are compared with their queries. A side whose views differ is named with them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.parts.harness import (
    Goal,
    Row,
    Size,
    Worker,
    bar,
    console,
    extension,
    main,
    parser,
    ratio,
    scratch,
    spread,
)
from benchmarks.parts.models import MODELS, Model, changing, coming, tables
from benchmarks.pipelines import CORES, SPEC
from headwater.demo.demo_formats import DELTA

SIDES = ("headwater", "following", "pipelines", "statements")
OURS = {"headwater": "auto", "following": "incremental, keys, full"}
"""The sides of Headwater, with the methods that their views ask for."""
CHANGES: dict[str, Callable[[int, int], list[str]]] = {"rows come": coming, "rows come, change and go": changing}
SUM = "SELECT count(*), CAST(sum(CAST(xxhash64({columns}) AS DECIMAL(38, 0))) AS STRING) FROM {rows}"

_TAKEN = re.compile(r"Time taken: ([\d.]+) seconds")
_LINE = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d): ", re.MULTILINE)

PARSER = parser(__doc__)
PARSER.add_argument("--rows", type=int, help="of the changed table (20 million; 2 million with --quick)")
PARSER.add_argument("--rounds", type=int, help="that count (5; 2 with --quick)")


def run(size: Size) -> dict[str, Any]:
    told = PARSER.parse_args()
    rows, rounds = told.rows or size.of(20_000_000, 2_000_000, 2_000), told.rounds or size.of(5, 2, 1)
    warm = size.of(1, 0, 0)
    with scratch() as home:
        console.log(f"making {rows:,} rows, and {len(MODELS)} views for each of {len(SIDES)} sides")
        writer = Worker(home / "writer", _settings(home / "writer"))
        writer.run(*tables(rows, f"{home}/tables"))
        with ThreadPoolExecutor(len(SIDES)) as pool:
            list(pool.map(lambda side: _prepare(home, side), SIDES))
        found, turn = [], 0
        with bar(console, "rounds", len(CHANGES) * (warm + rounds) * len(SIDES)) as step:
            for change, made in CHANGES.items():
                taken: dict[str, list[Row]] = {side: [] for side in SIDES}
                for each in range(warm + rounds):
                    turn += 1
                    writer.run(*made(rows, turn))
                    for side in (*SIDES[turn % len(SIDES) :], *SIDES[: turn % len(SIDES)]):
                        one = _run(home / side, side)
                        console.log(f"{change}: {side} {one['seconds']:.1f} s, {one['within']:.1f} s within")
                        taken[side] += [one] if each >= warm else []
                        step()
                differing = _differing(home, writer)
                console.log(f"{change}: views that differ: {differing}")
                found.append({"change": change, "taken": taken, "differing": differing})
        writer.close()
    return {"rows": rows, "found": found, "goals": [goal for each in found for goal in goals(each)]}


def goals(found: Row) -> list[Goal]:
    """Of one kind of change: what each side took, and whose views differ."""
    change, seconds = found["change"], {}
    for key in ("seconds", "within"):
        seconds[key] = {side: [run[key] for run in runs] for side, runs in found["taken"].items()}
    made = [
        Goal(
            f"{change}: {side}",
            "reported",
            f"{_told(seconds['seconds'][side])}; {_told(seconds['within'][side])} within",
            True,
        )
        for side in SIDES
    ]
    for ours in OURS:
        for rival in SIDES[2:]:
            gain = ratio(seconds["seconds"][rival], seconds["seconds"][ours])
            measured = f"{gain['median']:.2f} ({gain['min']:.2f} to {gain['max']:.2f})"
            made.append(Goal(f"{change}: {rival}, in times of {ours}", ">= 1", measured, gain["median"] >= 1))
    for side, views in found["differing"].items():
        wanted = "all" if side in OURS else "reported"
        told = f"all but {', '.join(views)}" if views else "all"
        made.append(
            Goal(f"{change}: views of {side} that have their rows", wanted, told, side not in OURS or not views)
        )
    return made


def _told(values: Sequence[float]) -> str:
    found = spread(values)
    return f"{found['median']:.1f} s ({found['min']:.1f} to {found['max']:.1f})"


def _prepare(home: Path, side: str) -> None:
    """Makes the metastore of a side, and its views, models or pipeline; the pipeline runs for the first time."""
    place = home / side
    worker = Worker(place, _settings(place, side in OURS))
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
        (place / "conf").mkdir()
        conf = "".join(f"{key} {value}\n" for key, value in _settings(place).items())
        (place / "conf" / "spark-defaults.conf").write_text(conf)
        (place / "transformations").mkdir()
        views = "".join(f"CREATE MATERIALIZED VIEW {each.name} AS {each.view};\n" for each in MODELS)
        (place / "transformations" / "views.sql").write_text(views)
        (place / "spark-pipeline.yml").write_text(SPEC.format(name="rivals", home=place))
        _run(place, side)


def _run(home: Path, side: str) -> Row:
    """Seconds of one command, and of what it did after its start."""
    commands, env = Path(sys.executable).parent, dict(os.environ)
    settings = _settings(home, side in OURS) | {"spark.master": CORES}
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
    return {"seconds": seconds, **_within(side, ended)}


def _within(side: str, ended: subprocess.CompletedProcess[str]) -> Row:
    """Seconds after the start of Spark, as a side tells them: from its record, its log or its clock."""
    if side in OURS:
        rows = json.loads(ended.stdout)
        starts = [datetime.fromisoformat(row["started_at"]) for row in rows]
        ends = [start + timedelta(seconds=row["seconds"]) for start, row in zip(starts, rows, strict=True)]
        within = (max(ends) - min(starts)).total_seconds()
        return {"within": within, "modes": {row["view"]: row["mode"] for row in rows}}
    if side == "statements":
        return {"within": sum(map(float, _TAKEN.findall(ended.stderr)))}
    _, _, later = (ended.stdout + ended.stderr).partition("Creating dataflow graph")  # the session is there now
    times = [datetime.fromisoformat(each) for each in _LINE.findall(later)]
    return {"within": (max(times) - min(times)).total_seconds()}


def _differing(home: Path, worker: Worker) -> dict[str, list[str]]:
    """For each side the views whose rows are not those of their query."""
    wanted = {each.name: worker.rows(SUM.format(columns=each.columns, rows=f"({each.view})")) for each in MODELS}
    return {
        side: [each.name for each in MODELS if _sum(worker, home / side, side, each) != wanted[each.name]]
        for side in SIDES
    }


def _sum(worker: Worker, place: Path, side: str, model: Model) -> list[list[Any]]:
    using = "parquet" if side == "pipelines" else "delta"
    return worker.rows(SUM.format(columns=model.columns, rows=f"{using}.`{place}/warehouse/{model.name}`"))


def _settings(home: Path, headwater: bool = False) -> dict[str, str]:
    ours = {**extension(), "spark.headwater.store": f"{home}/store.db"} if headwater else {}
    extensions = [DELTA.extension, *([ours["spark.sql.extensions"]] if headwater else [])]
    return {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": "3g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"file:{home}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={home}/metastore;create=true",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={home}",
        "spark.jars.packages": DELTA.package,
        **dict(DELTA.settings),
        **ours,
        "spark.sql.extensions": ",".join(extensions),
    }


if __name__ == "__main__":
    main(run, PARSER)
