"""The settings of an application that its engine is started with."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen

from headwater.engine.policy import TRACKS, duration
from headwater.model.error import StatementError
from headwater.spark.options import check_settings

ROLES = ("auto", "report", "off")
PREFIX = "spark.headwater."
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt%]?)b?")
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@frozen
class Memory:
    """So many bytes, or a share of what there is."""

    bytes: int = 0
    share: float = 0

    def of(self, total: int) -> int:
        return self.bytes or round(self.share * total)


@frozen
class Settings:
    """
    Attributes:
        role: ``auto`` reports and refreshes; ``report`` leaves refreshing to another engine on the store.
        tracks: how many refreshes run side by side.
        check: seconds between two looks at everything.
        budget: core-seconds a day that refreshing may cost; ``None``: what it takes.
        jobs: the modules whose jobs are declared at start.
        memory: how much of outputs may be kept for their readers.
        memory_path: where; ``None``: where there is memory, if there is such a place.
        bandwidth: with how many bytes a second that is brought to the warehouse, at most; 0: no limit.
    """

    role: str
    tracks: int
    check: float
    budget: float | None = None
    jobs: tuple[str, ...] = ()
    memory: Memory = Memory()
    memory_path: str | None = None
    bandwidth: int = 0

    @classmethod
    def of(cls, conf: Mapping[str, str]) -> Settings:
        """What ``spark.headwater.*`` says.

        Raises:
            StatementError: a setting is unknown (with the nearest known one) or has a value it cannot have.
        """
        problems = check_settings(conf)
        if problems:
            raise StatementError("; ".join(problems))
        given = {key.removeprefix(PREFIX): value.strip() for key, value in conf.items() if key.startswith(PREFIX)}
        role = given.get("role", "auto").lower()
        if role not in ROLES:
            raise StatementError(f"{PREFIX}role is '{role}'; it is one of {', '.join(ROLES)}")
        check = _seconds(given.get("check.interval", "1 minute"))
        modules = tuple(each.strip() for each in given.get("jobs", "").split(",") if each.strip())
        tracks, budget = _number(given.get("tracks", str(TRACKS))), _budget(given.get("budget"))
        memory, bandwidth = _memory(given.get("memory", "0")), _bandwidth(given.get("memory.bandwidth", "0"))
        return cls(role, tracks, check, budget, modules, memory, given.get("memory.path"), bandwidth)


def _number(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise StatementError(f"{PREFIX}tracks is '{text}'; it is a whole number from 1 on")
    return int(text)


def _budget(text: str | None) -> float | None:
    if text is None:
        return None
    if not re.fullmatch(r"\d+(\.\d+)?", text) or float(text) == 0:
        raise StatementError(f"{PREFIX}budget is '{text}'; it is a positive number of core-seconds a day, such as 3600")
    return float(text)


def _bandwidth(text: str) -> int:
    """Bytes a second."""
    match = SIZE.fullmatch(text.lower().removesuffix("/s"))
    if match is None or match[2] == "%":
        raise StatementError(
            f"{PREFIX}memory.bandwidth is '{text}'; it is a number of bytes a second, such as 50m, or 0 for no limit"
        )
    return round(float(match[1]) * UNITS[match[2]])


def _memory(text: str) -> Memory:
    """Bytes, as Spark spells them, or a share."""
    match = SIZE.fullmatch(text.lower())
    if match is None or (match[2] == "%" and float(match[1]) > 100):
        raise StatementError(
            f"{PREFIX}memory is '{text}'; it is a number of bytes, such as 512m or 2g, a share of what the volume has, "
            "such as 20%, or 0 for none"
        )
    number, unit = float(match[1]), match[2]
    return Memory(share=number / 100) if unit == "%" else Memory(round(number * UNITS[unit]))


def _seconds(text: str) -> float:
    """A duration; a plain number is seconds."""
    try:
        return duration(f"{text} seconds" if text.replace(".", "", 1).isdigit() else text) / 1000
    except StatementError as error:
        raise StatementError(f"{PREFIX}check.interval: {error}") from error
