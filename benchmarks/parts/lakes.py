"""The lake formats of the benchmarks: settings of a session that has both, and Iceberg's catalog beside Spark's own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from benchmarks.parts.harness import Worker, application, extension
from headwater.demo.session import DELTA, ICEBERG

CATALOG = "lake"
"""The catalog of the Iceberg tables. Delta tables are in the session catalog."""

CATALOGS = {"files": "spark_catalog", "delta": "spark_catalog", "iceberg": CATALOG}
"""The catalog of each format's tables."""

USING = {"files": "parquet", "delta": "delta", "iceberg": "iceberg"}
"""The word after ``USING`` for each format."""


def settings(warehouse: Path, headwater: bool = True) -> dict[str, str]:
    """The settings of a session with both formats; ``headwater``: with the extension, too."""
    ours = extension()
    on = [ours["spark.sql.extensions"]] if headwater else []
    return {
        **ours,
        **dict(DELTA.settings),
        "spark.jars.packages": f"{DELTA.package},{ICEBERG.package}",
        "spark.sql.extensions": ",".join([DELTA.extension, ICEBERG.extension, *on]),
        f"spark.sql.catalog.{CATALOG}": "org.apache.iceberg.spark.SparkCatalog",
        f"spark.sql.catalog.{CATALOG}.type": "hadoop",
        f"spark.sql.catalog.{CATALOG}.warehouse": str(warehouse),
    }


def zoned(zone: str) -> dict[str, str]:
    """The settings of a session and a JVM in a time zone."""
    return {"spark.sql.session.timeZone": zone, "spark.driver.extraJavaOptions": f"-Duser.timezone={zone}"}


def lake(
    conf: Mapping[str, str] | None = None, headwater: bool = True, module: str = "benchmarks.parts.worker"
) -> AbstractContextManager[Worker]:
    """An application of its own with both formats."""
    return application(lambda place: {**settings(place / "lake", headwater), **(conf or {})}, module)
