"""The clean-up of Delta views, without Spark: how many tasks it asks for, and how often."""

from __future__ import annotations

import time
from types import SimpleNamespace

from attrs import evolve, frozen

from headwater.model.view import Definition, Pairs
from headwater.spark.tables.delta.retention import TASKS, TASKS_PER_SLOT, Retention

SLOTS = 2
DELETES = ["VACUUM `spark_catalog`.`mart`.`v`"]
VIEW = Definition("mart.v", "SELECT 1", (), format="delta")


@frozen
class Session:
    """A session that notes its statements, each with the session's settings."""

    settings: dict[str, str]
    said: list[tuple[str, dict[str, str]]]
    sparkContext = SimpleNamespace(defaultParallelism=SLOTS)

    def sql(self, statement: str) -> None:
        self.said.append((statement, self.settings))


def retention(said: list[tuple[str, dict[str, str]]], created: float) -> Retention:
    """Of views whose tables were made at that time (ms)."""

    def of_table(settings: Pairs) -> Session:
        return Session(dict(settings), said)

    log = SimpleNamespace(layout=SimpleNamespace(properties={}), created=created)
    publications = SimpleNamespace(opened=lambda _definition: log)
    shim = SimpleNamespace(run_quietly=lambda session, statement: session.sql(statement))
    return Retention(shim, SimpleNamespace(of_table=of_table), publications, SimpleNamespace(holds=lambda _view: False))


def test_a_clean_up_takes_a_few_tasks_for_each_slot_once_per_retention_time() -> None:
    said: list[tuple[str, dict[str, str]]] = []
    cleaned = retention(said, created=0)
    assert cleaned.expire(VIEW) and cleaned.expire(VIEW)
    [tasks] = [settings[TASKS] for statement, settings in said if statement.startswith("VACUUM")]
    assert int(tasks) == TASKS_PER_SLOT * SLOTS


def test_nothing_is_deleted_while_an_epoch_names_older_files() -> None:
    """Delta ignores ``RETAIN``, and forgets which files were replaced before the time that the table says."""
    member = evolve(VIEW, properties={"headwater.group": "g"})
    for view, hours, deletes in ((VIEW, 1.5, False), (VIEW, 0.5, True), (member, 1.5, True), (member, 2.5, False)):
        said: list[tuple[str, dict[str, str]]] = []
        assert retention(said, created=0).expire(view, int(1000 * time.time() - hours * 3_600_000))
        assert [statement for statement, _ in said if "VACUUM" in statement] == DELETES * deletes


def test_replaced_files_of_a_member_stay_until_the_group_has_met() -> None:
    for view, hours in ((VIEW, 1), (evolve(VIEW, properties={"headwater.group": "g"}), 2)):
        said: list[tuple[str, dict[str, str]]] = []
        retention(said, created=0).expire(view)
        assert f"= 'interval {hours * 3_600_000} milliseconds'" in said[0][0]


def test_a_table_that_is_younger_than_the_retention_time_has_nothing_to_clean_up() -> None:
    said: list[tuple[str, dict[str, str]]] = []
    assert retention(said, created=1000 * time.time()).expire(VIEW)
    assert said == []
