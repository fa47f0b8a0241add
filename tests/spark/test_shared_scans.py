"""A table that several views read is read once for all of them, in front of a slow warehouse."""

from __future__ import annotations

import pytest
import slowed
from processes import Home, until

from headwater.memory.buffers.volume import LOCK
from headwater.model.event import Published, Started
from headwater.model.measure import Place

pytestmark = pytest.mark.long

WHOLE = {
    "by_k": "SELECT k, count(*) AS n, max(id) AS top FROM facts WHERE m = 1 GROUP BY k",
    "by_id": "SELECT id % 10 AS d, max(note) AS note FROM facts WHERE m = 1 AND k < 100 GROUP BY id % 10",
    "notes": "SELECT max(note) AS note, count(*) AS n FROM facts WHERE m = 2 AND k < 100",
}
PARTITIONED = {
    "by_k": "SELECT k, count(*) AS n, max(id) AS top, m FROM facts WHERE k < 300 GROUP BY k, m",
    "by_id": "SELECT id % 10 AS d, max(note) AS note, m FROM facts WHERE k < 100 GROUP BY id % 10, m",
    "notes": "SELECT max(note) AS note, count(*) AS n, m FROM facts WHERE k < 100 GROUP BY m",
}
ADD = "INSERT INTO facts (id, k, m, note) SELECT id, id % 500, 1, uuid() FROM range(0, 1000)"
"""A line of one partition, if there are any."""


@pytest.mark.parametrize("kind", ["volume", "spark"])
@pytest.mark.parametrize("partitioned", [False, True])
def test_three_views_read_one_scan(tmp_path, kind, partitioned):
    """Of the partition that changed, where they are partitioned alike."""
    home, volume = Home(tmp_path), tmp_path / "volume"
    views = PARTITIONED if partitioned else WHOLE
    volume.mkdir()
    room = str(volume) if kind == "volume" else kind
    settings = slowed.settings(home, room, read=2_000_000, write=20_000_000)
    with home.session({**settings, "spark.headwater.tracks": "1"}) as session:
        by = "PARTITIONED BY (m)" if partitioned else ""
        # Of a whole view few added rows would be read, and no scan.
        made = by or "TBLPROPERTIES ('headwater.method' = 'full')"
        session.run(
            f"CREATE TABLE facts USING parquet {by} AS SELECT id, id % 500 AS k, id % 3 AS m, uuid() AS note "
            "FROM range(0, 100000, 1, 2)"
        )
        for name, query in views.items():
            session.run(f"CREATE MATERIALIZED VIEW {name} {made} AS {query}")
        for _ in range(3):
            session.run(ADD)
            session.run("REFRESH MATERIALIZED VIEWS")
            for name, query in views.items():
                assert session.one(f"SELECT count(*) FROM (({query}) EXCEPT ALL SELECT * FROM {name})") == "0", name
        happened = home.events()
        shared = [event for event in happened if isinstance(event, Started) and event.shared]
        assert {event.view for event in shared} == {f"default.{name}" for name in views}
        assert all(
            [dict(part.bound) for part in each.slices] == ([{"m": "1"}] if partitioned else [{}])
            for event in shared
            for each in event.shared
        )
        versions = {event.version for event in shared}
        published = [event for event in happened if isinstance(event, Published) and event.version in versions]
        scanned = [each for event in published for each in event.measured.scanned]
        assert scanned and len(scanned) * 3 == len(published) and {each.table for each in scanned} == {"default.facts"}
        if kind == "volume":  # of blocks Spark does not say how long they took
            assert all(Place.SCAN in {each.place for each in event.measured.moved} for event in published)
        until(lambda: not [each for each in volume.rglob("*.parquet") if each.suffix != LOCK], "removal of scans", 30)
