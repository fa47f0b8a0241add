"""The tables and views of the soak test, and the writes that change the tables.

Each row of a table has a twin: their ``x`` add up to 0, and one commit writes both. A table's ``gen`` only grows, and
``weight`` is a sum of random numbers. So one row of a view shows whether it reflects a part of a commit, an older state
than before, or a state that no commit left.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from attrs import evolve, frozen

from benchmarks.parts.lakes import CATALOGS, USING

DATABASE = "soak"
DAYS = ("01", "02", "03", "04")
BATCH, STREAM = "batch", "stream"
SUMS = "count(*) AS n, sum(x) AS zero, max(gen) AS gen, sum(weight) AS weight"
TOTALS = "sum(n) AS n, sum(zero) AS zero, max(gen) AS gen, sum(weight) AS weight"
PROPERTIES = {"headwater.settle": "3 seconds", "headwater.fill": "later"}

DELETES = {
    "files": "",
    "delta": "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    "iceberg": "TBLPROPERTIES ('write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read')",
}
"""So that rows are deleted without rewriting their files."""


@frozen
class Day:
    """The rows of one day: how many, the newest write, and the sum of their weights."""

    n: int = 0
    gen: int = 0
    weight: int = 0


Days = Mapping[str, Day]


@frozen
class Table:
    """A source: written by batches or by a stream."""

    kind: str
    format: str

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.format}"

    @property
    def key(self) -> str:
        return f"{CATALOGS[self.format]}.{DATABASE}.{self.name}"

    @property
    def statement(self) -> str:
        using, deletes = USING[self.format], DELETES[self.format]
        columns = "day STRING, gen BIGINT, x BIGINT, weight BIGINT"
        return f"CREATE TABLE {self.key} ({columns}) USING {using} PARTITIONED BY (day) {deletes}"


@frozen
class View:
    """A view.

    Attributes:
        of: the table whose days it sums up, if it does just that.
        group: that it is a member of, if it is one.
    """

    name: str
    format: str
    query: str
    of: Table | None = None
    columns: tuple[str, ...] = ()
    group: str = ""

    @property
    def key(self) -> str:
        return f"{CATALOGS[self.format]}.{DATABASE}.{self.name}"

    @property
    def statement(self) -> str:
        properties = {**PROPERTIES, **({"headwater.group": self.group} if self.group else {})}
        stated = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        partitioned = f"PARTITIONED BY ({', '.join(self.columns)})" if self.columns else ""
        return (
            f"CREATE MATERIALIZED VIEW {self.key} USING {USING[self.format]} {partitioned} TBLPROPERTIES ({stated}) "
            f"AS {self.query}"
        )


TABLES = tuple(Table(kind, format) for format in USING for kind in (BATCH, STREAM))


LAKES = {"delta": "iceberg", "iceberg": "delta"}
"""The formats whose views can be in a group, each with the other one."""


def _views() -> Iterator[View]:
    """The days of each table, in its own format; totals of them, each in the next format; and two formats joined.

    The days of lake tables, and their sums over all days in the other lake format, are groups, one for each format.
    """
    days = {
        each: View(
            f"days_of_{each.name}",
            each.format,
            f"SELECT day, {SUMS} FROM {each.key} GROUP BY day",
            each,
            ("day",),
            each.format if each.format in LAKES else "",
        )
        for each in TABLES
    }
    yield from days.values()
    for each in TABLES:
        if each.format in LAKES:
            yield View(all_of(each), LAKES[each.format], f"SELECT {SUMS} FROM {each.key}", group=each.format)
    formats = list(USING)
    for before, format in zip(formats, formats[1:] + formats[:1], strict=True):
        both = " UNION ALL ".join(f"SELECT * FROM {days[Table(kind, before)].key}" for kind in (BATCH, STREAM))
        yield View(f"total_of_{before}", format, f"SELECT {TOTALS} FROM ({both})")
    delta, iceberg = (days[Table(BATCH, each)].key for each in ("delta", "iceberg"))
    columns = ", ".join(f"d.{each} + i.{each} AS {each}" for each in ("n", "zero", "gen", "weight"))
    yield View(
        "joined", "files", f"SELECT d.day, {columns} FROM {delta} d JOIN {iceberg} i ON d.day = i.day", None, ("day",)
    )


def all_of(table: Table) -> str:
    """The name of the view with the sums over all days of a lake table."""
    return f"all_of_{table.name}"


VIEWS = tuple(_views())


def key_of(view: str) -> str:
    """The key of a view by its name."""
    return next(each.key for each in VIEWS if each.name == view)


# --- writes


@frozen
class Row:
    day: str
    gen: int
    x: int
    weight: int

    @property
    def sql(self) -> str:
        return f"('{self.day}', {self.gen}, {self.x}, {self.weight})"


@frozen
class Write:
    """A statement that is one commit, and the days that it changes, as they are after it."""

    statement: str
    after: Days


def pair(day: str, gen: int, chance: random.Random) -> tuple[Row, Row]:
    """Two rows that are written together."""
    x = chance.randrange(1, 1_000_000)
    return Row(day, gen, x, chance.randrange(1_000_000)), Row(day, gen, -x, chance.randrange(1_000_000))


def added(before: Day, rows: Sequence[Row]) -> Day:
    """A day after rows of one write came."""
    return Day(before.n + len(rows), rows[0].gen, before.weight + sum(each.weight for each in rows))


def opening(table: Table, chance: random.Random) -> tuple[Write, tuple[Row, ...]]:
    """The first write of a table, a pair for each day; and its rows."""
    pairs = {day: pair(day, 1, chance) for day in DAYS}
    rows = tuple(row for each in pairs.values() for row in each)
    values = f"SELECT * FROM VALUES {_values(rows)} AS new(day, gen, x, weight)"
    return Write(f"INSERT INTO {table.key} BY NAME {values}", {day: added(Day(), pairs[day]) for day in DAYS}), rows


def append(table: Table, days: Days, gen: int, chance: random.Random) -> Write:
    """One file with a pair. It appears at once in a table of files, too."""
    day = chance.choice(DAYS)
    rows = pair(day, gen, chance)
    values = f"SELECT /*+ COALESCE(1) */ * FROM VALUES {_values(rows)} AS new(day, gen, x, weight)"
    return Write(f"INSERT INTO {table.key} BY NAME {values}", {day: added(days[day], rows)})


def overwrite(table: Table, days: Days, gen: int, chance: random.Random) -> Write:
    """A day that has just one pair then."""
    day = chance.choice(DAYS)
    rows = pair(day, gen, chance)
    into = {
        "delta": f"INSERT INTO {table.key} REPLACE WHERE day = '{day}'",
        "iceberg": f"INSERT OVERWRITE {table.key}",  # of the partitions that have new rows
    }[table.format]
    return Write(f"{into} SELECT * FROM VALUES {_values(rows)} AS new(day, gen, x, weight)", {day: added(Day(), rows)})


def update(table: Table, days: Days, gen: int, chance: random.Random) -> Write:
    day, by = chance.choice(DAYS), chance.randrange(1_000_000)
    before = days[day]
    after = evolve(before, gen=gen, weight=before.weight + by * before.n)
    return Write(f"UPDATE {table.key} SET weight = weight + {by}, gen = {gen} WHERE day = '{day}'", {day: after})


def merge(table: Table, days: Days, gen: int, chance: random.Random) -> Write:
    """A pair for each of two days."""
    one, other = chance.sample(DAYS, 2)
    rows = {day: pair(day, gen, chance) for day in (one, other)}
    statement = (
        f"MERGE INTO {table.key} AS old USING (SELECT * FROM VALUES {_values((*rows[one], *rows[other]))} "
        "AS new(day, gen, x, weight)) AS new ON old.day = new.day AND old.gen = new.gen AND old.x = new.x "
        "WHEN MATCHED THEN UPDATE SET weight = new.weight WHEN NOT MATCHED THEN INSERT *"
    )
    return Write(statement, {day: added(days[day], rows[day]) for day in rows})


def compact(table: Table, days: Days, gen: int, chance: random.Random) -> Write:
    """The same rows in other files."""
    statement = {
        "delta": f"OPTIMIZE {table.key}",
        "iceberg": f"CALL {CATALOGS['iceberg']}.system.rewrite_data_files(table => '{DATABASE}.{table.name}', "
        "options => map('min-input-files', '2'))",
    }[table.format]
    return Write(statement, {})


Kind = Callable[[Table, Days, int, random.Random], Write]
LAKE_KINDS: tuple[Kind, ...] = (append, append, overwrite, update, merge, compact)
KINDS: dict[str, tuple[Kind, ...]] = {"files": (append,), "delta": LAKE_KINDS, "iceberg": LAKE_KINDS}


def _values(rows: Sequence[Row]) -> str:
    return ", ".join(each.sql for each in rows)


# --- states


class States:
    """The states of a table's days that a commit has left, or is about to leave: a writer says so before it commits."""

    def __init__(self, folder: Path, table: Table) -> None:
        self._file = folder / f"{table.name}.states"
        self._known: set[tuple[str, Day]] = {(day, Day()) for day in DAYS}
        self._read = 0

    def add(self, after: Days) -> None:
        with self._file.open("a") as out:
            for day, each in after.items():
                out.write(json.dumps([day, each.n, each.gen, each.weight]) + "\n")

    def has(self, day: str, state: Day) -> bool:
        if (day, state) not in self._known:
            self._refresh()
        return (day, state) in self._known

    def _refresh(self) -> None:
        with self._file.open() as lines:
            lines.seek(self._read)
            while (line := lines.readline()).endswith("\n"):
                day, *state = json.loads(line)
                self._known.add((day, Day(*state)))
                self._read = lines.tell()
