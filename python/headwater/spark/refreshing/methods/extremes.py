"""Groups whose least or greatest value went. Totals do not tell the next value. So the query computes these groups.

Example: a view has the last order of each customer. The last order of customer 7 is cancelled. The run computes the
totals of customer 7 anew, from all orders of customer 7. It adds to the totals of the other groups, as in any run by
changes.
"""

from __future__ import annotations

from collections.abc import Callable

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame

from headwater.spark.jvm.query_totals import ChangedGroups, QueryTotals
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.rows_by_keys import Reach


def looked_up(
    shim: Shim,
    totals: QueryTotals,
    before: DataFrame,
    groups: ChangedGroups,
    few: bool,
    anew: Callable[[JavaObject], DataFrame],
) -> tuple[DataFrame, DataFrame]:
    """Totals on record and those of changed rows, so that both together have all extremes.

    Args:
        before: the totals on record of the buckets with the changed groups.
        groups: the totals of changed rows.
        few: whether one task adds them sooner than several would exchange them.
        anew: computes the totals of the groups with some keys.
    """
    if not groups.may_lose:
        return before, groups.totals
    names = tuple(groups.keys.columns)
    lost = Reach.of(shim, [totals.losing(before, [groups.totals], few)], names, groups.count)
    assert lost is not None  # no group is lost that did not change
    if not lost.count:
        return before, groups.totals
    return lost.outside(before).unionByName(anew(lost.values)), lost.outside(groups.totals)
