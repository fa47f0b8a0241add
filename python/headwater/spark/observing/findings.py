"""What looks find, on record."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from attrs import evolve

from headwater.engine.record import changes
from headwater.engine.record.changes import Finding, Standing
from headwater.logger import log
from headwater.model.error import StoreError
from headwater.model.seen import Command, Seen
from headwater.model.view import Definition
from headwater.runtime.recorder import Recorder
from headwater.spark.jvm.failures import first_line
from headwater.spark.observing.hints import Target
from headwater.spark.observing.lost_views import LostViews
from headwater.spark.observing.reanalysis import Reanalysis


class Findings:
    """Records what looks find, and remembers which directories were away."""

    def __init__(self, recorder: Recorder, lost_views: LostViews, reanalysis: Reanalysis) -> None:
        self._recorder, self._lost_views, self._reanalysis = recorder, lost_views, reanalysis
        self._away: dict[str, Sequence[str]] = {}

    def record(self, seen: Iterable[Seen], standings: Mapping[str, Standing | None], target: Target) -> Collection[str]:
        """Records how tables are otherwise than on record. Returns those of which others recorded more since the look
        began: the look says nothing of them.

        Raises:
            Exception: what became of a view could not be found out. All else is recorded.
        """
        found = [self._found(each, standings, target) for each in seen]
        recorder, now = self._recorder, self._recorder.clock.now()
        lost = recorder.read(lambda state: [(each, was) for each in found if (was := changes.gone(state, each))])
        # First of all, else a refresh that waits for a table to be readable would make it anew.
        failures = self._record_lost(lost, target.command)
        found = [each for each in found if each.seen.table not in failures]
        there = [each for each in found if not each.seen.unreadable and each not in [of for of, _ in lost]]
        others = recorder.read(lambda state: [each for each in there if changes.is_another(state, each.seen)])
        events = recorder.record_all(
            [partial(changes.readability, seen=each.seen, at=now) for each in found]
            + [partial(changes.noticed, found=each, at=now) for each in there]
        )
        for each, event in zip(found, events, strict=False):
            if event is not None and each.seen.unreadable:
                log.warning("%s cannot be read, and its views wait: %s", each.seen.table, each.seen.unreadable)
        quiet = [each.seen for each, event in zip(there, events[len(found) :], strict=True) if event is None]
        outdated = recorder.read(lambda state: {each.table for each in quiet if changes.is_outdated(state, each)})
        for each in others:
            if not each.is_view and each.seen.table not in outdated:
                self._reanalysis.of_readers(each.seen.table)
        if failures:
            raise next(iter(failures.values()))
        return outdated

    def away(self, definition: Definition) -> dict[str, Sequence[str]]:
        """The places without a directory that count as empty, by the sources of a definition that was looked at."""
        return {each: places for each in definition.sources if (places := self._away.get(each))}

    # --- inside

    def _record_lost(self, lost: Iterable[tuple[Finding, Standing]], command: Command) -> dict[str, Exception]:
        """Records what became of views that are lost. Returns those of which that is not known, with the reason."""
        failures: dict[str, Exception] = {}
        for each, was in lost:
            view = each.seen.table
            try:
                self._lost_views.record(view, was, command)
            except StoreError:
                raise  # nothing else can be recorded either
            except Exception as error:
                log.warning("the table of %s is gone, and the next look finds out why: %s", view, first_line(error))
                failures[view] = error
        return failures

    def _found(self, seen: Seen, standings: Mapping[str, Standing | None], target: Target) -> Finding:
        """What a look found; the table is unreadable if files on record are away with their directory."""
        table = seen.table
        unnamed = target.tables.get(table) is None
        seen = evolve(seen, watermark=target.watermarks.get(table), unnamed=unnamed)
        seen = self._recorder.read(lambda state: changes.without_lost(state, seen, target.command))
        if seen.looked is None:
            self._away[table] = tuple(seen.away.values())
        if table in standings and seen.location:
            self._lost_views.found_at(table, seen.location)
        return Finding(seen, target.command, target.before, table in standings, standings.get(table))
