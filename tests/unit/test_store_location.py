"""Where a store is, and whose catalog it has: nothing that may be a password is told or kept."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from headwater.cli.main import main
from headwater.model.error import StoreError
from headwater.spark.process import store_location
from headwater.spark.process.store_location import address, store_place

SECRET = "horse"


@pytest.mark.parametrize(
    "named",
    [
        f"postgresql+psycopg:/u:{SECRET}@h/db",
        f"postgresql:u:{SECRET}@h/db",
        f"u:{SECRET}@h/db",
        f"s3a:u:{SECRET}@bucket/store.db",
    ],
)
def test_a_text_that_names_no_store_is_not_repeated_with_its_password(named: str) -> None:
    with pytest.raises(
        StoreError, match="set it to one of both, such as postgresql.psycopg://user@host/database"
    ) as no:
        store_place(SimpleNamespace(), {"spark.headwater.store": named})
    assert SECRET not in str(no.value) and "a text with @, which is not shown" in str(no.value)


def test_a_text_without_a_password_is_repeated() -> None:
    with pytest.raises(StoreError, match="spark.headwater.store is hdfs:/x/store.db: it is neither"):
        store_place(SimpleNamespace(), {"spark.headwater.store": "hdfs:/x/store.db"})


def test_a_file_may_have_an_at_sign() -> None:
    assert store_place(SimpleNamespace(), {"spark.headwater.store": "/home/a@b/store.db"}) == Path("/home/a@b/store.db")


def test_the_command_line_shows_no_password_either() -> None:
    told = CliRunner().invoke(main, ["status", "--store", f"postgresql+psycopg:/u:{SECRET}@h/db"]).output
    assert SECRET not in told and "postgresql+psycopg://user@host/database" in told


@pytest.mark.parametrize(
    ("url", "identity"),
    [
        ("jdbc:mysql://h:3306/hive", "jdbc:mysql://h:3306/hive"),
        (f"jdbc:mysql://u:{SECRET}@h/hive?ssl=true", "jdbc:mysql://h/hive"),
        (f"jdbc:mysql://h/hive?user=a@b&password={SECRET}", "jdbc:mysql://h/hive"),
        (f"jdbc:mysql:loadbalance://u:{SECRET}@h1,h2/hive", "jdbc:mysql:loadbalance://h1,h2/hive"),
        (f"jdbc:mysql://(host=h,port=3306,user=u,password={SECRET})/hive", "jdbc:mysql://(host=h,port=3306,,)/hive"),
        (f"jdbc:mariadb://h/hive?password={SECRET}", "jdbc:mariadb://h/hive"),
        (f"jdbc:postgresql://h/db?currentSchema=hive&password={SECRET}", "jdbc:postgresql://h/db;currentschema=hive"),
        ("jdbc:postgresql:db", "jdbc:postgresql:db"),
        (f"jdbc:sqlserver://h;user=x;password={SECRET}", "jdbc:sqlserver://h"),
        (f"jdbc:sqlserver://h:1433;Password={SECRET};databaseName=hive", "jdbc:sqlserver://h:1433;databasename=hive"),
        (
            "jdbc:sqlserver://h;password={x;databaseName=" + SECRET + "}}};database=hive",
            "jdbc:sqlserver://h;database=hive",
        ),
        (f"jdbc:oracle:thin:u/{SECRET}@h:1521:hive", "jdbc:oracle:h:1521:hive"),
        ("jdbc:oracle:thin:@h:1521:hive", "jdbc:oracle:h:1521:hive"),
        (f"jdbc:oracle:thin:u/{SECRET}@//h:1521/hive?password={SECRET}", "jdbc:oracle://h:1521/hive"),
        (f'jdbc:oracle:oci:u/"p?@;{SECRET}"@h', "jdbc:oracle:h"),
        (
            f"jdbc:oracle:thin:u/{SECRET}@(DESCRIPTION=(ADDRESS=(HOST=h)))",
            "jdbc:oracle:(DESCRIPTION=(ADDRESS=(HOST=h)))",
        ),
        (f"jdbc:db2://h:50000/hive:password={SECRET};user=u;", "jdbc:db2://h:50000/hive:"),
    ],
)
def test_the_identity_of_a_catalog_has_no_password(url: str, identity: str) -> None:
    assert address(url) == identity
    assert address(url.replace(SECRET, "battery")) == identity, "a rotated password leaves the catalog the same one"


def test_the_identity_is_taken_of_the_metastore(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"javax.jdo.option.ConnectionURL": f"jdbc:sqlserver://h;user=x;password={SECRET}"}
    jsc = SimpleNamespace(hadoopConfiguration=lambda: said)
    monkeypatch.setattr(store_location, "in_memory", lambda _: False)
    session = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=jsc))
    assert store_location.catalog_identity(session) == "jdbc:sqlserver://h"
