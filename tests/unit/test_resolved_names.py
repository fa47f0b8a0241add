"""Headwater's own statements resolve names as Spark resolves them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from headwater.spark.defining.resolving import canonical, resolved
from headwater.spark.jvm.wire import Session
from headwater.spark.statements.view_names import Names

CATALOGS = ("lake", "spark_catalog")
APART = Session("spark_catalog", "Shop", {}, CATALOGS, folds=False)
SHOP = Session("spark_catalog", "shop", {}, CATALOGS)
LAKE = Session("lake", "eu.`my shop`", {}, CATALOGS)
BARE = Session("lake", "", {}, CATALOGS)


@pytest.mark.parametrize(
    ("session", "name", "key"),
    [
        (SHOP, ("V",), "shop.v"),
        (SHOP, ("other", "v"), "other.v"),
        (APART, ("V",), "Shop.V"),
        (APART, ("lake", "db", "V"), "lake.db.V"),
        (SHOP, ("Spark_Catalog", "other", "v"), "other.v"),
        (SHOP, ("lake", "db", "V"), "lake.db.V"),
        (SHOP, ("lake", "eu", "db", "v"), "lake.eu.db.v"),
        (SHOP, ("lake", "v"), "lake.``.v"),
        (SHOP, ("lake",), "shop.lake"),
        (LAKE, ("v",), "lake.eu.`my shop`.v"),
        (LAKE, ("db", "v"), "lake.db.v"),
        (LAKE, ("spark_catalog", "db", "v"), "db.v"),
        (BARE, ("v",), "lake.``.v"),
    ],
)
def test_the_key_of_a_name(session, name, key):
    assert canonical(resolved(name, session), session) == key


@pytest.mark.parametrize(
    ("view", "name", "key"),
    [
        ("db.v", ("w",), "db.w"),
        ("db.v", ("db", "w"), "db.w"),
        ("db.v", ("DB", "W"), "db.w"),
        ("db.v", ("Spark_Catalog", "db", "W"), "db.w"),
        ("db.v", ("lake", "db", "w"), "lake.db.w"),
        ("lake.v", ("lake", "w"), "lake.w"),
        ("lake.db.v", ("w",), "lake.db.w"),
        ("lake.db.v", ("db", "w"), "lake.db.w"),
        ("lake.db.v", ("lake", "db", "w"), "lake.db.w"),
        ("lake.db.v", ("spark_catalog", "db", "w"), "db.w"),
        ("lake.eu.`my shop`.v", ("W",), "lake.eu.`my shop`.W"),
    ],
)
@pytest.mark.parametrize("session", [SHOP, LAKE, BARE])
def test_a_new_name_is_in_the_catalog_and_database_of_the_view(session, view, name, key):
    assert Names(None, None).beside(view, name, session) == key


def test_a_view_is_found_in_another_case_if_its_catalog_finds_its_table():
    state = SimpleNamespace(
        definitions={each: SimpleNamespace(owner=each) for each in ("lake.db.V", "lake.db.v", "shop.w")}
    )
    tables = {"shop.W": "shop.w", "lake.db.W": ""}
    names = Names(SimpleNamespace(read=lambda ask: ask(state)), tables.get)
    assert names.find(("lake", "db", "v"), SHOP) == "lake.db.v"
    assert names.find(("shop", "W"), SHOP) == "shop.w"
    assert names.find(("db", "V"), LAKE) == "lake.db.V"
    assert names.find(("db", "V"), SHOP) is None
    del state.definitions["lake.db.V"]
    assert names.find(("db", "V"), LAKE) is None


class Lock:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_) -> None:
        pass
