"""Hypothesis strategies: graphs of views, base tables, partition maps, and scripts of what happens."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import looks
from attrs import evolve, frozen
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from machine import Machine
from reference import computed
from world import World

from headwater.engine.requests.coverage import upstream
from headwater.model.calendar import Shift, Unit, Window
from headwater.model.dependency import Adding, Dependency, Expression, Keys, Occurrence, Same, Windowed
from headwater.model.event import Altered, Broken, Budgeted, Hurried, Renamed, Requested, Resumed, Suspended, Unreadable
from headwater.model.partition import WHOLE, Slice, Value
from headwater.model.reason import Code, Reason
from headwater.model.state import Status
from headwater.model.view import Definition

HARDER = int(os.environ.get("HEADWATER_EXAMPLES", "1"))
VALUES: tuple[Value, ...] = ("2000", "2001", "2002", None)
SHAPES: tuple[tuple[str, ...], ...] = ((), ("a",), ("b",), ("a", "b"))

values = st.sampled_from(VALUES)
slices = st.dictionaries(st.sampled_from(("a", "b", "c")), values, max_size=3).map(Slice.of)
shapes = st.sampled_from(SHAPES)


def examples(count: int) -> settings:
    """Settings of a law's test. The profile ``quick`` looks a third as hard; ``HEADWATER_EXAMPLES=20`` looks twenty
    times as hard (and leaves what it finds as found)."""
    return settings(
        max_examples=max(5, count * HARDER * settings.default.max_examples // 100),
        phases=[each for each in Phase if HARDER == 1 or each is not Phase.shrink],
        deadline=None,
        derandomize=HARDER == 1,  # a suite that others rely on finds the same each time; looking harder does not
        database=None,  # what was found before is no merit of the strategy
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def partitions(columns: Sequence[str]) -> st.SearchStrategy[Slice]:
    """One partition of a table with these partition columns."""
    return st.tuples(*[values] * len(columns)).map(lambda each: Slice(tuple(zip(columns, each, strict=True))))


@st.composite
def expressions(draw: st.DrawFn, available: Sequence[str]) -> Expression | None:
    """How a view's column comes from a source: the same, computed, of a window, or (``None``) free."""
    kind = draw(st.sampled_from(("same", "same", "computed", "windowed", "free"))) if available else "free"
    if kind == "free":
        return None
    column = draw(st.sampled_from(tuple(available)))
    if kind == "same":
        return Same(column)
    if kind == "windowed":
        first, last = draw(st.sampled_from(((-1, -1), (-1, 0), (0, 1), (-2, -1))))
        return Windowed(column, Window(Unit.YEAR, (Shift(first, last),)), "string")
    if len(available) == 2 and draw(st.booleans()):
        return computed("sum", *available)
    return computed(draw(st.sampled_from(("half", "flag", "none"))), column)


@st.composite
def occurrences(draw: st.DrawFn, columns: Sequence[str], available: Sequence[str]) -> Occurrence:
    drawn = [(column, draw(expressions(available))) for column in columns]
    return Occurrence(tuple((column, each) for column, each in drawn if each is not None))


@st.composite
def definitions(draw: st.DrawFn, name: str, columns: Sequence[str], above: dict[str, tuple[str, ...]]) -> Definition:
    """A view over one to three of the tables above it."""
    sources = draw(st.lists(st.sampled_from(sorted(above)), min_size=1, max_size=3, unique=True))
    adding = draw(st.sampled_from((ADDING, ROWS)))
    dependencies = tuple(
        Dependency(
            source,
            tuple(draw(st.lists(occurrences(columns, above[source]), min_size=1, max_size=2, unique=True))),
            keys=KEYS,
            adding=adding,
        )
        for source in sources
    )
    dated = "a" in columns and all(
        isinstance(dict(each.columns).get("a"), Same | Windowed)
        for dependency in dependencies
        for each in dependency.occurrences
    )
    number = draw(st.integers(0, 99))
    return Definition(
        view=name,
        made_by=f"the query of {name}",
        columns=(),
        partitioned_by=tuple(columns),
        format=draw(formats),
        fingerprint=str(number),
        properties=draw(policies) | consistency(number),
        dependencies=dependencies,
        earlier=tuple(draw(st.lists(successions(columns), max_size=2, unique=True))) if dated else (),
    )


@st.composite
def successions(draw: st.DrawFn, columns: Sequence[str]) -> Occurrence:
    """One place where a view reads earlier partitions of itself."""
    first, last = draw(st.sampled_from(((-1, -1), (-1, -1), (-2, -1), (-2, -2), (None, -1))))
    back = ("a", Windowed("a", Window(Unit.YEAR, (Shift(first, last),)), "string"))
    return Occurrence((back, *((each, Same(each)) for each in columns if each != "a" and draw(st.booleans()))))


KEYS = Keys(("key",), (("key",),))
"""Of rows that the laws do not tell apart: what matters is from which states of its sources a run by keys goes on."""

ADDING, ROWS = Adding(None, True), Adding(None, True, rows=True)

formats = st.sampled_from(("parquet", "parquet", "parquet", "delta"))

policies = st.fixed_dictionaries(
    {},
    optional={
        "headwater.upstream": st.sampled_from(("hold", "release")),
        "headwater.overrun": st.sampled_from(("queue", "preempt", "skip")),
        "headwater.propagate": st.sampled_from(("all", "all", "marked")),
        "headwater.method": st.sampled_from(("keys, full", "incremental, full")),
        "headwater.gap": st.sampled_from(("30 seconds", "10 minutes")),
        "headwater.schedule": st.sampled_from(("*/2 * * * *", "*/9 * * * * Europe/Berlin")),
    },
)
"""Properties of a view that say how changes reach it."""


def consistency(number: int) -> dict[str, str]:
    """Every other view is strict."""
    return {"headwater.consistency": ("eventual", "strict")[number % 2]}


@frozen
class Graph:
    """Base tables with their partition columns; views in an order in which each reads only tables above
    it; other definitions that the views may be given later; the base tables that are lake tables."""

    bases: dict[str, tuple[str, ...]]
    views: tuple[Definition, ...]
    others: tuple[Definition, ...] = ()
    lakes: frozenset[str] = frozenset()

    def columns(self, table: str) -> tuple[str, ...]:
        return self.bases.get(table) or next((v.partitioned_by for v in self.views if v.view == table), ())


@st.composite
def graphs(draw: st.DrawFn, most: int = 7, redefined: bool = True) -> Graph:
    bases = {f"base.t{n}": draw(shapes) for n in range(draw(st.integers(1, 3)))}
    lakes = draw(some_lakes(bases))
    above = dict(bases)
    views, others = [], []
    for n in range(draw(st.integers(min(3, most), most))):
        name, columns = f"mart.v{n}", draw(shapes)
        views.append(draw(definitions(name, columns, above)))
        if redefined and draw(st.integers(0, 3)) == 0:
            others.append(draw(definitions(name, columns, above)))
        above[name] = columns
    if redefined:
        # A view that nobody reads, nor it itself, may change its partition columns too.
        read = {source for each in (*views, *others) for source in each.sources}
        last = views[-1].view
        if last not in read:
            before = {name: columns for name, columns in above.items() if name != last}
            others.append(draw(definitions(last, draw(shapes), before)))
            views, others = _reshaped(last, views), _reshaped(last, others)
    return Graph(bases, tuple(views), tuple(_as_first(views, others)), lakes)


def _as_first(views: Sequence[Definition], others: Sequence[Definition]) -> list[Definition]:
    """A view that reads earlier partitions of itself keeps its format."""
    first = {each.view: each.format for each in views}
    bound = {each.view for each in (*views, *others) if each.earlier}
    return [evolve(each, format=first[each.view]) if each.view in bound else each for each in others]


def some_lakes(bases: Iterable[str]) -> st.SearchStrategy[frozenset[str]]:
    """The base tables that are lake tables."""
    drawn = st.tuples(*(st.tuples(st.just(each), formats) for each in bases))
    return drawn.map(lambda each: frozenset(name for name, format in each if format == "delta"))


def of_lakes(drawn: st.SearchStrategy[Graph]) -> st.SearchStrategy[Graph]:
    """Such graphs, of lake tables only."""
    return drawn.map(_all_lakes)


def _all_lakes(graph: Graph) -> Graph:
    views, others = (tuple(evolve(each, format="delta") for each in some) for some in (graph.views, graph.others))
    return Graph(graph.bases, views, others, frozenset(graph.bases))


@st.composite
def chains(draw: st.DrawFn, past: bool = True) -> Graph:
    """Views of one column that all read their own ``past``, or none; each reads the one before it, and some another."""
    tables, views = ["base.t0", "base.t1"], []
    for n in range(draw(st.integers(2, 3))):
        name, sources = f"mart.v{n}", {tables[-1], *draw(st.sets(st.sampled_from(tables), max_size=1))}
        views.append(
            Definition(
                view=name,
                made_by=f"the query of {name}",
                columns=(),
                partitioned_by=("a",),
                format=draw(formats),
                properties=draw(policies) | consistency(n),
                dependencies=tuple(Dependency(each, (Occurrence((("a", Same("a")),)),)) for each in sorted(sources)),
                earlier=(draw(successions(("a",))),) if past else (),
            )
        )
        tables.append(name)
    bases = {"base.t0": ("a",), "base.t1": ("a",)}
    return Graph(bases, tuple(views), lakes=draw(some_lakes(bases)))


@st.composite
def reshaped(draw: st.DrawFn) -> Graph:
    """A view over one table, and other definitions of it, mostly with other partition columns."""
    bases, name = {"base.t0": draw(shapes)}, "mart.v0"
    first, *others = (draw(definitions(name, draw(shapes), bases)) for _ in range(4))
    return Graph(bases, tuple(_reshaped(name, [first])), tuple(_reshaped(name, others)))


def _reshaped(last: str, definitions: Sequence[Definition]) -> list[Definition]:
    """A view that is given other partition columns does not read what it was before."""
    return [evolve(each, earlier=()) if each.view == last else each for each in definitions]


# --- what happens: (kind, two numbers that pick things)

HAPPENINGS = {
    "nothing": 1,
    "write": 8,
    "write unseen": 2,
    "delete": 2,
    "look": 2,
    "start": 10,
    "advance": 12,
    "finish": 6,
    "fail": 2,
    "cancel": 1,
    "time": 8,
    "redefine": 2,
    "drop or create": 1,
    "suspend": 1,
    "resume": 2,
    "break": 1,
    "unreadable": 1,
    "readable": 2,
    "full": 1,
    "backfill": 1,
    "hurry": 1,
    "budget": 1,
    "rename": 1,
    "alter": 1,
    "cadence": 1,
    "drift": 1,
    "rearrange": 1,
    "roll back": 1,
    "clean": 1,
    "make anew": 1,
    "glance": 2,
    "record glance": 2,
    "images": 1,
    "looks": 1,
    "crash": 2,
}
PAUSES = (10, 400, 1_000, 5_000, 30_000, 61_000, 300_000)

Step = tuple[str, int, int]


def scripts(size: int = 40, without: Sequence[str] = ()) -> st.SearchStrategy[list[Step]]:
    """Scripts long enough to be interesting: Hypothesis would draw five steps on average; a failing one
    shrinks to steps that do nothing."""
    weighted = [kind for kind, weight in HAPPENINGS.items() if kind not in without for _ in range(weight)]
    return _steps(weighted, size)


def failing(size: int) -> st.SearchStrategy[list[Step]]:
    """Scripts of runs that read one another, many of which come to nothing."""
    return _steps(["write"] * 2 + ["time"] + ["start"] * 2 + ["advance"] * 4 + ["fail"], size)


def redefining(size: int) -> st.SearchStrategy[list[Step]]:
    """Scripts of writes and runs, with many a new definition between."""
    return _steps(["write"] * 3 + ["redefine", "start", "advance", "time"], size)


def racing(size: int) -> st.SearchStrategy[list[Step]]:
    """Scripts of writes that several engines look for at the same time, while runs go on."""
    written = ["write unseen"] * 4 + ["rearrange", "drift"]
    looked = ["glance"] * 4 + ["record glance"] * 2 + ["look"] * 2
    return _steps([*written, *looked, "start", "start", "advance", "finish", "finish", "time", "time"], size)


def _steps(kinds: Sequence[str], size: int) -> st.SearchStrategy[list[Step]]:
    step = st.tuples(st.sampled_from(kinds), st.integers(0, 1000), st.integers(0, 1000))
    return st.lists(step, min_size=size, max_size=2 * size)


def machine(graph: Graph, contents: Sequence[int] = (3, 5, 8), filled: bool = True) -> Machine:
    """A machine on which the graph is declared (and filled)."""
    made = Machine(World(graph.bases, graph.lakes))
    for n, (table, columns) in enumerate(graph.bases.items()):
        for m, content in enumerate(contents if columns else contents[:1]):
            made.world.write(table, _partition(columns, n + m * 5), content + n)
    for definition in graph.views:
        made.declare(definition)
    if filled:
        made.drain()
    return made


def play(made: Machine, graph: Graph, script: Sequence[Step]) -> None:
    for step in script:
        happen(made, graph, *step)


def _partition(columns: Sequence[str], which: int) -> Slice:
    bound = []
    for column in columns:
        which, value = divmod(which, len(VALUES))
        bound.append((column, VALUES[value]))
    return Slice(tuple(bound))


def happen(made: Machine, graph: Graph, kind: str, which: int, how: int) -> None:
    """Carries out one step of a script; one that is impossible now does nothing."""
    bases = sorted(graph.bases)
    table = bases[which % len(bases)]
    views = sorted(made.state.views)
    view = views[which % len(views)] if views else ""
    suspended = [name for name in views if made.state.views[name].status is Status.SUSPENDED]
    match kind:
        case "nothing":
            pass
        case "write" | "write unseen":
            made.world.write(table, _partition(graph.bases[table], which // 3), how)
            if kind == "write":
                made.look(table)
        case "delete":
            present = sorted(made.world.content[table], key=str)
            if present and table not in made.state.unreadable:  # else nobody looks for rows that a run may have read
                deleted = present[how % len(present)]
                made.world.write(table, deleted, None)
                made.look(table, named=(deleted,))
        case "look":
            tables = sorted(made.world.content)
            made.look(tables[which % len(tables)])
        case "start":
            made.start(which)
        case "advance" | "finish" | "fail" | "cancel":
            flight = made.flight(which)
            if flight is not None:
                if kind == "advance":
                    made.advance(flight, brief=how % 2 > 0)
                elif kind == "finish":
                    made.finish(flight)
                else:
                    made.fail(flight, kind == "cancel")
        case "time":
            made.now += PAUSES[which % len(PAUSES)]
        case "backfill":
            mark(made, table, _partition(graph.bases[table], which // 3).keep(graph.bases[table][: how % 3]))
        case "make anew":
            made.world.make_anew(table, lake=how % 3 > 0)
        case "roll back":
            if table in made.world.lake:
                made.world.roll_back(table)
        case "rearrange" | "clean" | "glance":
            lakes, kept = made.world.lake.logs, made.world.versions if kind == "clean" else {}
            if some := sorted({*lakes, *kept}):
                name = some[which % len(some)]
                _to_lake(made, kind, name, how) if name in lakes else _clean_versions(made, name)
        case "record glance":
            if made.glances:
                looks.record(made, made.glances.pop(which % len(made.glances)))
        case "images":
            made.world.evaluates = not made.world.evaluates
        case "looks":
            made.looks = not made.looks
        case "crash":
            made.crash()
        case "hurry":
            known = sorted(made.state.views)
            some = upstream(made.state, known[which % len(known)]) & {*known} if known and how % 2 else None
            made.record(lambda version: Hurried(made.now, version, some and tuple(sorted(some))))
        case "budget":
            made.record(lambda _: Budgeted(made.now, (None, 0.5, 500.0)[how % 3]))
        case "resume":
            if suspended:
                made.record(lambda _: Resumed(made.now, suspended[which % len(suspended)]))
        case "unreadable":
            if table not in made.state.unreadable:
                made.record(lambda _: Unreadable(made.now, table, Reason(Code.SOURCE_UNREADABLE, "nobody can tell")))
        case "readable":
            readable(made)
        case "redefine":
            possible = [
                each
                for each in graph.others
                if each.view in views and set(each.sources) <= _tables(made) and _keeps_its_table(made, each)
            ]
            if possible:
                made.declare(possible[which % len(possible)], "was redefined")
        case "drop or create":
            _drop_or_create(made, graph, which)
        case _ if view:
            _to_view(made, kind, view, how)


def _keeps_its_table(made: Machine, definition: Definition) -> bool:
    """Whether a view that reads earlier partitions of itself finds a table of its format. Its partitions are made one
    after the other, so none of its runs replaces the table. ``CREATE OR REPLACE`` refuses other columns."""
    return not definition.earlier or (definition.view in made.world.lake) == definition.storage.commits


def _to_lake(made: Machine, kind: str, table: str, how: int) -> None:
    """What happens to a lake table, a base table or a view, and changes no row; a glance is another engine's."""
    match kind:
        case "rearrange":
            made.world.commit(table)
        case "clean":
            made.world.lake.logs[table].clean(told=how % 3 < 2, read=how % 3 > 0)
        case "glance" if table not in made.state.unreadable:
            made.glances.append(looks.glance(made, table))


def _clean_versions(made: Machine, view: str) -> None:
    """The clean-up takes all versions of a view in files but the newest."""
    newest = made.state.tables[view].snapshot if view in made.state.tables else ""
    known = made.world.versions[view]
    made.world.versions[view] = {name: each for name, each in known.items() if name == newest}


def readable(made: Machine) -> None:
    """Lets every table be looked at again, and looks."""
    for table in sorted(made.state.unreadable):
        made.record(lambda _, table=table: Unreadable(made.now, table))
        made.look(table)


def _tables(made: Machine) -> set[str]:
    """What a definition can read: of a table that cannot be looked at, there is no first look."""
    return {*made.world.columns, *made.state.views} - made.state.unreadable.keys()


def _drop_or_create(made: Machine, graph: Graph, which: int) -> None:
    gone = [each for each in graph.views if each.view not in made.state.views and set(each.sources) <= _tables(made)]
    unread = [name for name in sorted(made.state.views) if not made.state.index.readers.get(name)]
    if gone and which % 2:
        made.declare(gone[which % len(gone)], "was created again")
    elif unread:
        made.drop(unread[which % len(unread)])


def _to_view(made: Machine, kind: str, view: str, how: int) -> None:
    state = made.state.views[view]
    match kind:
        case "suspend":
            made.record(lambda _: Suspended(made.now, view))
        case "break":
            if how % 2 or state.status is Status.BROKEN:
                made.declare(state.definition, "can be computed again")
            else:
                made.record(lambda _: Broken(made.now, view, Reason(Code.QUERY_NOT_ANALYSED, "a column is gone")))
        case "full":
            columns = state.definition.partitioned_by
            asked = _partition(columns, how // 3).keep(columns[: how % 3])
            made.record(lambda version: Requested(made.now, version, view, (asked,), "was asked for"))
        case "alter":
            properties = dict(state.definition.properties) | {
                "headwater.freshness": ("2 seconds", "10 minutes")[how % 2]
            }
            made.record(lambda _: Altered(made.now, view, tuple(properties.items())))
        case "cadence":
            properties = {**dict(state.definition.properties), "headwater.cadence": "1 minute"}
            made.record(lambda _: Altered(made.now, view, tuple(properties.items())))
        case "rename":
            if not made.state.index.readers.get(view) and not view.endswith("r") and view + "r" not in made.state.views:
                rename(made, view, view + "r")
        case "drift":
            _drift(made, view, how)


def _drift(made: Machine, view: str, how: int) -> None:
    """Another program writes a view's table, or makes it anew; files, only while the view does not run."""
    there, lake = sorted(made.world.content.get(view, ()), key=str), view in made.world.lake
    if not there or (view in made.state.running and not lake):
        return
    partition = there[how % len(there)]
    match how // len(there) % 6:
        case 0 if lake:
            made.world.roll_back(view)
        case 1 if lake:
            made.world.write(view, partition, None)
        case 2 if lake:
            made.world.write(view, _partition(sorted(partition.columns), which=how), how)
        case 3 if not made.state.views[view].definition.earlier:
            made.world.make_anew(view, lake=not lake)
        case _:
            made.world.write(view, partition, how)


def rename(made: Machine, view: str, to: str) -> None:
    world = made.world
    for each in (world.content, world.stamps, world.newest, world.lake.logs, world.versions):
        if view in each:
            each[to] = each.pop(view)
    definition = evolve(made.state.views[view].definition, view=to)
    made.record(lambda version: Renamed(made.now, version, view, to, definition))


def mark(made: Machine, table: str, asked: Slice = WHOLE) -> None:
    """Asks for all that is made from a slice of a base table."""
    made.evaluate(table, (asked,))
    made.record(lambda version: Requested(made.now, version, table, (asked,), "was to be backfilled"))


def kept(made: Machine) -> None:
    """Mends everything: what is suspended, broken or failing is kept fresh again."""
    made.world.evaluates = True
    readable(made)
    for view in sorted(made.state.views):
        if made.state.views[view].broken is not None:
            made.declare(made.state.views[view].definition, "can be computed again")
        made.record(lambda _, view=view: Resumed(made.now, view))
