"""A session whose store is in PostgreSQL: statements, refreshes, and commands that name the store by its URL."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from processes import SALES, Home

from headwater.model.event import Published
from headwater.store.sql_store import SqlStore
from tests.postgresql import GUARDED, server


@pytest.mark.long
def test_views_are_kept_fresh_with_a_store_in_postgresql(tmp_path: Path, monkeypatch) -> None:
    home = Home(tmp_path)
    with server() as url:
        user, password = GUARDED
        anybody, url = url, url.replace("postgres@", f"{user}@", 1)
        SqlStore(anybody).close()  # the user of the session needs a schema, and may not make one
        with SqlStore(anybody)._beside() as connection:
            connection.exec_driver_sql(f"GRANT ALL ON SCHEMA headwater TO {user}")
            connection.exec_driver_sql(f"GRANT ALL ON ALL TABLES IN SCHEMA headwater TO {user}")
            connection.exec_driver_sql(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA headwater TO {user}")
        monkeypatch.setenv("PGPASSWORD", password)
        code, said = home.script(
            *SALES,
            "INSERT INTO sales VALUES (3, 30, 1, '2024-03')",
            "REFRESH MATERIALIZED VIEW everything",
            "SELECT concat('total ', total) FROM everything",
            settings={"spark.headwater.store": url, "spark.headwater.check.interval": "5"},
        )
        assert code == 0 and "total 60" in said, said
        assert not list(home.warehouse.glob(".headwater/*.db*")), "there is no store in a file"
        [status, _] = json.loads(home.headwater("status", "--json", "--store", url))["views"]
        assert status["state"] == "fresh"
        store = SqlStore(url)
        assert {"default.monthly", "default.everything"} == {
            entry.event.view for entry in store.read() if isinstance(entry.event, Published)
        }
        assert [each.alive for each in store.engines()] == [False], "the engine left"
        store.close()
        monkeypatch.setenv("PGPASSWORD", "swordfish")
        code, said = home.script("SHOW MATERIALIZED VIEWS", settings={"spark.headwater.store": url})
        assert code != 0 and "PGPASSWORD" in said and "swordfish" not in said, said
