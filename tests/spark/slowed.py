"""A warehouse on slow storage, in front of which outputs are kept in memory.

This module needs ``benchmarks``. Programs that run in another directory do not find it, so ``processes.py`` does not.
"""

from __future__ import annotations

from processes import Home

from benchmarks.parts import slow


def settings(home: Home, room: str, **speed: int) -> dict[str, str]:
    """Settings for a warehouse of this speed (bytes a second) that keeps outputs in ``room``."""
    return {
        **slow.settings(**speed),
        "spark.sql.warehouse.dir": f"slow://{home.warehouse}",
        "spark.headwater.store": str(home.store_path),
        "spark.headwater.memory": "200m",
        "spark.headwater.memory.path": room,
    }
