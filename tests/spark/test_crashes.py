"""Engines killed at arbitrary moments, again and again: nothing is lost, and the views converge."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
from processes import SALES, Home, is_alive, until

from headwater.model.event import Failed, Published

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

KILLS = 12


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_again_and_again(tmp_path: Path, seed: int) -> None:
    home, chance = Home(tmp_path), random.Random(seed)
    with home.session() as session:
        for statement in SALES:
            session.run(statement)
        expected = 30
        for number in range(KILLS):
            month = f"2024-0{chance.randint(1, 4)}"
            session.run(f"INSERT INTO sales VALUES ({number}, 7, 1, '{month}')")
            expected += 7
            # From the settling of the change over its refresh and that of the view above it.
            time.sleep(chance.uniform(0, 5))
            engine = session.await_engine()
            os.kill(engine, signal.SIGKILL)
            until(lambda engine=engine: not is_alive(engine), "end of the engine")
            session.run("SHOW MATERIALIZED VIEWS")
        session.run("REFRESH MATERIALIZED VIEWS")
        assert session.one("SELECT total FROM everything") == str(expected)
        query = "SELECT month, sum(amount) FROM sales GROUP BY month ORDER BY month"
        assert session.run("SELECT month, total FROM monthly ORDER BY month") == session.run(query)
        assert [row[2] for row in session.run("SHOW MATERIALIZED VIEWS")] == ["fresh", "fresh"]
    events = home.events()
    assert not [each for each in events if isinstance(each, Failed)]
    for view in ("default.monthly", "default.everything"):
        versions = [each.version for each in events if isinstance(each, Published) and each.view == view]
        assert versions == sorted(set(versions))
