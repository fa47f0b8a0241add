"""Refreshes by keys of a view with a window function: of the rows with a key, those in whose frames a row changed.

Example: ``max(price) OVER (PARTITION BY symbol ORDER BY day RANGE BETWEEN INTERVAL 364 DAYS PRECEDING AND CURRENT
ROW)``, and a price of yesterday came. The rows of its symbol from yesterday on are computed anew, each from the prices
in its frame. The keys are symbol and day; the query tells in the frames of which of them a row changed.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame

from headwater.model.dependency import in_frames
from headwater.model.work import ByKeys
from headwater.spark.jvm.failures import finding_changes
from headwater.spark.refreshing.methods import keys
from headwater.spark.refreshing.recipe import Ingredients, Rows
from headwater.spark.tables.rows_by_keys import Reach


def rows(run: Ingredients, work: ByKeys) -> Rows:
    """The rows that changes reach, and those that stay beside them.

    Raises:
        ChangesUnknown: it is not known which, or there are too many.
    """
    with finding_changes(run.shim):
        reach = _reached(run, work)
    if reach is None:
        return keys.rows(run, work)

    def computed() -> DataFrame:
        run.queries.renew(run.session, run.launch)
        return run.cut(run.shim.framed(run.analysed(), reach.rows))

    return keys.replaced(run, reach, computed)


def _reached(run: Ingredients, work: ByKeys) -> Reach | None:
    """The keys of the rows in whose frames a row changed; ``None`` if rows of whole partitions of a window did, or if
    the window is computed as soon."""
    definition, sources = run.launch.definition, {source for source, _ in work.since}
    keyed = {each.source: each.keys for each in definition.dependencies if each.source in sources}
    known = {source: each.frames for source, each in keyed.items() if each.frames is not None}
    columns = in_frames(keyed.values())
    if not columns:
        return None
    changed = reduce(DataFrame.union, keys.found(run, work.since, known, columns))
    reached = run.shim.framed_keys(run.analysed(), changed)
    return None if reached is None else Reach.of(run.shim, [reached], columns, keys.MOST)
