"""Which window functions are made of a few rows before and after a row.

Example: ``lag(price) OVER (PARTITION BY symbol ORDER BY day)``. A changed row is the one before the next row of its
symbol, and before no other.

Which rows these are is found in the rows themselves (``Neighbours.scala``). There it is found, too, whether two of them
have the same place in the order. Spark then takes either for the first one, so whole partitions of the window are
computed.
"""

from __future__ import annotations

import json

from headwater.algebra.derive.query import Call, Expr
from headwater.algebra.derive.specification import is_of, is_open


def is_beside(function: Expr) -> bool:
    """Whether the value of a window function is made of the rows up to some places before and after a row, and of
    nothing else but their order."""
    match function:
        case Call(call="WindowExpression", args=(Call() as inner, Call(args=spec))):
            match spec[-1:]:
                case [Call(call="SpecifiedWindowFrame") as frame]:
                    return is_of(frame, "RowFrame$") and not any(map(is_open, frame.args)) and _takes_all(inner)
    return False


def _takes_all(function: Call) -> bool:
    """Whether a function takes the rows of its frame as they are. With ``IGNORE NULLS``, ``lag`` looks beyond it."""
    match function:
        case Call(kind="aggregate", filter=None, distinct=False):
            return True
        case Call(call="Lag" | "Lead", beside=beside):
            return bool(json.loads(beside or "[]") == ["false"])
    return False
