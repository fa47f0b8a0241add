"""Each table is looked at by its own format."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.model.seen import Look, Seen
from headwater.spark.formats import Formats


class Format:
    """A format that has the tables of one database; each look is noted."""

    def __init__(self, database: str) -> None:
        self._database, self.looked = database, []
        self.asked = 0
        self.gone: set[str] = set()

    def identify(self, table: str) -> bool:
        self.asked += 1
        return table.startswith(f"{self._database}.")

    def look(self, looks: Sequence[Look]) -> list[Seen]:
        self.looked.append([each.table for each in looks])
        return [Seen(each.table, exists=each.table not in self.gone, schema=self._database) for each in looks]

    def touches(self, table: str, path: str) -> bool:
        return path.startswith(self._database)


def test_tables_are_told_apart_by_format_and_answered_in_order():
    lake, files = Format("lake"), Format("")
    seen = Formats(lake, files).look([Look("a.t"), Look("lake.t"), Look("b.t"), Look("lake.u")])
    assert [each.table for each in seen] == ["a.t", "lake.t", "b.t", "lake.u"]
    assert [each.schema for each in seen] == ["", "lake", "", "lake"]
    assert (lake.looked, files.looked) == ([["lake.t", "lake.u"]], [["a.t", "b.t"]])


def test_a_table_is_identified_once_until_it_is_gone():
    lake = Format("lake")
    formats = Formats(lake, Format(""))
    for _ in range(2):
        formats.look([Look("lake.t")])
        assert formats.touches("lake.t", "lake/t") and lake.asked == 1
    lake.gone.add("lake.t")
    formats.look([Look("lake.t")])
    formats.look([Look("lake.t")])
    assert lake.asked == 2


def test_one_format_has_all_tables_and_is_not_asked():
    files = Format("")
    assert Formats(files).look([Look("t")])[0].table == "t" and files.asked == 0
