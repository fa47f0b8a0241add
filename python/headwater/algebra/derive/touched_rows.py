"""What is known about the rows that a change of one source partition can touch.

Let a query read a source S in several places. Change S in one partition *p*; the result changes by
at most the union of what changes when the places are switched from old S to new one after the
other (the symmetric difference of bags obeys the triangle inequality). So each occurrence is
looked at alone, with everything else fixed but arbitrary.

For an operator N above the occurrence, ``delta(N)`` is the bag of rows in N's result before and
not after, or after and not before. A ``Delta`` holds what is true of them all:

- ``facts``: each expression has its image's value, a function of *p* only, on every row of delta(N);
- ``same``: pairs of expressions with equal values on *every* row of N, changed or not.

The view's partition column c with fact c = g(p) then gives the affected slice: a row outside
``c = g(p)`` is not in delta, so its partition has the same bag of rows as before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from attrs import evolve, field, frozen

from headwater.algebra.derive.image import TWICE, Image, exact, inexact, pure, type_of
from headwater.algebra.derive.query import Attr, Call, Expr, Lit, Named, attributes, display
from headwater.algebra.derive.resolve import Facts, Known, resolve
from headwater.model.reason import Code, Reason

Pair = tuple[Expr, Expr]


@frozen
class Lost:
    """Why a column has no fact: ``origin`` is what it comes from, ``why`` completes the sentence. There ``{source}``
    stands for the table, ``{column}`` and ``{columns}`` for those of its columns that could have shown it."""

    origin: str
    why: Reason

    def of(self, name: str, table: str, shown_by: str) -> Reason:
        """The sentence for a column of the view, and a table with columns that show it."""
        text = self.why.text.replace("{columns}", f"the {shown_by}s of {table}")
        text = text.replace("{column}", f"a {shown_by} of {table}").replace("{source}", table)
        return Reason(self.why.code, f"`{name}` comes from `{self.origin}`, {text}")


@frozen
class Delta:
    """See the module. ``changed`` says that the occurrence is beneath; ``lost`` serves the reasons."""

    facts: Facts = field(factory=dict)
    same: tuple[Pair, ...] = ()
    lost: Mapping[int, Lost] = field(factory=dict)
    changed: bool = False

    def closed(self) -> Delta:
        """With every fact that equal expressions carry over to each other."""
        facts = dict(self.facts)
        pending = True
        while pending:
            pending = False
            for one, other in (*self.same, *((b, a) for a, b in self.same)):
                if other not in facts and (image := resolve(one, facts)) and _keeps(other):
                    facts[other] = image
                    pending = True
        return evolve(self, facts=facts)

    def where(self, condition: Expr | None) -> Delta:
        """Rows that satisfy ``condition``: its equalities hold on them."""
        return evolve(self, same=(*self.same, *equalities(condition))).closed()

    def only(self, ids: Collection[int]) -> Delta:
        """Only what speaks of these columns (or of the outer row)."""
        same = tuple(pair for pair in self.same if all(_within(each, ids) for each in pair))
        return evolve(self, facts={each: known for each, known in self.facts.items() if _within(each, ids)}, same=same)

    def keys(self, keys: Iterable[Expr], why: Reason) -> Delta:
        """Only facts that follow from ``keys``: rows that agree on them change together.

        A fact about the outer row holds for the whole evaluation and always stays.
        """
        known = {key: image for key in keys if (image := resolve(key, self.facts)) and _keeps(key)}
        kept = evolve(self, facts={**self.outer(), **known}).closed().facts
        return evolve(self, facts=kept, lost={**self.lost, **self.blocked(kept, Lost("", why))})

    def outer(self) -> Facts:
        """Facts about the row a subquery is evaluated for only.

        If the subquery's result changed for that row, some row within changed, and the fact held
        there; the outer row is a constant of the evaluation, so no operator can void the fact.
        """
        return {each: image for each, image in self.facts.items() if _within(each, ())}

    def project(self, named: Iterable[Named]) -> Delta:
        """Rows computed one from one by ``named``: facts move to the new columns."""
        columns = tuple(named)
        inverse: dict[Expr, Attr] = {}
        for each in columns:
            if not isinstance(each.expr, Lit):
                inverse.setdefault(each.expr, each.attr)
        facts: dict[Expr, Known] = {}
        lost: dict[int, Lost] = {}
        for each in columns:
            image = resolve(each.expr, self.facts)
            if image is not None and exact(type_of(each.expr)):
                facts[each.attr] = image
            elif (why := self._why(each.expr, image)) is not None:
                lost[each.attr.id] = why
        for expression, known in self.facts.items():
            if (renamed := rewrite(expression, inverse)) is not None:
                facts.setdefault(renamed, known)
        return evolve(self, facts=facts, lost=lost, same=self._renamed(columns, inverse))

    def grouped(self) -> Delta:
        """Without what speaks of inexact columns: grouping shows one of several equal values."""

        def speaks(expression: Expr) -> bool:
            return any(not exact(type_of(each)) for each in attributes(expression))

        return evolve(
            self,
            facts={each: image for each, image in self.facts.items() if not speaks(each)},
            same=tuple(pair for pair in self.same if not any(map(speaks, pair))),
        )

    def inside(self) -> Delta:
        """Seen from the outer row: its columns are now columns like any other."""
        return evolve(
            self,
            facts={_inner(each): image for each, image in self.facts.items()},
            same=tuple((_inner(one), _inner(other)) for one, other in self.same),
        )

    def _renamed(self, columns: tuple[Named, ...], inverse: Mapping[Expr, Attr]) -> tuple[Pair, ...]:
        """Equal expressions over the new columns: what was equal before, and the definitions."""
        pairs: dict[Pair, None] = {}

        def add(one: Expr | None, other: Expr | None) -> None:
            if one is not None and other is not None and one != other:
                pairs[one, other] = None

        for each in columns:
            if pure(each.expr):
                add(each.attr, inverse.get(each.expr))
                add(each.attr, _over(each.expr, lambda part: rewrite(part, inverse)))
        for one, other in self.same:
            add(rewrite(one, inverse), rewrite(other, inverse))
        return tuple(pairs)

    def blocked(self, kept: Facts, lost: Lost) -> dict[int, Lost]:
        """The columns that had a fact and have it no more."""
        return {
            each.id: Lost(lost.origin or each.name, lost.why)
            for each in self.facts
            if isinstance(each, Attr) and not each.outer and each not in kept
        }

    def _why(self, expression: Expr, image: Known | None) -> Lost | None:
        text = display(expression)
        if image is not None:
            return Lost(text, inexact(type_of(expression)))
        if (special := _special(expression)) is not None:
            return Lost(text, special)
        for each in attributes(expression):
            if each not in self.facts and each.id in self.lost:
                deeper = self.lost[each.id]
                return Lost(deeper.origin if isinstance(expression, Attr) else text, deeper.why)
            if isinstance(fact := self.facts.get(each), Image) and fact.twice:
                return Lost(text, TWICE)
        return Lost(text, Reason(Code.QUERY_EXPRESSION, "which cannot be computed from {columns} in SQL alone"))


def equalities(condition: Expr | None) -> Iterator[Pair]:
    """``x = y`` and ``x <=> y`` among the conjuncts, where equal means identical.

    Both sides have one type: where Spark compares differing types, the cast is part of one side,
    and only the cast expression is known to equal the other.
    """
    for each in conjuncts(condition):
        match each:
            case Call(call="EqualTo" | "EqualNullSafe", args=(one, other)):
                if pure(one) and pure(other) and type_of(one) == type_of(other) and exact(type_of(one)):
                    yield one, other


def conjuncts(condition: Expr | None) -> Iterator[Expr]:
    match condition:
        case None:
            return
        case Call(call="And", args=(one, other)):
            yield from conjuncts(one)
            yield from conjuncts(other)
        case _:
            yield condition


def rewrite(expression: Expr, inverse: Mapping[Expr, Attr]) -> Expr | None:
    """The expression over a projection's columns; ``None`` when it uses one that was not kept."""
    if expression in inverse:
        return inverse[expression]
    return _over(expression, lambda part: rewrite(part, inverse))


def _over(expression: Expr, change: Callable[[Expr], Expr | None]) -> Expr | None:
    """The expression with its arguments changed, if all of them can be."""
    match expression:
        case Lit() | Attr(outer=True):
            return expression
        case Call(args=args, filter=None, plan=None):
            changed = [each for each in map(change, args) if each is not None]
            if len(changed) == len(args):
                return evolve(expression, args=tuple(changed))
    return None


def _inner(expression: Expr) -> Expr:
    match expression:
        case Attr(outer=True):
            return evolve(expression, outer=False)
        case Call(args=args):
            return evolve(expression, args=tuple(map(_inner, args)))
    return expression


def _keeps(expression: Expr) -> bool:
    """Whether a fact about the expression says something, and means identity."""
    return exact(type_of(expression)) and not isinstance(expression, Lit)


def _within(expression: Expr, ids: Collection[int]) -> bool:
    return all(each.outer or each.id in ids for each in attributes(expression))


OF_A_WINDOW = Reason(Code.QUERY_WINDOW, "a window function, not from {column}")


def _special(expression: Expr) -> Reason | None:
    match expression:
        case Call(kind="aggregate"):
            return Reason(Code.QUERY_AGGREGATE, "an aggregate, not from {column}")
        case Call(kind="window"):
            return OF_A_WINDOW
        case Call(kind="subquery"):
            return Reason(Code.QUERY_SUBQUERY, "a subquery, not from {column}")
        case Call(kind="function"):
            unknown = "a user-defined function, whose SQL is not known to mean the same elsewhere"
            return Reason(Code.QUERY_FUNCTION, unknown)
        case Call(args=args):
            return next((special for each in args if (special := _special(each))), None)
    return None
