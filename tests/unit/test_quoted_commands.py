"""Every command that a document quotes parses: ``headwater``, ``make`` and ``python -m benchmarks``.

A synopsis such as ``headwater run [--once]`` parses as if all options were given; ``a | b`` are several commands.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest

from benchmarks.__main__ import parser as benchmarks
from benchmarks.papers.__main__ import main as papers
from headwater.cli.main import main

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "tests" / "README.md"})
FENCED = re.compile(r"^```.*?\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^ {4}(.*)$", re.MULTILINE)
SPAN = re.compile(r"`([^`]+)`")
COMMAND = re.compile(r"^(?:\$ )?(?:\S*/bin/)?(headwater|make|python3? -m benchmarks(?:\.papers)?)(?: +(.*))?$")
COMMENT = re.compile(r"\s#.*|\s{2,}.*")
METAVARS = {"N": "1", "NAME": "rollup", "SUITE": "overhead", "CASE": "writes", "DIRECTORY": "results"}
"""Words of a synopsis that are no values, and one that could stand there."""


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """The program and the arguments of each command in code blocks and spans."""
    blocks = [*FENCED.findall(text), *INDENTED.findall(FENCED.sub("", text))]
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    spans = [" ".join(span.split()) for span in SPAN.findall(INDENTED.sub("", FENCED.sub("", text)))]
    for each in (*lines, *spans):
        found = COMMAND.match(each)
        if found and found[2]:
            program = found[1].split()[-1]
            yield from ((program, arguments) for arguments in _alternatives(COMMENT.sub("", found[2])))


def _alternatives(text: str) -> Iterator[list[str]]:
    plain = re.sub(r"\[([^\]]*)\]", r"\1", text) if "'" not in text and '"' not in text else text
    for each in plain.split(" | "):
        yield [METAVARS.get(word, word) for word in shlex.split(each.replace("...", "").replace("…", ""))]


QUOTED = [
    pytest.param(program, arguments, id=f"{document.relative_to(ROOT)}: {program} {shlex.join(arguments)}")
    for document in DOCUMENTS
    for program, arguments in commands(document.read_text())
    if arguments
]


@pytest.mark.parametrize(("program", "arguments"), QUOTED)
def test_a_quoted_command_parses(program: str, arguments: Sequence[str]) -> None:
    match program:
        case "headwater":
            parse_clicked(main, arguments)
        case "make":
            parse_make(arguments)
        case _:
            parse_benchmark(program, arguments)


def parse_clicked(main: click.Group, arguments: Sequence[str]) -> None:
    command: click.Command | None = main
    rest = list(arguments)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        command = command.get_command(click.Context(command), name)
        assert command is not None, f"there is no command {name}"
    with contextlib.suppress(click.exceptions.Exit, click.exceptions.NoArgsIsHelpError):  # both print help
        command.make_context(main.name, rest)


def parse_benchmark(module: str, arguments: Sequence[str]) -> None:
    if module == "benchmarks.papers":
        return parse_clicked(papers, arguments)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            benchmarks().parse_args(arguments)
    except SystemExit as ended:
        assert not ended.code, said.getvalue()


def parse_make(arguments: Sequence[str]) -> None:
    """The target is there, and so is a benchmark that it runs, with its options."""
    # A make above this test hands its own variables down in the environment, such as ARGS.
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKEOVERRIDES", "ARGS")}
    done = subprocess.run(["make", "-n", *arguments], cwd=ROOT, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        found = COMMAND.match(line)
        if found and found[1].startswith("python"):
            parse_benchmark(found[1].split()[-1], shlex.split(found[2] or ""))


def test_a_command_that_is_not_there_is_noticed() -> None:
    """The three kinds of mistakes: a target, a command and an option."""
    [(module, option), (_, target), (_, command)] = commands(
        "`make nothing`, `headwater nothing`\n\n    python -m benchmarks memory --nothing   # measures\n"
    )
    with pytest.raises(AssertionError, match="nothing"):
        parse_make(target)
    with pytest.raises(AssertionError, match="nothing"):
        parse_clicked(main, command)
    with pytest.raises(AssertionError, match="nothing"):
        parse_benchmark(module, option)
