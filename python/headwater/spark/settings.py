"""The settings of an application that its engine is started with."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen

from headwater.engine.policy import duration
from headwater.model.error import StatementError
from headwater.spark.options import check_settings

ROLES = ("auto", "report", "off")
PREFIX = "spark.headwater."


@frozen
class Settings:
    """
    Attributes:
        role: ``auto`` reports and refreshes; ``report`` leaves refreshing to another engine on the store.
        tracks: how many refreshes run side by side.
        check: seconds between two looks at everything.
        budget: core-seconds a day that refreshing may cost; ``None``: what it takes.
        jobs: the modules whose jobs are declared at start.
    """

    role: str
    tracks: int
    check: float
    budget: float | None = None
    jobs: tuple[str, ...] = ()

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
        return cls(role, _number(given.get("tracks", "2")), check, _budget(given.get("budget")), modules)


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


def _seconds(text: str) -> float:
    """A duration; a plain number is seconds."""
    try:
        return duration(f"{text} seconds" if text.replace(".", "", 1).isdigit() else text) / 1000
    except StatementError as error:
        raise StatementError(f"{PREFIX}check.interval: {error}") from error
