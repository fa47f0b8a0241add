"""Which epochs of a group stay, and which of them readers see.

Example: ``revenue`` publishes at 06:00. Its epochs 40 and 41 were made at 05:50 and at 06:10. Readers have 40 until the
next morning, so it stays, however many are made in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from headwater.engine.groups.epochs import members
from headwater.engine.requests.limits import AHEAD
from headwater.model.epoch import Epoch
from headwater.model.partition import Version
from headwater.model.state import State
from headwater.model.timetable import Timetable
from headwater.model.zone import has_clock

MOST = 100
"""So many replaced epochs of a group are kept, if ``headwater.retain`` does not end earlier."""

ZONE = "spark.sql.session.timeZone"
"""The setting that a view has kept from the session of its declaration."""


def stay(state: State, group: str, known: Sequence[Epoch], now: int) -> list[Epoch]:
    """Those of the epochs of a group that count at a time (ms): the newest one, the one that is published, and those
    that were replaced not too long ago."""
    retain = max((state.views[each].definition.policy.retain for each in members(state, group)), default=0)
    shown = published(state, group, known, now)
    replaced = {each.number for each, after in pairwise(known) if after.at > now - retain}
    recent = {each.number for each in known[-MOST - 1 :] if each.number in replaced}
    return [each for each in known if each.number in recent or each is shown or each is known[-1]]


def kept(state: State, group: str, now: int) -> list[Epoch]:
    """The epochs of a group that can be read at a time (ms)."""
    return stay(state, group, state.groups.get(group, ()), now)


def published(state: State, group: str, known: Sequence[Epoch], now: int) -> Epoch | None:
    """Of some epochs of a group the one that readers see at a time (ms): the newest one at the last publication. Where
    the group had no epoch then, it is the oldest one that has all members. ``None``: there are no epochs."""
    last = max(
        (at for each, zone in _timetables(state, group) if (at := each.last(now, zone)) is not None), default=None
    )
    if last is None:
        return known[-1] if known else None
    found = next((each for each in reversed(known) if each.at <= last), None)
    return found or next(
        (each for each in known if _is_whole(each, members(state, group))), known[-1] if known else None
    )


def next_publication(state: State, group: str, now: int) -> int | None:
    """When readers of a group see its newest epoch (ms); ``None`` if they do so at once."""
    times = (each.following(now, zone) for each, zone in _timetables(state, group))
    return min((each for each in times if each is not None), default=None)


def kept_since(state: State, view: str, now: int) -> Version | None:
    """The version that replaced the oldest one of a view which an epoch names, or an older one; ``None`` if epochs name
    the newest one, or none. Versions are times, so what was deleted from the table since then stays. The clocks of
    engines differ by less than ``AHEAD``. Epochs whose time is over at ``now`` (ms) count no more."""
    policy = state.views[view].definition.policy if view in state.views else None
    epochs = kept(state, policy.group, now) if policy is not None and policy.group else []
    oldest_named = min((known.version for each in epochs if (known := each.of(view)) is not None), default=None)
    record = state.tables.get(view)
    if oldest_named is None or record is None or oldest_named == record.highest:
        return None
    if oldest_named not in record.past:
        return oldest_named - AHEAD  # the one after it may be on record no more
    return min(each for each in (*record.past, record.highest) if each > oldest_named) - AHEAD


# --- inside


def _is_whole(epoch: Epoch, names: Iterable[str]) -> bool:
    return set(names) <= {each.table for each in epoch.members}


def _timetables(state: State, group: str) -> Iterator[tuple[Timetable, str]]:
    """The times at which members ask for a publication, each with the zone of a text that names none."""
    for name in members(state, group):
        definition = state.views[name].definition
        if (asked := definition.policy.publish) is not None:
            zone = dict(definition.settings).get(ZONE, "UTC")
            yield asked, zone if has_clock(zone) else "UTC"
