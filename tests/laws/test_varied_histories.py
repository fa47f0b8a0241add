"""Law 9 of histories that are like those which people wrote: one of them, with some edits.

Histories of random steps hardly ever come to where a strict view may go wrong. Those of
``test_what_strict_views_read.py`` are there already. So a step more, or a view more, meets other faults, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import evolve
from cases import view
from histories import OF_A_TABLE, OF_A_VIEW, History, law
from hypothesis import given
from hypothesis import strategies as st
from strategies import ADDING, KEYS, examples
from test_what_strict_views_read import HISTORIES

from headwater.model.dependency import Dependency
from headwater.model.view import Definition

CONTENTS = (7, 14, 7, 14, 5, 8, 6, 13)
"""A view filters 7 and 14 out, and in a second place 6 and 13. So many a change comes out unchanged."""

WAITS = ("0.1", "2", "2", "5", "61", "61", "130", "700")


class Choice:
    """Numbers that a test drew, and what they pick."""

    def __init__(self, number: int) -> None:
        self.left = number

    def of(self, some: Sequence):
        """One of several, which are not none."""
        self.left, which = divmod(self.left, len(some))
        return some[which]

    def below(self, most: int) -> int:
        return self.of(range(most))


# --- phrases: a few steps that make sense together


def phrases(choice: Choice, known: History) -> list[list[str]]:
    """Steps to insert: each list at a place of its own, in this order."""
    name, other = choice.of(known.names), choice.of(known.names)
    last, table = known.names[-1], choice.of(known.bases)
    change = f"change {table} {choice.of('1112')} {choice.of(CONTENTS)}"
    wait = f"wait {choice.of(WAITS)}"
    asked = f"ask {name} {choice.of(('1', '2', 'all'))} {choice.of(('alone', 'downstream'))}"
    return choice.of(
        (
            [[change]],
            [[change, wait]],
            [[change, wait, f"try {name}"]],
            [[change, wait, f"rest {name}"]],
            [[change, wait, f"rest {name} {other}"]],
            [[change, wait, f"try {last}"]],
            [[wait]],
            [[wait, "rest"]],
            [[wait, f"try {name}"]],
            [["wait 2", f"try {name}", "wait 2", f"try {last}"]],
            [["settle"]],
            [["look"]],
            [[f"suspend {name}"], [f"resume {name}"]],
            [[f"suspend {name}"], [f"resume {name}"]],
            [[f"break {name}"], [f"mend {name}"]],
            [[f"fail {name} for-good"], [asked]],
            [[f"fail {name}"]],
            [[f"start {name}"], [f"end {name}"]],
            [["wait 2", f"start {name}"], [f"end {name}"]],
            [[f"run {other}", f"start {name}", f"try {last}"], [f"end {name}"]],
            [[f"alter {name} consistency eventual"], [f"alter {name} consistency strict"]],
            [[f"alter {last} consistency eventual"], [f"alter {last} consistency strict"]],
            [[asked]],
            [[asked, "wait 61"]],
            [[f"hurry {name}"]],
            [[f"redefine {name} {choice.below(3)}"]],
            [[f"create {name}"]],
            [[f"mark {table}"]],
            [[f"empty {table} {choice.of('12')}"]],
            [[f"anew {table} {choice.of(('delta', 'parquet'))}"]],
            [[f"clean {choice.of((table, name))}"]],
            [["crash"]],
        )
    )


# --- edits of the steps


def drop(choice: Choice, known: History) -> History:
    at = choice.below(len(known.steps))
    return with_steps(known, known.steps[:at] + known.steps[at + 1 :])


def repeat(choice: Choice, known: History) -> History:
    """Some steps happen once more, there or later."""
    at = choice.below(len(known.steps))
    more = known.steps[at : at + 1 + choice.below(5)]
    return put(known, at + choice.below(len(known.steps) - at + 1), more)


def swap(choice: Choice, known: History) -> History:
    """A step happens some steps earlier."""
    steps = [*known.steps]
    at = choice.below(len(steps))
    step = steps.pop(at)
    steps.insert(max(0, at - 1 - choice.below(3)), step)
    return with_steps(known, steps)


def change_one(choice: Choice, known: History) -> History:
    """A step is of another time, partition, content, table or view."""
    at = choice.below(len(known.steps))
    kind, *words = known.steps[at].split()
    if kind == "wait":
        words = [f"{float(words[0]) * choice.of((0.1, 0.5, 2, 10, 30)):g}"]
    elif kind == "change":
        place = choice.below(3)
        words[place] = str(choice.of((known.bases, "12", CONTENTS)[place]))
    elif kind in OF_A_TABLE:
        words[0] = choice.of(known.bases)
    elif kind in OF_A_VIEW:
        words[0] = choice.of(known.names)
    return with_steps(known, (*known.steps[:at], " ".join([kind, *words]), *known.steps[at + 1 :]))


def insert(choice: Choice, known: History) -> History:
    places, parts = phrases(choice, known), list[int]()
    for _ in places:
        parts.append(choice.below(len(known.steps) + 1))
    for at, part in sorted(zip(sorted(parts), places, strict=True), key=lambda each: -each[0]):
        known = put(known, at, part)
    return known


def append(choice: Choice, known: History) -> History:
    """Something goes on at the end: what a view missed shows when it runs for something else."""
    return put(known, len(known.steps), [step for part in phrases(choice, known) for step in part])


def put(known: History, at: int, steps: Sequence[str]) -> History:
    return with_steps(known, (*known.steps[:at], *steps, *known.steps[at:]))


def with_steps(known: History, steps: Sequence[str]) -> History:
    return evolve(known, steps=tuple(steps))


# --- edits of the views


def source(choice: Choice, known: History) -> History:
    """A view reads one source more, or less, or in another way."""
    at = choice.below(len(known.views))
    mine = known.views[at]
    above = [each for each in (*known.bases, "u", "w", *known.names[:at]) if each not in mine.sources]
    which = choice.below(len(mine.dependencies))
    match choice.below(4):
        case 0 if len(mine.dependencies) > 1:
            kept = mine.dependencies[:which] + mine.dependencies[which + 1 :]
        case 1:
            other = read(mine.dependencies[which].source, choice)
            kept = (*mine.dependencies[:which], other, *mine.dependencies[which + 1 :])
        case _ if above:
            kept = (*mine.dependencies, read(choice.of(above), choice))
        case _:
            return known
    return with_view(known, at, evolve(mine, dependencies=kept))


def read(name: str, choice: Choice) -> Dependency:
    """How a view reads a source: in one place, or in two."""
    return view("", "a", (name, choice.of(("a", "a", "a,a")))).dependencies[0]


def add_view(choice: Choice, known: History) -> History:
    """One more view over one or two of all that there is."""
    name = f"n{len(known.views)}"
    sources = dict.fromkeys((choice.of(known.names), choice.of((*known.names, *known.bases))))
    properties = {"consistency": choice.of(("strict", "strict", "eventual"))}
    format = choice.of(("delta", "delta", "parquet"))
    made = view(name, "a", *sources, format=format, **properties)
    return evolve(known, views=(*known.views, made))


def property_of(choice: Choice, known: History) -> History:
    at = choice.below(len(known.views))
    mine = known.views[at]
    key, value = choice.of(
        (
            *(("consistency", each) for each in ("strict", "strict", "eventual")),
            *(("upstream", each) for each in ("hold", "hold", "release")),
            ("propagate", "marked"),
            ("method", "keys, full"),
            ("method", "incremental, full"),
            ("freshness", "10 minutes"),
        )
    )
    if key == "method":
        dependencies = tuple(evolve(each, keys=KEYS, adding=ADDING) for each in mine.dependencies)
        mine = evolve(mine, dependencies=dependencies)
    properties = {**dict(mine.properties), f"headwater.{key}": value}
    return with_view(known, at, evolve(mine, properties=properties))


def format_of(choice: Choice, known: History) -> History:
    """A view is of files, or in Delta."""
    at = choice.below(len(known.views))
    mine = known.views[at]
    return with_view(known, at, evolve(mine, format="parquet" if mine.format == "delta" else "delta"))


def with_view(known: History, at: int, one: Definition) -> History:
    return evolve(known, views=(*known.views[:at], one, *known.views[at + 1 :]))


EDITS: tuple[Callable[[Choice, History], History], ...] = (
    *(drop, repeat, swap, change_one, insert, insert, insert, append, append),
    *(source, source, add_view, property_of, format_of),
)

edits = st.tuples(st.sampled_from(EDITS), st.integers(0, 2**48))


def varied(name: str, some: Sequence[tuple[Callable[[Choice, History], History], int]]) -> History:
    found = HISTORIES[name]
    for edit, number in some:
        found = edit(Choice(number), found) if found.steps else found
    return found


@examples(500)
@given(name=st.sampled_from([*HISTORIES]), some=st.lists(edits, max_size=4))
def test_a_history_like_a_written_one_shows_states_that_were(name, some):
    law(varied(name, some))
