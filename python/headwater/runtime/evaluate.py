"""Values of computed partition columns, asked of the warehouse in as few calls as possible."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.model.dependency import Computed
from headwater.model.partition import Value
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.ports import Warehouse

Wanted = Iterable[tuple[str, str, tuple[Value, ...]]]
"""What is to be evaluated: a view, an expression's key there, and the values of its inputs."""

Image = tuple[str, tuple[Value, ...], Value]
"""An expression's key, the values of its inputs, and its value."""


def evaluated(state: State, warehouse: Warehouse, wanted: Wanted) -> tuple[Image, ...]:
    """What ``engine.coverage.unknown_images`` wants to know, each expression evaluated at once for all its inputs.

    Raises:
        RefreshFailed: the warehouse cannot evaluate one.
    """
    together: dict[tuple[str, str], list[tuple[Value, ...]]] = {}
    for view, key, inputs in wanted:
        together.setdefault((view, key), []).append(inputs)
    images: list[Image] = []
    for (view, key), inputs in together.items():
        definition = state.views[view].definition
        expression = _computed(definition, key)
        values = warehouse.evaluate(definition, expression.sql, inputs, expression.inputs)
        images += [(key, each, value) for each, value in zip(inputs, values, strict=True)]
    return tuple(images)


def _computed(definition: Definition, key: str) -> Computed:
    for dependency in definition.dependencies:
        for occurrence in dependency.occurrences:
            for _, expression in occurrence.columns:
                if isinstance(expression, Computed) and expression.key == key:
                    return expression
    raise LookupError(f"{definition.view} has no computed column {key}")
