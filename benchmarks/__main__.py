"""Measures: ``python -m benchmarks SUITE [CASE…] [--quick] [--json DIRECTORY]``; without a case, all of the suite.

``python -m benchmarks tables`` writes the tables of the documents anew from the results.
"""

from __future__ import annotations

import json
import shlex
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from benchmarks.parts import tables
from benchmarks.parts.harness import Size, console
from benchmarks.parts.results import RESULTS, Figure, Result, commit, machine

SUITES = sorted(file.stem for file in (Path(__file__).parent / "suites").glob("[a-z]*.py"))
TABLES = "tables"


def suite(name: str) -> ModuleType:
    return import_module(f"benchmarks.suites.{name}")


def parser() -> ArgumentParser:
    made = ArgumentParser("python -m benchmarks", description=(__doc__ or "").partition("\n\n")[0])
    commands = made.add_subparsers(dest="suite", required=True, metavar="SUITE")
    for name in SUITES:
        module = suite(name)
        first, *_ = (module.__doc__ or "").splitlines()
        cases = "\n".join(f"  {case:12} {_first(run)}" for case, run in module.CASES.items())
        command = commands.add_parser(
            name,
            help=f"{first} ({', '.join(module.CASES)})",
            description=f"{module.__doc__}\ncases:\n{cases}",
            formatter_class=RawDescriptionHelpFormatter,
        )
        command.add_argument("cases", nargs="*", metavar="CASE", type=_case(module), help="one or more; all without")
        _sizes(command)
        command.add_argument(
            "--json",
            type=Path,
            help="a directory for the result and the details of each case (of a full form: benchmarks/results)",
        )
        command.add_argument("--busy", action="store_true", help="other programs run meanwhile; the result says so")
        if hasattr(module, "options"):
            module.options(command)
    commands.add_parser(TABLES, help="Writes the tables of the documents anew from the results.")
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs cases and prints their figures.

    Raises:
        SystemExit: the arguments are wrong.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    asked = parser().parse_args(words)
    if asked.suite == TABLES:
        tables.write()
        return
    cases, place = suite(asked.suite).CASES, asked.json or (RESULTS if asked.size is Size.FULL else None)
    for name in asked.cases or cases:
        details = place and place / f"{asked.suite}-{name}.details.json"
        console.rule(f"{asked.suite} {name}")
        began, _ = commit(), machine()  # what they cannot tell is told before the hours of a run
        report = cases[name](Namespace(**vars(asked), details=details))
        if place and details:
            command = shlex.join(["python", "-m", "benchmarks", *_again(words, asked, name)])
            result = Result.now(asked.suite, name, command, began, report.figures, asked.busy)
            result.write(place / f"{asked.suite}-{name}.json")
            details.write_text(json.dumps(report.details, indent=1, default=str) + "\n")
        for each in report.figures:
            print(_said(each, asked.size))


def _said(figure: Figure, size: Size) -> str:
    """A figure with its goal. The smallest size judges none."""
    named = ": ".join(each for each in (figure.name, figure.column) if each)
    verdict = "" if figure.met is None else "not judged" if size is Size.SMOKE else "met" if figure.met else "MISSED"
    goal = f" (goal {figure.goal})" if figure.goal else ""
    return f"{verdict:10}  {named}: {figure.text}{goal}"


def _again(words: Sequence[str], asked: Namespace, case: str) -> list[str]:
    """The arguments that run one case so again."""
    rest = [each for each in words[1:] if each not in asked.cases and each != "--busy"]
    if "--json" in rest:
        at = rest.index("--json")
        del rest[at : at + 2]
    return [asked.suite, case, *(each for each in rest if not each.startswith("--json="))]


def _case(module: ModuleType) -> Callable[[str], str]:
    def case(name: str) -> str:
        if name not in module.CASES:
            raise ArgumentTypeError(f"there is no case {name}; there are {', '.join(module.CASES)}")
        return name

    return case


def _first(run: Callable[..., object]) -> str:
    return (run.__doc__ or "").partition("\n")[0]


def _sizes(command: ArgumentParser) -> None:
    sizes = command.add_mutually_exclusive_group()
    command.set_defaults(size=Size.FULL)
    for size, said in ((Size.QUICK, "a short form; figures are rough"), (Size.SMOKE, "seconds; figures mean nothing")):
        sizes.add_argument(f"--{size.value}", dest="size", action="store_const", const=size, help=said)


if __name__ == "__main__":
    main()
