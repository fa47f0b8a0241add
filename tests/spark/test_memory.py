"""Outputs kept in memory, in front of a slow warehouse: what readers see is what they would see without."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
import slowed
from processes import Home, is_alive, until

from headwater.memory.buffers.volume import LOCK
from headwater.model.event import Prepared, Published, Started

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

FACTS = (
    "CREATE TABLE facts USING parquet AS SELECT id, id % 500 AS k, id % 3 AS m, uuid() AS note "
    "FROM range(0, {rows}, 1, 2)"
)
VIEWS = (
    "CREATE MATERIALIZED VIEW wide PARTITIONED BY (m) AS SELECT id, k, note, m FROM facts WHERE id % 7 > 0",
    "CREATE MATERIALIZED VIEW by_k AS SELECT k, sum(length(note)) AS total, count(*) AS n FROM wide GROUP BY k",
    "CREATE MATERIALIZED VIEW by_m PARTITIONED BY (m) AS SELECT max(k) AS top, count(*) AS n, m FROM wide GROUP BY m",
    "CREATE MATERIALIZED VIEW foot AS SELECT count(*) AS k, sum(n) AS n FROM by_k",
)
ADD = "INSERT INTO facts SELECT id, id % 500, id % 3, uuid() FROM range(0, 1000)"
RIGHT = """
    SELECT (SELECT count(*) = 0 FROM (SELECT id, k, note, m FROM facts WHERE id % 7 > 0 EXCEPT ALL SELECT * FROM wide))
       AND (SELECT count(*) FROM wide) = (SELECT count(*) FROM facts WHERE id % 7 > 0)
       AND (SELECT sum(n) FROM by_k) = (SELECT count(*) FROM wide)
       AND (SELECT sum(n) FROM by_m) = (SELECT count(*) FROM wide)
       AND (SELECT n FROM foot) = (SELECT count(*) FROM wide)
"""
WANTED = "SELECT count(*) FROM facts WHERE id % 7 > 0"
SHOWN = "SELECT (SELECT count(*) FROM wide), (SELECT sum(n) FROM by_k), (SELECT sum(n) FROM by_m), (SELECT n FROM foot)"
"""As many rows as views show: each what was wanted before a change, or after it."""


@pytest.fixture
def volume(tmp_path) -> Path:
    made = tmp_path / "volume"
    made.mkdir()
    return made


@pytest.fixture
def home(tmp_path, volume) -> Home:
    return Home(tmp_path)


@pytest.fixture(params=["volume", "spark"])
def room(request, volume) -> str:
    """The path of a fast volume, or what means Spark's own memory."""
    return str(volume) if request.param == "volume" else "spark"


def settings(home: Home, room: str) -> dict[str, str]:
    """Spark's own memory saves reading, so that is slow, too, where it is the buffer."""
    return slowed.settings(home, room, write=2_000_000, **({"read": 2_000_000} if room == "spark" else {}))


def kept(home: Home) -> list[str]:
    return [event.view for event in home.events() if isinstance(event, Started) and event.kept]


def files(volume: Path) -> list[Path]:
    """What is kept; an engine that lives also has a lock there."""
    return [each for each in volume.rglob("*") if each.is_file() and each.suffix != LOCK]


def test_readers_run_on_what_is_kept_and_all_is_published_in_order(home, volume, room):
    with home.session(settings(home, room)) as session:
        session.run(FACTS.format(rows=100_000))
        for view in VIEWS:
            session.run(view)
        session.run(ADD)
        session.run("REFRESH MATERIALIZED VIEWS")
        assert session.one(RIGHT) == "true"
        assert kept(home) == ["default.wide"]
        happened = [(type(event), getattr(event, "view", "")) for event in home.events()]
        ready, done = happened.index((Prepared, "default.wide")), _last(happened, (Published, "default.wide"))
        meanwhile = happened[ready:done]
        started = {view for kind, view in meanwhile if kind is Started}
        assert started - {"default.foot"} == {"default.by_k", "default.by_m"}
        if "default.foot" in started:
            assert meanwhile.index((Prepared, "default.by_k")) < meanwhile.index((Started, "default.foot"))
        assert done < _last(happened, (Published, "default.by_k")) < _last(happened, (Published, "default.foot"))
        until(lambda: not files(volume), "removal of what was kept", 30)


def test_moments_as_partitions_are_kept_in_the_zone_of_their_directories(home, volume):
    """Directories of a view in JSON are named in UTC. The views above it are of another zone."""
    with home.session(settings(home, str(volume))) as session:
        session.run(FACTS.format(rows=100_000))
        session.run("SET TIME ZONE 'UTC'")
        moment = "timestamp_seconds(1790000000 + m * 3600) AS t"
        session.run(
            f"CREATE MATERIALIZED VIEW wide USING json PARTITIONED BY (t) AS SELECT id, k, note, {moment} FROM facts"
        )
        session.run("SET TIME ZONE 'America/New_York'")
        query = "SELECT unix_seconds(t) AS at, max({0}) AS most, count(*) AS n FROM wide GROUP BY unix_seconds(t)"
        for column in ("id", "k"):
            session.run(f"CREATE MATERIALIZED VIEW by_{column} AS {query.format(column)}")
        session.run(ADD)
        session.run("REFRESH MATERIALIZED VIEWS")
        assert kept(home) == ["default.wide"]
        for column in ("id", "k"):
            differing = f"SELECT count(*) FROM (SELECT * FROM by_{column} EXCEPT ALL {query.format(column)})"
            assert session.one(differing) == "0"


def test_a_first_refresh_keeps_what_statistics_foresee(home, volume, room):
    """Views that are declared while what they read is filled: each is kept for its readers the first time already."""
    with home.session(settings(home, room)) as session:
        session.run(FACTS.format(rows=200_000))
        later = " TBLPROPERTIES ('headwater.fill' = 'later') AS "
        session.run("CREATE MATERIALIZED VIEW slow_facts" + later + "SELECT * FROM facts")
        for view in VIEWS:
            session.run(view.replace("FROM facts", "FROM slow_facts").replace(" AS ", later, 1))
        session.run("REFRESH MATERIALIZED VIEWS")
        assert session.one(RIGHT) == "true"
        assert "default.wide" in kept(home)
        happened = [(type(event), getattr(event, "view", "")) for event in home.events()]
        assert happened.count((Started, "default.wide")) == 1
        done = happened.index((Published, "default.wide"))
        assert {(Started, "default.by_k"), (Started, "default.by_m")} <= set(happened[:done])
        until(lambda: not files(volume), "removal of what was kept", 30)


def _last(happened, wanted) -> int:
    return len(happened) - 1 - happened[::-1].index(wanted)


@pytest.mark.parametrize("delays", [(0.5, 1.5, 2.5), (3.5, 4.5, 6.0)])
def test_a_kill_at_any_time_leaves_every_view_old_or_new(home, volume, delays):
    given = settings(home, str(volume))
    with home.session(given) as session:
        session.run(FACTS.format(rows=100_000))
        for view in VIEWS:
            session.run(view)
    for delay in delays:
        session = home.session(given).__enter__()
        session.run("REFRESH MATERIALIZED VIEWS")
        assert session.one(RIGHT) == "true"
        session.await_engine()
        session.run(ADD)
        until(lambda: home.state().running, "a run")
        time.sleep(delay)
        session.kill_driver()
        session._process.stdin.close()
    with home.session(given) as session:
        session.run("REFRESH MATERIALIZED VIEWS")
        assert session.one(RIGHT) == "true"
        until(lambda: not files(volume), "removal of what was left", 30)


def test_a_killed_engine_leaves_every_view_old_or_new(home, volume, room):
    """Of the engine alone, which another one takes the place of while the session goes on."""
    with home.session(settings(home, room)) as session:
        session.run(FACTS.format(rows=100_000))
        for view in VIEWS:
            session.run(view)
        for delay in (0.5, 1.5, 2.5, 3.5, 4.5, 6.0):
            session.run("REFRESH MATERIALIZED VIEWS")
            old = session.one(WANTED)
            session.run(ADD)
            until(lambda: home.state().running, "a run")
            time.sleep(delay)
            engine = session.await_engine()
            os.kill(engine, signal.SIGKILL)
            until(lambda engine=engine: not is_alive(engine), "end of the engine")
            [shown] = session.run(SHOWN)
            assert set(shown) <= {old, session.one(WANTED)}
        session.run("REFRESH MATERIALIZED VIEWS")
        assert session.one(RIGHT) == "true"
        until(lambda: not files(volume), "removal of what was left", 30)
