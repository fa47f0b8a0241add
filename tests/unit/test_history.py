"""The history for people: subjects of commits name their area, and say in a line what changed."""

from __future__ import annotations

import re
import subprocess

import pytest
from documents import ROOT

BASE = "be99aa9adbed3cc98a8a78160f29b17069cb0cb1"
"""Commits after this one are read. Move it forward when a subject that is wrong can be changed no more."""

SUBJECT = re.compile(r"[a-z][a-z0-9_./, -]*: \S.*")
LONGEST = 72


def subjects() -> list[str]:
    log = ["git", "log", "--no-merges", "--format=%s", f"{BASE}..HEAD"]
    done = subprocess.run(log, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode:
        pytest.skip("the base is not here: a shallow clone, or files without a history")
    return done.stdout.splitlines()


def test_subjects_of_commits_are_area_and_change() -> None:
    wrong = [each for each in subjects() if not SUBJECT.fullmatch(each) or len(each) > LONGEST]
    assert not wrong, f"write `area: what changed`, in at most {LONGEST} characters:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("subject", "right"),
    [
        ("methods: keep totals when a group is empty", True),
        ("methods", False),
        ("Views wait", False),
        ("methods:", False),
    ],
)
def test_what_a_subject_is(subject: str, right: bool) -> None:
    assert bool(SUBJECT.fullmatch(subject)) is right
