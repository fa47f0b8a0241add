"""The commands that look into a store, on a store made by hand. No Spark."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner, Result
from py4j.protocol import Py4JNetworkError

from headwater.cli.main import main
from headwater.cli.serve import EngineError, doing, end, extended, key_of, report, serve
from headwater.engine.tell.status import Condition
from headwater.model.dependency import Dependency, Occurrence, Same
from headwater.model.epoch import Epoch, TableState
from headwater.model.event import (
    Altered,
    Changed,
    Declared,
    EngineLost,
    EpochMade,
    Event,
    Failed,
    Made,
    Observed,
    Published,
    Started,
    Suspended,
)
from headwater.model.partition import WHOLE, Slice
from headwater.model.reason import Code, Reason
from headwater.model.view import Column, Definition
from headwater.model.work import WholePartitions, WholeView
from headwater.store.dialect import default_store
from headwater.store.recovery import restored
from headwater.store.sql_store import SqlStore

JANUARY, FEBRUARY = Slice.of({"month": "2024-01"}), Slice.of({"month": "2024-02"})
MONTHLY = Definition(
    "default.monthly",
    "SELECT month, sum(amount) AS total FROM sales GROUP BY month",
    (Column("month", "STRING"), Column("total", "BIGINT")),
    partitioned_by=("month",),
    dependencies=(Dependency("default.sales", (Occurrence((("month", Same("month")),)),)),),
    root="/warehouse/monthly",
)
HELPED = ("jar", "demo", "run", "status", "explain", "groups", "history", "cancel", "backfill", "whatif")


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

        self._seq = self.store.append(event, self._seq).seq
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
        lambda at, v: Started(
            at,
            v,
            "default.monthly",
            ((WHOLE, (declared,)),),
            inputs,
            WholeView(),
            Reason(Code.SOURCE_CHANGED, "it was created"),
        )
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
    assert here.store.beat("host:1:app", 60_000).leads
    assert "kept fresh by host:1:app" in here.run("status").output


def test_status_says_what_the_load_allows(here: Here) -> None:
    assert "refreshes need 0.00 of 4 tracks" in here.run("status").output
    assert json.loads(here.run("status", "--json").output)["load"] == {"tracks": 4, "needed": 0.0}


def test_status_shows_a_column_for_a_property_where_a_view_has_it(here: Here) -> None:
    assert "bound" not in here.run("status").output
    here.record(lambda at, _: Altered(at, "default.monthly", (("headwater.freshness", "1 minute"),)))
    assert "bound" in here.run("status").output and "fresh to" not in here.run("status").output


def test_status_as_json(here: Here) -> None:
    told = json.loads(here.run("status", "--json").output)
    [view] = told["views"]
    assert told["engine"] is None
    assert (view["database"], view["view"], view["state"], view["behind"]) == ("default", "monthly", "behind", 1)
    [partition] = told["partitions"]["default.monthly"]
    assert (partition["partition"], partition["rows"]) == ("month=2024-01", 31)


def without_time(told: str) -> dict:
    return {key: value for key, value in json.loads(told).items() if key not in ("engine", "views")}


@pytest.mark.parametrize("acting", [False, True])
def test_a_summary_that_is_not_of_the_last_entry_is_not_shown(here: Here, acting: bool, monkeypatch) -> None:
    monkeypatch.setattr("headwater.cli.status.PATIENCE", 0.1)
    before = json.loads(here.run("status", "--json").output)
    assert (before["views"][0]["behind"], len(before["consistency"]["default.monthly"])) == (1, 1)
    assert here.store.summary(here.store.last(), detailed=True).detail
    if acting:
        here.store.beat("host:1:app", 60_000)
    march = (Observed(Slice.of({"month": "2024-03"}), "f3"),)
    here.record(lambda at, v: Changed(at, v, "default.sales", march, "s", 1, "was appended to"))
    after = json.loads(here.run("status", "--json").output)
    assert after["views"][0]["behind"] == 2
    [verdict] = after["consistency"]["default.monthly"]
    assert verdict["requests"] == ["default.monthly[month=2024-02]", "default.monthly[month=2024-03]"]


def test_status_does_not_replay_when_there_is_a_summary(here: Here, monkeypatch) -> None:
    plain, detailed = here.run("status").output, here.run("status", "--json").output
    monkeypatch.setattr("headwater.store.sql_store.SqlStore.read", None)
    assert re.sub(r"\d+\.\d", "", here.run("status").output) == re.sub(r"\d+\.\d", "", plain)
    assert without_time(here.run("status", "--json").output) == without_time(detailed)


def test_status_waits_for_the_engine_to_say_what_it_knows(here: Here, monkeypatch) -> None:
    assert here.run("status").exit_code == 0
    known = here.store.summary(here.store.last(), detailed=False).summary
    here.store.beat("host:1:app", 60_000)
    here.record(lambda at, _: Suspended(at, "default.monthly"))
    later = evolve(known, views=tuple(evolve(each, state=Condition.SUSPENDED) for each in known.views))
    monkeypatch.setattr("headwater.store.sql_store.SqlStore.read", None)  # it is not replayed meanwhile
    writing = threading.Timer(0.2, lambda: here.store.summarise(here.store.last(), later))
    writing.start()
    shown = here.run("status")
    writing.join()
    assert "suspended" in shown.output and shown.exit_code == 0


def test_status_of_a_store_that_cannot_be_written(here: Here, monkeypatch) -> None:
    expected = here.run("status", "--json").output
    here.record(lambda at, _: EngineLost(at, 0))
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    assert without_time(here.run("status", "--json").output) == without_time(expected)
    assert here.store.summary(here.store.last(), detailed=False) is None, "the reader left nothing"
    copied = here.path.with_name("copied.db")
    with sqlite3.connect(here.path) as connection, sqlite3.connect(copied) as target:
        connection.backup(target)
    assert without_time(here.run("status", "--json", "--store", str(copied)).output) == without_time(expected)
    assert not copied.with_name("copied.db-wal").exists()


def test_explain(here: Here) -> None:
    said = here.run("explain", "monthly").output
    assert said.startswith("default.monthly: 1 of 1 partitions behind, refresh by partition")
    assert "month=2024-02: " in said
    assert json.loads(here.run("explain", "DEFAULT.Monthly", "--json").output)[0] == said.splitlines()[0]


def test_history(here: Here) -> None:
    assert "it was created" in here.run("history").output
    why = "default.sales[month=2024-02] was appended to"
    here.record(
        lambda at, v: Started(
            at, v, "default.monthly", ((FEBRUARY, ()),), (), WholePartitions(), Reason(Code.SOURCE_CHANGED, why)
        )
    )
    assert why in here.run("history").output, "brackets are no markup"
    [_, row] = json.loads(here.run("history", "monthly", "--json").output)
    assert (row["partition"], row["mode"], row["rows"], row["status"]) == ("month=2024-01", "full", 31, "published")
    assert list(row)[:4] == ["run_id", "view", "partition", "mode"]


def test_history_may_be_asked_for_more_than_there_can_be(here: Here) -> None:
    shown = here.run("history", "--limit", "9" * 20)
    assert shown.exit_code == 0 and shown.output == here.run("history").output


def test_history_draws_staleness(here: Here, tmp_path) -> None:
    picture = tmp_path / "staleness.png"
    assert str(picture) in here.run("history", "--plot", str(picture)).output
    assert picture.read_bytes().startswith(b"\x89PNG")
    one = here.run("history", "monthly", "--plot", str(tmp_path / "one.png"))
    assert one.exit_code == 0 and (tmp_path / "one.png").stat().st_size > 1000


def test_history_of_more_views_than_have_room_names_the_way_to_the_others(here: Here, tmp_path) -> None:
    for n in range(20):
        view = evolve(MONTHLY, view=f"default.v{n:02}", root=f"/warehouse/v{n:02}")
        here.record(lambda at, v, view=view: Declared(at, v, view, "it was created"))
    told = here.run("history", "--plot", str(tmp_path / "staleness.png")).output
    assert "9 less stale views are left out; name one" in told


def test_history_says_that_older_refreshes_are_removed(here: Here) -> None:
    assert "keeps no refreshes" not in here.run("history").output
    here.store.keep_snapshot(here.store.last(), restored(here.store)[0])
    here.store.compact(_now() + 1)
    shown = here.run("history")
    assert "it was created" not in shown.output and "spark.headwater.history says" in shown.output
    assert json.loads(here.run("history", "--json").output) == []
    assert "monthly" in here.run("status").output


def test_a_failure_is_in_the_history_and_the_status(here: Here) -> None:
    run = here.record(
        lambda at, v: Started(
            at, v, "default.monthly", ((FEBRUARY, ()),), (), WholePartitions(), Reason(Code.SOURCE_CHANGED, "why")
        )
    )
    here.record(lambda at, _: Failed(at, run, "default.monthly", Reason(Code.RUN_FAILED, "the disk is full"), 0.1))
    [newest, _] = json.loads(here.run("history", "--json").output)
    assert (newest["status"], newest["error"]) == ("failed", "the disk is full")
    assert json.loads(here.run("status", "--json").output)["views"][0]["reason"] == "the disk is full"


def test_groups(here: Here) -> None:
    properties = (("headwater.group", "Revenue"),)
    snapshot = "7@a242a32e-2776-4387-829a-f827189524f5:90802055"
    here.record(lambda now, version: Altered(now, MONTHLY.view, properties))
    states = TableState(MONTHLY.view, 12, snapshot), TableState("default.sales", 11, "")
    here.record(lambda now, _: EpochMade(now, "revenue", Epoch(1, now, states[:1], states[1:])))
    assert re.search(r"revenue +1 +1 ", here.run("groups").output)
    assert re.search(r"default.monthly +member +1 +7 +12", here.run("groups", "REVENUE").output)
    [told] = json.loads(here.run("groups", "--json").output)
    assert (told["group"], told["epoch"]) == ("revenue", 1)
    assert [(each["table"], each["as_of"]) for each in told["tables"]] == [(MONTHLY.view, 7), ("default.sales", None)]
    refused = here.run("groups", "revenues")
    assert refused.exit_code == 1 and "there is no group revenues; did you mean 'revenue'?" in refused.output


def test_cancel(here: Here) -> None:
    assert "nothing to cancel" in here.run("cancel", "monthly").output
    assert here.store.orders() == []
    begun = Started(
        0, 0, "default.monthly", ((FEBRUARY, ()),), (), WholePartitions(), Reason(Code.SOURCE_CHANGED, "why"), engine=1
    )
    here.record(lambda at, v: evolve(begun, at=at, version=v))
    assert "no engine" in here.run("cancel", "monthly").output
    assert here.store.beat("host:1:app", 60_000).leads
    assert json.loads(here.run("status", "--json").output)["views"][0]["state"] == "running"
    said = here.run("cancel", "monthly").output
    assert "tries it again after 5 s" in said and "SUSPEND keeps it stopped" in said
    here.store.take_orders(1)
    here.store.carried_out(here.store.orders()[0])
    answer = here.run("cancel", "monthly", "--json")
    assert json.loads(answer.output) == {"view": "default.monthly", "cancelled": True}
    assert [(each.kind, each.subject) for each in here.store.orders()] == [("cancel", "default.monthly")]


def test_a_run_whose_engine_has_gone_is_not_said_to_run(here: Here) -> None:
    engine = here.store.beat("host:1:app", 60_000).number
    begun = Started(
        0,
        0,
        "default.monthly",
        ((FEBRUARY, ()),),
        (),
        WholePartitions(),
        Reason(Code.SOURCE_CHANGED, "why"),
        engine=engine,
    )
    here.record(lambda at, v: evolve(begun, at=at, version=v))
    assert json.loads(here.run("history", "--json").output)[0]["status"] == "running"
    here.store.expire(engine)
    [view] = json.loads(here.run("status", "--json").output)["views"]
    assert view["state"] == "behind" and "the engine that refreshed it has ended" in view["reason"]
    newest = json.loads(here.run("history", "--json").output)[0]
    assert (newest["status"], newest["error"]) == ("cancelled", "its engine ended")


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


def test_run_refuses_a_malformed_setting_at_once(monkeypatch) -> None:
    """… and builds no jar before."""
    monkeypatch.setattr("headwater.cli.serve.build_jar", lambda: pytest.fail("a jar was built"))
    result = CliRunner().invoke(main, ["run", "--conf", "spark.master"])
    assert result.exit_code == 2
    assert "'spark.master' is not KEY=VALUE" in result.output


@pytest.mark.parametrize(
    ("given", "jars", "extensions"),
    [
        ({}, "/cache/headwater-spark-4.jar", "H"),
        ({"spark.jars": "/x/iceberg.jar"}, "/x/iceberg.jar,/cache/headwater-spark-4.jar", "H"),
        ({"spark.sql.extensions": "io.delta.D, I"}, "/cache/headwater-spark-4.jar", "io.delta.D,I,H"),
        ({"spark.sql.extensions": "H,I"}, "/cache/headwater-spark-4.jar", "H,I"),
        ({"spark.jars": "/b/headwater-spark_2.13-0.1.0.jar"}, "/b/headwater-spark_2.13-0.1.0.jar", "H"),
    ],
)
def test_an_application_for_refreshes_keeps_jars_and_extensions_of_others(
    given: dict[str, str], jars: str, extensions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Headwater's extension is the last, so that it reads a statement first."""
    monkeypatch.setattr("headwater.cli.serve.EXTENSION", "H")
    found = extended({"spark.master": "yarn", **given}, Path("/cache/headwater-spark-4.jar"))
    assert found == {"spark.master": "yarn", "spark.jars": jars, "spark.sql.extensions": extensions}


def test_jar_as_json(monkeypatch) -> None:
    monkeypatch.setattr("headwater.cli.serve.build_jar", lambda: Path("/cache/shim.jar"))
    told = json.loads(CliRunner().invoke(main, ["jar", "--json"]).output)
    assert told == {"jar": "/cache/shim.jar", "extension": "io.headwater.spark.HeadwaterExtensions"}


def test_an_application_for_refreshes_says_whether_it_refreshes_and_beside_whom() -> None:
    assert doing("app-1", ["host:1:app-1"]) == "keeping views fresh"
    assert doing("app-1", ["host:1:app-1", "other:2:app-2"]) == "keeping views fresh, together with other:2:app-2"
    assert doing("app-1", ["other:2:app-2"]).endswith("(spark.headwater.role); other:2:app-2 does")
    assert doing("app-1", []).endswith("no other does")


def test_verify_of_no_view_does_not_wait_for_spark(here: Here, monkeypatch) -> None:
    """The store knows the views. There may be none: then Spark says it."""

    def session(_settings):
        raise AssertionError("Spark starts")

    monkeypatch.setattr("headwater.cli.serve._session", session)
    for name, shown in (("nope", "nope"), ("other.monthly",) * 2, ("`lake`.db.monthly", "lake.db.monthly")):
        found = CliRunner().invoke(main, ["verify", name])
        assert found.exit_code != 0
        assert f"there is no materialized view {shown}; there are default.monthly" in found.output
    assert "a..b is no name of a view" in CliRunner().invoke(main, ["verify", "a..b"]).output
    for command in (["monthly"], ["nope", "--conf", "spark.headwater.store=elsewhere.db"]):
        with pytest.raises(AssertionError, match="Spark starts"):
            CliRunner().invoke(main, ["verify", *command], catch_exceptions=False)


VERIFIED = {
    "monthly": "`spark_catalog`.`default`.`monthly`",
    "DEFAULT.Monthly": "`spark_catalog`.`default`.`monthly`",
    "spark_catalog.default.monthly": "`spark_catalog`.`default`.`monthly`",
}


@pytest.mark.parametrize("name", VERIFIED)
def test_verify_compares_the_view_of_the_store_whatever_catalog_spark_starts_in(
    here: Here, monkeypatch, name: str
) -> None:
    said: list[str] = []

    class Started:
        def sql(self, statement: str) -> None:
            said.append(statement)
            raise KeyboardInterrupt

        def stop(self) -> None:
            pass

    monkeypatch.setattr("headwater.cli.serve._session", lambda _settings: Started())
    CliRunner().invoke(main, ["verify", name, "--conf", "spark.sql.defaultCatalog=lake"])
    assert said == [f"VERIFY MATERIALIZED VIEW {VERIFIED[name]}"]


@pytest.mark.parametrize(
    ("name", "key"),
    [("v", "default.v"), ("db.v", "db.v"), ("lake.db.v", "lake.db.v"), ("lake.`a b`.v", "lake.`a b`.v")],
)
def test_a_view_that_no_store_knows_yet_has_the_key_of_its_name(name: str, key: str) -> None:
    assert key_of(name, {"spark.headwater.store": "nowhere.db"}) == key


@pytest.mark.parametrize("suspended", [[], ["default.old", "default.older"]])
def test_a_drain_says_which_views_it_left_out(suspended: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    row = {"view": "default.v", "partition": "()", "status": "published", "error": None, "rows": 2, "seconds": 1.5}
    report([{**row, "reason": "default.t changed"}], suspended, as_json=False)
    first, last = capsys.readouterr().out.splitlines()
    assert first == "default.v (): published, 2 rows in 1.5 s, because default.t changed"
    words = ", but suspended: default.old, default.older" if suspended else ""
    assert last == f"everything is fresh{words}"


class Driver:
    """A session of a driver that ends at the first statement, when ``told`` to a process that ends too or by itself."""

    def __init__(self, told: bool) -> None:
        self._told = told

    def sql(self, statement: str) -> None:
        if self._told:
            signal.raise_signal(signal.SIGTERM)
        raise Py4JNetworkError("Answer from Java side is empty")

    def stop(self) -> None:
        raise ConnectionRefusedError


@pytest.fixture
def handlers() -> Iterator[None]:
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


def test_a_runner_whose_driver_is_told_to_end_with_it_ends_quietly(handlers: None) -> None:
    driver = Driver(told=True)
    serve(driver)
    end(driver)


def test_a_runner_whose_driver_dies_says_so_and_ends(handlers: None) -> None:
    with pytest.raises(EngineError, match="the Spark driver of this application has ended; start `headwater run`"):
        serve(Driver(told=False))
