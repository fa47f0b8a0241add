"""What the source's changed partition says of an expression: its value, or the period that this lies in."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.algebra.derive.image import VOLATILE, Image
from headwater.algebra.derive.plan import Call, Expr, Lit, fill
from headwater.algebra.derive.span import Span, applied

Known = Image | Span
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
            inputs = tuple(sorted({name for each in images for name in each.inputs}))
            return Image(fill(expression.sql, [each.sql for each in images]), inputs, expression.type)
    return None
