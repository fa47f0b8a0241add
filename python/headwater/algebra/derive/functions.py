"""Aggregate functions whose result follows from numbers of rows, whatever their order: counts, exact sums, extremes.

Spark adds floating-point numbers up in the order of the rows, with an error of each addition. A view may ask for exact
sums of them, which do not depend on the order (``ExactNumber.scala``).
"""

from __future__ import annotations

import re

from headwater.algebra.derive.image import comparable, plain, type_of
from headwater.algebra.derive.query import Call
from headwater.model.policy import FloatingPoint
from headwater.model.reason import Code, Reason

_SUMMED = re.compile(r"TINYINT|SMALLINT|INT|BIGINT|DECIMAL\(.*\)", re.I)
_AVERAGED = re.compile(r"TINYINT|SMALLINT|INT|DECIMAL\(.*\)", re.I)
"""Types whose averages Spark computes from an exact sum."""

_FLOATING = ("FLOAT", "DOUBLE")
_MOMENTS = {
    "StddevPop": ("stddev_pop",),
    "StddevSamp": ("std", "stddev", "stddev_samp"),
    "VariancePop": ("var_pop",),
    "VarianceSamp": ("var_samp", "variance"),
}
"""Aggregates that follow from the exact sums of values and of their squares."""

_NAMES = {
    "Sum": ("sum",),
    "Average": ("avg", "mean"),
    "Count": ("count",),
    "CountIf": ("count_if",),
    "Min": ("min",),
    "Max": ("max",),
    "BoolAnd": ("bool_and", "every"),
    "BoolOr": ("bool_or", "some", "any"),
    "BitXorAgg": ("bit_xor",),
}
"""The aggregates that have totals; others have the same class and another name, such as ``try_sum``."""


def unknown(call: Call, exact: bool) -> Reason | None:
    """Why an aggregate function cannot follow changes; ``None`` if it can.

    Args:
        exact: whether the view asks for exact sums of floating-point numbers.
    """
    if _is_exact(call):
        return None if exact else _inexact(call)
    if call.name not in _NAMES.get(call.call, ()):
        return Reason(Code.QUERY_AGGREGATE_NOT_ADDITIVE, f"{call.name} is computed from all rows of a group")
    types = [plain(type_of(each)) for each in call.args]
    match call.call:
        case "Sum" if not _SUMMED.fullmatch(types[0]):
            return _inexact(call)
        case "Average" if not _AVERAGED.fullmatch(types[0]):
            return _inexact(call)
        case "Min" | "Max" if not comparable(types[0]):
            return Reason(Code.QUERY_INEXACT_TYPE, _spelled(types[0]))
        case _ if call.distinct and (strange := next((each for each in types if not _counted(each)), None)):
            return Reason(Code.QUERY_INEXACT_TYPE, _spelled(strange))
    return None


def _inexact(call: Call) -> Reason:
    """The reason of a function that depends on the order of the rows."""
    type = plain(type_of(call.args[0]))
    remedy = f"; 'headwater.floating_point' = '{FloatingPoint.EXACT.value}' makes it exact" if _is_exact(call) else ""
    if call.call in ("Min", "Max"):
        return Reason(Code.QUERY_INEXACT_TYPE, f"{_spelled(type)}{remedy}")
    said = {"Sum": "the sum", "Average": "the average"}.get(call.call, call.name)
    return Reason(Code.QUERY_INEXACT_TYPE, f"{said} of a {type} depends on the order of the rows{remedy}")


def _is_exact(call: Call) -> bool:
    """Whether a function follows from exact sums of floating-point numbers, or is a least or greatest one of these."""
    if call.distinct and call.call not in ("Min", "Max"):
        return False  # the sum of different values is added up in the order of the values
    types = [plain(type_of(each)).upper() for each in call.args]
    match call.call:
        case "Sum" | "Min" | "Max":
            return call.name in _NAMES[call.call] and types[0] in _FLOATING
        case "Average":
            return call.name in _NAMES[call.call] and types[0] in (*_FLOATING, "BIGINT")
        case _:
            return call.name in _MOMENTS.get(call.call, ())


def _counted(type: str) -> bool:
    """Whether stored values of a type are told apart as a group of rows has them. Whether 0.0 or -0.0 stands for both
    does not matter where values are only counted."""
    return comparable(type) or type.upper() in _FLOATING


def _spelled(type: str) -> str:
    return f"values of a {type} may be equal and spelled differently"
