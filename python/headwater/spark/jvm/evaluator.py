"""The meaning of computed partition columns, by Spark."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.model.error import RefreshFailed
from headwater.model.partition import Value
from headwater.model.view import Definition
from headwater.spark.jvm import sql
from headwater.spark.jvm.sessions import Sessions
from headwater.spark.jvm.shim import SPARK_ERRORS, Shim


class SparkEvaluator:
    """Evaluates expressions in the sessions of the views that have them."""

    def __init__(self, sessions: Sessions, shim: Shim) -> None:
        self._sessions, self._shim = sessions, shim

    def evaluate(
        self, definition: Definition, expression: str, inputs: Sequence[tuple[Value, ...]], names: Sequence[str]
    ) -> list[Value]:
        rows = ", ".join(f"({', '.join([str(n), *map(sql.string, each)])})" for n, each in enumerate(inputs))
        columns = ", ".join(["`headwater row`", *(sql.identifier(name) for name in names)])
        try:
            session = self._sessions.of(definition)
            told = sql.valid(expression)
            found = session.sql(f"SELECT `headwater row`, {told} FROM VALUES {rows} AS t({columns})").collect()
        except SPARK_ERRORS as error:
            raise RefreshFailed(f"{expression} cannot be evaluated: {self._shim.failure(error).text}") from error
        values = {row[0]: sql.partition_value(row[1]) for row in found}
        return [values[n] for n in range(len(inputs))]
