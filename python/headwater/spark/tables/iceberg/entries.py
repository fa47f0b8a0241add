"""The partitions that the files of an Iceberg table lie in."""

from __future__ import annotations

import json
from typing import Any

from attrs import frozen


@frozen
class Placed:
    """Where a file lies: its spec, and its partition values in Iceberg's JSON form by the numbers of the fields."""

    spec: int
    values: tuple[tuple[str, Any], ...]


def placed(told: str) -> set[Placed]:
    """What the driver tells of the places of files, such as ``3 {"1000": "a"}`` in a line."""
    return {_placed(line) for line in told.split("\n") if line}


def _placed(line: str) -> Placed:
    spec, _, values = line.partition(" ")
    return Placed(int(spec), tuple(json.loads(values).items()))
