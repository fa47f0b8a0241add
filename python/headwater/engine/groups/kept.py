"""Which epochs of a group stay, and which of them readers see.

Example: ``revenue`` publishes at 06:00. Its epochs 40 and 42 were made at 05:50 and at 06:10, and 41 is the publication
of 40. Readers have 40 until the next morning, so it stays, however many are made in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from headwater.engine.groups.epochs import members
from headwater.engine.requests.limits import AHEAD
from headwater.model.epoch import Epoch, GroupPublication
from headwater.model.partition import Version
from headwater.model.state import State
from headwater.model.timetable import Timetable

MOST = 100
"""So many replaced epochs of a group are kept, if ``headwater.retain`` does not end earlier."""


def kept(state: State, group: str, now: int) -> list[Epoch]:
    """The epochs of a group that can be read at a time (ms): the newest one, those that were replaced not too long ago,
    and those that readers see, or saw not too long ago."""
    known, since = state.groups.get(group, ()), now - _retained(state, group)
    named = {each.epoch for each in counting(state, group, now)}
    recent = {each.number for each, after in [*pairwise(known)][-MOST:] if after.at > since}
    return [each for each in known if each.number in recent | named or each is known[-1]]


def counting(state: State, group: str, now: int) -> list[GroupPublication]:
    """The publications of a group that count at a time (ms): the last one, and those that were replaced not too long
    ago. A statement that began at one of them may go on, and the clocks of engines differ."""
    known, since = state.published.get(group, ()), now - _retained(state, group)
    return [each for each, after in [*pairwise(known)][-MOST:] if after.at > since] + [*known[-1:]]


def shown(state: State, group: str, moment: int, now: int) -> Epoch | None:
    """The epoch of a group that readers see at a moment, which is a number; ``None`` if it is not there."""
    publications = counting(state, group, now)
    last = next((each for each in reversed(publications) if each.number <= moment), None)
    if not publications or (last is not None and last.epoch is None):
        return made_at(state, group, moment, now)
    if last is None:
        return None
    return next((each for each in kept(state, group, now) if each.number == last.epoch), None)


def made_at(state: State, group: str, moment: int, now: int) -> Epoch | None:
    """The newest epoch of a group at a moment, published or not; ``None`` if it is not there."""
    found = next((each for each in reversed(kept(state, group, now)) if each.number <= moment), None)
    return None if found is None or (found.until is not None and found.until <= moment) else found


def next_publication(state: State, group: str) -> int | None:
    """When readers of a group see its newest epoch (ms); ``None`` if they do so at once."""
    last = next(reversed(state.published.get(group, ())), None)
    if last is None or last.epoch is None:
        return None
    times = (each.following(last.since, zone) for each, zone in last.asked)
    return min((each for each in times if each is not None), default=None)


def timetables(state: State, group: str) -> tuple[tuple[Timetable, str], ...]:
    """The times at which members ask for a publication, each with the zone of a text that names none."""
    found = dict[tuple[Timetable, str], None]()
    for name in members(state, group):
        definition = state.views[name].definition
        if (asked := definition.policy.publish) is not None:
            found[asked, definition.zone] = None
    return tuple(found)


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


def ranges(epochs: Sequence[Epoch]) -> str:
    """The numbers of epochs in words, such as ``2, 4 to 7``: those from one to another one are all there."""
    runs: list[list[Epoch]] = []
    for each in epochs:
        if runs and runs[-1][-1].until == each.number:
            runs[-1].append(each)
        else:
            runs.append([each])
    return ", ".join(f"{run[0].number} to {run[-1].number}" if run[1:] else str(run[0].number) for run in runs)


# --- inside


def _retained(state: State, group: str) -> int:
    """So long (ms) what was replaced counts. The clocks of engines differ by less than ``AHEAD``."""
    retain = (state.views[each].definition.policy.retain for each in members(state, group))
    return max((*retain, AHEAD))
