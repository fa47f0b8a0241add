"""The connection to the driver: which errors are its own, and whether the driver is there."""

from __future__ import annotations

import time
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError

PAUSES = (0.0, 0.2, 0.6)
"""Seconds before each of the calls of which a driver that is there answers one."""


def is_broken(error: BaseException) -> bool:
    """Whether a call came to no answer: the gateway's connection broke, a new one was refused, or there is no such
    function. Py4J has one error for all of these."""
    return isinstance(error, ConnectionError) or (isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError))


def answers(jvm: Any) -> bool:
    """Whether the driver answers, now or in a moment: a run that takes it for gone is never recorded as failed."""
    for pause in PAUSES:
        time.sleep(pause)
        try:
            jvm.java.lang.System.nanoTime()
        except (Py4JError, ConnectionError):
            continue
        return True
    return False
