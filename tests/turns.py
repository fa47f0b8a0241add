"""The long tests of one day: a plugin of pytest for continuous integration, whose time is limited.

``pytest -p tests.turns -m long --turn 739000 --budget 2600`` runs the thirteenth of the long tests whose turn is that
day. ``date.toordinal`` counts days, so any thirteen days in a row run all long tests, also over the end of a year. A
test that will probably not end within the budget does not start: the plugin names it, and the run fails.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import pytest

TURNS = 13
LIMIT = 3600
"""Seconds of everything that continuous integration runs."""
SHORT = 900
"""Seconds of ``make test``, at most."""

SECONDS = {
    "tests/laws/test_mutations.py": 45,
    "tests/spark/test_added_rows.py": 20,
    "tests/spark/test_anomalies.py": 15,
    "tests/spark/test_bad_delta.py": 8,
    "tests/spark/test_by_changes.py": 15,
    "tests/spark/test_by_keys.py": 30,
    "tests/spark/test_changes_random.py": 270,
    "tests/spark/test_converted_sources.py": 20,
    "tests/spark/test_crashes.py": 100,
    "tests/spark/test_delta.py": 12,
    "tests/spark/test_derive_recompute.py": 2,
    "tests/spark/test_exact_versions.py": 600,
    "tests/spark/test_examples.py": 40,
    "tests/spark/test_faults.py": 6,
    "tests/spark/test_file_sources.py": 15,
    "tests/spark/test_format_change.py": 12,
    "tests/spark/test_format_kills.py": 60,
    "tests/spark/test_fuzz.py": 240,
    "tests/spark/test_iceberg.py": 7,
    "tests/spark/test_iceberg_catalogs.py": 15,
    "tests/spark/test_iceberg_periods.py": 20,
    "tests/spark/test_iceberg_session_catalog.py": 50,
    "tests/spark/test_iceberg_views.py": 8,
    "tests/spark/test_jobs.py": 15,
    "tests/spark/test_key_files.py": 45,
    "tests/spark/test_lake_recovery.py": 60,
    "tests/spark/test_lake_streams.py": 60,
    "tests/spark/test_lake_views.py": 15,
    "tests/spark/test_lake_writes.py": 25,
    "tests/spark/test_measurements.py": 60,
    "tests/spark/test_memory.py": 120,
    "tests/spark/test_missing_formats.py": 25,
    "tests/spark/test_names.py": 6,
    "tests/spark/test_odd_paths.py": 30,
    "tests/spark/test_outside_writes.py": 45,
    "tests/spark/test_policies.py": 60,
    "tests/spark/test_postgresql.py": 40,
    "tests/spark/test_process_life.py": 47,
    "tests/spark/test_publication_crashes.py": 14,
    "tests/spark/test_readers.py": 60,
    "tests/spark/test_schema_changes.py": 6,
    "tests/spark/test_several_catalogs.py": 12,
    "tests/spark/test_shared_scans.py": 75,
    "tests/spark/test_soak.py": 360,
    "tests/spark/test_statements.py": 60,
    "tests/spark/test_trailing_edge.py": 45,
    "tests/spark/test_two_engines.py": 145,
    "tests/spark/test_verify.py": 15,
    "tests/spark/test_watermarks.py": 30,
    "tests/spark/test_ways_in.py": 25,
    "tests/spark/test_zones.py": 40,
    "tests/unit/test_chaos.py": 320,
}
"""Expected for each long test of a file, on a quiet machine of two cores."""
UNKNOWN = 120
TOGETHER = {
    "tests/spark/test_faults.py",
    "tests/spark/test_iceberg_session_catalog.py",
    "tests/spark/test_missing_formats.py",
    "tests/spark/test_odd_paths.py",
}
"""Files whose tests look at one long run, and so have the same turn."""


def expected(test: str) -> int:
    """Seconds that a test takes."""
    return SECONDS.get(test.partition("::")[0], UNKNOWN)


def turns(tests: Iterable[str]) -> list[list[str]]:
    """The tests of each turn, so that turns take about as long."""
    units: dict[str, list[str]] = {}
    for test in tests:
        file = test.partition("::")[0]
        units.setdefault(file if file in TOGETHER else test, []).append(test)
    found: list[list[str]] = [[] for _ in range(TURNS)]
    for _, unit in sorted(units.items(), key=lambda each: (-sum(map(expected, each[1])), each[0])):
        min(found, key=lambda turn: sum(map(expected, turn))).extend(unit)
    return found


class Turn:
    """Runs the tests of one day until the time is over."""

    def __init__(self, day: int, budget: float) -> None:
        self._day, self._deadline = day, time.monotonic() + budget
        self.cut: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        chosen = set(turns(item.nodeid for item in items)[self._day % TURNS])
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
        items[:] = [item for item in items if item.nodeid in chosen]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        if time.monotonic() + expected(item.nodeid) <= self._deadline:
            return None
        self.cut.append(item.nodeid)
        return True

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.cut and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for test in self.cut:
            terminalreporter.write_line(f"NOT RUN for want of time: {test}", red=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("turns")
    group.addoption("--turn", type=int, required=True, help="the day, as date.toordinal counts")
    group.addoption("--budget", type=float, required=True, help="seconds in which tests may run")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Turn(config.getoption("turn"), config.getoption("budget")), "turn")


def seconds(tests: Sequence[str]) -> int:
    """Seconds that some tests take one after the other."""
    return sum(map(expected, tests))
