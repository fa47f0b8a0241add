"""A failing case, made smaller: fewer statements, and a smaller query."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import evolve, frozen


@frozen
class Case:
    """Statements after which a view differs from its query.

    Attributes:
        setup: those that a person runs first; nothing replaces them, or leaves them out.
        before: others before the view is made.
        create: the statement that makes the view, up to its query.
        rounds: the changes, and then a refresh, several times.
    """

    before: tuple[str, ...]
    create: str
    query: str
    rounds: tuple[tuple[str, ...], ...]
    setup: tuple[str, ...] = ()

    def statements(self) -> list[str]:
        """All of them but the setup."""
        after = [each for some in self.rounds for each in (*some, REFRESH)]
        return [*self.before, f"{self.create}{self.query}", *after]

    def script(self, view: str) -> str:
        """A script for spark-sql, whose last statement says which rows differ."""
        return "\n".join(f"{each};" for each in (*self.setup, *self.statements(), f"VERIFY MATERIALIZED VIEW {view}"))


REFRESH = "REFRESH MATERIALIZED VIEWS"


def shrunk(case: Case, fails: Callable[[Case], bool], most: int = 60) -> Case:
    """A smaller case that fails, too.

    Args:
        fails: whether a case fails. One with a statement that Spark refuses does not.
        most: cases that are tried.
    """
    tried = 0
    again = True
    while again:
        again = False
        for smaller in _smaller(case):
            tried += 1
            if tried > most:
                return case
            if fails(smaller):
                case, again = smaller, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Cases that lack something. Those that lack most come first."""
    for each in sorted(subqueries(case.query), key=len):
        yield evolve(case, query=each)
    for n in range(len(case.rounds)):
        yield evolve(case, rounds=(*case.rounds[:n], *case.rounds[n + 1 :]))
    for n, some in enumerate(case.rounds):
        for k in range(len(some) if len(some) > 1 else 0):
            fewer = (*some[:k], *some[k + 1 :])
            yield evolve(case, rounds=(*case.rounds[:n], fewer, *case.rounds[n + 1 :]))
    for n in range(len(case.before)):
        yield evolve(case, before=(*case.before[:n], *case.before[n + 1 :]))


def subqueries(query: str) -> set[str]:
    """The queries in parentheses within a query."""
    found, open_ = set(), []
    for place, letter in enumerate(query):
        if letter == "(":
            open_.append(place)
        elif letter == ")":
            inner = query[open_.pop() + 1 : place]
            if inner.startswith("SELECT "):
                found.add(inner)
    return found
