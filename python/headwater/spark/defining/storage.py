"""Where a view can be kept: which formats its catalog holds."""

from __future__ import annotations

from collections.abc import Collection

from headwater.model.error import DefinitionError
from headwater.model.name import SESSION_CATALOG, TableName
from headwater.model.view import LAKE_FORMATS

FILE_FORMATS = ("parquet", "orc", "json", "csv")
"""The formats of views whose files Headwater places itself."""

FORMATS = (*FILE_FORMATS, *LAKE_FORMATS)

_SESSION = "set spark.sql.catalog.spark_catalog to"
_REMEDIES = {
    "delta": f"{_SESSION} org.apache.spark.sql.delta.catalog.DeltaCatalog, and put io.delta:delta-spark_4.1_2.13 into "
    "spark.jars.packages",
    "iceberg": f"name the view in an Iceberg catalog, or {_SESSION} org.apache.iceberg.spark.SparkSessionCatalog",
}
"""How the session catalog comes to hold tables of a lake format."""


def format_of(view: str, name: TableName, wanted: str | None, held: Collection[str]) -> str:
    """The format of a view's table. ``CREATE MATERIALIZED VIEW lake.db.v`` without ``USING`` makes an Iceberg table in
    an Iceberg catalog, and Parquet files in the session catalog.

    Args:
        wanted: the format after ``USING``, if there is one.
        held: the lake formats that the view's catalog holds.

    Raises:
        DefinitionError: the catalog holds no tables of that format, or no views.
    """
    own = name.catalog == SESSION_CATALOG
    if wanted is not None and wanted.lower() not in FORMATS:
        raise DefinitionError("FORMAT", f"{view} cannot be stored USING {wanted}; use one of {', '.join(FORMATS)}")
    possible = (*FILE_FORMATS, *held) if own else tuple(held)
    if not possible:
        raise DefinitionError(
            "CATALOG",
            f"{view} cannot be kept in the catalog {name.catalog}, which is not one of Iceberg's; name the view in one "
            "that is, or in the session catalog",
        )
    if len(name.namespace) != 1 and (own or not name.namespace):
        example = "database.view" if own else f"{name.catalog}.database.view"
        raise DefinitionError("CATALOG", f"{view} is not in a database of its catalog; name it {example}")
    chosen = wanted.lower() if wanted else possible[0]
    if chosen not in possible:
        remedy = _REMEDIES[chosen] if own else f"leave USING out, or write USING {possible[0]}"
        catalog = "the session catalog" if own else f"the catalog {name.catalog}"
        raise DefinitionError(
            "FORMAT", f"{view} cannot be stored USING {chosen}: {catalog} holds no such tables; {remedy}"
        )
    return chosen
