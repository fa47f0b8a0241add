"""Every derivation rule against recomputation.

Each case is a query. Its sources are changed in one partition at a time (appended to, replaced,
dropped, created); the query is computed before and after. *Sound*: each view partition whose bag
of rows changed lies in a slice of ``forward()``. *Exact*: where the case states slices, they are
all that ``forward()`` answers.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from derive_cases import BASE, CHANGES, SCHEMAS, STATED, Case, Change
from derive_cases import CASES as RULES
from derive_shapes import REPRESENTATIVE, SHAPES
from golden_plans import ALL, kept, write

from headwater.algebra.dependency import forward, missing
from headwater.algebra.derive import Derivation, derive
from headwater.algebra.derive.keys import derive_keys
from headwater.model.dependency import Computed, Dependency, Keys
from headwater.model.partition import Slice, Value
from headwater.spark.jvm import sql
from headwater.spark.jvm.shim import Shim

CASES = [*RULES, *SHAPES]
GOLDEN = sorted((Path(__file__).parents[1] / "golden/plans").glob("*.json"))


class Lab:
    """Partitioned Parquet tables in ``base``; for each change a database that shows them changed."""

    def __init__(self, spark) -> None:
        self.spark = spark
        spark.sql("CREATE DATABASE base")
        for name, (schema, by) in SCHEMAS.items():
            spark.sql(f"CREATE TABLE base.{name} ({schema}) USING parquet PARTITIONED BY ({', '.join(by)})")
            spark.sql(f"INSERT INTO base.{name} {_values(name, BASE[name])}")
        self._monthly("base")
        spark.sql("CREATE VIEW base.dated AS SELECT o_id FROM base.orders WHERE o_date < DATE'today'")
        spark.sql("CREATE FUNCTION base.since() RETURNS DATE RETURN DATE'yesterday'")
        spark.sql("CREATE FUNCTION base.recent() RETURNS TABLE (d DATE) RETURN SELECT DATE'today'")
        self.made = ["base"]

    def use(self, database: str) -> None:
        """Makes a database the current one. That of a change comes to be when a test first needs it."""
        if database not in self.made:
            change = next(each for each in CHANGES if database == f"after_{each.name}")
            self.spark.sql(f"CREATE DATABASE {database}")
            for name in SCHEMAS:
                rows = _values(name, _replaced(change)) if name == change.table else f"SELECT * FROM base.{name}"
                self.spark.sql(f"CREATE VIEW {database}.{name} AS {rows}")
            self._monthly(database)
            self.made.append(database)
        self.spark.sql(f"USE {database}")

    def _monthly(self, database: str) -> None:
        query = f"SELECT date_trunc('MONTH', o_date) AS m, * FROM {database}.orders WHERE o_id > 0"
        self.spark.sql(f"CREATE VIEW {database}.monthly AS {query}")

    def partitions(self, database: str, case: Case) -> dict[Slice, Counter]:
        """The result's rows by partition, spelled as the catalog would."""
        self.use(database)
        spelled = ", ".join(f"CAST({_published(each, case)} AS STRING)" for each in case.by)
        result: dict[Slice, Counter] = defaultdict(Counter)
        for row in self.spark.sql(f"SELECT struct(*), struct({spelled}) FROM ({case.sql})").collect():
            values = map(sql.partition_value, row[1])
            result[Slice.of(dict(zip(case.by, values, strict=True)))][str(row[0])] += 1
        return dict(result)

    def derive(self, case: Case) -> Derivation:
        description, columns = self.described(case)
        return derive(description, case.by, columns)

    def described(self, case: Case) -> tuple[dict, list[tuple[str, str]]]:
        self.spark.sql("USE base")
        description = Shim(self.spark).describe(self.spark, case.sql).plan
        columns = [(each["name"], case.types.get(each["name"], each["type"])) for each in description["columns"]]
        return description, columns

    def keys(self, case: Case) -> dict[str, Keys]:
        description, columns = self.described(case)
        return derive_keys(description, (), columns)

    def rows(self, database: str, case: Case, keys: Keys) -> Counter:
        """The result's rows, each with its key."""
        self.use(database)
        key = ", ".join(f"{_published(each, case)} AS `{each}`" for each in keys.columns)
        rows = self.spark.sql(f"SELECT struct({key}), struct(*) FROM ({case.sql})").collect()
        return Counter((str(row[0]), str(row[1])) for row in rows)

    def reached(self, change: Change, keys: Keys) -> set[str]:
        """The keys of all rows that came and went."""
        self.use(f"after_{change.name}")
        tables = [f"{database}.{change.table}" for database in ("base", f"after_{change.name}")]
        rows = [Counter(self.spark.table(each).collect()) for each in tables]
        schema = self.spark.table(tables[0]).schema
        changed = self.spark.createDataFrame([*(rows[0] - rows[1]), *(rows[1] - rows[0])], schema)
        found: set[str] = set()
        for place in keys.places:
            named = [f"{sql} AS `{column}`" for column, sql in zip(keys.columns, place, strict=True)]
            found |= {str(row[0]) for row in changed.selectExpr(*named).selectExpr("struct(*)").collect()}
        return found

    def forward(self, derivation: Derivation, change: Change) -> tuple[Slice, ...]:
        for dependency in derivation.dependencies:
            if dependency.source == f"base.{change.table}":
                return forward(dependency, change.slice, self._images(dependency, change.slice))
        return ()

    def _images(self, dependency: Dependency, changed: Slice) -> dict:
        inputs = {
            each.sql: each.inputs
            for occurrence in dependency.occurrences
            for _, each in occurrence.columns
            if isinstance(each, Computed)
        }
        return {
            (key, values): self._evaluated(key, dict(zip(inputs[key], values, strict=True)))
            for key, values in missing(dependency, changed, {})
        }

    def _evaluated(self, expression: str, values: dict[str, Value]) -> Value:
        """The expression's value, as the runtime computes it: over strings, in SQL."""
        cells = ["1", *map(sql.string, values.values())]
        names = ["it", *(f"`{each}`" for each in values)]
        found = self.spark.sql(f"SELECT {expression} FROM VALUES ({', '.join(cells)}) t({', '.join(names)})")
        return sql.partition_value(found.first()[0])


def _published(column: str, case: Case) -> str:
    """A column as a publication has it: in its declared type."""
    return f"CAST(`{column}` AS {case.types[column]})" if column in case.types else f"`{column}`"


def _values(table: str, rows: list[tuple]) -> str:
    """A query for the rows, with the table's types."""
    columns = [each.split() for each in SCHEMAS[table][0].split(", ")]
    cells = [", ".join("NULL" if each is None else f"'{each}'" for each in row) for row in rows]
    tuples = ", ".join(f"({row})" for row in cells)
    names = ", ".join(name for name, _ in columns)
    casts = ", ".join(f"CAST({name} AS {type}) AS {name}" for name, type in columns)
    return f"SELECT {casts} FROM VALUES {tuples} AS t({names})"


def _replaced(change: Change) -> list[tuple]:
    schema, by = SCHEMAS[change.table]
    names = [each.split()[0] for each in schema.split(", ")]

    def inside(row: tuple) -> bool:
        values = dict(zip(names, row, strict=True))
        return all((None if values[c] is None else str(values[c])) == change.slice.value(c) for c in by)

    return [*(row for row in BASE[change.table] if not inside(row)), *change.rows]


SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Compiling and re-planning cost more than these rows."""


@pytest.fixture(scope="module")
def lab(application):
    """In a session of its own, so that its settings and current database touch no other test."""
    spark = application.newSession()
    for name, value in SMALL.items():
        spark.conf.set(name, value)
    made = Lab(spark)
    yield made
    spark.sql("USE default")
    for database in reversed(made.made):
        spark.sql(f"DROP DATABASE {database} CASCADE")


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_derived_partitions_hold_every_change(lab: Lab, case: Case) -> None:
    derivation = lab.derive(case)
    read = {each.source.rsplit(".", 1)[-1] for each in derivation.reads}
    before = lab.partitions("base", case)
    touched = 0
    for change in REPRESENTATIVE if case in SHAPES else CHANGES:
        if change.table not in read:
            continue
        after = lab.partitions(f"after_{change.name}", case)
        changed = {each for each in before.keys() | after.keys() if before.get(each) != after.get(each)}
        reached = lab.forward(derivation, change)
        for each in changed:
            assert any(slice.covers(each) for slice in reached), f"{change.name}: {each} not in {reached}"
        touched += len(changed)
    assert touched, "no change reached the view: the case shows nothing"


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_derived_keys_reach_every_row_that_changes(lab: Lab, case: Case) -> None:
    for table, keys in lab.keys(case).items():
        if not keys.columns:
            assert keys.reason
            continue
        for change in REPRESENTATIVE if case in SHAPES else CHANGES:
            if f"base.{change.table}" == table:
                before, after = (lab.rows(place, case, keys) for place in ("base", f"after_{change.name}"))
                changed = {key for key, _ in (before - after) + (after - before)}
                assert changed <= lab.reached(change, keys), (change.name, keys)


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_query_is_described_alike_each_time(lab: Lab, case: Case) -> None:
    lab.spark.sql("USE base")
    shim = Shim(lab.spark)
    assert shim.describe(lab.spark, case.sql) == shim.describe(lab.spark, case.sql)


@pytest.mark.thorough
@pytest.mark.parametrize("case", [each for each in CASES if each.exact], ids=lambda case: case.name)
def test_derived_partitions_are_no_more_than_stated(lab: Lab, case: Case) -> None:
    derivation = lab.derive(case)
    for source, slices in case.exact.items():
        change = next(each for each in CHANGES if each.name == STATED[source])
        assert set(lab.forward(derivation, change)) == set(slices), derivation.dependencies


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT rand() AS r FROM orders", "nondeterministic"),
        ("SELECT uuid() AS r FROM orders", "nondeterministic"),
        ("SELECT aes_encrypt(o_region, repeat('k', 16)) AS r FROM orders", "nondeterministic"),
        ("SELECT hex(aes_encrypt(o_region, repeat('k', 16), 'CBC')) AS r FROM orders", "nondeterministic"),
        ("SELECT o_id FROM orders WHERE o_date > current_date()", "nondeterministic"),
        ("SELECT current_timestamp() AS t, o_id FROM orders", "nondeterministic"),
        ("SELECT o_id, now() - INTERVAL 1 DAY AS t FROM orders", "nondeterministic"),
        ("SELECT unix_timestamp() AS t, o_id FROM orders", "nondeterministic"),
        ("SELECT current_user() AS u, o_id FROM orders", "nondeterministic"),
        ("SELECT o_id FROM orders WHERE o_date > CAST('today' AS date)", "nondeterministic"),
        ("SELECT o_id FROM orders WHERE o_date > CAST('Today UTC' AS date)", "nondeterministic"),
        ("SELECT o_id FROM orders WHERE o_date > CAST(concat('to', 'day') AS date)", "nondeterministic"),
        ("SELECT o_id FROM orders WHERE o_date > DATE'tomorrow'", "nondeterministic"),
        ("SELECT o_id, TIMESTAMP'now' AS t FROM orders", "nondeterministic"),
        ("SELECT o_id, TIMESTAMP_NTZ 'yesterday' AS t FROM orders", "nondeterministic"),
        ("SELECT o_id FROM orders WHERE o_date IN (SELECT to_date('today'))", "nondeterministic"),
        ("SELECT o_id, to_timestamp('now') AS t, date('yesterday') AS d FROM orders", "nondeterministic"),
        ("SELECT o_id FROM dated", "nondeterministic"),
        ("SELECT o_id FROM orders WHERE o_date > since()", "nondeterministic"),
        ("SELECT * FROM orders JOIN recent()", "nondeterministic"),
        ("SELECT TRANSFORM(o_id) USING 'cat' AS (x) FROM orders", "script"),
        ("SELECT collect_list(o_id) AS l FROM orders", "nondeterministic"),
        ("SELECT array_sort(collect_list(o_id), (a, b) -> 0) AS l FROM orders", "nondeterministic"),
        ("SELECT first(o_id) AS l FROM orders", "nondeterministic"),
        ("SELECT mode(o_id) AS l FROM orders", "nondeterministic"),
        ("SELECT listagg(o_region) AS l FROM orders", "nondeterministic"),
        ("SELECT o_id, first(o_date) OVER (PARTITION BY o_region) AS f FROM orders", "nondeterministic"),
        ("SELECT any_value(o_id) AS l FROM orders", "nondeterministic"),
        ("SELECT input_file_name() AS f FROM orders", "nondeterministic"),
        ("SELECT monotonically_increasing_id() AS f FROM orders", "nondeterministic"),
        ("SELECT _metadata.file_path AS f FROM orders", "file_metadata"),
        ("SELECT o_id FROM orders LIMIT 3", "unordered_limit"),
        ("SELECT o_id FROM (SELECT * FROM orders ORDER BY o_id) WHERE o_id > 1 LIMIT 3", "unordered_limit"),
        ("SELECT o_id FROM orders SORT BY o_id LIMIT 3", "unordered_limit"),
        ("SELECT o_id FROM orders OFFSET 3", "unordered_limit"),
        ("SELECT o_id FROM orders TABLESAMPLE (10 PERCENT)", "sample"),
        ("SELECT * FROM passing", "temporary_view"),
        ("SELECT o_id FROM STREAM orders", "stream"),
    ],
)
def test_queries_that_their_sources_do_not_determine_are_refused(lab: Lab, sql: str, code: str) -> None:
    lab.spark.sql("CREATE OR REPLACE TEMPORARY VIEW passing AS SELECT 1 AS x")
    try:
        assert code in {each.code for each in lab.derive(Case("", sql, "")).problems}
    finally:
        lab.spark.sql("DROP VIEW passing")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT o_id FROM orders ORDER BY o_amount LIMIT 3",
        "SELECT o_id + 1 AS i FROM orders ORDER BY o_amount LIMIT 3 OFFSET 1",
        "SELECT sort_array(collect_list(o_id)) AS l FROM orders",
        "SELECT size(sort_array(collect_set(o_id))) AS l FROM orders",
        "SELECT array_sort(collect_set(o_id)) AS l FROM orders",
        "SELECT o_id FROM orders WHERE o_date > date'2024-01-01' + INTERVAL 1 DAY",
        "SELECT o_id FROM monthly",
        "SELECT o_id FROM orders WHERE o_date > DATE'epoch' AND 'now' > o_region",
        "SELECT o_id, first(o_date) OVER (PARTITION BY o_region ORDER BY o_id) AS f FROM orders",
        "SELECT listagg(o_region) WITHIN GROUP (ORDER BY o_region) AS l FROM orders",
        "SELECT hex(aes_encrypt(o_region, repeat('k', 16), 'ECB')) AS r FROM orders",
    ],
)
def test_determined_queries_are_accepted(lab: Lab, sql: str) -> None:
    assert lab.derive(Case("", sql, "")).problems == ()


def test_views_and_paths_are_told_apart(lab: Lab) -> None:
    where = lab.spark.sql("DESCRIBE FORMATTED base.lines").filter("col_name = 'Location'").first()[1]
    found = lab.derive(Case("", f"SELECT 1 AS x FROM monthly, parquet.`{where}`, base.lines", ""))
    assert found.views == ("base.monthly",)
    by_name = {each.source: each for each in found.reads}
    assert by_name["base.orders"].partition_columns == (("o_date", "DATE"), ("o_region", "STRING"))
    assert by_name["base.lines"].kind == "file"
    assert any(name.startswith("path:file:/") and name.endswith("/lines") for name in by_name)


def test_a_command_is_not_a_query(lab: Lab) -> None:
    with pytest.raises(Exception, match="not a query"):
        lab.derive(Case("", "SHOW TABLES", ""))


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_golden_plans_are_what_spark_says(lab: Lab, golden: Path, request: pytest.FixtureRequest) -> None:
    kept = json.loads(golden.read_text())
    lab.spark.sql("USE base")
    found = Shim(lab.spark).describe(lab.spark, kept["sql"]).plan
    if request.config.getoption("golden"):
        kept["description"] = found
        golden.write_text(json.dumps(kept, indent=1) + "\n")
    assert found == kept["description"], "after a look at the change, run make golden"


def test_spark_still_describes_each_case_as_its_golden_plan_does(lab: Lab, request: pytest.FixtureRequest) -> None:
    """The short suite derives from golden plans (``test_golden_plans``), so they must be those of Spark."""
    found = {case.name: lab.described(case)[0] for case in ALL}
    if request.config.getoption("golden"):
        write(found)
    stale = [name for name, description in found.items() if description != kept().get(name, (None, None))[0]]
    assert not stale, f"the plans of {stale} differ; after a look at the change, run make golden"
