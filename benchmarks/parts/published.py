"""The queries of TPC-H and TPC-DS as those of views: with the parameters of the validation runs, without an order.

The generator in DuckDB carries their texts. A view has no order, so an ``ORDER BY`` at the end goes, and the limit with
it: which rows are the first hundred would depend on ties.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Sequence

from benchmarks.parts import tpcds

TEXTS = """
import duckdb, json, sys
base = duckdb.connect()
base.execute(f"LOAD {sys.argv[1]}")
base.execute(f"CALL {sys.argv[2]}(sf=0)")
texts = base.execute(f"SELECT query_nr, query FROM {sys.argv[1]}_queries()").fetchall()
columns = [[row[0] for row in base.execute("DESCRIBE " + text).fetchall()] for _, text in texts]
print(json.dumps([[*text, names] for text, names in zip(texts, columns)]))
"""
GENERATORS = {"tpch": "dbgen", "tpcds": "dsdgen"}

_LAST = re.compile(r"(?is)\border\s+by\b(?!.*\border\s+by\b).*$|\blimit\s+\d+\s*$")


def queries(suite: str) -> dict[str, str]:
    """The queries of a suite by name, as Spark reads them. Each column has a name of its own.

    Args:
        suite: ``tpch`` or ``tpcds``.
    """
    command = [tpcds.generator(), "-c", TEXTS, suite, GENERATORS[suite]]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    return {f"q{number:02}": _for_spark(text, columns) for number, text, columns in json.loads(ran.stdout)}


def _for_spark(text: str, columns: Sequence[str]) -> str:
    text = " ".join(line.split("--")[0].strip() for line in text.splitlines()).strip().rstrip("; ")
    shorter = _LAST.sub("", text).strip()
    if shorter.count("(") == shorter.count(")"):  # an ORDER BY of a window stays
        text = shorter
    text = text.replace('"', "`")
    counts = Counter(each.casefold() for each in columns)
    plain = [re.fullmatch(r"\w+", each) and counts[each.casefold()] == 1 for each in columns]
    if all(plain):
        return text
    named = [each if fits else f"c{n}" for n, (each, fits) in enumerate(zip(columns, plain, strict=True))]
    return f"SELECT * FROM ({text}) AS q({', '.join(named)})"
