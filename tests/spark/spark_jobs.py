"""The jobs of Spark that something starts, as Spark itself counts them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

from pyspark.sql import SparkSession

from headwater.spark.jvm.job_groups import group

_numbers = itertools.count()


@contextlib.contextmanager
def jobs_of_this_thread(spark: SparkSession) -> Iterator[list[int]]:
    """The numbers of the jobs that this thread starts meanwhile, filled in at the end."""
    context, group, found = spark.sparkContext, f"counted {next(_numbers)}", list[int]()
    context.setJobGroup(group, group)
    try:
        yield found
    finally:
        context._jsc.sc().listenerBus().waitUntilEmpty()
        found += context.statusTracker().getJobIdsForGroup(group)
        context._jsc.clearJobGroup()


def jobs_of(spark: SparkSession, view: str, since: int = 0) -> dict[int, str]:
    """The jobs from a number on, without those of other views and of clean-ups: each with what Spark calls it."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    listed = context.statusStore().jobsList(None)
    found = [listed.apply(n) for n in range(listed.size())]
    said = {each.jobId(): _said(each) for each in found if each.jobId() >= since and _may_be_of(each, view)}
    return {number: each for number, each in said.items() if "Deleting orphan files" not in each}


def _may_be_of(job, view: str) -> bool:
    """Whether a job is of a run of a view, or of none."""
    named = job.jobGroup()
    return (
        not named.isDefined()
        or not named.get().startswith("headwater ")
        or named.get().rpartition(" ")[0] == group(view, 0).rpartition(" ")[0]
    )


def _said(job) -> str:
    description = job.description()
    return f"{job.name()}: {description.get() if description.isDefined() else ''}"
