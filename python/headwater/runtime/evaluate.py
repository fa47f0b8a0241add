"""Values of computed partition columns, asked of the warehouse in as few calls as possible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.model.command import Wanted
from headwater.model.dependency import Computed
from headwater.model.event import Image
from headwater.model.partition import Value
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.ports import Evaluator

Questions = Mapping[tuple[Definition, Computed], list[tuple[Value, ...]]]
"""Expressions of views, each with the values of its inputs."""


def questions(state: State, wanted: Wanted) -> Questions:
    """The expressions that ``engine.coverage.unknown_images`` asks for, each once with all its inputs."""
    found: dict[tuple[Definition, Computed], list[tuple[Value, ...]]] = {}
    for view, key, inputs in sorted(wanted, key=repr):
        definition = state.views[view].definition
        found.setdefault((definition, _computed(definition, key)), []).append(inputs)
    return found


def evaluated(evaluator: Evaluator, asked: Questions) -> tuple[Image, ...]:
    """The answers.

    Raises:
        RefreshFailed: the warehouse cannot evaluate one.
    """
    images: list[Image] = []
    for (definition, expression), inputs in asked.items():
        values = evaluator.evaluate(definition, expression.sql, inputs, expression.inputs)
        images += [(expression.key, each, value) for each, value in zip(inputs, values, strict=True)]
    return tuple(images)


def _computed(definition: Definition, key: str) -> Computed:
    for expression in _expressions(definition):
        if isinstance(expression, Computed) and expression.key == key:
            return expression
    raise LookupError(f"{definition.view} has no computed column {key}")


def _expressions(definition: Definition) -> Iterable[object]:
    for dependency in definition.dependencies:
        for occurrence in dependency.occurrences:
            yield from (expression for _, expression in occurrence.columns)
