"""Random tables of several formats, and random changes of them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from attrs import frozen
from fuzz import TABLES, TYPES, VALUES

Statements = list[str]

USING = {
    "delta": "USING delta {by} TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')",
    "vectors": "USING delta {by} TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    "iceberg": "USING iceberg {by}",
    "parquet": "USING parquet {by}",
}
"""The formats of sources, each with its clauses. Tables in Iceberg lie in another catalog, and ordinary views show
them."""


@frozen
class Place:
    """Where the tables are.

    Attributes:
        database: in the session's catalog; Iceberg tables are in ``lake`` below the same name.
        partitioned: those with a partition for each day.
    """

    source: str
    database: str
    partitioned: Sequence[str]

    def table(self, name: str) -> str:
        """The name by which statements change a table."""
        return f"lake.{self.database}.{name}" if self.source == "iceberg" else name

    def made(self) -> Statements:
        """The statements that make the tables."""
        columns = ", ".join(f"{name} {type}" for name, type in TYPES.items())
        statements = []
        for name in TABLES:
            by = "PARTITIONED BY (d)" if name in self.partitioned else ""
            statements.append(f"CREATE TABLE {self.table(name)} ({columns}) {USING[self.source].format(by=by)}")
            if self.source == "iceberg":
                statements.append(f"CREATE VIEW {name} AS SELECT * FROM {self.table(name)}")
        return statements


class Changes:
    """Draws statements that make and change tables."""

    def __init__(self, seed: int, source: str, database: str) -> None:
        self._random = random.Random(seed)
        partitioned = self._random.sample(TABLES, self._random.choice([0, 1]))
        self.place = Place(source, database, partitioned)
        self._filled: set[str] = set()

    def made(self) -> Statements:
        """The tables with some rows. One may be empty."""
        statements = self.place.made()
        for table in TABLES:
            if count := self._random.choice([0, 8, 15]):
                statements.append(self._inserted(table, count))
                self._filled.add(self.place.table(table))
        return statements

    def some(self) -> Statements:
        """The changes of one round. Now and then rows only come."""
        drawn = self._random.choice([self._any, self._any, self._coming])
        return [drawn() for _ in range(self._random.choice([1, 1, 2, 3]))]

    # --- inside

    def _inserted(self, table: str, count: int) -> str:
        rows = [tuple(self._random.choice(VALUES[type]) for type in TYPES.values()) for _ in range(count)]
        rows += self._random.sample(rows, len(rows) // 4)
        return f"INSERT INTO {self.place.table(table)} VALUES {', '.join('(' + ', '.join(row) + ')' for row in rows)}"

    def _condition(self) -> str:
        name, type = self._random.choice([each for each in TYPES.items() if each[1] in ("INT", "STRING", "DATE")])
        return f"{name} <=> {self._random.choice(VALUES[type])}"

    def _coming(self) -> str:
        table, other = (self.place.table(self._random.choice(TABLES)) for _ in range(2))
        return self._random.choice(
            [
                self._inserted(self._random.choice(TABLES), self._random.choice([1, 3])),
                f"INSERT INTO {table} SELECT * FROM {other} WHERE {self._condition()}",
                *self._compacted(table),
            ]
        )

    def _any(self) -> str:
        table, other = (self.place.table(self._random.choice(TABLES)) for _ in range(2))
        if self.place.source == "parquet":
            overwrite = f"INSERT OVERWRITE {table} SELECT * FROM {other} WHERE {self._condition()}"
            return overwrite if table != other and self._random.random() < 0.3 else self._coming()
        name, type = self._random.choice([each for each in TYPES.items() if each[1] != "ARRAY<INT>"])
        new, where = self._random.choice(VALUES[type]), self._condition()
        return self._random.choice(
            [
                self._coming(),
                self._coming(),
                f"DELETE FROM {table} WHERE {where}",
                f"UPDATE {table} SET {name} = {new} WHERE {where}",
                f"UPDATE {table} SET k = k + 1, n = k WHERE {where}",
                f"DELETE FROM {table}",
                f"INSERT OVERWRITE {table} SELECT * FROM {table} WHERE {name} IS NOT NULL",
                f"MERGE INTO {table} t USING (SELECT DISTINCT k, g FROM {other} WHERE k < 3 AND g > '') s"
                " ON t.k = s.k + 1 AND t.g = s.g WHEN MATCHED AND t.n = 1 THEN DELETE"
                " WHEN MATCHED THEN UPDATE SET k = s.k WHEN NOT MATCHED THEN INSERT (k, g) VALUES (s.k, s.g)",
                *self._put_back(table),
            ]
        )

    def _compacted(self, table: str) -> Statements:
        """The same rows in other files."""
        match self.place.source:
            case "parquet":
                return []
            case "iceberg":
                return [f"CALL lake.system.rewrite_data_files(table => '{table.removeprefix('lake.')}')"]
            case _:
                return [f"OPTIMIZE {table}"]

    def _put_back(self, table: str) -> Statements:
        """An older state: without rows, or with the first ones."""
        if self.place.source == "iceberg":
            return []
        version = self._random.choice([0, 1]) if table in self._filled else 0
        return [f"RESTORE TABLE {table} TO VERSION AS OF {version}"]
