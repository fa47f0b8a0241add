"""Small graphs written by hand, and short ways to let something happen to them."""

from __future__ import annotations

from collections.abc import Iterable

from machine import Machine
from reference import disordered, repeated, wrong
from world import World

from headwater.engine.decide.readiness import ready
from headwater.engine.record.transition import transition
from headwater.model.costs import Took, Whole
from headwater.model.dependency import Dependency, Occurrence, Same
from headwater.model.event import Changed, Declared, Observed
from headwater.model.partition import WHOLE, Slice
from headwater.model.state import State, Status, ViewState
from headwater.model.view import Definition
from headwater.model.work import Mode

A1, A2, B2 = Slice.of(a="1"), Slice.of(a="2"), Slice.of(b="2")


def view(
    name: str,
    by: str,
    *sources: str | tuple[str, str],
    fingerprint: str = "1",
    format: str = "parquet",
    **properties: str,
) -> Definition:
    """A view partitioned by the letters of ``by``; a source is a name, or a name and the letters taken
    over from it (all, if it is only a name), each group after a comma an occurrence of its own."""
    dependencies = []
    for source in sources:
        table, kept = (source, by) if isinstance(source, str) else source
        occurrences = tuple(Occurrence(tuple((each, Same(each)) for each in group)) for group in kept.split(","))
        dependencies.append(Dependency(table, occurrences))
    return Definition(
        name,
        "query",
        (),
        tuple(by),
        format=format,
        dependencies=tuple(dependencies),
        fingerprint=fingerprint,
        properties={f"headwater.{key}": value for key, value in properties.items()},
    )


def machine(bases: dict[str, str], *views: Definition, lakes: Iterable[str] = ()) -> Machine:
    made = Machine(World({name: tuple(by) for name, by in bases.items()}, lakes))
    for name, by in bases.items():
        for value in ("1", "2"):
            made.world.write(name, Slice.of({each: value for each in by}), 1)
    for each in views:
        made.declare(each)
    made.drain()
    assert not wrong(made)
    return made


def change(made: Machine, table: str, partition: Slice, content: int = 3) -> None:
    made.world.write(table, partition, content)
    made.look(table)


def costing(known: ViewState, seconds: float, cores: float | None = None, partitions: float = 1.0) -> None:
    """Lets runs of a view have taken this that compute whole partitions."""
    known.costs.took, known.costs.partitions = Took(seconds, 0.0), partitions
    known.costs.whole = {Mode.PARTITION: Whole(partitions, seconds, cores)}


def end(made: Machine, name: str) -> None:
    made.finish(made.flights[name])


def start(made: Machine, name: str) -> bool:
    """Whether a view could run, and began. It may turn out to need no run, and another one begins in its place."""
    names = [each.view for each in ready(made.state, made.now)]
    return name in names and made.start(names.index(name)) and name in made.flights


def run_now(made: Machine, name: str) -> bool:
    """Whether a view could run, and did."""
    began = start(made, name)
    if began:
        end(made, name)
    return began


def converged(made: Machine) -> None:
    """Drains until nothing is left."""
    made.drain()
    made.settle()
    assert not made.state.origins


def fail_for_good(made: Machine, name: str) -> None:
    while made.state.views[name].status is not Status.FAILED:
        made.now += 300_000
        assert start(made, name)
        made.fail(made.flights[name])


def sound(made: Machine) -> None:
    """Drains, and holds the record against the laws."""
    made.drain()
    made.settle()
    assert not wrong(made) and not repeated(made) and not disordered(made)
    assert not made.state.origins


def warehouse(views: dict[str, tuple[tuple[str, ...], dict[str, str], float | None]]) -> State:
    """Views of one partition with what they read, their properties, and the seconds that their refreshes take."""
    state = State()
    for version, (name, (reads, properties, seconds)) in enumerate(views.items(), 1):
        named = {f"headwater.{key}": text for key, text in properties.items()}
        definition = Definition(name, "", (), properties=named, dependencies=tuple(map(Dependency, reads)))
        state = transition(state, Declared(0, version, definition, "was created", fill=False))
        if seconds is not None:
            state.views[name].costs.took = Took(seconds, 0.0)
    return state


def written(state: State, table: str, at: int = 0) -> State:
    """The state after a change of a table."""
    seen = (Observed(WHOLE, str(state.highest)),)
    return transition(state, Changed(at, state.highest + 1, table, seen, "", 0, "changed"))
