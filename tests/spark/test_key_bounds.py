"""Conditions on the columns of keys hold for each row that has one of them."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.rows_by_keys import Reach

LISTED = 500
"""Values of a column, as ``KeyValues.scala`` has it: of more, a condition has ranges."""

SAME = {
    "one text": "'x'",
    "NULL": "CAST(NULL AS STRING)",
    "awkward text": "IF(id = 0, NULL, 'it''s ${x}')",
    "many numbers and NULL": "nullif(id * id, 0)",
    "decimals": "CAST(id * 0.01 AS DECIMAL(30, 2))",
    "bytes that are no UTF-8": "CAST(unhex(IF(id = 0, 'FF', '61')) AS STRING)",
}


@pytest.mark.parametrize("count", [1, LISTED, LISTED + 1, 3 * LISTED])
@pytest.mark.parametrize("same", SAME)
def test_rows_with_the_keys_are_within_their_bounds(plain_spark: SparkSession, count: int, same: str) -> None:
    """Also if all keys have one value in a column, and too many in another one to be listed."""
    rows = plain_spark.range(count).selectExpr(f"{SAME[same]} AS k0", "id AS k1", "CAST(id AS DOUBLE) AS k2")
    names = ("a b", "n", "x")
    reach = Reach.of(Shim(plain_spark), [rows], names, 10_000)
    assert reach is not None and reach.count == count
    view = rows.toDF(*names)
    assert reach.near(view).count() == count == reach.among(view).count()
    assert not reach.near(view.selectExpr("`a b`", "n + 2000 AS n", "x")).count()


def test_files_are_found_by_keys_that_are_no_utf_8(
    plain_spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Readers take a string for Java's, and would leave row groups out by the statistics of such a column."""
    place = str(tmp_path_factory.mktemp("bytes") / "rows")
    plain_spark.sql("SELECT CAST(X'ff' AS STRING) AS k, 1 AS n").write.parquet(place)
    view = plain_spark.read.parquet(place)
    for columns in (["k"], ["k", "n"]):
        reach = Reach.of(Shim(plain_spark), [view.select(*columns)], tuple(columns), 10)
        assert reach is not None
        assert reach.near(view).count() == reach.among(view).count() == reach.among(reach.near(view)).count() == 1
