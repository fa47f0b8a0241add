"""Times the calls of an engine process: ``start.py FILE driver|engine PROGRAM`` runs a program of Python.

Each line of the file is one call: its thread, its name, and its start and end in seconds. ``driver``: only calls of the
driver.
"""

from __future__ import annotations

import functools
import sys
import threading
import time


def timed() -> list[tuple[type, tuple[str, ...]]]:
    """The classes whose calls are timed, and the names of these calls."""
    from headwater.memory.buffers.memory import SparkMemory
    from headwater.runtime.loop import Loop
    from headwater.runtime.recorder import Recorder
    from headwater.spark.jvm.query_totals import QueryTotals
    from headwater.spark.jvm.sessions import Sessions
    from headwater.spark.jvm.shim import Shim
    from headwater.spark.observing.observer import Observer
    from headwater.spark.refreshing.methods.buckets import TotalsDirectory
    from headwater.spark.refreshing.recipe import Ingredients, Queries
    from headwater.spark.refreshing.warehouse import SparkWarehouse
    from headwater.spark.tables.files import FileTables
    from headwater.spark.tables.registry import Formats
    from headwater.spark.tables.writer import Writer
    from headwater.store.sql_store import SqlStore

    return [
        (Loop, ("step", "_carry_out", "_follow", "_record")),
        (Recorder, ("record", "attempt", "record_all", "evaluate")),
        (Observer, ("look", "hinted")),
        (Sessions, ("of_run",)),
        (SparkWarehouse, ("compute", "publish")),
        (Queries, ("renew", "analysed")),
        (Formats, ("changed",)),
        (Shim, ("few_rows", "key_values")),
        (QueryTotals, ("collected",)),
        (Ingredients, ("files",)),
        (TotalsDirectory, ("recorded", "read", "write_some", "keep")),
        (SparkMemory, ("share", "keep", "transfers")),
        (FileTables, ("write", "written")),
        (Writer, ("write",)),
        (SqlStore, ("append_all", "append", "read", "discard")),
    ]


def _install(path: str, driver_alone: bool) -> None:
    from py4j.java_gateway import GatewayClient

    out = open(path, "a", buffering=1)  # noqa: SIM115 - open as long as the process lives

    def traced(function, name_of):
        @functools.wraps(function)
        def tracing(*arguments, **named):
            began = time.time()
            try:
                return function(*arguments, **named)
            finally:
                out.write(f"{threading.get_ident()}\t{name_of(arguments)}\t{began:.6f}\t{time.time():.6f}\n")

        return tracing

    def command(arguments) -> str:
        kind, target, *rest = arguments[1].split("\n")
        match kind:
            case "c":
                place = target.removeprefix("z:").rpartition(".")[2] if target.startswith("z:") else "object"
                return f"JVM {place}.{rest[0]}"
            case "i":
                return f"JVM new {target.rpartition('.')[2]}"
            case "m":
                return "JVM garbage"
        return "JVM look-up"

    GatewayClient.send_command = traced(GatewayClient.send_command, command)
    if driver_alone:
        return
    for owner, names in timed():
        for each in names:
            label = f"{owner.__name__}.{each}"
            setattr(owner, each, traced(getattr(owner, each), lambda _, label=label: label))


if __name__ == "__main__":
    _, file, traced, program = sys.argv
    _install(file, driver_alone=traced == "driver")
    exec(program)  # noqa: S102 - the engine's own program, as the shim passes it
