"""What ran and why, as ``SHOW REFRESHES`` shows it, from the journal's events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headwater.model.event import Event, Failed, Published, Restarted, Skipped, Started
from headwater.model.partition import Slice

Row = list[Any]
REFRESHES = (
    "run_id",
    "view",
    "partition",
    "mode",
    "reason",
    "version",
    "rows",
    "started_at",
    "seconds",
    "status",
    "error",
)


def refreshes(events: Iterable[Event], limit: int | None = None) -> list[Row]:
    """One row for each refreshed partition, newest run first, from events given newest first."""
    begun: dict[int, Started] = {}
    ended: list[tuple[Published | Failed | Skipped | Restarted | None, int]] = []
    closed: set[int] = set()
    restarted: Restarted | None = None
    for event in events:
        match event:
            case Restarted():
                restarted = event
            case Started(version=version):
                begun[version] = event
                if version not in closed:
                    ended.append((restarted, version))
            case Published(version=version) | Failed(version=version):
                ended.append((event, version))
                closed.add(version)
            case Skipped(version=version):
                ended.append((event, version))
    rows: list[Row] = []
    for event, version in ended:
        if isinstance(event, Skipped):
            rows += _skipped_rows(event)
        elif version in begun:
            rows += _run_rows(begun[version], event)
        if limit is not None and len(rows) >= limit:
            break
    return rows[:limit]


def _run_rows(started: Started, ended: Published | Failed | Restarted | None) -> list[Row]:
    def row(each: Slice, rows: int | None, status: str, seconds: float | None, error: str | None) -> Row:
        return [
            started.version,
            started.view,
            str(each),
            started.mode,
            started.reason,
            started.version,
            rows,
            started.at,
            seconds,
            status,
            error,
        ]

    match ended:
        case Published(made=made, removed=removed, seconds=seconds):
            kept = [row(each.slice, each.rows, "published", seconds, None) for each in made]
            return kept + [row(each, 0, "published", seconds, None) for each in removed]
        case Failed(error=error, seconds=seconds, cancelled=cancelled):
            status = "cancelled" if cancelled else "failed"
            return [row(each, None, status, seconds, error) for each in started.slices]
        case Restarted():
            return [row(each, None, "cancelled", None, "its engine ended") for each in started.slices]
        case None:
            return [row(each, None, "running", None, None) for each in started.slices]


def _skipped_rows(event: Skipped) -> list[Row]:
    """What was completed without running; not slices of which parts were left to run, which have rows of their own."""
    return [
        [
            event.version,
            event.view,
            str(each),
            "skipped",
            event.reason,
            event.version,
            None,
            event.at,
            0.0,
            "unchanged",
            None,
        ]
        for each, _ in event.needs
        if not any(each.covers(part) for part, _ in event.left)
    ]
