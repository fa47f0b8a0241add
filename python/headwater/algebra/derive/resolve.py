"""What the source's changed partition says of an expression: its value, or the period that this lies in."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.algebra.derive.image import VOLATILE, Image, filled
from headwater.algebra.derive.query import Call, Expr, Lit
from headwater.algebra.derive.span import PeriodSpan, applied

Known = Image | PeriodSpan
Facts = Mapping[Expr, Known]


def resolve(expression: Expr, facts: Facts) -> Known | None:
    """What is known of the expression: by a fact about it, or by the same function of its arguments."""
    if expression in facts:
        return facts[expression]
    match expression:
        case Lit(sql=sql, type=type):
            return Image(sql, (), type)
        case Call(standalone=True, deterministic=True, call=call) if call not in VOLATILE:
            known = [each for each in (resolve(each, facts) for each in expression.args) if each is not None]
            if len(known) < len(expression.args):
                return None
            images = [each for each in known if isinstance(each, Image)]
            if len(images) < len(known):
                return applied(expression, known)
            return filled(expression, images)
    return None
