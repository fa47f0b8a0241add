"""What window functions are computed over: the frames of their rows."""

from __future__ import annotations

import json

from headwater.algebra.derive.query import Call, Expr


def is_of(frame: Call, kind: str) -> bool:
    """Whether a frame has the rows between two values, ``RangeFrame$``, or between two places, ``RowFrame$``."""
    match json.loads(frame.beside or "[]"):
        case [{"of": found}]:
            return str(found).endswith(f".{kind}")
    return False


def is_open(bound: Expr) -> bool:
    """Whether a frame has no end there, but all rows."""
    match bound:
        case Call(call="UnboundedPreceding$" | "UnboundedFollowing$"):
            return True
    return False
