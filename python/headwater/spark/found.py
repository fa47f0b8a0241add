"""What a look at a table found in its partitions (an entry of the answer to ``observe``, docs/protocol.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from headwater.model.partition import Slice
from headwater.spark import sql

Fact = Mapping[str, Any]


def fingerprints(fact: Fact) -> dict[Slice, str]:
    """The fingerprint of each partition. Those of directories that mean one value, ``month=5`` and ``month=05``, are
    one: a change of either changes it."""
    return {each: _joined([one["fingerprint"] for one in several]) for each, several in _by_value(fact).items()}


def empty(fact: Fact) -> set[Slice]:
    """The partitions without a file."""
    return {each for each, several in _by_value(fact).items() if not any(one["files"] for one in several)}


def is_spelled_as_spark_does(fact: Fact) -> bool:
    """Whether each partition has the name that Spark would give it."""
    return all(each["spec"] == sql.spec(Slice.of(each["values"])) for each in fact["partitions"])


def _by_value(fact: Fact) -> dict[Slice, list[Mapping[str, Any]]]:
    found: dict[Slice, list[Mapping[str, Any]]] = {}
    for each in fact["partitions"]:
        found.setdefault(Slice.of(each["values"]), []).append(each)
    return found


def _joined(fingerprints: list[str]) -> str:
    if len(fingerprints) == 1:
        return fingerprints[0]
    return hashlib.sha256(" ".join(sorted(fingerprints)).encode()).hexdigest()[:32]
