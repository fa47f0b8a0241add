"""The golden messages of docs/protocol.md, fed to the Python side. `ProtocolSuite.scala` reads the same files."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from attrs import evolve, fields
from py4j.protocol import Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException

from headwater.engine.tell.refreshes import REFRESHES, refreshes
from headwater.memory.buffers.buffer import Buffer, NoBuffer
from headwater.memory.buffers.memory import SparkMemory, transfers
from headwater.memory.buffers.scans import KeptScan, Part
from headwater.memory.buffers.volume import Volume
from headwater.model.command import Launch, Written
from headwater.model.error import DriverGone, HeadwaterError, RefreshCancelled, RefreshFailed, StatementError, TakenOver
from headwater.model.event import Made, Published, Started
from headwater.model.measure import Effort, Measured, Place
from headwater.model.partition import Slice
from headwater.model.reason import Code, Reason
from headwater.model.seen import TableQuestion
from headwater.model.state import PartitionRecord, Run, State
from headwater.model.view import Column, Definition
from headwater.model.work import WholePartitions, WholeView
from headwater.spark.defining.analyse import Analyst
from headwater.spark.jvm import wire
from headwater.spark.jvm.connection import PAUSES
from headwater.spark.jvm.counted import counts
from headwater.spark.jvm.evaluator import SparkEvaluator
from headwater.spark.jvm.facts import Asked, CatalogView, Fact, Pin, ReadAt, RunProgress
from headwater.spark.jvm.job_groups import JobGroups
from headwater.spark.jvm.shim import Shim
from headwater.spark.jvm.wire import Failure, FailureKind
from headwater.spark.observing.observer import Observer
from headwater.spark.process.engine_process import EngineProcess
from headwater.spark.refreshing.warehouse import SparkWarehouse
from headwater.spark.statements import syntax
from headwater.spark.statements.dispatch import Statements
from headwater.spark.tables import catalog
from headwater.spark.tables.files import Files, FileTables, _part, place_of
from headwater.spark.tables.registry import Formats
from headwater.spark.tables.table_format import ViewFormat
from headwater.spark.tables.writer import Writer

GOLDEN = Path(__file__).parents[1] / "golden/protocol"
MARCH, FEBRUARY = Slice.of({"month": "1996-03-01"}), Slice.of({"month": "1996-02-01"})
RECORD = PartitionRecord(1, "f" * 32, 25, content="c" * 32)
ROOT = "file:/warehouse/shop.db"
FOUND = Written((), (), Files(None, {}), measured=Measured(1815))


KINDS = {
    "hint": wire.Message,
    "create": wire.Message,
    "statement": wire.Message,
    "wait": wire.Message,
    "dropping": wire.Message,
    "pinning": wire.Message,
    "read_at": ReadAt,
    "abandoned": wire.Message,
    "reply": wire.Answer,
    "observe_request": list[Asked],
    "observe_answer": list[Fact],
    "views": list[CatalogView],
    "publish_request": wire.Publication,
    "publish_answer": wire.PublicationAnswer,
    "written": list[wire.Directory],
    "counted": list[wire.Sum],
    "spent": wire.Spent,
    "effort": Effort,
    "progress": list[RunProgress],
    "pins": dict[str, Pin],
}
"""The kind of value in the golden files whose names begin so."""


def text(name: str) -> str:
    return (GOLDEN / f"{name}.json").read_text()


def kind(name: str):
    return next(kind for start, kind in KINDS.items() if name.startswith(start))


def golden(name: str):
    return wire.decode(text(name), kind(name))


def plain(value: object, kind=None):
    """A value as JSON has it."""
    return json.loads(wire.encode(value, kind))


@pytest.mark.parametrize("name", [each.stem for each in GOLDEN.glob("*.json") if each.stem != "overlay"])
def test_a_golden_message_comes_back_as_it_was(name):
    """But for attributes that only some looks tell, which are sent as they mostly are."""
    assert golden(name) == wire.decode(json.dumps(plain(golden(name), kind(name))), kind(name))
    if not name.startswith(("observe_answer", "spent")):
        assert plain(golden(name), kind(name)) == json.loads(text(name))


class Recorder(SimpleNamespace):
    """Stands for a collaborator: its methods are the callables it was made with."""


def warehouse_of(
    shim, sessions, base=None, buffer: Buffer | None = None, tables: ViewFormat | None = None, bandwidth: int = 0
) -> SparkWarehouse:
    formats = Formats(None, tables or FileTables(shim, sessions))
    writer = Writer(shim, formats, bandwidth)
    memory = SparkMemory(buffer or NoBuffer(), shim, writer)
    return SparkWarehouse(base, shim, sessions, formats, memory, writer, JobGroups())


def test_a_table_that_lost_its_snapshots_is_not_read_as_it_is_now():
    """Another program made it a table of files since the run began: nobody would look what the run reads."""
    warehouse = warehouse_of(None, None)
    run = Run(Started(0, 5, "v", (), (), WholeView(), "", snapshots=(("t", "7@x"), ("v", "3@y"))))
    with pytest.raises(RefreshFailed, match="t cannot be read at the snapshot on record") as failed:
        warehouse._pinned(None, run).__enter__()
    assert failed.value.look_at == ("t",)


# --- the transport


class Jvm:
    """The JVM's side of py4j: static methods that take and give text."""

    def __init__(self, answers: dict[str, str]) -> None:
        self._answers, self.calls = answers, []

    def session(self):
        names = ("Bridge", "Tables", "CatalogViews", "Publication", "Files", "Copies", "Progress", "Blocks")
        package = Recorder(**{name: self._object(name) for name in names})
        jvm = Recorder(io=Recorder(headwater=Recorder(spark=package)))
        return Recorder(_jvm=jvm, _jsparkSession="session")

    def _object(self, name: str):
        jvm = self

        class Methods:
            def __getattr__(self, method: str):
                def call(*arguments):
                    jvm.calls.append((f"{name}.{method}", *arguments))
                    return jvm._answers.get(f"{name}.{method}")

                return call

        return Methods()


def test_messages_are_pulled_and_answered_as_json():
    jvm = Jvm({"Bridge.poll": text("statement")})
    shim = Shim(jvm.session())
    assert shim.poll(500) == golden("statement")
    shim.reply(3, golden("reply_error"))
    assert jvm.calls[0] == ("Bridge.poll", 500)
    name, number, sent = jvm.calls[1]
    assert (name, number, json.loads(sent)) == ("Bridge.reply", 3, json.loads(text("reply_error")))


def test_no_message_is_the_empty_string():
    assert Shim(Jvm({"Bridge.poll": ""}).session()).poll(500) is None


def test_requests_and_answers_are_json():
    answers = {
        "Tables.observe": text("observe_answer"),
        "CatalogViews.all": text("views"),
        "Publication.publish": text("publish_answer_superseded"),
        "Files.written": text("written"),
    }
    jvm = Jvm(answers)
    shim = Shim(jvm.session())
    assert shim.observe(golden("observe_request")) == golden("observe_answer")
    assert shim.views() == golden("views")
    assert shim.publish(golden("publish_request_whole")) == golden("publish_answer_superseded")
    assert shim.written("root", 2) == golden("written")
    assert json.loads(jvm.calls[0][2]) == json.loads(text("observe_request"))
    assert json.loads(jvm.calls[2][2]) == json.loads(text("publish_request_whole"))
    assert jvm.calls[3] == ("Files.written", "session", "root", 2)


def test_progress_is_read():
    [found] = Shim(Jvm({"Progress.of": text("progress")}).session()).progress()
    assert (found.view, found.done, found.tasks) == ("shop.monthly_revenue", 7, 12)


def test_what_tasks_took_is_read_where_it_is_known():
    jvm = Jvm({"Progress.effort": text("effort")})
    assert Shim(jvm.session()).effort(jvm.session(), "headwater v 1") == Effort(4_000_000, 9_000_000, 0.75, 6_000_000)
    assert jvm.calls == [("Progress.effort", "session", "headwater v 1")]
    unknown = Jvm({"Progress.effort": "null"}).session()
    assert Shim(unknown).effort(unknown, "headwater v 1") is None


def test_a_cancelled_run_is_copied_no_further(tmp_path):
    """Its jobs are cancelled, and its copy is stopped by the name that it goes by."""
    jvm = Jvm({})
    cancelled = []
    context = Recorder(cancelJobGroupAndFutureJobs=cancelled.append)
    base = Recorder(sparkContext=Recorder(_jsc=Recorder(sc=lambda: context)))
    nothing = Recorder(setJobGroup=lambda *_, **__: None, setLocalProperty=lambda *_: None)
    sessions = Recorder(of=lambda _: Recorder(sparkContext=nothing))
    made = Written((), (), Files(None, {}), Place.VOLUME)
    volume, tables = Volume(tmp_path, 1_000_000), Recorder(written=lambda *_: made)
    warehouse = warehouse_of(Shim(jvm.session()), sessions, base, volume, tables, bandwidth=5_000_000)
    warehouse.bring(launch(True), made)
    warehouse.cancel("shop.monthly_revenue", 1762000000123)
    [(_, _, name, source, _, rate), stopped] = jvm.calls
    assert (source, rate) == (volume.place(1762000000123), 5_000_000)
    assert stopped == ("Copies.stop", name) and cancelled == [name]


# --- messages from the shim


class Targets(Observer):
    """An observer of some tables that notes where it would look."""

    def __init__(self, *watched: str, locations=()) -> None:
        tables = FileTables(None, None)
        tables._locations.update(locations)
        super().__init__(Recorder(read=lambda ask: ask(State())), None, tables, None, None)
        self._watched, self.looked, self.told, self.named = list(watched), [], {}, {}

    def watched(self, view=None):
        return self._watched

    def look(self, target):
        self.looked.append((target.command.said, target.tables))
        self.told |= target.watermarks
        self.named |= target.named

    def hear(self, *hints):
        for each in hints:
            self.hints.notice(each)
        self.hinted()


def _month(value: str | None) -> Slice:
    return Slice.of(l_month=value)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("hint_table", [("INSERT INTO", {"shop.lineitem": None})]),
        ("hint_partitions", [("DROP PARTITION", {"shop.lineitem": [_month("1996-03-01"), _month(None)]})]),
        ("hint_path", [("INSERT OVERWRITE", {"shop.lineitem": None})]),
        ("hint_renamed", [("ALTER TABLE RENAME", {"shop.lineitem": None, "shop.line_item": None})]),
        ("hint_database", [("DROP DATABASE", {"shop.lineitem": None, "shop.line_item": None, "shop.Orders": None})]),
        ("hint_watermark", [("a batch of a stream", {"shop.Orders": None})]),
    ],
)
def test_a_hint_says_where_to_look(name, found):
    here = {"shop.lineitem": f"{ROOT}/lineitem", "shop.line_item": f"{ROOT}/line_item", "shop.Orders": f"{ROOT}/orders"}
    observer = Targets(*here, "workshop.lineitem", locations={**here, "workshop.lineitem": "file:/warehouse/w/l"})
    observer.hear(golden(name))
    assert observer.looked == found


def test_a_hint_for_what_no_view_reads_is_ignored():
    observer = Targets("elsewhere.t", locations={"elsewhere.t": "file:/warehouse/elsewhere/t"})
    observer.hear(*(golden(f"hint_{each}") for each in ("table", "partitions", "path", "renamed", "database")))
    assert observer.looked == []


def test_hints_are_joined_and_one_without_partitions_wins():
    observer = Targets("shop.lineitem")
    named = golden("hint_partitions")
    observer.hear(named, evolve(named, partitions=()), named)
    assert observer.looked == [("DROP PARTITION", {"shop.lineitem": None})]
    assert observer.named == {"shop.lineitem": 2 * [_month("1996-03-01"), _month(None)]}, "one may be without a row now"


def test_the_newest_watermark_of_a_stream_is_kept_with_its_table():
    observer, batch = Targets("shop.Orders", "shop.lineitem"), golden("hint_watermark")
    observer.hear(golden("hint_table"), batch, evolve(batch, watermark=batch.watermark + 1000))
    assert observer.told == {"shop.Orders": 1711843201000}
    observer.hear(golden("hint_table"), evolve(batch, watermark=None))
    assert observer.told == {"shop.Orders": 1711843201000}


def test_a_check_looks_where_hints_point_first_and_takes_them():
    observer = Targets("shop.lineitem")
    observer.hints.notice(golden("hint_table"))
    observer.check()
    assert observer.looked == [("INSERT INTO", {"shop.lineitem": None}), ("", {"shop.lineitem": None})]
    assert not observer.hints.noticed.is_set()
    observer.hinted()
    assert len(observer.looked) == 2


def test_the_hints_of_a_wait_are_hints_without_a_type():
    [hint] = json.loads(text("wait"))["hints"]
    assert {"type": "hint", **hint}.keys() == json.loads(text("hint_table")).keys()
    observer = Targets("shop.lineitem")
    observer.hear(*golden("wait").hints)
    assert observer.looked == [("INSERT OVERWRITE", {"shop.lineitem": [_month("1996-03-01")]})]


def test_a_statement_is_parsed_by_its_kind():
    message = golden("statement")
    assert syntax.parse(message.kind, message.text) == syntax.RefreshStatement(
        ("monthly_revenue",), (("month", "1996-03-01"),), full=True
    )


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("NULL", None),
        ("null", None),
        ("'NULL'", "NULL"),
        ("'null'", "null"),
        ("'date'", "date"),
        ("'-'", "-"),
        ("-5", "-5"),
        ("DATE '2024-01-01'", "2024-01-01"),
        ("'it''s'", "it's"),
        ('"a""b"', 'a"b'),
        ("''", ""),
    ],
)
def test_a_quoted_word_is_no_word_of_a_statement(literal, value):
    text = f"REFRESH MATERIALIZED VIEW v PARTITION (p = {literal}) FULL"
    assert syntax.parse(wire.StatementKind.REFRESH, text).partition == (("p", value),)


@pytest.mark.parametrize(
    "before",
    [
        "",
        " \n\t",
        "-- off\n",
        "-- a\r",
        "-- goes on \\\n SHOW TABLES\n",
        "/* a */ -- b\n/**/",
        "/* a /* b */ SHOW TABLES; */",
        "/* /* /* a */ */ -- */\n",
        "/*/*/ a */ */",
        "/* a /*+ no comment in one */ ",
        "/* a **/",
        "/* a */" * 50_000,
        "\n" * 200_000,
    ],
)
def test_a_statement_may_stand_behind_comments(before: str) -> None:
    assert syntax.parse(wire.StatementKind.SHOW_REFRESHES, f"{before}SHOW REFRESHES LIMIT 2").limit == 2


@pytest.mark.parametrize("before", ["/* a /* b */ ", "/*+ a */ ", "*/ ", "-- a \\\n"])
def test_what_stands_in_a_comment_is_no_statement(before: str) -> None:
    with pytest.raises(StatementError, match="SHOW REFRESHES .FOR name. .LIMIT n."):
        syntax.parse(wire.StatementKind.SHOW_REFRESHES, f"{before}SHOW REFRESHES LIMIT 2")


def test_one_partition_is_refreshed_in_full_alone() -> None:
    text = "REFRESH MATERIALIZED VIEW shop.`a b` PARTITION (day = DATE'2024-01-30')"
    assert syntax.parse(wire.StatementKind.REFRESH, f"{text} FULL;").full
    remedy = "REFRESH MATERIALIZED VIEW shop.`a b` refreshes each .* add FULL, or leave PARTITION out"
    with pytest.raises(StatementError, match=remedy):
        syntax.parse(wire.StatementKind.REFRESH, text)
    with pytest.raises(StatementError, match="found 'SOON'; the syntax is REFRESH MATERIALIZED VIEW name .*FULL"):
        syntax.parse(wire.StatementKind.REFRESH, f"{text} SOON")


@pytest.mark.parametrize("digits", [19, 100, 5000])
def test_a_limit_may_be_larger_than_any_history(digits):
    text = f"SHOW REFRESHES LIMIT {'9' * digits}"
    if digits > 100:
        with pytest.raises(StatementError, match="expected a number of at most 100 digits"):
            syntax.parse(wire.StatementKind.SHOW_REFRESHES, text)
    else:
        assert syntax.parse(wire.StatementKind.SHOW_REFRESHES, text).limit == 10**digits - 1


def test_a_view_may_have_the_name_of_a_word():
    text = "DESCRIBE MATERIALIZED VIEW `extended`"
    assert syntax.parse(wire.StatementKind.DESCRIBE, text) == syntax.Describe(("extended",), False)


@pytest.mark.parametrize("name", ["create", "create_columns", "statement", "wait"])
def test_questions_carry_a_number_and_their_session(name):
    message = golden(name)
    assert isinstance(message.id, int)
    settings = {"spark.sql.session.timeZone": "UTC"}
    assert message.session == wire.Session("spark_catalog", "shop", settings, ("spark_catalog",))


class Undescribed(Analyst):
    """An analyst that leaves analysis out, in an application with files only."""

    def __init__(self) -> None:
        super().__init__(Recorder(lake_formats=lambda session, catalog: []), Recorder(of_table=lambda: None))

    def analysed(self, definition):
        return definition


def test_create_becomes_a_definition():
    definition = Undescribed().declared(golden("create"))
    assert definition == Definition(
        view="shop.monthly_revenue",
        made_by="SELECT l_month AS month, sum(l_price) AS revenue FROM lineitem GROUP BY l_month",
        columns=(),
        partitioned_by=("month",),
        comment="what was sold",
        database="shop",
        settings={"spark.sql.session.timeZone": "UTC"},
        properties={"headwater.freshness": "10 minutes"},
    )


def test_create_with_columns_and_without_format():
    message = evolve(golden("create_columns"), temporary=())
    definition = Undescribed().declared(message)
    assert definition.declared == (Column("month", "DATE"), Column("price", "DECIMAL(12,2)", "in euro"))
    assert definition.format == "parquet"


def test_create_over_a_temporary_view_is_refused():
    with pytest.raises(HeadwaterError, match="fresh_lines"):
        Undescribed().declared(golden("create_columns"))


def test_every_kind_of_message_reaches_its_place():
    """The engine's loop: hints are queued, questions answered, abandoned ones passed on."""
    messages = iter(map(golden, ("hint_table", "abandoned", "create", "statement", "wait", "dropping", "pinning")))

    class Stop(BaseException):
        pass

    def poll(_millis):
        try:
            return next(messages)
        except StopIteration:
            raise Stop from None

    engine = EngineProcess.__new__(EngineProcess)
    hinted, abandoned, asked = [], [], []
    engine.shim = Recorder(poll=poll)
    engine.observer = Recorder(hints=Recorder(notice=hinted.append))
    engine.statements = Recorder(waiting=Recorder(abandon=abandoned.append))
    engine._asked = Recorder(submit=lambda _work, message: asked.append(type(message)))
    engine._watch, engine._observe, engine._sweep, engine._sample, engine._show_groups = map(
        _named, ("_watch", "_observe", "_sweep", "_sample", "_show_groups")
    )
    with pytest.raises(Stop):
        engine.run()
    assert hinted == [golden("hint_table")]
    assert abandoned == [3]
    assert asked == [wire.Create, wire.Statement, wire.Wait, wire.Dropping, wire.Pinning]


def _named(name: str):
    def work() -> None:
        pass

    work.__name__ = name
    return work


# --- answers


def answered(answer) -> dict:
    """What the engine replies when its statements give or raise this."""
    replies = []

    def say(_message):
        if isinstance(answer, Exception):
            raise answer
        return answer

    engine = EngineProcess.__new__(EngineProcess)
    engine._ready = Recorder(wait=lambda: None)
    engine._in_memory = False
    engine.statements = Recorder(answer=say)
    engine.shim = Recorder(reply=lambda number, reply: replies.append((number, plain(reply))))
    engine._answer(golden("statement"))
    [(number, reply)] = replies
    assert number == golden("statement").id
    return reply


def test_rows_are_replied_as_they_are():
    assert answered(golden("reply_rows")) == json.loads(text("reply_rows"))


def test_a_refusal_is_replied_in_its_own_words():
    assert answered(HeadwaterError(golden("reply_error").error)) == json.loads(text("reply_error"))


def test_an_unexpected_failure_is_answered_too():
    reply = answered(ZeroDivisionError("division by zero\nand more"))
    assert reply.keys() == {"error"}
    assert reply["error"].startswith("Headwater failed at this statement (ZeroDivisionError: division by zero")
    assert "\n" not in reply["error"]


def event(kind, **known):
    """An event of this kind, empty in what does not matter here."""
    return kind(**{each.name: known.get(each.name, ()) for each in fields(kind)})


def test_a_refreshed_partition_is_shown_as_the_golden_row():
    reply = golden("reply_rows")
    done = reply.rows[0]
    run = {"version": done[0], "view": done[1]}
    needs = {"slices": (MARCH,), "needs": ((MARCH, ()),)}
    work = {each.mode.value: each for each in (WholeView(), WholePartitions())}[done[3]]
    started = event(Started, **run, **needs, at=done[7], work=work, reason=Reason(Code.SOURCE_CHANGED, done[4]))
    started = evolve(started, foreseen=done[9], foreseen_cores=done[11], let_go=None)
    made, effort = (Made(MARCH, done[6], "f"),), Effort(800_000, 900_000, 1.0, 2_100_000)
    published = event(Published, **run, at=done[7] + 1900, made=made, seconds=done[8], measured=Measured(effort=effort))
    [shown] = refreshes([published, started])
    assert shown.row == list(done)
    assert [(each.name, each.type) for each in reply.columns] == list(REFRESHES.items())


# --- requests of the engine


def test_a_look_asks_for_and_takes_the_golden_facts():
    asked = []

    def observe(request):
        asked.append(request)
        return golden("observe_answer")

    tables = FileTables(Recorder(observe=observe), None)
    tables._regular.add("shop.lineitem")
    [lineitem, *others] = golden("observe_request")
    looks = [
        TableQuestion(lineitem.table, tuple(map(Slice.of, lineitem.partitions))),
        *(TableQuestion(each.table, since=each.since) for each in others),
    ]
    seen = tables.look(looks)
    assert plain(asked[0]) == json.loads(text("observe_request"))
    assert [each.table for each in seen] == [each.table for each in looks]
    assert [each.table for each in seen if not each.exists] == ["shop.gone"]
    assert [(each.table, str(each.unreadable)) for each in seen if each.unreadable] == [
        ("shop.elsewhere", 'UnsupportedFileSystemException: No FileSystem for scheme "lost"')
    ]
    assert seen[0].looked == seen[0].asked == (_month("1996-03-01"), _month(None))
    assert seen[0].empty == {_month("1996-03-01")}
    assert seen[0].location == f"{ROOT}/lineitem"
    assert [each.table for each in seen if each.pinned] == ["shop.customer"]


def wrote(found: list[wire.Directory], launch: Launch, sums: list[wire.Sum]) -> Written:
    """The output of a run whose files were written by somebody else."""
    tables = FileTables(Recorder(written=lambda *_: found), None)
    return tables.written(launch, place_of(launch), counts(sums, launch.definition.partitioned_by))


def launch(partitioned: bool, existing=()) -> Launch:
    view = "shop.monthly_revenue" if partitioned else "shop.revenue"
    definition = Definition(
        view=view,
        made_by="SELECT 1",
        columns=(Column("revenue", "BIGINT"), Column("month", "DATE")),
        partitioned_by=("month",) if partitioned else (),
        root=f"{ROOT}/{view.split('.')[1]}",
        owner="0cc175b9c0f1b6a831c399e269772661",
    )
    run = Run(Started(0, 1762000000123, view, (), (), WholeView(), Reason(Code.SOURCE_CHANGED, "because")))
    return Launch(run, definition, {each: RECORD for each in existing})


BROKEN = [ConnectionRefusedError(111, "refused"), Py4JNetworkError("Answer is empty")]
"""Of a broken connection, and of a function that does not exist."""


@pytest.mark.parametrize("error", BROKEN)
@pytest.mark.parametrize("answers", [True, False])
def test_a_driver_that_answers_is_not_gone(error: Exception, answers: bool):
    def clock() -> int:
        if answers:
            return 1
        raise error

    lang = SimpleNamespace(System=SimpleNamespace(nanoTime=clock))
    session = SimpleNamespace(
        _jvm=SimpleNamespace(java=SimpleNamespace(lang=lang), io=SimpleNamespace(headwater=SimpleNamespace(spark=None)))
    )
    assert Shim(session).is_gone(error) is not answers
    assert not Shim(session).is_gone(PySparkException("the query is wrong"))


def test_a_driver_that_answers_in_a_moment_is_there(monkeypatch):
    """A connection may break, and a new one be refused, while the driver is busy."""
    failures = [ConnectionRefusedError()] * (len(PAUSES) - 1)
    monkeypatch.setattr("headwater.spark.jvm.connection.PAUSES", (0.0,) * len(PAUSES))

    def clock() -> int:
        if failures:
            raise failures.pop()
        return 1

    lang = SimpleNamespace(System=SimpleNamespace(nanoTime=clock))
    jvm = SimpleNamespace(java=SimpleNamespace(lang=lang), io=SimpleNamespace(headwater=SimpleNamespace(spark=None)))
    assert not Shim(SimpleNamespace(_jvm=jvm)).is_gone(ConnectionResetError()) and not failures


@pytest.mark.parametrize("error", BROKEN)
def test_a_run_whose_driver_cannot_be_reached_has_not_failed(error: Exception):
    """A connection that broke is opened anew, and that may be refused."""

    def gone(*_: object) -> None:
        raise error

    def ended_with(raised: type[HeadwaterError], answers: bool) -> None:
        shim = Recorder(
            publish=gone, is_gone=lambda _: not answers, failure=lambda _: Failure(FailureKind.OTHER, "no function")
        )
        context = Recorder(setJobGroup=lambda *_, **__: None, setLocalProperty=lambda *_: None)
        warehouse = warehouse_of(shim, Recorder(of_run=gone), Recorder(sparkContext=context))
        with pytest.raises(raised):
            warehouse.compute(launch(True), {})
        with pytest.raises(raised):
            warehouse.publish(launch(True), Written((), (), Files(wire.Publication("v", "me", 1), {})))

    ended_with(DriverGone, answers=False)
    ended_with(RefreshFailed, answers=True)


@pytest.mark.parametrize(
    "kind, raised",
    [
        (FailureKind.STOPPED, DriverGone),
        (FailureKind.CANCELLED, RefreshCancelled),
        (FailureKind.SOURCE_GONE, RefreshCancelled),
        (FailureKind.OVERLAY_GONE, RefreshCancelled),
        (FailureKind.UNWRITABLE, RefreshFailed),
        (FailureKind.ANALYSIS, RefreshFailed),
        (FailureKind.OTHER, RefreshFailed),
    ],
)
def test_the_kind_of_a_failure_says_how_a_run_ended(kind: FailureKind, raised: type[Exception]):
    """Words of the user's own that sound like another kind change nothing."""

    def fail(*_: object) -> None:
        raise PySparkException("the job was cancelled: FILE_NOT_EXIST, no space left on device")

    shim = Recorder(is_gone=lambda _: False, failure=lambda error: Failure(kind, "it failed"))
    with pytest.raises(raised):
        warehouse_of(shim, Recorder(of_run=fail)).compute(launch(True), {})


def found(values: dict, location: str, size: int) -> wire.Directory:
    return wire.Directory(values, "f" * 32, location, 1, size)


def counted(values: dict, rows: int) -> wire.Sum:
    return wire.Sum(values, rows, "c" * 32)


def test_the_warehouse_asks_to_publish_the_golden_request_partitions():
    request = golden("publish_request_partitions")
    march, null = (part.location for part in request.partitions)
    written = [found({"month": "1996-03-01"}, march, 1204), found({"month": None}, null, 611)]
    sums = [counted({"month": None}, 1), counted({"month": "1996-03-01"}, 25)]
    made = wrote(written, launch(True, [MARCH, FEBRUARY]), sums)
    assert made.handle.request == request
    assert [each.rows for each in made.made] == [25, 1]


def test_the_warehouse_asks_to_publish_the_golden_request_whole():
    request = golden("publish_request_whole")
    made = wrote([found({}, request.location, 1815)], launch(False), [counted({}, 31)])
    assert made.handle.request == request


@pytest.mark.parametrize(
    "near, expected",
    [
        ({}, [("shop.lines", Place.WAREHOUSE), ("shop.revenue", Place.VOLUME)]),
        ({"shop.lines": Place.VOLUME}, [("shop.lines", Place.VOLUME), ("shop.revenue", Place.VOLUME)]),
        ({"shop.lines": None}, [("shop.revenue", Place.VOLUME)]),
    ],
)
def test_what_moving_bytes_took_is_told_apart_by_where_they_lay(near: dict, expected: list):
    """What lay in two places is left out."""
    spent = golden("spent")
    written = Written((), (), Files(None, {}), Place.VOLUME, Measured(1815))
    found = transfers(spent, launch(False).run, written, near, {})
    assert [(each.table, each.place) for each in found] == expected
    assert (found[-1].size, found[-1].micros) == (1815, spent.writing)
    for each in found[:-1]:
        assert [(each.size, each.micros)] == [(read.bytes, read.micros) for read in spent.reads]


def test_what_a_view_reads_of_its_own_past_is_not_what_it_writes():
    [read] = golden("spent").reads
    spent = wire.Spent((evolve(read, table="shop.revenue"),), 7)
    found = transfers(spent, launch(False).run, FOUND, {}, {})
    assert [(each.table, each.micros) for each in found] == [("shop.revenue", 7)]


def test_what_a_query_needs_of_a_table_is_told_with_what_reading_it_took():
    [read] = golden("spent").reads
    found, _ = transfers(golden("spent"), launch(False).run, FOUND, {}, {})
    assert found.extract == read.needs and found.extract.columns == ("day", "price")
    assert found.extract.condition == "(`day` >= DATE '1996-03-01' AND `day` IS NOT NULL)" and found.share == 0.25


def test_what_was_read_of_a_scan_is_told_apart_from_the_table():
    """With what lies beside it, and without files that are no table's."""
    [read] = golden("spent").reads
    place = evolve(read, table=None, place="file:/memory/v-1/data", needs=None)
    spent = wire.Spent((read, place, evolve(place, place="file:/elsewhere")), 7)
    scan = KeptScan(-1, Part(True, ()), ("day",), "file:/memory/v-1/data", 100)
    found = transfers(spent, launch(False).run, FOUND, {}, {"shop.lines": scan})
    [moved] = found[:-1]
    assert (moved.table, moved.place) == ("shop.lines", Place.SCAN)
    assert (moved.size, moved.micros) == (2 * read.bytes, 2 * read.micros)


def publish(answer):
    request = golden("publish_request_partitions")
    shaped = evolve(request, shape=catalog.shape(launch(True).definition))
    shim = Recorder(publish=lambda sent: answer if sent == shaped else None)
    march, null = (part.location for part in request.partitions)
    handle = Files(request, {march: MARCH, null: Slice.of(month=None)})
    return FileTables(shim, None).publish(launch(True), Written((), (), handle))


def test_what_was_superseded_is_left_for_later():
    answer = golden("publish_answer_superseded")
    assert publish(answer).locations == list(answer.superseded)


def test_what_took_the_place_of_what_the_record_says_is_unchanged():
    assert publish(golden("publish_answer_superseded")).unchanged == {MARCH}


@pytest.mark.parametrize(
    ("content", "known", "was"), [("c" * 32, "c" * 32, "f" * 32), ("d" * 32, "c" * 32, None), ("", "", None)]
)
def test_what_has_the_rows_that_the_record_says_is_to_be_compared_with_what_is_there(content, known, was):
    existing = evolve(RECORD, content=known)
    part = _part(Made(MARCH, 25, "new", content), found({}, "there", 9), existing)
    assert part.was == was


def test_a_fenced_publication_means_that_another_engine_refreshes():
    with pytest.raises(TakenOver, match="1762000000999"):
        publish(golden("publish_answer_fenced"))


def test_every_golden_message_is_in_the_specification():
    specification = (Path(__file__).parents[2] / "docs/protocol.md").read_text()
    missing = [each.name for each in GOLDEN.glob("*.json") if f"golden/protocol/{each.name}" not in specification]
    assert missing == []


def test_statements_knows_every_type_of_question():
    """`create` and `wait` have methods of their own; anything else is a statement."""
    statements = Statements.__new__(Statements)
    statements._wait_for_hints = lambda _: "waits"
    statements._declarations = Recorder(create=lambda _: "creates")
    statements._names = Recorder(known=lambda *_: "shop.v")
    statements._recomputing = Recorder(refresh=lambda *_: "refreshes")
    assert [statements.answer(golden(each)).rows for each in ("create", "wait", "statement")] == [
        "creates",
        "waits",
        "refreshes",
    ]


def test_a_session_that_cannot_be_made_leaves_a_computed_column_unknown():
    """The engine goes on: what it does not know, it takes to be anything."""

    def gone(_definition):
        raise AnalysisException("the database is gone")

    shim = Recorder(failure=lambda error: Failure(FailureKind.ANALYSIS, str(error)))
    evaluator = SparkEvaluator(Recorder(of=gone), shim)
    with pytest.raises(RefreshFailed, match="cannot be evaluated"):
        evaluator.evaluate(launch(True).definition, "trunc(day, 'MM')", [("1996-03-01",)], ["day"])
