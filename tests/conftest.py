"""What all tests share: the order of a run by several workers, and how hard the property tests look."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

FOLDERS = ("spark", "laws", "unit", "golden")
"""The order of a run by several workers. Files of Spark last longest and come first, so that short files fill the end
of both workers."""

# Hypothesis also draws numbers and texts that stand in modules which are loaded. So a test would see other examples in
# another process, or after any change of the code. There is no setting against it.
_NO_CONSTANTS = providers.Constants()
providers._get_local_constants = lambda: _NO_CONSTANTS  # type: ignore[attr-defined]

# A busy machine has no say in whether a law holds, so no example has a deadline.
settings.register_profile("quick", max_examples=34, deadline=None)
settings.register_profile("full", max_examples=100, deadline=None)
settings.load_profile("full")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="write the golden plans anew (make golden)")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not hasattr(config, "workerinput"):
        return  # one process has the order of its arguments: a mutation asks first who knows it
    tests = Path(__file__).parent

    def place(item: pytest.Item) -> int:
        folder = item.path.relative_to(tests).parts[0] if item.path.is_relative_to(tests) else ""
        return FOLDERS.index(folder) if folder in FOLDERS else len(FOLDERS)

    items.sort(key=place)
