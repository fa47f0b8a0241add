"""The status of all views in detail, as JSON."""

from __future__ import annotations

from typing import Any

from headwater.engine.requests.reasons import of_origin
from headwater.engine.tell.consistency import lacking
from headwater.model.state import State


def detail(state: State) -> dict[str, Any]:
    """For each view its partitions, and the tables upstream of which it lacks changes.

    Each such table comes with the time since then (ms), the changes, and the requests that will bring them.
    """
    return {
        "partitions": {name: _partitions(state, name) for name in sorted(state.views)},
        "consistency": {
            name: [
                {
                    "with": each.other,
                    "since": each.since,
                    "lacks": [of_origin(origin) for origin in each.lacks],
                    "requests": [f"{table}[{part}]" for table, part in each.requests],
                }
                for each in verdicts
            ]
            for name, verdicts in lacking(state).items()
        },
    }


# --- inside


def _partitions(state: State, name: str) -> list[dict[str, Any]]:
    return [
        {"partition": str(each), "version": known.version, "rows": known.rows, "inputs": dict(known.inputs)}
        for each, known in state.tables[name].partitions.items()
        if known.fingerprint is not None
    ]
