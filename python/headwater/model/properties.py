"""The properties that a statement or a program states for a view: which there are, and what they may say."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping

from headwater.model.error import DefinitionError, StatementError
from headwater.model.policy import DEPENDENCY, PREFIX, PROPERTIES

MOVING = ("current-snapshot-id", "cherry-pick-snapshot-id")
"""Properties by which a table gets other rows than a refresh wrote, in lower case."""


def check_properties(view: str, properties: Mapping[str, str]) -> None:
    """Refuses unknown properties under ``headwater.``, malformed values, and ``MOVING``.

    Raises:
        DefinitionError: with the nearest known name.
    """
    for key, value in properties.items():
        if key.lower() in MOVING:
            raise DefinitionError(
                "PROPERTY", f"'{key}' changes the rows of a table; a view has those of its query", view
            )
        if not key.lower().startswith(PREFIX):
            continue
        name = key.removeprefix(PREFIX)
        if name.startswith(DEPENDENCY):
            continue
        if name not in PROPERTIES:
            meant = nearest(key.lower().removeprefix(PREFIX), (*PROPERTIES, f"{DEPENDENCY}<table>"), PREFIX)
            raise DefinitionError("PROPERTY", f"there is no property '{key}'{meant}", view)
        try:
            PROPERTIES[name].read(value)
        except StatementError as error:
            raise DefinitionError("PROPERTY", f"property '{key}': {error}", view) from error


def nearest(name: str, known: Collection[str], prefix: str) -> str:
    """Words for the known name that a wrong one is like, or for all of them."""
    if close := difflib.get_close_matches(name, list(known), 1, 0.5):
        return f"; did you mean '{prefix}{close[0]}'?"
    return f"; there are {', '.join(prefix + each for each in known)}"
