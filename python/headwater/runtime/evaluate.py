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
    """The expressions that ``engine.requests.coverage.unknown_images`` asks for, each once with all its inputs."""
    found: dict[tuple[Definition, Computed], list[tuple[Value, ...]]] = {}
    for view, key, inputs in sorted(wanted, key=repr):
        if view not in state.views:
            continue
        definition = state.views[view].definition
        expression = _computed(definition, key)
        if expression is not None:  # else the view was redefined since somebody wanted that
            found.setdefault((definition, expression), []).append(inputs)
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


def _computed(definition: Definition, key: str) -> Computed | None:
    computed = (each for each in _expressions(definition) if isinstance(each, Computed))
    return next((each for each in computed if each.key == key), None)


def _expressions(definition: Definition) -> Iterable[object]:
    for dependency in definition.dependencies:
        for occurrence in dependency.occurrences:
            yield from (expression for _, expression in occurrence.columns)
