"""Rules that properties state, such as ``month = trunc(day, 'MM')``: whether a value of them lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headwater.algebra.derive import derive
from headwater.algebra.derive.relation import short
from headwater.model.dependency import Computed, Dependency
from headwater.model.error import AnalysisFailed, DefinitionError
from headwater.spark.jvm import sql
from headwater.spark.jvm.wire import Described


def refuse_unlasting(view: str, dependencies: Iterable[Dependency], describe: Callable[[str], Described]) -> None:
    """Refuses stated rules that have another value another day. The engine keeps each value that it computed.

    Args:
        describe: has Spark analyse a query.

    Raises:
        DefinitionError: a rule calls a function of the catalog, which may be redefined, or one such as ``rand()``; it
            reads a table; or Spark cannot analyse it.
    """
    stated = [each for each in dependencies if each.stated]
    rules = [(each.source, *rule) for each in stated for one in each.occurrences for rule in one.columns]
    for source, column, rule in rules:
        if isinstance(rule, Computed) and (why := _why(rule, describe)):
            raise DefinitionError("PROPERTY", f"the stated rule of {column} by {short(source)} {why}", view)


def _why(rule: Computed, describe: Callable[[str], Described]) -> str:
    """Why a rule cannot be stated; empty if it can."""
    inputs = ", ".join(f"CAST(NULL AS STRING) AS {sql.identifier(name)}" for name in rule.inputs) or "1"
    try:
        found = describe(f"SELECT {rule.sql} AS x FROM (SELECT {inputs})")
    except AnalysisFailed as error:
        return f"is no expression: {error.fault}"
    if found.functions:
        return f"calls the function {short(found.functions[0])}, which may be redefined; write what it computes"
    derived = derive(found.plan, (), ())
    if derived.reads:
        table = short(derived.reads[0].source)
        return f"reads {table}, whose rows may change; write an expression over the partition columns"
    return f"may have another value later: {derived.problems[0].sentence}" if derived.problems else ""
