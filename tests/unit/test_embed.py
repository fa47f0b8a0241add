"""The engine embedded in a program, over a warehouse that is not Spark's."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import headwater
from headwater import MONTH, Engine, Windowed, embed, table
from headwater.cli.main import main
from headwater.model.command import Launch, Replaced, Written
from headwater.model.error import DefinitionError, RefreshCancelled, StatementError
from headwater.model.event import Made
from headwater.model.partition import WHOLE
from headwater.store.recovery import restored
from headwater.store.sql_store import SqlStore

EXAMPLE = Path(__file__).parents[2] / "docs/examples/duckdb_tables.py"


def test_the_example_keeps_duckdb_tables_consistent(tmp_path: Path) -> None:
    told = runpy.run_path(str(EXAMPLE))["main"](tmp_path)
    assert told[0] == "filled: 94 partitions"
    assert "  month=2024-02: sales[day=2024-02-29] changed [source.changed]" in told
    assert told[-4:] == [
        "daily[day=2024-02-29]: sales[day=2024-02-29] changed",
        "monthly[month=2024-02]: sales[day=2024-02-29] changed",
        "daily equals its query: True",
        "monthly equals its query: True",
    ]


def test_the_example_is_short_and_runs_as_a_script() -> None:
    assert len(EXAMPLE.read_text().splitlines()) < 80
    ran = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout.count("equals its query: True") == 2


def test_it_needs_no_spark() -> None:
    program = "import sys; sys.modules['pyspark'] = None; from headwater import Engine, table, MONTH"
    subprocess.run([sys.executable, "-c", program], timeout=60, check=True)


class Nothing:
    """A warehouse that is never asked."""

    def remove(self, definition) -> None:
        self.removed = definition.view


def test_what_was_declared_survives_the_process(tmp_path: Path) -> None:
    with Engine(Nothing(), tmp_path / "store.db") as engine:
        engine.declare("daily", "q", [table("sales", day="day")], partitioned_by=["day"])
    with Engine(Nothing(), tmp_path / "store.db") as engine:
        engine.declare("daily", "q", [table("sales", day="day")], partitioned_by=["day"])
        assert list(engine.behind()) == ["daily"]
        assert engine.explain("daily")[0].startswith("daily: ")


class Late(Nothing):
    """A warehouse that cancels its first refresh."""

    def __init__(self) -> None:
        self.asked = 0

    def evaluate(self, *_) -> list:
        return []

    def compute(self, launch: Launch) -> Written:
        self.asked += 1
        if self.asked == 1:
            raise RefreshCancelled("the warehouse is busy")
        return Written((Made(WHOLE, 1, "rows"),), ())

    def publish(self, launch: Launch, written: Written) -> Replaced:
        return Replaced()

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


class Hasty:
    """A clock of which ten seconds go by at each look."""

    def __init__(self) -> None:
        self.at = 1_000_000

    def now(self) -> int:
        self.at += 10_000
        return self.at


def test_a_refresh_that_was_cancelled_is_tried_again_while_somebody_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "STEP", 0.01)
    warehouse = Late()
    with Engine(warehouse, tmp_path / "store.db", clock=Hasty()) as engine:
        engine.declare("a", "q", [table("b")])
        assert [row["status"] for row in engine.drain()] == ["cancelled", "published"]
        assert warehouse.asked == 2 and not engine.behind()


def test_bad_declarations_are_refused(tmp_path: Path) -> None:
    with Engine(Nothing(), tmp_path / "store.db") as engine:
        with pytest.raises(DefinitionError, match="monthly maps daily to month, which it is not partitioned by"):
            engine.declare("monthly", "q", [table("daily", month=Windowed("day", MONTH.days()))])
        engine.declare("a", "q", [table("b")])
        with pytest.raises(DefinitionError, match="would read itself"):
            engine.declare("b", "q", [table("a")])
        with pytest.raises(StatementError, match="no derived table c"):
            engine.explain("c")


@pytest.mark.parametrize("key", ["freshness", "headwater.freshness"])
def test_a_property_may_have_its_prefix(tmp_path: Path, key: str) -> None:
    with Engine(Nothing(), tmp_path / "store.db") as engine:
        engine.declare("a", "q", [table("b")], properties={key: "1 hour"})
    state, _ = restored(SqlStore(tmp_path / "store.db"))
    assert state.views["a"].definition.properties == (("headwater.freshness", "1 hour"),)
    assert state.views["a"].definition.policy.freshness == 3_600_000


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"priority": "abc"}, "a: property 'headwater.priority': 'abc' is not a number above 0"),
        ({"prority": "2"}, "there is no property 'headwater.prority'; did you mean 'headwater.priority'?"),
        ({"headwater.headwater.freshness": "1 hour"}, "there is no property 'headwater.headwater.freshness'"),
        ({"delta.appendOnly": "true"}, "there is no property 'headwater.delta.appendOnly'"),
        ({"group": "g"}, "no older versions of a in this program; leave the property 'headwater.group' out"),
        ({"headwater.group.publish": "06:00"}, "leave the property 'headwater.group.publish' out"),
        ({"priority": 10}, "property 'headwater.priority' is 10, which is no text; write '10'"),
        ({"settle": "1 hour", "headwater.settle": "2 hours"}, "'headwater.settle' is stated in two spellings"),
        ({"dependency.b": "all"}, "table() says what a reads"),
    ],
)
def test_a_property_that_create_refuses_is_refused(tmp_path: Path, properties: dict, words: str) -> None:
    with Engine(Nothing(), tmp_path / "store.db") as engine:
        with pytest.raises(DefinitionError, match=re.escape(words)) as refused:
            engine.declare("a", "q", [table("b")], properties=properties)
        assert refused.value.code == "PROPERTY" and not engine.behind()


@pytest.mark.parametrize("name", ["", "a..b", "a.", ".a", "`a"])
def test_a_name_that_no_table_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with Engine(Nothing(), tmp_path / "store.db") as engine:
        with pytest.raises(DefinitionError, match=re.escape(f"'{name}' is no name of a table")) as refused:
            engine.declare(name, "q", [table("b")])
        assert refused.value.code == "NAME"
        engine.declare("shop.`a b`", "q", [table("b")])
    told = CliRunner().invoke(main, ["status", "--store", str(tmp_path / "store.db")])
    assert told.exit_code == 0 and "a b" in told.output


def test_the_value_of_a_partition_is_text(tmp_path: Path) -> None:
    with Engine(Nothing(), tmp_path / "store.db") as engine:
        engine.declare("daily", "q", [table("sales", day="day")], partitioned_by=["day"])
        words = "the partition day=20240229 is no text; write it as the table spells it, as '20240229'"
        with pytest.raises(StatementError, match=f"sales: {words}"):
            engine.changed("sales", {"day": "2024-02-28"}, {"day": 20240229})
        with pytest.raises(StatementError, match=f"daily: {words}"):
            engine.consistency("daily", {"day": 20240229})
        engine.changed("sales", {"day": None})


def test_a_dropped_table_is_removed_from_the_warehouse(tmp_path: Path) -> None:
    warehouse = Nothing()
    with Engine(warehouse, tmp_path / "store.db") as engine:
        engine.declare("a", "q", [table("b")])
        engine.drop("a")
        engine.drop("a")
        assert warehouse.removed == "a"
        assert list(engine.behind()) == []


def test_a_table_that_another_program_declared_is_dropped(tmp_path: Path) -> None:
    warehouse = Nothing()
    with Engine(warehouse, tmp_path / "store.db") as one, Engine(Nothing(), tmp_path / "store.db") as other:
        other.declare("a", "q", [table("b")])
        one.drop("a")
    assert warehouse.removed == "a"


def test_unknown_names_are_unknown() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Motor'"):
        headwater.Motor  # noqa: B018
