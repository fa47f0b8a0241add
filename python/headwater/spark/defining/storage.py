"""Where a view can be kept: which formats its catalog holds."""

from __future__ import annotations

from collections.abc import Collection

from headwater.model.error import DefinitionError
from headwater.model.format import FORMATS, Format
from headwater.model.name import SESSION_CATALOG, TableName


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
    holding = [each for each in FORMATS if each.holds_views]
    if wanted is not None and not Format.of(wanted.lower()).holds_views:
        names = ", ".join(each.name for each in holding)
        raise DefinitionError("FORMAT", f"{view} cannot be stored USING {wanted}; use one of {names}")
    possible = [each.name for each in holding if each.name in held or (own and each.listed)]
    if not possible:
        makers = " or ".join(f"{each.title}'s" for each in holding if each.own_catalogs)
        raise DefinitionError(
            "CATALOG",
            f"{view} cannot be kept in the catalog {name.catalog}, which is not one of {makers}; name the view in one "
            "that is, or in the session catalog",
        )
    if len(name.namespace) != 1 and (own or not name.namespace):
        example = "database.view" if own else f"{name.catalog}.database.view"
        raise DefinitionError("CATALOG", f"{view} is not in a database of its catalog; name it {example}")
    chosen = wanted.lower() if wanted else possible[0]
    if chosen not in possible:
        remedy = Format.of(chosen).remedy if own else f"leave USING out, or write USING {possible[0]}"
        catalog = "the session catalog" if own else f"the catalog {name.catalog}"
        raise DefinitionError(
            "FORMAT", f"{view} cannot be stored USING {chosen}: {catalog} holds no such tables; {remedy}"
        )
    return chosen
