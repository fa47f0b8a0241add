"""The clean-up of Delta views, without Spark: how many tasks it asks for, and how often."""

from __future__ import annotations

from types import SimpleNamespace

from attrs import frozen

from headwater.model.view import Definition, Pairs
from headwater.spark.delta.retention import TASKS, TASKS_PER_SLOT, Retention

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


def test_a_clean_up_takes_a_few_tasks_for_each_slot_once_per_retention_time() -> None:
    said: list[tuple[str, dict[str, str]]] = []

    def of_table(settings: Pairs) -> Session:
        return Session(dict(settings), said)

    log = SimpleNamespace(layout=SimpleNamespace(properties={}))
    publications = SimpleNamespace(opened=lambda _definition: log)
    shim = SimpleNamespace(run_quietly=lambda session, statement: session.sql(statement))
    retention = Retention(
        shim, SimpleNamespace(of_table=of_table), publications, SimpleNamespace(holds=lambda _view: False)
    )
    assert retention.expire(VIEW) and retention.expire(VIEW)
    [tasks] = [settings[TASKS] for statement, settings in said if statement.startswith("VACUUM")]
    assert int(tasks) == TASKS_PER_SLOT * SLOTS
