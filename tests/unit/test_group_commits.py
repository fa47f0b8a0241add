"""Members of a group that their catalog shows together: what it is to show, and where the word is refused."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from attrs import evolve
from cases import change, view
from test_epochs import epochs, member, run, shop

from headwater.engine.groups.together import to_show
from headwater.model.error import DefinitionError, NotNow
from headwater.model.event import Altered
from headwater.model.partition import WHOLE
from headwater.spark.defining.options import require_group
from headwater.spark.refreshing.group_commits import GroupCommits
from headwater.spark.tables import catalog
from headwater.spark.tables.table_format import GroupShown

WORD = {"group.commit": "together"}


class Tables:
    """A format of tables that keeps what it is to show.

    Attributes:
        catalogs: the one of each view that commits several tables; others lie in none.
        failures: so many commits fail.
        failing: the views of which each commit fails.
    """

    def __init__(self, **catalogs: str) -> None:
        self.catalogs, self.failures, self.failing = catalogs, 0, set[str]()
        self.shown: list[dict[str, str]] = []
        self.newest: list[str] = []
        self.foreign: tuple[str, ...] = ()

    def of_view(self, definition):
        return self

    def step_of(self, definition):
        return self.catalogs.get(definition.view, "")

    def show(self, members):
        if self.failures or any(definition.view in self.failing for definition, _ in members):
            self.failures = max(0, self.failures - 1)
            raise NotNow("the catalog does not answer")
        self.shown.append({definition.view: snapshot for definition, snapshot in members})
        return GroupShown(self.foreign)

    def show_newest(self, definition):
        self.newest.append(definition.view)


def together(**properties: str):
    """A warehouse whose two members are committed together, and what commits them."""
    made, tables = shop(**WORD, **properties), Tables(by_day="rest", by_shop="rest")
    made.record(lambda _: Altered(made.now, "by_shop", (("headwater.group", "revenue"), *stated(WORD))))
    recorder = SimpleNamespace(read=lambda ask: ask(made.state), clock=SimpleNamespace(now=lambda: made.now))
    return made, tables, GroupCommits(recorder, tables, SimpleNamespace())


def stated(properties: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((f"headwater.{key}", value) for key, value in properties.items())


def newest(made) -> dict[str, str]:
    return {each.table: each.snapshot for each in epochs(made)[-1].members}


def test_each_epoch_is_shown_once():
    made, tables, commits = together()
    commits.settle()
    assert tables.shown == [newest(made)]
    change(made, "s", WHOLE, 11)
    run(made, "by_shop")
    commits.settle()
    assert len(tables.shown) == 1, "by_day lacks the change"
    run(made, "by_day")
    commits.settle()
    commits.settle()
    assert tables.shown[1:] == [newest(made)]
    commits.settle(afresh=True)
    assert tables.shown[2:] == [newest(made)], "another program may have written the tables"


def test_a_commit_that_failed_is_made_the_next_time(caplog):
    made, tables, commits = together()
    tables.failures, tables.foreign = 1, ("by_day",)
    with pytest.raises(NotNow, match="does not answer"):
        commits.settle()
    assert commits.settle()
    assert tables.shown == [newest(made)]
    assert "another program wrote by_day past Headwater; readers see epoch" in caplog.text


def test_who_waits_for_one_group_does_not_hear_of_the_catalog_of_another_one():
    made, tables, commits = together()
    made.declare(member("far", "s", group="away", **WORD))
    made.drain()
    tables.catalogs["far"], tables.failing = "other", {"far"}
    assert commits.settle(only="revenue")
    assert tables.shown == [newest(made)]
    with pytest.raises(NotNow, match="does not answer"):
        commits.settle(only="away")
    with pytest.raises(NotNow, match="does not answer"):
        commits.settle()


def test_only_members_with_the_word_are_shown():
    made, tables, commits = together()
    made.record(lambda _: Altered(made.now, "by_shop", (("headwater.group", "revenue"),)))
    commits.settle()
    assert [each.keys() for each in tables.shown] == [{"by_day"}]
    made.record(lambda _: Altered(made.now, "by_day", ()))
    assert to_show(made.state, made.now) == {}


def test_what_is_published_is_shown():
    """The times of a member hold for readers without Headwater, too."""
    made, tables, commits = together(**{"group.publish": "06:00"})
    commits.settle()
    first = newest(made)
    change(made, "s", WHOLE, 11)
    made.drain()
    assert newest(made) != first
    commits.settle()
    assert tables.shown == [first]
    made.record(lambda _: Altered(made.now, "by_day", (("headwater.group", "revenue"), *stated(WORD))))
    commits.settle()
    assert tables.shown == [first, newest(made)], "without times, readers see each epoch"


def test_the_word_needs_a_group_and_one_catalog():
    made, tables, commits = together()
    with pytest.raises(DefinitionError, match=r"is for members of a group; set 'headwater\.group', too"):
        require_group(view("v", "", "s", format="iceberg", **WORD))
    late = member("late", "s", **WORD)
    for where, said in (({}, "the catalog of late commits no tables"), ({"late": "twin"}, "rest and twin")):
        tables.catalogs = {"by_day": "rest", "by_shop": "rest", **where}
        with pytest.raises(DefinitionError, match=said):
            commits.require(late)
        with pytest.raises(DefinitionError, match=f"{said}.*choose another group"):
            commits.require(member("late", "s"))
    tables.catalogs["late"] = "rest"
    commits.require(late)
    commits.require(member("late", "s"))
    commits.require(member("late", "s", group="other"))
    tables.catalogs.clear()
    commits.require(view("late", "", "s", format="delta"))


def test_without_the_word_readers_get_the_newest_rows():
    _, tables, commits = together()
    known = member("by_day", "s", **WORD)
    commits.altered(known, known)
    assert tables.newest == []
    commits.altered(evolve(known, properties={"headwater.group": "revenue"}), known)
    assert tables.newest == ["by_day"]


def test_the_table_says_that_runs_write_a_branch():
    known, other = member("v", "s", **WORD), member("v", "s")
    assert catalog.APART in catalog.properties(known)
    assert catalog.APART not in catalog.properties(other)
