"""Conditions on the columns of keys hold for each row that has one of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.model.view import Column
from headwater.spark.refreshing.methods import keys
from headwater.spark.tables.key_bounds import LISTED


@pytest.mark.parametrize("count", [1, LISTED, LISTED + 1])
@pytest.mark.parametrize("same", ["'x'", "CAST(NULL AS STRING)", "IF(id = 0, NULL, 'it''s ${x}')"])
def test_rows_with_the_keys_are_within_their_bounds(plain_spark: SparkSession, count: int, same: str) -> None:
    """Also if all keys have one value in a column, and too many in another one to be listed."""
    rows = plain_spark.range(count).selectExpr(f"{same} AS k0", "id AS k1", "CAST(id AS DOUBLE) AS k2")
    columns = Column("a b", "STRING"), Column("n", "BIGINT"), Column("x", "DOUBLE")
    definition: Any = SimpleNamespace(columns=columns)
    bounds, known = keys.bounded(rows, definition, [each.name for each in columns], rows.columns)
    view = rows.toDF(*(each.name for each in columns))
    assert known == count == view.where(bounds).count()
    assert not view.selectExpr("`a b`", "n + 1000 AS n", "x").where(bounds).count()
