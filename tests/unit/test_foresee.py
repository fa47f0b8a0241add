"""``EXPLAIN CREATE MATERIALIZED VIEW``: how a view would follow changes."""

from __future__ import annotations

from attrs import evolve
from cases import view

from headwater.engine.tell.foresee import foresee
from headwater.model.dependency import Adding, Keys

BOTH = frozenset({"t", "u"})


def lines(definition, pinned=BOTH) -> list[str]:
    return foresee(definition, pinned)


def made(adding: Adding, keys: Keys, *sources: str, **facts):
    definition = view("v", "", *(sources or ("t",)), format="delta")
    dependencies = tuple(evolve(each, adding=adding, keys=keys) for each in definition.dependencies)
    return evolve(definition, partitioned_by=(), dependencies=dependencies, **facts)


def test_each_source_has_its_methods():
    followed = made(Adding(True, True), Keys(("a", "b"), (("a", "b"),)))
    assert lines(followed) == [
        "v can be created USING delta",
        "  depends on t as a whole: the view has one partition",
        "    can be followed by changes",
        "    can be followed by keys (a, b)",
    ]


def test_a_method_that_is_out_has_its_reason():
    told = lines(made(Adding(reason="it does not aggregate"), Keys(reason="`n` is an aggregate")))
    assert told[2:] == ["    by changes is out: it does not aggregate", "    by keys is out: `n` is an aggregate"]


def test_a_table_without_snapshots_is_in_the_way_of_both():
    told = lines(made(Adding(True, True), Keys(("a",), (("a",),)), "t", "u"), {"t"})
    why = "is out: u has no snapshots; a table USING delta or USING iceberg has"
    assert sum(line.endswith(why) for line in told) == 4
