"""The refreshes that ran and why, as ``SHOW REFRESHES`` shows them, from the journal's events."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum
from typing import Any

from attrs import frozen

from headwater.engine.methods.all_methods import said
from headwater.engine.tell.columns import Time, columns_of
from headwater.model.event import EngineLost, Event, Failed, Published, Reworked, Skipped, Started
from headwater.model.measure import Measured
from headwater.model.partition import Slice
from headwater.model.reason import Code, Reason, codes
from headwater.model.work import Mode

Row = list[Any]


class Outcome(Enum):
    """How the refresh of a partition ended, if it did."""

    RUNNING = "running"
    PUBLISHED = "published"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    CANCELLED = "cancelled"


@frozen
class Refresh:
    """One refresh of one partition.

    Attributes:
        run_id: the version of the run; ``version`` is the same number, which the partition carries afterwards.
        partition: as a person reads it; ``()`` of an unpartitioned view.
        rows: the rows of this partition; ``None`` where nobody counted them.
        started_at: ms.
        seconds: the wall time of the run, which all its partitions share.
        foreseen: the wall time that the engine expected when the run began; ``None`` where nobody knew.
        codes: of the reason, and of the error if there is one.
        core_seconds: the time of the run's tasks on all cores, and the seconds in which it had none.
        foreseen_core_seconds: the same as the engine expected it.
    """

    run_id: int
    view: str
    partition: str
    mode: Mode
    reason: str
    version: int
    rows: int | None
    started_at: Time
    seconds: float | None
    foreseen: float | None
    core_seconds: float | None
    foreseen_core_seconds: float | None
    status: Outcome
    error: str | None = None
    codes: str = ""

    @property
    def row(self) -> Row:
        """The columns ``REFRESHES``."""
        values = [getattr(self, name) for name in REFRESHES]
        return [each.value if isinstance(each, Enum) else each for each in values]


REFRESHES = columns_of(Refresh)
"""The columns of ``SHOW REFRESHES``, in their order."""


def refreshes(events: Iterable[Event], limit: int | None = None, alive: Collection[int] | None = None) -> list[Refresh]:
    """One entry for each refreshed partition, newest run first, from events given newest first.

    ``alive`` are the numbers of the engines that are, if that is known. A run of another one came to nothing, though
    nobody recorded that yet.
    """
    begun: dict[int, Started] = {}
    ended: list[tuple[Published | Failed | Skipped | EngineLost | None, int]] = []
    closed: set[int] = set()
    reworked: dict[int, Reworked] = {}
    lost: dict[int, EngineLost] = {}
    for event in events:
        match event:
            case EngineLost(engine=engine):
                lost[engine] = event
            case Started(version=version, engine=engine):
                begun[version] = event
                if version not in closed:
                    gone = EngineLost(event.at, engine) if alive is not None and engine not in alive else None
                    ended.append((lost.get(engine, gone), version))
            case Published(version=version) | Failed(version=version):
                ended.append((event, version))
                closed.add(version)
            case Reworked(version=version):
                reworked[version] = event
            case Skipped(version=version):
                ended.append((event, version))
    found: list[Refresh] = []
    for end, version in ended:
        if isinstance(end, Skipped):
            found += _of_skipped(end)
        elif version in begun:
            found += _of_run(begun[version], reworked.get(version), end)
        if limit is not None and len(found) >= limit:
            break
    return found[:limit]


def _of_run(
    started: Started, reworked: Reworked | None, ended: Published | Failed | EngineLost | None
) -> list[Refresh]:
    def refresh(
        each: Slice, rows: int | None, status: Outcome, seconds: float | None, error: Reason | None = None
    ) -> Refresh:
        cores = measured.cores(seconds or 0.0)
        return Refresh(
            run_id=started.version,
            view=started.view,
            partition=str(each),
            mode=mode,
            reason=why,
            version=started.version,
            rows=rows,
            started_at=Time(started.at),
            seconds=seconds,
            foreseen=started.foreseen,
            core_seconds=cores and round(cores, 3),
            foreseen_core_seconds=started.foreseen_cores,
            status=status,
            error=None if error is None else error.text,
            codes=codes([*reasons, error] if error is not None else reasons),
        )

    mode, why, reasons = _method(started, reworked if isinstance(ended, Published) else None)
    measured = ended.measured if isinstance(ended, Published) else Measured()
    match ended:
        case Published(made=made, removed=removed, seconds=seconds):
            kept = [refresh(each.slice, each.rows, Outcome.PUBLISHED, seconds) for each in made]
            return kept + [refresh(each, 0, Outcome.PUBLISHED, seconds) for each in removed]
        case Failed(error=error, seconds=seconds, cancelled=cancelled):
            status = Outcome.CANCELLED if cancelled else Outcome.FAILED
            return [refresh(each, None, status, seconds, error) for each in started.slices]
        case EngineLost():
            gone = Reason(Code.RUN_ENGINE_ENDED, "its engine ended")
            return [refresh(each, None, Outcome.CANCELLED, None, gone) for each in started.slices]
        case None:
            return [refresh(each, None, Outcome.RUNNING, None) for each in started.slices]


def _method(started: Started, reworked: Reworked | None) -> tuple[Mode, str, list[Reason]]:
    """How a run computed its partitions, and why; one by keys or by changes may have computed whole ones after all."""
    reasons = [started.reason, *([] if started.let_go is None else [started.let_go])]
    why = "; ".join(each.text for each in reasons)
    if reworked is None:
        return started.work.mode, why, reasons
    why = f"{why}; not {said(started.work.mode)}, as {reworked.why}"
    return reworked.work.mode, why, [*reasons, reworked.why]


def _of_skipped(event: Skipped) -> list[Refresh]:
    """Slices that were completed without running; not those of which parts were left to run."""
    version, why = event.version, event.reason
    known = codes([why])
    return [
        Refresh(
            run_id=version,
            view=event.view,
            partition=str(each),
            mode=Mode.SKIPPED,
            reason=why.text,
            version=version,
            rows=None,
            started_at=Time(event.at),
            seconds=0.0,
            foreseen=None,
            core_seconds=0.0,
            foreseen_core_seconds=None,
            status=Outcome.UNCHANGED,
            codes=known,
        )
        for each, _ in event.needs
        if not any(each.covers(part) for part, _ in event.left)
    ]
