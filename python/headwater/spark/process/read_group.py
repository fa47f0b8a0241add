"""Frames of all members of a group at one epoch."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from headwater.model.error import StatementError
from headwater.spark.jvm import sql
from headwater.spark.jvm.sessions import OLD_COMMITS


def read(spark: SparkSession, group: str, epoch: int | None = None) -> dict[str, DataFrame]:
    """The members of a group as frames at one epoch, by their names.

        views = headwater.read(spark, "revenue")
        views["shop.by_day"].join(views["shop.by_shop"], ...)

    The frames stay at that epoch, however often they are read, until ``headwater.retain`` ends it. The session may be
    one of Spark Connect.

    Args:
        epoch: its number; ``None``: the one that readers see. That is the newest one, or the one that is published.

    Raises:
        StatementError: a member is not in that epoch.
        pyspark.errors.PySparkException: there is no such group, or no such epoch.
    """
    # The statement names the epoch: a setting would change what other threads read in the session.
    at = "" if epoch is None else f" EPOCH {int(epoch)}"
    rows = spark.sql(f"DESCRIBE MATERIALIZED VIEW GROUP {sql.identifier(group)}{at}").collect()
    members = {row["table"]: row["as_of"] for row in rows if row["role"] == "member"}
    if missing := [name for name, number in members.items() if number is None]:
        raise StatementError(f"{', '.join(missing)} is in no epoch of {group} yet")
    if spark.conf.get(OLD_COMMITS, None) is None:
        spark.conf.set(OLD_COMMITS, "false")
    frames = {}
    for name, number in members.items():
        frames[name] = spark.sql(f"SELECT * FROM {sql.with_catalog(name)} VERSION AS OF {int(number)}")
    return frames
