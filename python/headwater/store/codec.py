"""Events and summaries to JSON and back. The shape is part of the store's schema: change it with a migration."""

from __future__ import annotations

import json
from typing import Any, cast

from cattrs.preconf.json import JsonConverter, make_converter
from cattrs.strategies import configure_tagged_union

from headwater.engine.tell.status import Summary
from headwater.model.calendar import Step
from headwater.model.dependency import Expression
from headwater.model.event import Event, Observed
from headwater.model.partition import Slice
from headwater.model.view import MadeBy
from headwater.model.work import Work


def converter() -> JsonConverter:
    """Of events and all that they are made of. A caller may add to it."""
    converter = make_converter(omit_if_default=True)
    converter.register_unstructure_hook(Slice, lambda each: dict(each.bound))
    converter.register_structure_hook(Slice, lambda values, _: Slice(values.items()))
    converter.register_structure_hook(str | None, lambda value, _: value)
    converter.register_structure_hook(
        Observed, lambda each, _: Observed(Slice(each["slice"].items()), each["fingerprint"])
    )
    for union in (Step, Expression, MadeBy, Work, Event):
        configure_tagged_union(union, converter, tag_name="kind")
    return converter


_CONVERTER = converter()


def kind(event: Event) -> str:
    return type(event).__name__


def encode(event: Event) -> str:
    return json.dumps(_CONVERTER.unstructure(event, unstructure_as=Event), separators=(",", ":"))


def decode(text: str) -> Event:
    """The event that ``encode`` wrote.

    Raises:
        ValueError: the text is not JSON, or not of an event's shape; the message says where.
    """
    try:
        body: Any = json.loads(text)
        event: Event = _CONVERTER.structure(body, cast(Any, Event))  # cattrs takes unions, its types do not say so
        return event
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error})") from error
    except Exception as error:  # cattrs wraps whatever a field's hook raised in its own groups
        raise ValueError(f"not an event: {_first_cause(error)}") from error


def encode_summary(summary: Summary) -> str:
    return json.dumps(_CONVERTER.unstructure(summary), separators=(",", ":"))


def decode_summary(text: str) -> Summary:
    """The summary that ``encode_summary`` wrote."""
    return _CONVERTER.structure(json.loads(text), Summary)


def _first_cause(error: BaseException) -> str:
    while causes := getattr(error, "exceptions", None):
        error = causes[0]
    return f"{type(error).__name__}: {error}"
