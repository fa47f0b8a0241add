"""The columns of a source change: its view goes on, is refreshed in full, or is broken and says why."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from attrs import frozen
from documents import section
from pyspark.sql import SparkSession
from support import Journal, database, drain, drain_in_vain

from headwater.model.event import Published

pytestmark = pytest.mark.long

FORMATS = {
    "files": "USING parquet PARTITIONED BY (p)",
    "delta": "USING delta PARTITIONED BY (p) TBLPROPERTIES "
    "('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true')",
    "iceberg": "USING iceberg PARTITIONED BY (p)",
}
GOES_ON, REBUILT, BROKEN = "goes on", "is refreshed in full", "is broken"
LAKES = ("delta", "iceberg")


@frozen
class Case:
    """Statements that change the table ``{t}``, and the view's fate; ``why``: part of the reason that it names."""

    statements: Sequence[str]
    fate: str
    why: str = ""
    formats: Sequence[str] = LAKES
    query: str = "SELECT sum(x) AS s, p FROM {t} GROUP BY p"


CASES = {
    "a column is added": Case(["ALTER TABLE {t} ADD COLUMNS (z INT)"], GOES_ON, formats=tuple(FORMATS)),
    "a column that is read is dropped": Case(["ALTER TABLE {t} DROP COLUMN x"], BROKEN, "x"),
    "a column that is not read is dropped": Case(["ALTER TABLE {t} DROP COLUMN y"], GOES_ON),
    "a column that is read is renamed": Case(["ALTER TABLE {t} RENAME COLUMN x TO x2"], BROKEN, "x"),
    "a column that is not read is renamed": Case(["ALTER TABLE {t} RENAME COLUMN y TO y2"], GOES_ON),
    "a column is another one of the same name": Case(
        ["ALTER TABLE {t} DROP COLUMN x", "ALTER TABLE {t} ADD COLUMNS (x INT)"], REBUILT
    ),
    "two columns change names": Case(
        [
            "ALTER TABLE {t} RENAME COLUMN x TO o",
            "ALTER TABLE {t} RENAME COLUMN y TO x",
            "ALTER TABLE {t} RENAME COLUMN o TO y",
        ],
        REBUILT,
    ),
    "a column is widened": Case(["ALTER TABLE {t} ALTER COLUMN x TYPE BIGINT"], REBUILT),
    "a column of the view is widened": Case(
        ["ALTER TABLE {t} ALTER COLUMN x TYPE BIGINT", "INSERT INTO {t} VALUES (3000000000, 1, 'a')"],
        REBUILT,
        query="SELECT x, p FROM {t}",
    ),
    "columns are reordered": Case(["ALTER TABLE {t} ALTER COLUMN y FIRST"], GOES_ON),
    "a column has another comment": Case(
        ["ALTER TABLE {t} ALTER COLUMN x COMMENT 'pieces'"], GOES_ON, formats=tuple(FORMATS)
    ),
    "the partitioning evolves": Case(
        ["ALTER TABLE {t} ADD PARTITION FIELD y", "INSERT INTO {t} VALUES (7, 7, 'a')"], REBUILT, formats=["iceberg"]
    ),
}


@pytest.mark.parametrize(
    ("name", "format"), [(name, format) for name, case in CASES.items() for format in case.formats]
)
def test_the_columns_of_a_source_change(spark: SparkSession, journal: Journal, name: str, format: str) -> None:
    case, place = CASES[name], f"lake.{database(spark)}" if format == "iceberg" else database(spark)
    table, view = f"{place}.t", f"{place}.v"
    spark.sql(f"CREATE TABLE {table} (x INT, y INT, p STRING) {FORMATS[format]}")
    spark.sql(f"INSERT INTO {table} VALUES (1, 10, 'a'), (2, 20, 'b')")
    query, stored = case.query.format(t=table), format if format in LAKES else "parquet"
    spark.sql(f"CREATE MATERIALIZED VIEW {view} USING {stored} PARTITIONED BY (p) AS {query}")
    journal.mark()
    for each in case.statements:
        spark.sql(each.format(t=table))
    drain_in_vain(spark) if case.fate == BROKEN else drain(spark)
    made = {str(made.slice) for each in journal.events() if isinstance(each, Published) for made in each.made}
    [row] = [row for row in spark.sql("SHOW MATERIALIZED VIEWS").collect() if row.database in place]
    fate = BROKEN if row.state == "broken" else REBUILT if made == {"p=a", "p=b"} else GOES_ON
    assert (fate, bool(made)) == (case.fate, case.fate == REBUILT)
    if fate == BROKEN:
        assert case.why in row.reason
    else:
        held, asked = (sorted(map(tuple, spark.sql(each).collect())) for each in (f"SELECT * FROM {view}", query))
        assert held == asked


def test_the_document_says_the_same() -> None:
    rows = [row.split("|")[1:-1] for row in section("docs/formats.md", "When columns change") if row.startswith("|")]
    told = {change.strip(): [cell.strip() for cell in cells] for change, *cells in rows[2:]}
    assert told == {
        name: [case.fate if each in case.formats else "–" for each in FORMATS] for name, case in CASES.items()
    }
