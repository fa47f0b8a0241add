"""Each table is looked at by its own format."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from attrs import evolve
from cases import view

from headwater.model.error import ChangesUnknown, RefreshFailed
from headwater.model.format import FORMATS
from headwater.model.reason import Code, Reason
from headwater.model.seen import Seen, TableQuestion
from headwater.spark.jvm.facts import Pin
from headwater.spark.tables.files import FileTables
from headwater.spark.tables.registry import OWN, Formats
from headwater.spark.tables.table_format import TableFormat, ViewFormat


class Tables(FileTables):
    """A format; each look is noted."""

    def __init__(self, name: str) -> None:
        self.name, self.looked = name, []
        self.gone: set[str] = set()

    def look(self, looks: Sequence[TableQuestion]) -> list[Seen]:
        self.looked.append([each.table for each in looks])
        return [Seen(each.table, exists=each.table not in self.gone, schema=self.name) for each in looks]

    def touches(self, table: str, path: str) -> bool:
        return path.startswith(self.name)

    def pin(self, table: str, snapshot: str) -> Pin | None:
        return Pin(snapshot) if self.name == "lake" else None


class Names:
    """Which format a table has, by its database; each question is noted."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.moved: dict[str, str] = {}

    def __call__(self, table: str) -> str:
        self.asked.append(table)
        return self.moved.get(table, table.partition(".")[0])


def test_tables_are_told_apart_by_format_and_answered_in_order():
    lake, files = Tables("lake"), Tables("files")
    seen = Formats(Names(), files, lake).look(
        [TableQuestion("a.t"), TableQuestion("lake.t"), TableQuestion("b.t"), TableQuestion("lake.u")]
    )
    assert [each.table for each in seen] == ["a.t", "lake.t", "b.t", "lake.u"]
    assert [each.schema for each in seen] == ["files", "lake", "files", "lake"]
    assert (lake.looked, files.looked) == ([["lake.t", "lake.u"]], [["a.t", "b.t"]])


def test_a_table_is_identified_once_until_it_is_gone():
    lake, names = Tables("lake"), Names()
    formats = Formats(names, Tables("files"), lake)
    for _ in range(2):
        formats.look([TableQuestion("lake.t")])
        assert formats.touches("lake.t", "lake/t") and names.asked == ["lake.t"]
    lake.gone.add("lake.t")
    assert not formats.look([TableQuestion("lake.t")])[0].exists and names.asked == ["lake.t"] * 2


def test_a_table_of_another_format_that_took_the_name_is_looked_at_at_once():
    lake, files, names = Tables("lake"), Tables("files"), Names()
    formats = Formats(names, files, lake)
    formats.look([TableQuestion("lake.t")])
    lake.gone.add("lake.t")
    names.moved["lake.t"] = "files"
    [seen] = formats.look([TableQuestion("lake.t", since="one")])
    assert (seen.schema, seen.since) == ("files", "one") and formats.of("lake.t") is files


def test_a_look_that_fails_hides_no_other_table():
    class Torn(Tables):
        def look(self, looks: Sequence[TableQuestion]) -> list[Seen]:
            if any(each.table == "lake.torn" for each in looks):
                raise ValueError("half a line")
            return super().look(looks)

    asked = [TableQuestion(f"lake.{name}") for name in ("t", "torn", "u")]
    t, torn, u = Formats(Names(), Tables("files"), Torn("lake")).look(asked)
    assert (t.schema, u.schema) == ("lake", "lake") and not (t.unreadable or u.unreadable)
    said = "the look at it ended with an unexpected error (ValueError); the engine's log has the details"
    assert torn.unreadable == Reason(Code.SOURCE_UNREADABLE, said)


def test_a_driver_that_is_gone_makes_no_table_unreadable():
    class Gone(Tables):
        def look(self, looks: Sequence[TableQuestion]) -> list[Seen]:
            raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        Formats(Names(), Tables("files"), Gone("lake")).look([TableQuestion("lake.t")])


def test_without_lakes_no_table_is_asked_for():
    names = Names()
    assert Formats(names, Tables("files")).look([TableQuestion("t")])[0].table == "t" and not names.asked


def test_a_run_pins_the_tables_that_can_be_read_as_they_were():
    formats = Formats(Names(), Tables("files"), Tables("lake"))
    assert formats.pins({"a.t": "x", "lake.t": "7"}) == {"lake.t": Pin("7")}


def test_a_view_has_the_format_that_it_declares():
    lake, files = Tables("delta"), Tables("files")
    formats = Formats(Names(), files, lake)
    for declared, format in (("delta", lake), ("parquet", files)):
        assert formats.of_view(evolve(view("v", "a", "t"), format=declared)) is format


def test_a_view_of_a_format_that_the_application_lacks_is_not_written_as_files():
    formats = Formats(Names(), Tables("files"), Tables("iceberg"))
    with pytest.raises(
        RefreshFailed, match="is stored USING delta, which this application lacks; start it with the jar"
    ):
        formats.of_view(evolve(view("v", "a", "t"), format="delta"))


def test_each_format_of_the_table_has_a_class_that_can_do_as_much() -> None:
    classes = {each.name: each for each in (FileTables, *OWN)}
    for each in FORMATS:
        if each.followed:
            tables = classes[each.tables]
            assert issubclass(tables, ViewFormat) or not each.holds_views
            assert tables.pin is not TableFormat.pin or not each.snapshots
            assert tables.changed is not TableFormat.changed or not each.tells_changes
            assert (tables.key_files is not ViewFormat.key_files) == each.replaces_files or not each.holds_views


def test_a_source_that_can_be_looked_at_only_needs_no_more() -> None:
    class Database(TableFormat):
        name = "database"

        def look(self, looks: Sequence[TableQuestion]) -> list[Seen]:
            return [Seen(each.table) for each in looks]

        def touches(self, table: str, path: str) -> bool:
            return False

    formats = Formats(Names(), Tables("files"), Database())
    assert formats.look([TableQuestion("database.t")]) == [Seen("database.t")] and not formats.pins({"database.t": "1"})
    with pytest.raises(ChangesUnknown, match="database.t does not tell"):
        formats.changed(None, "database.t", "1", "2")
