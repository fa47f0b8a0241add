"""Commands that start Spark, or prepare it: the jar, the application for refreshes, and the demo."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from headwater.cli.progress_bars import shown
from headwater.cli.shared import known_view, open_store, state_of
from headwater.demo.session import FORMATS
from headwater.engine.requests.reasons import counted_rows
from headwater.model.error import HeadwaterError, StatementError
from headwater.model.name import TableName, split
from headwater.spark.jvm import sql
from headwater.spark.jvm.jar import EXTENSION, JAR, build_jar
from headwater.store.dialect import Where, default_store, is_url
from headwater.store.sql_store import SqlStore

LOOK = 10.0  # s between two looks whether the engine runs


class EngineError(HeadwaterError):
    """The application for refreshes cannot work."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def jar(as_json: bool) -> None:
    """Prints the path of the Spark extension's jar, building it when needed."""
    path = str(build_jar())
    click.echo(json.dumps({"jar": path, "extension": EXTENSION}) if as_json else path)


@click.command()
@click.option(
    "--scale", type=click.FloatRange(min=0, min_open=True), default=0.1, show_default=True, help="TPC-H scale factor."
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(list(FORMATS)),
    default="parquet",
    show_default=True,
    help="Format of the sources and the views.",
)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write the figures to this file.")
@click.option("--keep", type=click.Path(path_type=Path), help="Keep the demo's warehouse in this directory.")
def demo(scale: float, format_name: str, json_path: Path | None, keep: Path | None) -> None:
    """Plays three days of a TPC-H warehouse and shows the refreshes."""
    from headwater.demo.run import run_demo  # needs the demo's own dependencies, which others do not

    sys.exit(run_demo(scale, FORMATS[format_name], json_path, keep))


def _settings(_context: click.Context, _option: click.Parameter, told: Sequence[str]) -> dict[str, str]:
    settings = {}
    for each in told:
        key, equals, value = each.partition("=")
        if not equals:
            raise click.BadParameter(f"'{each}' is not KEY=VALUE")
        settings[key] = value
    return settings


_conf = click.option(
    "--conf",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_settings,
    help="A Spark setting, as for spark-sql.",
)


@click.command()
@click.option("--once", is_flag=True, help="Refresh all pending views and exit; for cron.")
@_conf
@click.option("--json", "as_json", is_flag=True, help="With --once: print the refreshes as JSON.")
def run(once: bool, settings: dict[str, str], as_json: bool) -> None:
    """Runs one Spark application that refreshes while other sessions only report."""
    session = _session(settings)
    try:
        if once:
            with _progress(session):
                rows = [row.asDict() for row in _ask(session, "REFRESH MATERIALIZED VIEWS")]
                views = _ask(session, "SHOW MATERIALIZED VIEWS")
            report(rows, [f"{row['database']}.{row['view']}" for row in views if row["state"] == "suspended"], as_json)
            return
        serve(session)
    finally:
        end(session)


@click.command()
@click.argument("view")
@click.option("--repair", is_flag=True, help="Recompute the view if it differs.")
@_conf
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify(view: str, repair: bool, settings: dict[str, str], as_json: bool) -> None:
    """Compares a view with its query, and exits with 1 if they differ."""
    key = key_of(view, settings)
    session = _session(settings)
    try:
        [row] = _ask(session, f"VERIFY MATERIALIZED VIEW {sql.with_catalog(key)}{' REPAIR' if repair else ''}")
    finally:
        session.stop()
    if as_json:
        click.echo(json.dumps(row.asDict(), indent=2))
    elif row["result"] == "equal":
        click.echo(f"{row['view']} has the rows of its query")
    else:
        lacks = f"it lacked {counted_rows(row['missing'])} and had {row['surplus']} others; {row['example']}"
        click.echo(f"{row['view']} {row['result']}: {lacks}")
        if not repair:
            click.echo(f"recompute it: headwater verify {view} --repair")
    sys.exit(1 if row["result"] == "differs" else 0)


def key_of(view: str, settings: Mapping[str, str]) -> str:
    """The key of a view by its name as all commands take it, whatever catalog and database Spark starts in. The name
    of no view is refused before Spark starts, if there is a store that can say so.

    Raises:
        StatementError: the store has no view of this name, or it is no name.
    """
    try:
        parts = split(view)
    except ValueError as error:
        raise StatementError(f"{view} is no name of a view; write it as `headwater status` shows it") from error
    key = TableName.of(parts if len(parts) > 1 else ("default", *parts)).key
    named = settings.get("spark.headwater.store")
    warehouse = settings.get("spark.sql.warehouse.dir", "spark-warehouse").removeprefix("file:")
    place: Where = default_store(Path(warehouse)) if named is None else named if is_url(named) else Path(named)
    if isinstance(place, Path) and not place.exists():
        return key
    store = open_store(place)
    try:
        return known_view(state_of(store)[0], key if len(parts) > 1 else view)
    finally:
        store.close()


def serve(session) -> None:
    """Keeps the engine running until a signal ends this process. A service manager signals its driver and its engine at
    the same time, so they may be gone before this process is.

    Raises:
        EngineError: the driver ended, and not by a signal.
    """
    from py4j.protocol import Py4JError

    stopped = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: stopped.set())
    try:
        _keep(session, stopped)
    except HeadwaterError:
        if not stopped.is_set():
            raise
    except (Py4JError, OSError) as error:
        if not stopped.is_set():
            raise EngineError("the Spark driver of this application has ended; start `headwater run` again") from error


def end(session) -> None:
    """Ends the application, if there still is one."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, OSError):
        session.stop()


def _keep(session, stopped: threading.Event) -> None:
    _ask(session, "SHOW MATERIALIZED VIEWS")
    click.echo(f"headwater: {_doing(session)}; Ctrl-C ends it")
    with _progress(session):
        while not stopped.wait(LOOK):
            try:
                # No statement runs in this application, so nothing else would start the engine again.
                _ask(session, "SHOW REFRESHES LIMIT 1")
            except EngineError as error:
                if not stopped.is_set():
                    click.echo(f"headwater: {error}", err=True)


def _doing(session) -> str:
    """What this application does, beside which others."""
    from headwater.spark.process.store_location import store_place

    application, conf = session.sparkContext.applicationId, dict(session.sparkContext.getConf().getAll())
    store = SqlStore(store_place(session, conf), creates=False)
    try:
        alive = [each.name for each in store.engines() if each.alive]
    finally:
        store.close()
    return doing(application, alive)


def doing(application: str, alive: Sequence[str]) -> str:
    """The words for it, by the names of the engines that refresh on the same store."""
    others = [each for each in alive if not each.endswith(f":{application}")]
    if len(others) == len(alive):
        return (
            f"this application refreshes nothing itself (spark.headwater.role); {', '.join(others) or 'no other'} does"
        )
    return f"keeping views fresh, together with {', '.join(others)}" if others else "keeping views fresh"


def _progress(session):
    from headwater.spark.jvm.shim import Shim

    return shown(Shim(session).progress)


def _ask(session, statement: str):
    from pyspark.errors import PySparkException

    try:
        return session.sql(statement).collect()
    except PySparkException as error:
        raise EngineError(str(error).strip().splitlines()[0]) from error


def _session(settings: dict[str, str]):
    from pyspark.sql import SparkSession  # starts nothing yet, but takes a second that `jar` need not wait

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.appName("headwater run")
        .config("spark.headwater.python", sys.executable)
        # Refreshes run the same queries again and again; Spark keeps the code that it generated of 100 stages.
        .config("spark.sql.codegen.cache.maxEntries", "2000")
        # A short refresh gets cores beside a long one. Whoever shares this application gets more of them.
        .config("spark.scheduler.mode", "FAIR")
        # Spark's bar would be drawn over those of the refreshes.
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.catalogImplementation", "hive")
    )
    for key, value in extended(settings, build_jar()).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def extended(settings: Mapping[str, str], jar: Path) -> dict[str, str]:
    """The settings with Headwater's jar and extension, behind the others that they name."""
    jars, extensions = (_listed(settings.get(key, "")) for key in ("spark.jars", "spark.sql.extensions"))
    if not any(each.rpartition("/")[2].startswith(JAR) for each in jars):
        jars.append(str(jar))
    if EXTENSION not in extensions:
        extensions.append(EXTENSION)
    return {**settings, "spark.jars": ",".join(jars), "spark.sql.extensions": ",".join(extensions)}


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def report(rows: Sequence[Mapping[str, Any]], suspended: Sequence[str], as_json: bool) -> None:
    """Prints the refreshes of a drain that brought every view up to date but those that their owners ``suspended``."""
    if as_json:
        click.echo(json.dumps([dict(row) for row in rows], indent=2, default=str))
        return
    for row in rows:
        words = row["error"] or f"{counted_rows(row['rows'])} in {row['seconds']:.1f} s"
        click.echo(f"{row['view']} {row['partition']}: {row['status']}, {words}, because {row['reason']}")
    click.echo(f"everything is fresh, but suspended: {', '.join(suspended)}" if suspended else "everything is fresh")
