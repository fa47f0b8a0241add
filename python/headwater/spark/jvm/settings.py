"""The settings of an application, read when its engine starts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from attrs import frozen

from headwater.engine.requests.limits import TRACKS
from headwater.model.error import StatementError
from headwater.model.policy import duration
from headwater.model.properties import nearest
from headwater.store.snapshots import HISTORY

SETTINGS = (
    "store",
    "history",
    "role",
    "read",
    "read.epoch",
    "wait",
    "wait.timeout",
    "tracks",
    "budget",
    "python",
    "check.interval",
    "join",
    "jobs",
    "memory",
    "memory.path",
    "memory.bandwidth",
)
"""The session settings ``spark.headwater.<name>``."""

EPOCH = "spark.headwater.read.epoch"
"""The epoch at which the statements of a session read."""

INTERNAL = "internal"
"""The mark of Headwater's own sessions. It is no setting for users, so no message offers it."""

ROLES = ("auto", "report", "off")
WAITS = ("true", "false")
PREFIX = "spark.headwater."
SIZE = re.compile(r"(\d{1,18}(?:\.\d+)?)\s*([kmgt%]?)b?")
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

LEAST_TRACKS = 2
"""A long refresh shall not stop all others."""

MOST_TRACKS = 10_000

LONGEST_SLEEP = 366 * 86_400.0
"""A year (s). A thread cannot sleep for three hundred of them, which a duration may be."""


@frozen
class MemoryLimit:
    """A number of bytes, or a share of the volume."""

    bytes: int = 0
    share: float = 0

    def of(self, total: int) -> int:
        return self.bytes or round(self.share * total)


@frozen
class Settings:
    """
    Attributes:
        role: ``auto`` reports and refreshes; ``report`` leaves refreshes to another engine on the store.
        tracks: the number of refreshes side by side.
        check: seconds between two checks of all sources.
        join: seconds in which further writes join a look.
        budget: core-seconds a day for refreshes; ``None``: no limit.
        jobs: modules with jobs, declared at the start.
        memory: memory for the rows that views downstream read.
        memory_path: the place of that memory; ``None``: the usual one, if it exists.
        bandwidth: bytes a second of the copy to the warehouse, at most; 0: no limit.
        history: ms for which the store keeps what happened.
    """

    role: str
    tracks: int
    check: float
    budget: float | None = None
    jobs: tuple[str, ...] = ()
    memory: MemoryLimit = MemoryLimit()
    memory_path: str | None = None
    bandwidth: int = 0
    history: int = HISTORY
    join: float = 0.5

    @classmethod
    def of(cls, conf: Mapping[str, str]) -> Settings:
        """The settings in a Spark configuration.

        Raises:
            StatementError: a setting is unknown (the message names the nearest known one), or its value is malformed.
        """
        problems = check_settings(conf)
        if problems:
            raise StatementError("; ".join(problems))
        given = {key.removeprefix(PREFIX): value.strip() for key, value in conf.items() if key.startswith(PREFIX)}
        role = _word("role", given.get("role", "auto"), ROLES)
        _word("wait", given.get("wait", "false"), WAITS)
        _millis("wait.timeout", given.get("wait.timeout", "1 hour"))
        history = _millis("history", given.get("history", "30 days"))
        check = _seconds("check.interval", given.get("check.interval", "1 minute"))
        join = _seconds("join", given.get("join", "500 milliseconds"))
        modules = tuple(each.strip() for each in given.get("jobs", "").split(",") if each.strip())
        usual = str(_usual_tracks(conf.get("spark.master", "")))
        tracks, budget = _number(given.get("tracks", usual)), _budget(given.get("budget"))
        memory, bandwidth = _memory(given.get("memory", "0")), _bandwidth(given.get("memory.bandwidth", "0"))
        return cls(role, tracks, check, budget, modules, memory, given.get("memory.path"), bandwidth, history, join)


def _usual_tracks(master: str) -> int:
    """The refreshes side by side where nobody says. More than a local master has threads take turns on these, so that
    each ends later. A played load of 90 % left views nearly three times as stale with four tracks on two threads
    (``benchmarks/parts/overload``)."""
    match = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\d+)?\])?", master)
    if match is None:
        return TRACKS
    threads = (os.cpu_count() or 1) if match[1] == "*" else int(match[1] or 1)
    return min(TRACKS, max(LEAST_TRACKS, threads))


def _word(name: str, text: str, words: Sequence[str]) -> str:
    if text.lower() not in words:
        raise StatementError(f"{PREFIX}{name} is '{text.lower()}'; it is one of {', '.join(words)}")
    return text.lower()


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > len(str(MOST_TRACKS)) or not 1 <= int(text) <= MOST_TRACKS:
        raise StatementError(f"{PREFIX}tracks is '{text}'; write a whole number from 1 to {MOST_TRACKS}")
    return int(text)


def _budget(text: str | None) -> float | None:
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,18}(\.\d+)?", text) or float(text) == 0:
        raise StatementError(f"{PREFIX}budget is '{text}'; write a positive number of core-seconds a day, such as 3600")
    return float(text)


def _bandwidth(text: str) -> int:
    """Bytes a second."""
    match = SIZE.fullmatch(text.lower().removesuffix("/s"))
    if match is None or match[2] == "%":
        raise StatementError(
            f"{PREFIX}memory.bandwidth is '{text}'; write a number of bytes a second, such as 50m, or 0 for no limit"
        )
    return round(float(match[1]) * UNITS[match[2]])


def _memory(text: str) -> MemoryLimit:
    """Bytes in Spark's spelling, or a share."""
    match = SIZE.fullmatch(text.lower())
    if match is None or (match[2] == "%" and float(match[1]) > 100):
        raise StatementError(
            f"{PREFIX}memory is '{text}'; write a number of bytes such as 2g, a share of the volume such as 20%, or 0 "
            "for none"
        )
    number, unit = float(match[1]), match[2]
    return MemoryLimit(share=number / 100) if unit == "%" else MemoryLimit(round(number * UNITS[unit]))


def _millis(name: str, text: str) -> int:
    try:
        return duration(text)
    except StatementError as error:
        raise StatementError(f"{PREFIX}{name}: {error}") from error


def _seconds(name: str, text: str) -> float:
    """A duration for which a thread sleeps; a plain number is seconds."""
    try:
        millis = duration(f"{text} seconds" if text.replace(".", "", 1).isdecimal() else text)
    except StatementError as error:
        raise StatementError(f"{PREFIX}{name}: {error}") from error
    return min(millis / 1000, LONGEST_SLEEP)


def check_settings(settings: Mapping[str, str]) -> list[str]:
    """A sentence for each unknown setting under ``spark.headwater.``."""
    names = [key.removeprefix(PREFIX) for key in settings if key.startswith(PREFIX)]
    unknown = [name for name in names if name not in (*SETTINGS, INTERNAL)]
    return [f"there is no setting '{PREFIX}{name}'{nearest(name, SETTINGS, PREFIX)}" for name in unknown]
