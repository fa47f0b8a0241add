"""Three DuckDB tables kept consistent by Headwater's core, partition by partition, without Spark."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from headwater import MONTH, Engine, Made, Replaced, Slice, Windowed, Written, table


class DuckWarehouse:
    """The warehouse port: a query's rows wait in a staging table, then take their place in one transaction."""

    def __init__(self, file: Path) -> None:
        self.db = duckdb.connect(str(file))

    def compute(self, launch) -> Written:
        definition, staged = launch.definition, f"staged_{launch.run.version}"
        columns = definition.partitioned_by
        with self.db.cursor() as db:
            db.execute(f"CREATE TABLE IF NOT EXISTS {definition.view} AS FROM ({definition.query}) LIMIT 0")
            db.execute(f"CREATE TABLE {staged} AS FROM ({definition.query}) WHERE {where(launch.run.slices)}")
            keys = ", ".join([*columns, "count(*)"])
            found = db.execute(f"SELECT {keys} FROM {staged} GROUP BY ALL").fetchall()
        parts = {Slice(tuple(zip(columns, map(str, row[:-1]), strict=True))): row[-1] for row in found}
        made = tuple(Made(each, rows, str(launch.run.version)) for each, rows in parts.items())
        return Written(made, tuple(each for each in launch.existing if each not in parts), staged)

    def publish(self, launch, written: Written) -> Replaced:
        view, staged = launch.definition.view, written.handle
        with self.db.cursor() as db:
            db.begin()
            db.execute(f"DELETE FROM {view} WHERE {where(launch.run.slices)}")
            db.execute(f"INSERT INTO {view} FROM {staged}")
            db.execute(f"DROP TABLE {staged}")
            db.commit()
        return Replaced()

    def remove(self, definition) -> None:
        self.db.cursor().execute(f"DROP TABLE IF EXISTS {definition.view}")

    def cancel(self, view, version):
        pass  # what it computes takes no time

    def evaluate(self, definition, sql, inputs, names):
        raise NotImplementedError("no map here is an SQL expression")


def where(slices) -> str:
    return " OR ".join(" AND ".join(["true", *(f"{key} = '{value}'" for key, value in each.bound)]) for each in slices)


def main(place: Path) -> list[str]:
    warehouse = DuckWarehouse(place / "shop.duckdb")
    db = warehouse.db
    db.execute("CREATE TABLE sales AS SELECT CAST(range AS DATE)::VARCHAR AS day, 10 AS amount "
               "FROM range(DATE '2024-01-01', DATE '2024-04-01', INTERVAL 1 DAY)")  # fmt: skip
    told = []
    with Engine(warehouse, place / "store.db") as engine:
        daily = "SELECT day, sum(amount) AS total FROM sales GROUP BY day"
        engine.declare("daily", daily, [table("sales", day="day")], partitioned_by=["day"])
        monthly = "SELECT day[:7] AS month, sum(total) AS total FROM daily GROUP BY 1"
        days = Windowed("day", MONTH.days(), "string")
        engine.declare("monthly", monthly, [table("daily", month=days)], partitioned_by=["month"])
        told.append(f"filled: {len(engine.drain())} partitions")
        db.execute("INSERT INTO sales VALUES ('2024-02-29', 5)")
        engine.changed("sales", {"day": "2024-02-29"})
        told += engine.explain("monthly")
        told += [f"{row['view']}[{row['partition']}]: {row['reason']}" for row in engine.drain()]
        for view, query in {"daily": daily, "monthly": monthly}.items():
            difference = f"(FROM {view} EXCEPT ALL {query}) UNION ALL ({query} EXCEPT ALL FROM {view})"
            told.append(f"{view} equals its query: {not db.execute(difference).fetchall()}")
    return told


if __name__ == "__main__":
    with TemporaryDirectory() as scratch:
        print(*main(Path(sys.argv[1]) if sys.argv[1:] else Path(scratch)), sep="\n")
