"""``EXPLAIN CREATE MATERIALIZED VIEW``: how a view would follow changes."""

from __future__ import annotations

from attrs import evolve
from cases import view

from headwater.engine.tell.foresee import foresee
from headwater.model.dependency import Adding, Foremost, Frames, Keys, Neighbours
from headwater.model.reason import Code, Reason

BOTH = frozenset({"t", "u"})
LIMITED = Reason(Code.QUERY_ROWS_TOGETHER, "GlobalLimit takes several rows of t together")
AN_AGGREGATE = Reason(Code.QUERY_AGGREGATE, "`n` is an aggregate")


def lines(definition, pinned=BOTH) -> list[str]:
    return foresee(definition, pinned)


def made(adding: Adding, keys: Keys, *sources: str, **facts):
    definition = view("v", "", *(sources or ("t",)), format="delta")
    dependencies = tuple(evolve(each, adding=adding, keys=keys) for each in definition.dependencies)
    return evolve(definition, partitioned_by=(), dependencies=dependencies, **facts)


def test_each_source_has_its_methods():
    followed = made(Adding(None, True), Keys(("a", "b"), (("a", "b"),)))
    assert lines(followed) == [
        "v can be created USING delta",
        "  depends on t as a whole: the view has one partition [view.unpartitioned]",
        "    can be followed by changes",
        "    can be followed by keys (a, b)",
    ]


def test_a_window_is_followed_by_its_frames():
    keys = Keys(("a", "b"), (("a", "b"),), through=Frames(("a", "d"), (("a", "d"),)))
    assert lines(made(Adding(LIMITED), keys))[-1] == "    can be followed by keys (a, b) and frames of d"
    keys = evolve(keys, through=Neighbours(("a", "d", "e"), (("a", "d", "e"),), 1))
    assert lines(made(Adding(LIMITED), keys))[-1] == "    can be followed by keys (a, b) and neighbours by d, e"
    keys = evolve(keys, through=Foremost(("a", "d", "e"), (("a", "d", "e"),), 1, 3))
    assert lines(made(Adding(LIMITED), keys))[-1] == "    can be followed by keys (a, b) and the first 3 by d, e"


def test_a_method_that_is_out_has_its_reason():
    told = lines(made(Adding(LIMITED), Keys(reason=AN_AGGREGATE)))
    assert told[2:] == [
        "    by changes is out: GlobalLimit takes several rows of t together [query.rows_together]",
        "    by keys is out: `n` is an aggregate [query.aggregate]",
    ]


def test_a_table_without_snapshots_is_in_the_way_of_both():
    told = lines(made(Adding(None, True), Keys(("a",), (("a",),)), "t", "u"), {"t"})
    why = "is out: u has no snapshots; a table USING delta or USING iceberg has [source.no_snapshots]"
    assert sum(line.endswith(why) for line in told) == 4
