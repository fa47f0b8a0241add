"""A seed gives one history, whatever hashes the texts of a process have. So each run of a law counts the same."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from strategies import chains, graphs, machine, of_lakes, play, racing, scripts


def digest(count: int) -> str:
    """Of the journals of so many histories."""
    known = hashlib.sha256()

    @seed(5)
    @settings(
        max_examples=count, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=HealthCheck
    )
    @given(of_lakes(graphs()) | graphs() | chains(), scripts(60) | racing(40))
    def played(graph, script):
        made = machine(graph)
        play(made, graph, script)
        known.update(repr([*made.journal]).encode())

    played()
    return known.hexdigest()


@pytest.mark.thorough
def test_a_seed_gives_one_history():
    digests = set()
    for hashes in "01":
        environment = {**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": os.pathsep.join(sys.path)}
        script = f"import {Path(__file__).stem} as one; print(one.digest(100))"
        digests.add(
            subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True).stdout
        )
    assert len(digests) == 1
