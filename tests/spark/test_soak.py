"""Three minutes of the soak test; ``make bench SUITE=soak`` goes on for thirty."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_readers_see_whole_states_while_drivers_and_engines_are_killed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "soak", "--quick", "--json", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1400,
        check=False,
    )
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    found = json.loads((tmp_path / "soak-kills.details.json").read_text())
    assert not found["violations"] and not any(found["differences"].values())
    assert found["reads at epochs"] and not found["disagreeing"]
    assert found["refreshes"] and found["reads"] and found["kills"]["drivers"] and found["kills"]["engines"]
