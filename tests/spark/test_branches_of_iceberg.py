"""What commits do to the branches of views that a REST catalog shows together, without Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import fetched
import pytest
from rest_catalog import SOURCE, RestCatalog

CODE = fetched.ROOT / "jvm-shim/src/main/resources/headwater/Iceberg.java"

STEPS = """
publish a1 -> headwater=a1 of 1, sees a1
publish b1 -> headwater=b1 of 1, sees b1
show a1 b1 [[],[]] -> headwater=a1 main=a1 of 1, sees a1
publish a2 -> headwater=a2 main=a1 of 2, sees a2
publish a3 -> headwater=a3 main=a1 of 3, sees a3
publish b2 -> headwater=b2 main=b1 of 2, sees b2
show b2 a2 [[],[]] -> headwater=b2 main=b2 of 2, sees b2
show a1 b1 [[],[]] -> headwater=a3 main=a2 of 3, sees a3
write a4 -> headwater=a3 main=a4 of 4, sees a3
show a2 b2 [[0],[]] -> headwater=a3 main=a2 of 4, sees a3
expire a -> headwater=a3 main=a2 of 3, sees a3
show a1 b2 [[],[0]] -> headwater=a3 main=a2 of 3, sees a3
redefine a5 -> main=a5 of 4, sees a5
publish a6 -> headwater=a6 main=a5 of 5, sees a6
show a6 b2 [[],[]] -> headwater=a6 main=a6 of 5, sees a6
publish a7 -> headwater=a7 main=a6 of 6, sees a7
alone a -> headwater=a7 main=a6 of 6, sees a7
publish a8 -> main=a8 of 7, sees a8
publish b3 -> headwater=b3 main=b2 of 3, sees b3
alone b -> headwater=b3 main=b2 of 3, sees b3
rejoin b -> main=b3 of 3, sees b3
apart b -> main=b3 of 3, sees b3
show b2 [[],[]] -> headwater=b3 main=b2 of 3, sees b3
"""
"""Each step and what follows of it: the branches, the number of snapshots, and which one Headwater sees as the newest.
What ``show`` tells are the tables with rows of other programs, and those that lack their snapshot."""


@pytest.fixture
def rest(tmp_path: Path) -> Iterator[RestCatalog]:
    catalog = RestCatalog(tmp_path)
    yield catalog
    catalog.stop()


def test_branches_after_each_step(rest: RestCatalog, tmp_path: Path) -> None:
    classes = os.pathsep.join([*map(str, fetched.iceberg()), f"{fetched.SPARK}/jars/*"])
    built = fetched.run("javac", "-nowarn", "-proc:none", "-d", tmp_path, "-cp", classes, CODE)
    assert built.returncode == 0, built.stderr
    steps = [each.split(" -> ")[0].split(" [")[0] for each in STEPS.strip().splitlines()]
    program = SOURCE.with_name("Branches.java")
    done = fetched.run("java", "-cp", f"{tmp_path}{os.pathsep}{classes}", program, rest.uri, *steps)
    assert done.returncode == 0, done.stderr
    assert [each for each in done.stdout.splitlines() if " -> " in each] == STEPS.strip().splitlines()
