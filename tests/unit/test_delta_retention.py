"""The clean-up of Delta views, without Spark: how many tasks it asks for, and how often."""

from __future__ import annotations

import time
from types import SimpleNamespace

from attrs import frozen

from headwater.model.view import Definition, Pairs
from headwater.spark.tables.delta.retention import TASKS, TASKS_PER_SLOT, Retention

SLOTS = 2
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


def test_what_an_epoch_names_stays_longer() -> None:
    said: list[tuple[str, dict[str, str]]] = []
    ago = int(1000 * time.time()) - 5 * VIEW.policy.retain // 2
    assert retention(said, created=0).expire(VIEW, ago)
    assert [statement for statement, _ in said if "VACUUM" in statement] == [
        "VACUUM `spark_catalog`.`mart`.`v` RETAIN 3 HOURS"
    ]


def test_a_table_that_is_younger_than_the_retention_time_has_nothing_to_clean_up() -> None:
    said: list[tuple[str, dict[str, str]]] = []
    assert retention(said, created=1000 * time.time()).expire(VIEW)
    assert said == []
