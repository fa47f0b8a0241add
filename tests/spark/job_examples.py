"""Jobs that the tests declare; the engine imports them from here."""

from __future__ import annotations

import os
from pathlib import Path

from pyspark.sql import functions as F

from headwater import DAY, MONTH, WEEK, Windowed, job, table


def _noted(partitions, inputs) -> None:
    """Leaves what a function was told where the test finds it: it runs in another process."""
    place = os.environ.get("HEADWATER_TEST_NOTES")
    if place:
        with Path(place).open("a") as notes:
            notes.write(f"{sorted(str(each) for each in partitions)} {sorted(inputs)}\n")


@job(
    outputs=["weekly"], columns="week DATE, total BIGINT", partition=WEEK, deps=[table("daily", partition=WEEK.days())]
)
def weekly(spark, partitions, inputs):
    _noted(partitions, inputs)
    weeks = F.trunc("day", "week").alias("week")
    return spark.table("daily").groupBy(weeks).agg(F.sum("total").alias("total"))


@job(
    outputs=["stubborn"],
    columns="week DATE, total BIGINT",
    partition=WEEK,
    deps=[table("daily", partition=WEEK.days())],
)
def stubborn(spark, partitions, inputs):
    raise ValueError("no such rate: EUR/XYZ")


@job(outputs=["lost"], columns="day DATE, n INT", partition=DAY, deps=[table("nowhere", partition=DAY)])
def lost(spark, partitions, inputs):
    return None


@job(outputs=["crooked"], columns="week DATE, n INT", partition=WEEK, deps=[table("daily", partition=MONTH.days())])
def crooked(spark, partitions, inputs):
    return None


@job(outputs=["misnamed"], columns="week DATE, n INT", partition=WEEK, deps=[table("daily", week="dya")])
def misnamed(spark, partitions, inputs):
    return None


@job(outputs=["high", "low"], columns="day DATE, total BIGINT", partition=DAY, deps=[table("daily", partition=DAY)])
def split(spark, partitions, inputs, output):
    high = F.col("total") >= 100
    return spark.table("daily").where(high if output.endswith("high") else ~high)


@job(
    outputs=["balance"],
    columns="day DATE, held BIGINT",
    partition=DAY,
    deps=[table("daily", partition=DAY), table("balance", partition=DAY - 1)],
)
def balance(spark, partitions, inputs):
    [each] = partitions
    today = spark.table("daily").where(F.col("day") == each["day"]).select("day", "total")
    before = spark.table("balance").where(F.date_add("day", 1) == each["day"]).select("held")
    return today.join(before, how="left").select("day", (F.col("total") + F.coalesce("held", F.lit(0))).alias("held"))


@job(outputs=["ahead"], columns="day DATE, n INT", partition=DAY, deps=[table("ahead", partition=(DAY - 1).to(DAY))])
def ahead(spark, partitions, inputs):
    return None


@job(
    outputs=["vague"],
    columns="day DATE, n INT",
    partition=DAY,
    deps=[table("daily"), table("vague", partition=DAY - 1)],
)
def vague(spark, partitions, inputs):
    return None


@job(
    outputs=["torn"],
    columns="n INT, day DATE, month DATE",
    partition={"day": DAY, "month": MONTH},
    deps=[table("torn", day=Windowed("day", DAY - 1)), table("torn", month=Windowed("month", MONTH - 1))],
)
def torn(spark, partitions, inputs):
    return None
