"""Random queries over random tables.

A query is drawn as a tree of operators. Each has columns with plain types, so that any operator fits on any other one.
No query depends on the order of rows: sums are of exact types, and window functions order by all columns.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from attrs import frozen

TYPES = {
    "k": "INT",
    "g": "STRING",
    "x": "DECIMAL(8, 2)",
    "n": "BIGINT",
    "f": "DOUBLE",
    "t": "TIMESTAMP",
    "a": "ARRAY<INT>",
    "s": "STRUCT<u: INT, v: STRING>",
    "d": "DATE",
}
"""The columns of each table. A partition column is the last one in every format."""
STRUCT = TYPES["s"]
EXACT = ("INT", "BIGINT", "DECIMAL(8, 2)")
VALUES = {
    "INT": ("NULL", "0", "1", "2", "3", "7"),
    "STRING": ("NULL", "''", "'a'", "'b c'", "'it\\'s \"q\" `b` ü'"),
    "DATE": ("NULL", "DATE'2024-02-29'", "DATE'2024-03-31'", "DATE'1582-10-04'"),
    "DECIMAL(8, 2)": ("NULL", "0.00", "-1.50", "2.25", "999999.99"),
    "BIGINT": ("NULL", "0", "1", "-1", "4000000000"),
    "DOUBLE": ("NULL", "0.0D", "-0.0D", "1.5D", "CAST('NaN' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)"),
    "TIMESTAMP": ("NULL", "TIMESTAMP'2024-10-27 00:30:00Z'", "TIMESTAMP'2024-10-27 01:30:00Z'"),
    "ARRAY<INT>": ("NULL", "array()", "array(1, 2)", "array(2, 2, NULL)"),
    STRUCT: ("NULL", "named_struct('u', 1, 'v', 'a')", "named_struct('u', CAST(NULL AS INT), 'v', '')"),
}
TABLES = ("r0", "r1", "r2")

Column = tuple[str, str]
"""A name and a type."""


@frozen
class Relation:
    """A query, and the columns that it makes."""

    sql: str
    columns: tuple[Column, ...]

    def of(self, *types: str) -> list[str]:
        """The columns of some types."""
        return [name for name, type in self.columns if type in types]

    @property
    def plain(self) -> list[str]:
        """The columns by which rows can be grouped and compared."""
        return [name for name, type in self.columns if type != "ARRAY<INT>"]


class Queries:
    """Draws queries."""

    def __init__(self, seed: int) -> None:
        self._random, self._names = random.Random(seed), 0
        self._views: list[Relation] = []

    def offer(self, view: str, columns: tuple[Column, ...]) -> None:
        """A view that later queries may read."""
        self._views.append(Relation(f"SELECT * FROM {view}", columns))

    def draw(self) -> Relation:
        """One query, whose columns can all be compared."""
        self._names = 0
        made = self._relation(self._random.randrange(2, 5))
        if len(made.plain) < len(made.columns) or len(made.columns) > 12:
            made = self._picked(made, self._some(made.plain, 6))
        return made

    # --- inside

    def _relation(self, depth: int) -> Relation:
        if depth == 0:
            return self._table()
        operators: list[Callable[[int], Relation]] = [
            self._filtered,
            self._computed,
            self._joined,
            self._joined,
            self._grouped,
            self._grouped,
            self._distinct,
            self._united,
            self._windowed,
            self._exploded,
            self._asking,
        ]
        return self._random.choice(operators)(depth - 1)

    def _table(self) -> Relation:
        if self._views and self._random.random() < 0.2:
            return self._renamed(self._random.choice(self._views))
        table = self._random.choice(TABLES)
        return self._renamed(Relation(f"SELECT * FROM {table}", tuple(TYPES.items())))

    def _name(self) -> str:
        self._names += 1
        return f"c{self._names}"

    def _renamed(self, made: Relation) -> Relation:
        """The same with names that no other relation has."""
        columns = tuple((self._name(), type) for _, type in made.columns)
        names = ", ".join(name for name, _ in columns)
        return Relation(f"SELECT * FROM ({made.sql}) AS q{self._name()}({names})", columns)

    def _some(self, names: Sequence[str], most: int, least: int = 1) -> list[str]:
        count = min(len(names), self._random.randrange(least, most + 1))
        return self._random.sample(list(names), count)

    def _picked(self, made: Relation, names: Sequence[str]) -> Relation:
        kept = tuple(each for each in made.columns if each[0] in names)
        return Relation(f"SELECT {', '.join(name for name, _ in kept)} FROM ({made.sql})", kept)

    def _condition(self, made: Relation) -> str:
        name, type = self._random.choice([each for each in made.columns if each[1] != "ARRAY<INT>"])
        value = self._random.choice(VALUES[type][1:])
        if self._random.random() < 0.1:
            return f"({name} < {value} OR {self._condition(made)})"
        told = ("{0} = {1}", "{0} <> {1}", "{0} > {1}", "{0} IS NULL OR {0} = {1}", "{0} IS NOT NULL", "{0} <=> {1}")
        return "(" + self._random.choice(told).format(name, value) + ")"

    def _filtered(self, depth: int) -> Relation:
        made = self._relation(depth)
        return Relation(f"SELECT * FROM ({made.sql}) WHERE {self._condition(made)}", made.columns)

    def _computed(self, depth: int) -> Relation:
        made = self._relation(depth)
        listed, columns = [], []
        for old, type in made.columns:
            name, r = self._name(), self._random.random()
            told = old
            if r < 0.2 and type == "DATE":
                told = f"CAST(trunc({old}, 'MM') AS DATE)"
            elif r < 0.3 and type in ("INT", "BIGINT"):
                told = f"CAST({old} % 3 AS {type})"
            elif r < 0.3 and type == "STRING":
                told = f"upper({old})"
            elif r < 0.5 and type == STRUCT:
                told, type = f"{old}.u", "INT"
            elif r < 0.2:
                told = f"if({self._condition(made)}, {old}, NULL)"
            elif r < 0.3:
                continue
            listed.append(f"{told} AS {name}")
            columns.append((name, type))
        if not [each for each in columns if each[1] != "ARRAY<INT>"]:
            return made
        return Relation(f"SELECT {', '.join(listed)} FROM ({made.sql})", tuple(columns))

    def _joined(self, depth: int) -> Relation:
        left, right = self._relation(depth), self._relation(self._random.randrange(depth + 1))
        pairs = [(a, b) for a, t in left.columns for b, u in right.columns if t == u and t not in ("ARRAY<INT>",)]
        if not pairs:
            return left
        chosen = self._random.sample(pairs, min(len(pairs), self._random.choice([1, 1, 1, 2])))
        on = " AND ".join(f"{a} {self._random.choice(['=', '=', '=', '<=>'])} {b}" for a, b in chosen)
        both = Relation("", (*left.columns, *right.columns))
        if self._random.random() < 0.2:
            on += f" AND {self._condition(both)}"
        kind = self._random.choice(["", "", "", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI"])
        columns = left.columns if kind in ("LEFT SEMI", "LEFT ANTI") else both.columns
        made = Relation(f"SELECT * FROM ({left.sql}) {kind} JOIN ({right.sql}) ON {on}", columns)
        return self._picked(made, self._some([name for name, _ in columns], 8, 3))

    def _grouped(self, depth: int) -> Relation:
        made = self._relation(depth)
        keys = self._some(made.plain, 3, 0)
        columns, listed = [each for each in made.columns if each[0] in keys], list(keys)
        for _ in range(self._random.randrange(1, 4)):
            told, type = self._aggregate(made)
            name = self._name()
            listed.append(f"{told} AS {name}")
            columns.append((name, type))
        by = ""
        if keys:
            by = self._random.choice([f"GROUP BY {', '.join(keys)}"] * 5 + [f"GROUP BY ROLLUP({', '.join(keys)})"])
            by += self._random.choice(["", "", " HAVING count(*) > 1"])
        order = {name: n for n, name in enumerate(keys)}
        columns.sort(key=lambda each: order.get(each[0], len(order)))
        sql = f"SELECT {', '.join(listed)} FROM ({made.sql}) {by}"
        return self._renamed(Relation(sql, tuple(columns)))

    def _aggregate(self, made: Relation) -> tuple[str, str]:
        exact, any_ = made.of(*EXACT), made.plain
        only = self._random.choice(["", "", f" FILTER (WHERE {self._condition(made)})"])
        choices = [("count(*)", "BIGINT"), (f"count({self._random.choice(any_)})", "BIGINT")]
        some = self._random.choice([each for each in made.columns if each[0] in any_])
        choices += [(f"{self._random.choice(['min', 'max'])}({some[0]})", some[1])]
        choices += [(f"count(DISTINCT {self._random.choice(any_)})", "BIGINT")]
        choices += [(f"count(DISTINCT {', '.join(self._random.sample(any_, min(2, len(any_))))})", "BIGINT")]
        choices += [(f"count_if({self._condition(made)})", "BIGINT")]
        choices += [(f"{self._random.choice(['every', 'some'])}({self._condition(made)})", "BOOLEAN")]
        choices += [(f"bit_xor({each})", dict(made.columns)[each]) for each in made.of("INT", "BIGINT")[:1]]
        if exact:
            column = self._random.choice(exact)
            type = dict(made.columns)[column]
            total = "BIGINT" if type in ("INT", "BIGINT") else "DECIMAL(8, 2)"
            choices += [(f"sum({column})", total)] * 2 + [(f"sum(DISTINCT {column})", total)]
            if type != "BIGINT":
                choices += [(f"avg({column})", "DOUBLE")]
        told, type = self._random.choice(choices)
        told = f"{told}{only}"
        if type == "BOOLEAN":
            return f"CAST({told} AS INT)", "INT"
        return (f"try_cast({told} AS {type})", type) if type == "DECIMAL(8, 2)" else (told, type)

    def _distinct(self, depth: int) -> Relation:
        made = self._relation(depth)
        made = self._picked(made, self._some(made.plain, 4))
        return Relation(f"SELECT DISTINCT * FROM ({made.sql})", made.columns)

    def _united(self, depth: int) -> Relation:
        left, right = self._relation(depth), self._relation(depth)
        left = self._picked(left, left.plain)
        kind = self._random.choice(["UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL"])
        own: list[str] = []
        for _, type in left.columns:
            fitting = right.of(type)
            own.append(self._random.choice(fitting) if fitting else f"CAST(NULL AS {type})")
        listed = ", ".join(f"{told} AS {name}" for told, (name, _) in zip(own, left.columns, strict=True))
        made = f"SELECT * FROM ({left.sql}) {kind} SELECT {listed} FROM ({right.sql})"
        return self._renamed(Relation(made, left.columns))

    def _windowed(self, depth: int) -> Relation:
        made = self._relation(depth)
        made = self._picked(made, made.plain)
        by, order = self._some(made.plain, 2), ", ".join(made.plain)
        name, exact = self._name(), made.of("INT", "BIGINT")
        told = self._random.choice(["row_number()", "rank()", "count(*)"] + [f"sum({each})" for each in exact[:1]])
        over = f"OVER (PARTITION BY {', '.join(by)} ORDER BY {order})"
        sql = f"SELECT *, CAST({told} {over} AS BIGINT) AS {name} FROM ({made.sql})"
        return Relation(sql, (*made.columns, (name, "BIGINT")))

    def _exploded(self, depth: int) -> Relation:
        made = self._relation(depth)
        arrays, name = made.of("ARRAY<INT>"), self._name()
        source = self._random.choice(arrays) if arrays else "array(1, 2)"
        kind = self._random.choice(["", "OUTER"])
        sql = f"SELECT * FROM ({made.sql}) LATERAL VIEW {kind} explode({source}) AS {name}"
        return Relation(sql, (*made.columns, (name, "INT")))

    def _asking(self, depth: int) -> Relation:
        """Rows that a subquery decides over."""
        made, other = self._relation(depth), self._relation(self._random.randrange(depth + 1))
        pairs = [(a, b) for a, t in made.columns for b, u in other.columns if t == u and t != "ARRAY<INT>"]
        if not pairs:
            return made
        a, b = self._random.choice(pairs)
        no = self._random.choice(["", "NOT "])
        condition = self._random.choice(
            [
                f"{a} {no}IN (SELECT {b} FROM ({other.sql}))",
                f"{no}EXISTS (SELECT 1 FROM ({other.sql}) WHERE {a} = {b})",
                f"{a} >= (SELECT max({b}) FROM ({other.sql}))",
                f"(SELECT count(*) FROM ({other.sql}) WHERE {a} = {b}) > 1",
            ]
        )
        return Relation(f"SELECT * FROM ({made.sql}) WHERE {condition}", made.columns)
