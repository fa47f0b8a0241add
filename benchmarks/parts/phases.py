"""Where the time of a refresh goes: its seconds by what the engine does, from its calls."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from benchmarks.parts.calls import Call, children

PHASES = {
    "the session and the analysed query": ("Sessions.of_run", "Queries.renew", "Queries.analysed"),
    "the changed rows come to the driver": ("Formats.changed", "Shim.few_rows"),
    "the changed groups or keys come to the driver": ("QueryTotals.collected", "Shim.key_values"),
    "files of the view with these keys are found": ("Ingredients.files",),
    "totals of these groups are read and written": (
        "TotalsDirectory.recorded",
        "TotalsDirectory.read",
        "TotalsDirectory.write_some",
        "TotalsDirectory.keep",
    ),
    "rows of the view are computed and written": ("Writer.write",),
    "the commit": ("SparkWarehouse.publish",),
    "the journal": ("SqlStore.append_all", "SqlStore.append", "SqlStore.read", "SqlStore.discard"),
}
"""The calls of each phase. A call that is made by one of another phase counts for its own."""

REST = "all else: planning, calls between the processes"


def of_run(calls: Sequence[Call], seconds: float) -> dict[str, float]:
    """The milliseconds of each phase of a run.

    Args:
        calls: of the run.
        seconds: that it took in all.
    """
    known = set(chain.from_iterable(PHASES.values()))
    mine = [each for each in calls if each.name in known]
    millis = {
        phase: 1000 * sum(_own(each, mine) for each in mine if each.name in names) for phase, names in PHASES.items()
    }
    return {**millis, REST: 1000 * seconds - sum(millis.values())}


def _own(call: Call, others: Sequence[Call]) -> float:
    """The seconds of a call without those of calls inside it."""
    return call.seconds - sum(each.seconds for each in children(call, others))
