"""The format of a view follows from its catalog, or is refused with the remedy."""

from __future__ import annotations

import pytest

from headwater.model.error import DefinitionError
from headwater.model.name import TableName
from headwater.spark.defining.options import format_of

OWN = TableName("spark_catalog", ("shop",), "v")
LAKE = TableName("lake", ("eu", "shop"), "v")


@pytest.mark.parametrize(
    ("name", "wanted", "held", "chosen"),
    [
        (OWN, None, [], "parquet"),
        (OWN, "ORC", [], "orc"),
        (OWN, None, ["delta"], "parquet"),
        (OWN, "Delta", ["delta"], "delta"),
        (OWN, "iceberg", ["iceberg"], "iceberg"),
        (LAKE, None, ["iceberg"], "iceberg"),
        (LAKE, "ICEBERG", ["iceberg"], "iceberg"),
    ],
)
def test_a_format_that_a_catalog_holds(name, wanted, held, chosen):
    assert format_of(name.key, name, wanted, held) == chosen


@pytest.mark.parametrize(
    ("name", "wanted", "held", "words"),
    [
        (OWN, "avro", [], "cannot be stored USING avro; use one of parquet, orc, json, csv, delta, iceberg"),
        (OWN, "delta", [], "set spark.sql.catalog.spark_catalog to org.apache.spark.sql.delta.catalog.DeltaCatalog"),
        (OWN, "iceberg", ["delta"], "holds no such tables; name the view in an Iceberg catalog"),
        (
            LAKE,
            "parquet",
            ["iceberg"],
            "the catalog lake holds no such tables; leave USING out, or write USING iceberg",
        ),
        (LAKE, "delta", ["iceberg"], "leave USING out"),
        (LAKE, None, [], "the catalog lake, which is not one of Iceberg's; name the view in one that is"),
        (TableName("lake", (), "v"), None, ["iceberg"], "in a database of its catalog; name it lake.database.view"),
        (TableName("spark_catalog", ("a", "b"), "v"), None, [], "name it database.view"),
    ],
)
def test_another_format_is_refused_with_the_remedy(name, wanted, held, words):
    with pytest.raises(DefinitionError) as refused:
        format_of(name.key, name, wanted, held)
    assert str(refused.value).startswith(name.key)
    assert words in str(refused.value)
