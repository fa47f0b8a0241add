"""When a run of a replica may take rows for its own that another store published."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from attrs import evolve
from cases import A1, A2, change, machine, start, view

from headwater.engine.record.changes import drift, standing
from headwater.engine.record.runs import launched
from headwater.engine.requests.limits import SETTLE
from headwater.model.command import Launch, Publish, Stopped, Written
from headwater.model.error import Overtaken, RefreshCancelled, TakenOver
from headwater.model.event import Requested, Started
from headwater.model.partition import WHOLE
from headwater.model.reason import Code
from headwater.model.seen import Command, Seen, TableQuestion
from headwater.model.state import Run
from headwater.model.work import WholePartitions
from headwater.runtime.execute import performed
from headwater.spark.refreshing.replicas import Replicas
from headwater.spark.tables.delta.log_changes import Commit, are_by, told_sources
from headwater.spark.tables.delta.snapshot import Snapshot
from headwater.spark.tables.table_format import LastPublished
from headwater.spark.tables.view_tables import outrun, require_upon


def copied(**properties: str):
    definition = view("v", "a", "t", format="delta", **({"replica": "on"} | properties))
    made = machine({"t": "a"}, definition, lakes=("t",))
    change(made, "t", A1)
    change(made, "t", A2)
    made.now += 2 * SETTLE
    made.drain()
    return made


def found(made, published: bool):
    """The event of a look that found a partition of ``v`` written."""
    seen = Seen("v", partitions={A1: "other"}, looked=(A1,), snapshot="9@v:", pinned=True, published=published)
    seen = evolve(seen, since=made.state.tables["v"].snapshot)
    event = drift(made.state, seen, standing(made.state, "v"), Command(), 7)
    assert event is not None
    return event


def written(made, published: bool) -> Launch:
    """The run after a look that found ``v`` written."""
    event = found(made, published)
    made.record(lambda version: evolve(event, at=made.now, version=version))
    made.now += 2 * SETTLE
    assert start(made, "v")
    return launched(made.state, "v")


def test_a_publication_of_another_store_is_told_from_another_program() -> None:
    assert found(copied(), published=True).code is Code.VIEW_PUBLISHED_ELSEWHERE
    assert found(copied(), published=False).code is Code.VIEW_WRITTEN_OUTSIDE
    assert found(copied(replica="off"), published=True).code is Code.VIEW_WRITTEN_OUTSIDE


def test_rows_of_another_program_are_doubted_and_those_of_another_store_are_not() -> None:
    launch = written(copied(), published=True)
    assert not launch.doubted and launch.complete
    assert written(copied(), published=False).doubted
    assert written(copied(replica="off"), published=True).doubted


def test_rows_that_a_user_doubts_are_copied() -> None:
    made = copied()
    made.record(lambda version: Requested(made.now, version, "v", (A1,), "asked"))
    made.now += 2 * SETTLE
    assert start(made, "v")
    assert launched(made.state, "v").doubted


def test_a_run_that_leaves_something_behind_is_not_complete() -> None:
    made = copied()
    change(made, "t", A1, 8)
    made.now += 2 * SETTLE
    assert start(made, "v")
    assert launched(made.state, "v").complete
    change(made, "t", A2, 9)
    assert not launched(made.state, "v").complete


def launch_of(
    snapshot: str = "7@t:aa", doubted: bool = False, known: str = "2@v:aa", complete: bool = False, **properties: str
) -> Launch:
    definition = view("v", "", "t", format="delta", **({"replica": "on"} | properties))
    started = Started(0, 5, "v", ((WHOLE, ()),), (), WholePartitions(), "", snapshots=(("t", snapshot), ("v", known)))
    return Launch(Run(started), definition, {}, doubted=doubted, complete=complete)


class Tables:
    """A view's table and its source, by the states that they are in."""

    def __init__(self, there: str, now: str, published: bool = True) -> None:
        self.there, self.now, self.published = there, now, published

    def of(self, table: str) -> Tables:
        return self

    of_view = of

    def newest(self, definition: object) -> LastPublished:
        return LastPublished("3@v:bb", 5, {"t": self.there} if self.there else {})

    def is_same(self, one: str, other: str) -> bool:
        return one == other

    def precedes(self, table: str, one: str, other: str) -> bool:
        return Snapshot.read(one).precedes(Snapshot.read(other))

    def look(self, asked: list[TableQuestion]) -> list[Seen]:
        [each] = asked
        return [Seen("t", snapshot=self.now) if each.table == "t" else Seen("v", published=self.published)]


def standing_of(
    launch: Launch, there: str, now: str = "7@t:aa", counted: bool = False, published: bool = True
) -> Written | None:
    replicas = Replicas(None, Tables(there, now, published))
    if counted:
        replicas._counted = lambda *_: Written((), ())
    return replicas.standing(None, launch)


def test_the_newer_snapshot_of_the_source_decides() -> None:
    assert standing_of(launch_of(), there="7@t:aa", counted=True) is not None
    assert standing_of(launch_of(), there="6@t:cc") is None
    assert standing_of(launch_of(), there="") is None
    assert standing_of(launch_of(doubted=True), there="7@t:aa") is None
    assert standing_of(launch_of(known=""), there="7@t:aa") is None
    assert standing_of(launch_of(), there="7@t:aa", published=False) is None, "another program wrote in between"
    with pytest.raises(RefreshCancelled, match="v has newer rows of t than this store knows") as caught:
        standing_of(launch_of(), there="8@t:dd", now="8@t:dd")
    assert caught.value.look_at == ("t", "v")


def test_a_source_that_was_put_back_is_copied() -> None:
    assert standing_of(launch_of(), there="8@t:dd", now="7@t:aa") is None


def test_a_replica_is_published_upon_the_state_that_its_run_found() -> None:
    replicas = Replicas(None, Tables("6@t:cc", "7@t:aa"))
    launch = launch_of()
    replicas.standing(None, launch)
    launch = replicas.upon(launch)
    require_upon(launch, "3@v:bb", 5)
    with pytest.raises(Overtaken, match="another store published v first") as caught:
        require_upon(launch, "4@v:ee", 9)
    assert caught.value.version == 9 and caught.value.look_at == ("v",)
    assert replicas.upon(launch_of()).upon == ""


def test_a_publication_upon_a_state_that_nobody_looked_at_is_not_complete() -> None:
    for known, complete in (("2@v:aa", False), ("3@v:bb", True), ("3@v:bb<1", False)):
        replicas, launch = Replicas(None, Tables("6@t:cc", "7@t:aa")), launch_of(known=known, complete=True)
        replicas.standing(None, launch)
        assert replicas.upon(launch).complete is complete


def test_a_clock_that_is_behind_is_no_failure_of_a_replica() -> None:
    assert isinstance(outrun(launch_of(), 9), Overtaken)
    assert isinstance(outrun(launch_of(replica="off"), 9), TakenOver)


def commit(*actions: dict) -> Commit:
    return Commit(1, "\n".join(map(json.dumps, actions)))


def info(**told: object) -> dict:
    return {"commitInfo": {"userMetadata": json.dumps({"headwater": told})}}


def test_a_publication_tells_its_sources_if_it_left_nothing_behind() -> None:
    whole = info(owner="me", sources={"t": "7@t:aa"}, complete=True)
    assert told_sources(commit({"txn": {"appId": "me"}}, whole), "me") == {"t": "7@t:aa"}
    assert told_sources(commit(whole), "other") == {}
    assert told_sources(commit(info(owner="me", sources={"t": "7@t:aa"})), "me") == {}
    for text in ("no JSON {", "[1]", '{"headwater": 1}'):
        assert told_sources(commit({"commitInfo": {"userMetadata": text}}), "me") == {}
    assert told_sources(Commit(1, ""), "me") == {}


def test_commits_that_changed_no_rows_are_nobodys() -> None:
    mine, moved = [{"txn": {"appId": "me"}}, {"add": {"path": "a"}}], [{"add": {"path": "b", "dataChange": False}}]
    assert are_by([mine, moved], "me") and not are_by([mine, [{"remove": {"path": "a"}}]], "me")
    assert not are_by([mine, [{"metaData": {}}]], "me") and not are_by([mine], "")


def test_an_overtaken_run_lets_the_store_give_higher_versions() -> None:
    raised, looked = [], []
    warehouse = SimpleNamespace(publish=lambda *_: (_ for _ in ()).throw(Overtaken("first", "v", 12)))
    store = SimpleNamespace(raise_version=raised.append)
    looks = SimpleNamespace(look_again=looked.append)
    step = Publish(launch_of(), Written((), ()))
    answer = performed(step, warehouse, looks, store, SimpleNamespace(now=lambda: 0))
    assert isinstance(answer, Stopped) and answer.cancelled and answer.unseen
    assert raised == [12] and looked == [("v",)]
