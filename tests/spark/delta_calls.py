"""``Delta.java`` as a test changes it, beside the one that engines of the same process have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

CODE = Path(__file__).parents[2] / "jvm-shim/src/main/resources/headwater/Delta.java"
DELTA = re.compile(r"\bDelta(?=[ (.])")

_made: dict[str, Any] = {}


def compiled_delta(spark: SparkSession, table: str, code: str) -> Any:
    """The calls by some code. Py4J finds methods by the name of a class, so each code has a name of its own."""
    if code not in _made:
        java: Any = spark._jvm
        [[place]] = spark.sql(f"DESCRIBE DETAIL {table}").select("location").collect()
        log = java.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, place)
        name, loader = f"Delta{len(_made)}", log.getClass().getClassLoader()
        _made[code] = java.io.headwater.spark.Compiled.compiled(name, DELTA.sub(name, code), loader)
    return _made[code]
