"""The commands that look into a store, on a store made by hand. No Spark."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headwater.cli.main import main
from headwater.model.dependency import Dependency, Occurrence, Same
from headwater.model.event import Changed, Declared, Event, Failed, Made, Observed, Published, Started
from headwater.model.partition import WHOLE, Slice
from headwater.model.view import Column, Definition
from headwater.store.place import default_store
from headwater.store.sql import SqlStore

JANUARY, FEBRUARY = Slice.of({"month": "2024-01"}), Slice.of({"month": "2024-02"})
MONTHLY = Definition(
    "default.monthly",
    "SELECT month, sum(amount) AS total FROM sales GROUP BY month",
    (Column("month", "STRING"), Column("total", "BIGINT")),
    partitioned_by=("month",),
    dependencies=(Dependency("default.sales", (Occurrence((("month", Same("month")),)),)),),
    root="/warehouse/monthly",
)
HELPED = ("jar", "demo", "run", "status", "explain", "history", "cancel", "backfill", "simulate")


class Here:
    """A warehouse in the current directory, whose store holds what was recorded."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = SqlStore(path)
        self._seq = 0

    def record(self, build) -> int:
        """Appends ``build(now, version)``; the version it was given."""
        given = []

        def event(version: int) -> Event:
            given.append(version)
            return build(_now(), version)

        self._seq = self.store.append(event, _now(), self._seq).seq
        return given[0]

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, list(arguments))


def _now() -> int:
    return time.time_ns() // 1_000_000


@pytest.fixture
def here(tmp_path, monkeypatch) -> Here:
    """``monthly`` with January published, and February written and pending."""
    monkeypatch.chdir(tmp_path)
    here = Here(default_store(tmp_path / "spark-warehouse"))
    sales = (Observed(JANUARY, "f1"),)
    source = here.record(lambda at, v: Changed(at, v, "default.sales", sales, "s", 1, "was seen", True))
    declared = here.record(lambda at, v: Declared(at, v, MONTHLY, "was created"))
    inputs = (("default.sales", source),)
    run = here.record(
        lambda at, v: Started(at, v, "default.monthly", ((WHOLE, (declared,)),), inputs, "full", "it was created")
    )
    made = (Made(JANUARY, 31, "x"),)
    here.record(lambda at, _: Published(at, run, "default.monthly", made, (), 1.5))
    here.record(lambda at, v: Changed(at, v, "default.sales", (Observed(FEBRUARY, "f2"),), "s", 1, "was appended to"))
    return here


@pytest.mark.parametrize("command", HELPED)
def test_help(command: str) -> None:
    result = CliRunner().invoke(main, [command, "--help"])
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: main {command}")
    assert len(result.output.split("\n\n")[1].strip()) > 20, "says what it does"


def test_status(here: Here) -> None:
    shown = here.run("status")
    assert shown.exit_code == 0, shown.output
    assert "monthly" in shown.output
    assert "behind" in shown.output
    assert "no engine is running" in shown.output
    assert here.store.acquire("host:1:app", _now(), 60_000)
    assert "kept fresh by host:1:app" in here.run("status").output


def test_status_as_json(here: Here) -> None:
    told = json.loads(here.run("status", "--json").output)
    [view] = told["views"]
    assert told["engine"] is None
    assert (view["database"], view["view"], view["state"], view["behind"]) == ("default", "monthly", "behind", 1)
    [partition] = told["partitions"]["default.monthly"]
    assert (partition["partition"], partition["rows"]) == ("month=2024-01", 31)


def test_explain(here: Here) -> None:
    said = here.run("explain", "monthly").output
    assert said.startswith("default.monthly: 1 of 1 partitions behind, refresh by partition")
    assert "month=2024-02: " in said
    assert json.loads(here.run("explain", "DEFAULT.Monthly", "--json").output)[0] == said.splitlines()[0]


def test_history(here: Here) -> None:
    assert "it was created" in here.run("history").output
    why = "default.sales[month=2024-02] was appended to"
    here.record(lambda at, v: Started(at, v, "default.monthly", ((FEBRUARY, ()),), (), "partition", why))
    assert why in here.run("history").output, "brackets are no markup"
    [_, row] = json.loads(here.run("history", "monthly", "--json").output)
    assert (row["partition"], row["mode"], row["rows"], row["status"]) == ("month=2024-01", "full", 31, "published")
    assert list(row)[:4] == ["run_id", "view", "partition", "mode"]


def test_a_failure_is_in_the_history_and_the_status(here: Here) -> None:
    run = here.record(lambda at, v: Started(at, v, "default.monthly", ((FEBRUARY, ()),), (), "partition", "why"))
    here.record(lambda at, _: Failed(at, run, "default.monthly", "the disk is full", 0.1))
    [newest, _] = json.loads(here.run("history", "--json").output)
    assert (newest["status"], newest["error"]) == ("failed", "the disk is full")
    assert json.loads(here.run("status", "--json").output)["views"][0]["reason"] == "the disk is full"


def test_cancel(here: Here) -> None:
    assert "nothing to cancel" in here.run("cancel", "monthly").output
    assert here.store.orders() == []
    here.record(lambda at, v: Started(at, v, "default.monthly", ((FEBRUARY, ()),), (), "partition", "why"))
    assert json.loads(here.run("status", "--json").output)["views"][0]["state"] == "running"
    assert "no engine" in here.run("cancel", "monthly").output
    assert here.store.acquire("host:1:app", _now(), 60_000)
    said = here.run("cancel", "monthly", "--json")
    assert json.loads(said.output) == {"view": "default.monthly", "cancelled": True}
    assert [(each.kind, each.subject) for each in here.store.orders()] == [("cancel", "default.monthly")]


@pytest.mark.parametrize("command", ["explain", "history", "cancel"])
def test_an_unknown_view_is_named_with_those_there_are(here: Here, command: str) -> None:
    result = here.run(command, "monthy")
    assert result.exit_code == 1
    assert "there is no materialized view monthy; there are default.monthly" in result.output


def test_no_store_here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["status"])
    assert result.exit_code == 1
    assert "there is no store at spark-warehouse/.headwater/store.db; name it with --store" in result.output
    assert not (tmp_path / "spark-warehouse").exists()


def test_another_place(here: Here, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir("/")
    assert here.run("status", "--store", str(here.path), "--json").exit_code == 0


def test_a_file_that_is_no_store(tmp_path) -> None:
    bad = tmp_path / "bad.db"
    bad.write_bytes(b"not a database " * 400)
    result = CliRunner().invoke(main, ["status", "--store", str(bad)])
    assert result.exit_code == 1
    assert str(bad) in result.output
    assert "move it away" in result.output
    assert isinstance(result.exception, SystemExit)


def test_a_malformed_entry_is_named(here: Here) -> None:
    with here.store._engine.begin() as connection:
        connection.exec_driver_sql("UPDATE journal SET body = '{' WHERE seq = 3")
    result = here.run("status")
    assert result.exit_code == 1
    assert "journal entry 3: not JSON" in result.output
    assert "move it away" in result.output


def test_a_store_is_private(here: Here) -> None:
    for each in here.path.parent.iterdir():
        assert stat.S_IMODE(each.stat().st_mode) == 0o600, each


def test_run_refuses_a_malformed_setting() -> None:
    result = CliRunner().invoke(main, ["run", "--conf", "spark.master"])
    assert result.exit_code == 2
    assert "'spark.master' is not KEY=VALUE" in result.output


def test_jar_as_json(monkeypatch) -> None:
    monkeypatch.setattr("headwater.cli.serve.build_jar", lambda: Path("/cache/shim.jar"))
    told = json.loads(CliRunner().invoke(main, ["jar", "--json"]).output)
    assert told == {"jar": "/cache/shim.jar", "extension": "io.headwater.spark.HeadwaterExtensions"}
