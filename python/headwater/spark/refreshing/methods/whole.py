"""Refreshes of whole partitions, or of the whole view: all rows of the query in the slices of a run.

A run that leaves totals computes these first, and its rows from them.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from headwater.model.work import WholePartitions, WholeView
from headwater.spark.refreshing.methods import totals
from headwater.spark.refreshing.methods.touched import clustered
from headwater.spark.refreshing.recipe import Ingredients, Rows


def rows(run: Ingredients, work: WholeView | WholePartitions) -> Rows:
    place = totals.place(run) if work.leaves_totals else ""
    if not place:
        return Rows(run.whole)
    query = run.analysed()
    left = totals.kept(run, place, query)
    every = left.directory.read(left.manifest)

    def planned() -> DataFrame:
        return clustered(run, query, left.totals, left.manifest.bytes, run.cut(left.totals.finished(every)))

    return Rows(planned, totals=left.told)
