"""The log: what an engine has to say where no statement waits for an answer."""

from __future__ import annotations

import logging

log = logging.getLogger("headwater")
