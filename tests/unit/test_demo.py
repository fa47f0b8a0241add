"""The demo's parts, without Spark: its data, its counting, its report, its way to talk to spark-sql."""

from __future__ import annotations

import json
import re
import stat
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from attrs import frozen
from rich.console import Console

from headwater.demo import demo_formats, figures, life, proof, result, session
from headwater.demo.data import SOURCES, load_statements
from headwater.demo.narrator import Narrator
from headwater.demo.proof import prove
from headwater.demo.run import DRAIN, Play
from headwater.demo.views import View, read_views
from headwater.model.event import Declared, Made, Published, Started
from headwater.model.partition import WHOLE, Slice
from headwater.model.reason import Code, Reason
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
        if statement == figures.HISTORY:
            return list(self.history)
        if "sum(abs(surplus))" in statement:
            return [["3" if "default.wrong" in statement else "0"]]
        return []

    @contextmanager
    def opened(self, settings: dict[str, str]):
        self.said.append(f"open {settings}")
        yield self


@frozen
class Known:
    """A record with these counts, whatever happens."""

    refreshes: int = 5
    existing: int = 3

    def immediate(self, table: str, changed: Slice) -> int:
        return self.refreshes * len(table)

    def partitions(self) -> int:
        return self.existing


def quiet() -> Narrator:
    return Narrator(Console(file=StringIO()))


# The views


def test_there_are_ten_views_or_more_and_each_reads_only_what_stands_above_it():
    known = set(SOURCES)
    for view in VIEWS:
        assert reads(view) <= known, view.name
        known.add(view.name)
    assert len(VIEWS) >= 10


def test_every_view_has_its_line_of_comment():
    text = Path(proof.__file__).with_name("views.sql").read_text()
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
    for write in [write for day in life.DAYS for step in day.steps for write in step.writes]:
        assert write.table in SOURCES
        assert re.match(rf"INSERT (INTO|OVERWRITE) {write.table}\b", write.statement)
        assert all(value in write.statement for _, value in write.changed.bound)


def test_a_step_that_leaves_work_behind_is_the_last_of_its_day_and_not_of_the_life():
    for day in life.DAYS:
        assert all(step.drains for step in day.steps[:-1])
    assert life.DAYS[-1].steps[-1].drains
    assert not all(step.drains for day in life.DAYS for step in day.steps)


# Playing and counting


def test_the_figures_of_a_step_are_what_its_drain_added():
    skipped = row("c", "m=1", mode="skipped")
    warehouse = Warehouse([[row("a", "()"), row("a", "()", version=2), row("b", "m=1"), skipped]])
    before = figures.snapshot(warehouse, Known())
    warehouse.run(DRAIN)
    after = figures.snapshot(warehouse, Known())
    step = life.LifeStep("one", (life.Write("orders", WHOLE, ""), life.Write("nation", WHOLE, "")))
    found = figures.step_figures("day 1", step, before, after, 1.5, Known(1))
    assert found == figures.StepFigures("day 1", "one", 12, refreshed=3, touched=2, existing=3, seconds=1.5)


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
    assert figures.Stored(tmp_path / "warehouse").partitions() == 1


def test_lines_of_an_error_text_are_no_refreshes():
    warehouse = Warehouse([])
    warehouse.history = [row("a", "()"), ["second line of an error"]]
    assert len(figures.snapshot(warehouse, Known()).refreshes) == 1


def test_pending_work_is_finished_and_counted_in_the_next_process():
    write = life.Write("orders", Slice.of(o_month="1998-08-01"), "INSERT INTO orders SELECT 1")
    days = [
        life.Day("evening", (life.LifeStep("left", (write,), drains=False),), (("spark.headwater.role", "report"),)),
        life.Day("morning", (life.LifeStep("done", (write,)),)),
    ]
    warehouse = Warehouse([[row("a", "()", version=1)], [row("a", "()", version=2), row("b", "()", version=3)]])
    play = Play([], ["CREATE DATABASE landing"], Known(), quiet())
    play.live(days, warehouse.opened)
    assert [(each.day, each.title, each.refreshed) for each in play.figures] == [
        ("evening", "left", 1),
        ("morning", "done", 2),
    ]
    assert warehouse.said == [
        "open {'spark.headwater.role': 'report'}",
        "CREATE DATABASE landing",
        figures.HISTORY,
        write.statement,
        "open {}",
        DRAIN,
        figures.HISTORY,
        write.statement,
        DRAIN,
        figures.HISTORY,
    ]


def test_the_proof_names_the_view_that_differs():
    views = [View("right", "month", "SELECT 1"), View("wrong", None, "SELECT 2")]
    warehouse = Warehouse([])
    assert prove(warehouse, views, ["orders"], quiet()) == {"right": 0, "wrong": 3}
    assert "CREATE TABLE wrong USING parquet AS SELECT 2" in warehouse.said


# The report


def made_up(differences: dict[str, int]) -> result.Report:
    steps = [
        figures.StepFigures("1", "orders arrive", 31, 12, 12, 700, 4.25),
        figures.StepFigures("3", "a nation moves", 2100, 650, 650, 712, 20.5),
    ]
    return result.Report(0.1, "delta", steps, differences, 170.0)


def printed(shown: result.Report) -> str:
    text = StringIO()
    result.show(shown, Console(file=text, width=80))
    return text.getvalue()


def test_the_report_adds_up_and_ends_with_the_verdict():
    text = printed(made_up({"a": 0, "b": 0}))
    assert re.search(r"orders arrive .* 31 .* 12 .* 12 of 700 .* 4\.2", text)
    assert re.search(r"all .* 2,131 .* 662 .* 662 .* 24\.8", text)
    assert text.splitlines()[-1] == "Every view equals its query: 2 views recomputed and compared."


def test_the_report_names_what_is_wrong():
    assert printed(made_up({"a": 0, "b": 3})).splitlines()[-1] == "Not every view equals its query: b (3 rows)."


def test_the_json_has_the_same_figures(tmp_path):
    result.write_json(made_up({"a": 0}), tmp_path / "demo.json")
    found = json.loads((tmp_path / "demo.json").read_text())
    assert found["steps"][0]["immediate"] == 31
    assert found["total"] == {"immediate": 2131, "refreshed": 662, "touched": 662, "seconds": 24.75}
    assert (found["format"], found["equal"]) == ("delta", True)


def test_without_a_terminal_the_demo_talks_in_lines():
    text = StringIO()
    narrator = Narrator(Console(file=text))
    with narrator.showing():
        assert list(narrator.through("load the sources", [1, 2])) == [1, 2]
        assert narrator.once("build", lambda: "jar") == "jar"
    assert [line.split("s  ")[1] for line in text.getvalue().splitlines()] == ["load the sources", "build"]


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


@pytest.mark.parametrize("format", [demo_formats.DELTA, demo_formats.ICEBERG], ids=lambda each: each.name)
def test_a_session_with_a_lake_format_has_its_package_and_reads_statements_with_headwater_first(format):
    line = session.command(Path("/demo"), Path("/x.jar"), {}, format)
    assert line[line.index("--packages") + 1] == format.package
    assert f"spark.sql.extensions={format.extension},{session.EXTENSION}" in line
    stock = session.command(Path("/demo"), None, {}, format)
    assert f"spark.sql.extensions={format.extension}" in stock and format.package in stock


@pytest.mark.parametrize("format", demo_formats.FORMATS)
def test_sources_and_views_have_the_format_that_was_asked_for(format):
    tables = [each for each in load_statements(Path("/raw"), format) if each.startswith("CREATE TABLE")]
    assert len(tables) == len(SOURCES)
    assert all(f" USING {format} " in each for each in (*tables, *(view.statement(format) for view in VIEWS)))
