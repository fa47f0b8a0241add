"""Policies to compare: properties of views instead of the recorded ones."""

from __future__ import annotations

from attrs import evolve, field, frozen

from headwater.model.event import Altered, Declared, Event, Renamed
from headwater.model.view import Definition, Pairs, pairs


@frozen
class Override:
    """Properties that every view has instead of its own; an empty value takes a property away."""

    name: str
    properties: Pairs = field(default=(), converter=pairs)

    def applied(self, event: Event) -> Event:
        """The event as it would have been."""
        match event:
            case Declared(definition=definition) | Renamed(definition=definition):
                return evolve(event, definition=self._redefined(definition))
            case Altered(properties=properties):
                return evolve(event, properties=self._replaced(properties))
            case _:
                return event

    def _redefined(self, definition: Definition) -> Definition:
        return evolve(definition, properties=self._replaced(definition.properties))

    def _replaced(self, properties: Pairs) -> Pairs:
        return pairs({key: value for key, value in {**dict(properties), **dict(self.properties)}.items() if value})


USUAL = (
    Override("10 minutes", {"headwater.freshness": "10 minutes"}),
    Override("1 hour", {"headwater.freshness": "1 hour"}),
)
"""The policies to compare with when the user names none."""
