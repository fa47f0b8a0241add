"""The demo's parts, without Spark: its data, its counting, its report, its way to talk to spark-sql."""

from __future__ import annotations

import json
import re
import stat
from contextlib import contextmanager
from io import StringIO
from itertools import groupby, pairwise
from pathlib import Path

import pytest
from rich.console import Console

from headwater.demo import run, session
from headwater.demo.days import LIFE, SOURCES, VIEWS_FILE, LifeStep, View, Write, load_statements, read_views
from headwater.demo.run import DRAIN, HISTORY, Narrator, Report, StepFigures, live, prove, refreshes, step_figures
from headwater.model.error import HeadwaterError
from headwater.model.event import Declared, Made, Published, Started
from headwater.model.partition import WHOLE, Slice
from headwater.model.reason import Code, Reason
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.model.work import WholePartitions
from headwater.store.dialect import default_store
from headwater.store.sql_store import SqlStore

VIEWS = read_views()


def reads(view: View) -> set[str]:
    """The tables that a view's query names after FROM or JOIN."""
    return set(re.findall(r"(?:FROM|JOIN) (\w+)", view.query))


def depth(name: str) -> int:
    upstream = next((reads(view) for view in VIEWS if view.name == name), set())
    return 1 + max((depth(each) for each in upstream), default=-1)


def row(view: str, partition: str, mode: str = "partition", version: int = 1) -> list[str]:
    ended = "0.5", *("NULL",) * 3, "done", "NULL", "source.changed"
    return ["1", view, partition, mode, "appended", str(version), "10", "now", *ended]


class Warehouse:
    """A session that remembers what it was told, and whose drains refresh what the test says."""

    def __init__(self, drains: list[list[list[str]]]) -> None:
        self.said: list[str] = []
        self.history: list[list[str]] = []
        self._drains = iter(drains)

    def run(self, statement: str) -> list[list[str]]:
        self.said.append(statement)
        if statement == DRAIN:
            self.history += next(self._drains)
        if statement == HISTORY:
            return list(self.history)
        if "sum(abs(surplus))" in statement:
            return [["3" if "default.wrong" in statement else "0"]]
        return []

    @contextmanager
    def opened(self, settings: dict[str, str]):
        self.said.append(f"open {settings}")
        yield self


@pytest.fixture
def counted(monkeypatch):
    """Each change counts as many refreshes as its table's name has letters."""
    monkeypatch.setattr(
        run, "immediate", lambda state, table, changed: len(table.removeprefix("default.")) * len(changed)
    )


def quiet() -> Narrator:
    return Narrator(Console(file=StringIO()))


def titles(printed: StringIO) -> list[str]:
    return [line.split("s  ")[1] for line in printed.getvalue().splitlines()]


# The views


def test_there_are_ten_views_or_more_and_each_reads_only_what_stands_above_it():
    known = set(SOURCES)
    for view in VIEWS:
        assert reads(view) <= known, view.name
        known.add(view.name)
    assert len(VIEWS) >= 10


def test_every_view_has_its_line_of_comment():
    text = VIEWS_FILE.read_text()
    assert len(re.findall(r"^-- .*\nCREATE MATERIALIZED VIEW", text, re.MULTILINE)) == len(VIEWS)


def test_the_diamonds_are_deep():
    assert depth("order_margin") == 3
    assert depth("yearly_report") == 6


def test_a_quarter_view_stands_over_a_month_view():
    by_name = {view.name: view for view in VIEWS}
    assert by_name["quarterly_revenue"].column == "quarter"
    assert by_name["monthly_revenue"].column == "month"
    assert reads(by_name["quarterly_revenue"]) == {"monthly_revenue"}


def test_a_statement_of_another_form_is_refused(tmp_path):
    file = tmp_path / "views.sql"
    file.write_text("SELECT 1;")
    with pytest.raises(ValueError, match="SELECT 1"):
        read_views(file)


# The sources and the days


def test_every_source_is_loaded_from_its_file():
    statements = "\n".join(load_statements(Path("/raw")))
    for source in SOURCES:
        assert f"parquet.`/raw/{source}.parquet`" in statements
        assert f"CREATE TABLE {source} " in statements


def test_what_a_write_claims_to_change_is_what_its_statement_names():
    for write in [write for step in LIFE for write in step.writes]:
        assert write.table in SOURCES
        assert re.match(rf"INSERT (INTO|OVERWRITE) {write.table}\b", write.statement)
        assert all(value in write.statement for _, value in write.changed.bound)


def test_a_step_that_leaves_work_behind_is_the_last_of_its_day_and_not_of_the_life():
    for step, following in pairwise(LIFE):
        assert step.drains or step.day != following.day
    assert LIFE[-1].drains
    assert not all(step.drains for step in LIFE)


def test_the_life_has_four_processes():
    assert [day for day, _ in groupby(LIFE, key=lambda step: step.day)] == ["1", "2", "2, evening", "3"]


# Playing and counting


def test_the_figures_of_a_step_are_what_its_drain_added(counted):
    skipped = row("c", "m=1", mode="skipped")
    warehouse = Warehouse([[row("a", "()"), row("a", "()", version=2), row("b", "m=1"), skipped]])
    warehouse.history = [row("a", "()", version=0)]
    before = refreshes(warehouse)
    warehouse.run(DRAIN)
    step = LifeStep("day 1", "one", (Write("orders", WHOLE, ""), Write("nation", WHOLE, "")))
    found = step_figures(step, refreshes(warehouse) - before, 1.5, State())
    assert found == StepFigures("day 1", "one", 12, refreshed=3, touched=2, existing=0, seconds=1.5)


def test_the_runs_of_one_partition_count_each():
    warehouse = Warehouse([])
    warehouse.history = [row("a", "()"), ["2", *row("a", "()")[1:]]]
    assert len(refreshes(warehouse)) == 2


def test_partitions_that_the_store_knows_are_counted_over_all_views(tmp_path):
    store = SqlStore(default_store(tmp_path / "warehouse"))

    def record(build) -> int:
        return store.append(build, store.beat("test", 1000).last).event.version

    def publish(made, removed, slices) -> None:
        needs = tuple((each, ()) for each in slices)
        run = record(
            lambda version: Started(
                0, version, "default.a", needs, (), WholePartitions(), Reason(Code.SOURCE_CHANGED, "changed")
            )
        )
        record(lambda _: Published(0, run, "default.a", made, removed, 1.0))

    for name in ("default.a", "default.b"):
        definition = Definition(name, "SELECT 1", (), ("day",))
        record(lambda version, each=definition: Declared(0, version, each, "was created", fill=False))
    made = tuple(Made(Slice.of(day=day), 1, "f") for day in ("01", "02"))
    publish(made, (), [WHOLE])
    publish((), (made[0].slice,), [made[0].slice])
    store.close()
    step = LifeStep("1", "nothing is written", ())
    assert step_figures(step, frozenset(), 1.0, run.on_record(tmp_path / "warehouse")).existing == 1


def test_lines_of_an_error_text_are_no_refreshes():
    warehouse = Warehouse([])
    warehouse.history = [row("a", "()"), ["second line of an error"]]
    assert len(refreshes(warehouse)) == 1


def test_pending_work_is_finished_and_counted_in_the_next_process(counted):
    write = Write("orders", Slice.of(o_month="1998-08-01"), "INSERT INTO orders SELECT 1")
    life = [LifeStep("evening", "left", (write,), drains=False), LifeStep("morning", "done", (write,))]
    warehouse = Warehouse([[row("a", "()", version=1)], [row("a", "()", version=2), row("b", "()", version=3)]])
    text = StringIO()
    opening = {"load the sources": ["CREATE DATABASE landing"]}
    found = live(life, opening, warehouse.opened, State, Narrator(Console(file=text)))
    assert [(each.day, each.title, each.immediate, each.refreshed) for each in found] == [
        ("evening", "left", 6, 1),
        ("morning", "done", 6, 2),
    ]
    assert titles(text) == [
        "load the sources",
        "day evening: left",
        "day morning: what was left pending",
        "day morning: done",
        "day morning: refresh",
    ]
    assert warehouse.said == [
        "open {'spark.headwater.role': 'report'}",
        "CREATE DATABASE landing",
        HISTORY,
        write.statement,
        "open {}",
        DRAIN,
        HISTORY,
        write.statement,
        DRAIN,
        HISTORY,
    ]


def test_the_proof_names_the_view_that_differs():
    views = [View("right", "month", "SELECT 1"), View("wrong", None, "SELECT 2")]
    warehouse = Warehouse([])
    assert prove(warehouse, views, quiet()) == {"right": 0, "wrong": 3}
    made = [f"CREATE VIEW recomputed.{source} AS SELECT * FROM default.{source}" for source in SOURCES]
    assert warehouse.said[: len(SOURCES) + 2] == ["CREATE DATABASE recomputed", *made, "USE recomputed"]
    assert "CREATE TABLE wrong USING parquet AS SELECT 2" in warehouse.said


# The report


def made_up(differences: dict[str, int]) -> Report:
    steps = [
        StepFigures("1", "orders arrive", 31, 12, 12, 700, 4.25),
        StepFigures("3", "a nation moves", 2100, 650, 650, 712, 20.5),
    ]
    return Report(0.1, "delta", steps, differences, 170.0)


def printed(shown: Report) -> str:
    text = StringIO()
    shown.show(Console(file=text, width=80))
    return text.getvalue()


def test_the_report_adds_up_and_ends_with_the_verdict():
    text = printed(made_up({"a": 0, "b": 0}))
    assert re.search(r"orders arrive .* 31 .* 12 .* 12 of 700 .* 4\.2", text)
    assert re.search(r"all .* 2,131 .* 662 .* 662 .* 24\.8", text)
    assert text.splitlines()[-1] == "Every view equals its query: 2 views recomputed and compared."


def test_the_report_names_what_is_wrong():
    assert printed(made_up({"a": 0, "b": 3})).splitlines()[-1] == "Not every view equals its query: b (3 rows)."


def test_the_json_has_the_same_figures(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "perform", lambda *_: made_up({"a": 0}))
    assert run.run_demo(0.1, session.DELTA, tmp_path / "demo.json", None) == 0
    found = json.loads((tmp_path / "demo.json").read_text())
    assert list(found) == ["scale", "format", "steps", "total", "views", "differences", "equal", "seconds"]
    assert found["steps"][0]["immediate"] == 31
    assert found["total"] == {"immediate": 2131, "refreshed": 662, "touched": 662, "seconds": 24.75}
    assert (found["format"], found["equal"], found["views"]) == ("delta", True, 1)


def test_a_wrong_view_ends_the_demo_with_1(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "perform", lambda *_: made_up({"a": 3}))
    assert run.run_demo(0.1, session.DELTA, None, tmp_path / "kept") == 1


def test_a_directory_that_is_not_empty_is_refused(tmp_path):
    (tmp_path / "mine").touch()
    with pytest.raises(HeadwaterError, match="is not empty; name a new directory to keep the demo in"):
        run.run_demo(0.1, session.PARQUET, None, tmp_path)


def test_without_a_terminal_the_demo_talks_in_lines():
    text = StringIO()
    narrator = Narrator(Console(file=text))
    with narrator.showing():
        assert list(narrator.through("load the sources", [1, 2])) == [1, 2]
        assert narrator.once("build", lambda: "jar") == "jar"
    assert titles(text) == ["load the sources", "build"]


# Talking to spark-sql, played by a shell script

SHELL = """#!/bin/bash
while IFS= read -r line; do
  echo "spark-sql (default)> $line"
  case "$line" in
    "!echo "*) mark="${line#!echo }"; echo "${mark%;}" ;;
    "SELECT 1;") printf '1\\tone\\n'; echo "Time taken: 0.1 seconds, Fetched 1 row(s)" >&2 ;;
    "SLEEP;") sleep 60 ;;
    "DIE;") exit 3 ;;
    *) echo "[PARSE_SYNTAX_ERROR] Syntax error" >&2 ;;
  esac
done
"""


@pytest.fixture
def shell(tmp_path, monkeypatch):
    script = tmp_path / "bin" / "spark-sql"
    script.parent.mkdir()
    script.write_text(SHELL)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(session, "spark_home", lambda: tmp_path)
    return tmp_path


def test_a_statement_returns_its_rows_without_the_echo(shell):
    with session.SparkSql(shell) as spark:
        assert spark.run("SELECT 1") == [["1", "one"]]
        assert spark.run("SELECT\n    1") == [["1", "one"]]


def test_a_statement_that_fails_says_why_and_the_session_goes_on(shell):
    with session.SparkSql(shell) as spark:
        with pytest.raises(session.SparkSqlError, match=r"SELEC 1\n\[PARSE_SYNTAX_ERROR\]"):
            spark.run("SELEC 1")
        assert spark.run("SELECT 1") == [["1", "one"]]


def test_a_complaint_comes_without_the_log():
    text = "26/11/21 02:56:03 WARN HiveConf: x\n[NO_TABLE] none\n\tat org.apache.Spark\nline 2"
    assert session.without_log(text) == "[NO_TABLE] none\nline 2"


def test_a_process_that_ends_is_noticed(shell):
    spark = session.SparkSql(shell)
    with pytest.raises(session.SparkSqlError, match="ended before"):
        spark.run("DIE")
    with pytest.raises(session.SparkSqlError, match="code 3"):
        spark.close()


def test_a_process_that_falls_silent_is_killed(shell):
    with pytest.raises(session.SparkSqlError, match="no answer"), session.SparkSql(shell, timeout=0.5) as spark:
        spark.run("SLEEP")


def test_headwater_is_turned_on_by_a_jar_and_one_setting():
    line = session.command(Path("/demo"), Path("/x.jar"), {"spark.headwater.role": "report"})
    assert line[line.index("--jars") + 1] == "/x.jar"
    assert f"spark.sql.extensions={session.EXTENSION}" in line
    assert "spark.headwater.role=report" in line
    plain = session.command(Path("/demo"), None, {})
    assert "--jars" not in plain and not any("io.headwater" in part for part in plain)
    assert "--packages" not in plain and not any("spark.sql.extensions" in part for part in plain)


@pytest.mark.parametrize("format", [session.DELTA, session.ICEBERG], ids=lambda each: each.name)
def test_a_session_with_a_lake_format_has_its_package_and_reads_statements_with_headwater_first(format):
    line = session.command(Path("/demo"), Path("/x.jar"), {}, format)
    assert line[line.index("--packages") + 1] == format.package
    assert f"spark.sql.extensions={format.extension},{session.EXTENSION}" in line
    stock = session.command(Path("/demo"), None, {}, format)
    assert f"spark.sql.extensions={format.extension}" in stock and format.package in stock


@pytest.mark.parametrize("format", session.FORMATS)
def test_sources_and_views_have_the_format_that_was_asked_for(format):
    tables = [each for each in load_statements(Path("/raw"), format) if each.startswith("CREATE TABLE")]
    assert len(tables) == len(SOURCES)
    assert all(f" USING {format} " in each for each in (*tables, *(view.statement(format) for view in VIEWS)))
