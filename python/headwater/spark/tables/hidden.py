"""The hidden directory of a view's totals, and its removal with the view's table.

Example: a Hive catalog of Iceberg deletes the files that a table names, and leaves its directory. The totals in there
would stay for good.
"""

from __future__ import annotations

import posixpath
import re

from headwater.model.partition import Version
from headwater.spark.jvm.shim import Shim

HIDDEN = ".totals"
"""The directory of a view's totals, in that of its table. Spark does not read such a name with a table, and Delta does
not clean it up."""

OWN = re.compile(r"v\d+")
"""The names of what Headwater writes there, one for each run."""


def found(shim: Shim, location: str) -> list[str]:
    """The totals in a table's directory."""
    place = posixpath.join(location, HIDDEN)
    return [posixpath.join(place, name) for name in shim.names(place) if OWN.fullmatch(name)]


def remove_old(shim: Shim, location: str, until: Version) -> None:
    """Deletes the totals of runs up to a version from the directory of a table that was dropped. Another view may have
    its place by now, whose runs have higher versions."""
    remove(shim, location, [each for each in found(shim, location) if int(posixpath.basename(each)[1:]) <= until])


def remove(shim: Shim, location: str, totals: list[str]) -> None:
    """Deletes totals that were found there before the table was dropped, and their directory if it is empty then."""
    for each in totals:
        shim.delete(each)
    place = posixpath.join(location, HIDDEN)
    if totals and not shim.names(place):
        shim.delete(place)
