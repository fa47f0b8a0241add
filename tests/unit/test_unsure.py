"""Runs that are on no record and may have been published all the same: nobody goes on from the rows that they may have
left."""

from __future__ import annotations

import pytest
from attrs import evolve
from cases import A1, A2, change
from test_appended import came, copied, why

from headwater.engine.methods.bags import by_rows
from headwater.engine.methods.basis import NO_CHANGE, inputs, only_changed
from headwater.engine.record.transition import transition
from headwater.model.command import Launch
from headwater.model.error import FilesReplaced, RefreshFailed
from headwater.model.event import Declared, EngineLost, Event, Failed, Made, Published, Renamed, Started
from headwater.model.partition import WHOLE, Slice
from headwater.model.reason import Code, Reason
from headwater.model.state import PartitionRecord, Run
from headwater.model.view import Definition
from headwater.model.work import ByRows, WholePartitions
from headwater.spark.tables.view_tables import same

DOUBT = "is out: a refresh that is on no record may have been published [method.state_unknown]"
ENGINE = 77


def begun(made, *slices: Slice) -> int:
    """A run of another engine."""
    version, state = made.state.highest + 1, made.state
    needs = tuple((each, ()) for each in slices)
    read = inputs(state, state.views["v"].definition)
    transition(
        state,
        Started(
            made.now,
            version,
            "v",
            needs,
            read,
            WholePartitions(),
            Reason(Code.SOURCE_CHANGED, "because"),
            engine=ENGINE,
        ),
    )
    return version


def over(made, version: int, *slices: Slice) -> None:
    made_of = tuple(Made(each, 1, f"v{version}") for each in slices)
    transition(made.state, Published(made.now, version, "v", made_of, (), 1.0, snapshot=f"s{version}"))


def lost(made, version: int) -> Event:
    return EngineLost(made.now, ENGINE)


def failed(made, version: int) -> Event:
    return Failed(made.now, version, "v", Reason(Code.RUN_FAILED, "no space left"), 1.0, cancelled=True, unsure=True)


def altered(made, version: int) -> Event:
    return Declared(made.now, version + 1, made.state.views["v"].definition, "was altered", fill=False)


@pytest.mark.parametrize("ended", [lost, failed, altered])
def test_doubt_lasts_until_each_partition_was_made_again(ended):
    made = copied()
    came(came(made, A1), A2)
    version = begun(made, A1, A2)
    transition(made.state, ended(made, version))
    known = made.state.views["v"]
    assert set(known.unsure) == {A1, A2} and why(made, A2) == DOUBT
    assert not only_changed(made.state, "v", (A2,)), "so a view may compute all rows whatever it allows"
    over(made, begun(made, A1), A1)
    assert known.unsure == (A2,) and why(made, A2) == DOUBT
    over(made, begun(made, A2), A2)
    assert not known.unsure


def test_a_renamed_view_takes_its_doubt_along():
    made = copied()
    came(made, A1)
    begun(made, A1)
    definition = evolve(made.state.views["v"].definition, view="w")
    transition(made.state, Renamed(made.now, made.state.highest + 1, "v", "w", definition))
    assert made.state.views["w"].unsure == (A1,)


def test_a_run_that_failed_before_its_publication_leaves_no_doubt():
    made = copied()
    came(made, A1)
    transition(made.state, evolve(failed(made, begun(made, A1)), unsure=False))
    assert not made.state.views["v"].unsure


def test_a_publication_that_fails_after_its_commit_is_in_doubt():
    made = copied()
    came(made, A1)
    publish = made.world.publish

    def torn(launch, written):
        publish(launch, written)
        made.world.publish = publish
        raise RefreshFailed("the connection was lost")

    made.world.publish = torn
    made.drain()
    [event] = [each for each in made.journal if isinstance(each, Failed)]
    assert event.unsure and not made.state.views["v"].unsure, "the next run made all rows"
    runs = [each for each in made.journal if isinstance(each, Started)]
    assert isinstance(runs[-2].work, ByRows) and not isinstance(runs[-1].work, ByRows)


def test_a_refresh_that_a_compaction_overtook_is_tried_again_in_the_same_way():
    made = copied()
    came(made, A1)
    publish = made.world.publish

    def overtaken(launch, written):
        made.world.publish = publish
        raise FilesReplaced("its table got other files meanwhile; it is tried again", "v")

    made.world.publish = overtaken
    made.drain()
    [event] = [each for each in made.journal if isinstance(each, Failed)]
    assert event.cancelled and not event.unsure, "no reader saw it, and it is no failure of the view"
    runs = [each for each in made.journal if isinstance(each, Started)]
    assert isinstance(runs[-2].work, ByRows) and isinstance(runs[-1].work, ByRows)


def test_a_refresh_that_is_overtaken_again_and_again_computes_whole_partitions():
    """Or a program that puts files together all the time would keep the view from ever being fresh."""
    made = copied()
    came(made, A1)
    publish, works = made.world.publish, []

    def overtaken(launch, written):
        works.append(launch.run.work)
        if isinstance(launch.run.work, ByRows):
            raise FilesReplaced("its table got other files meanwhile; it is tried again", "v")
        return publish(launch, written)

    made.world.publish = overtaken
    made.drain()
    assert [isinstance(each, ByRows) for each in works] == [True, True, False]
    events = [each for each in made.journal if isinstance(each, Failed)]
    assert [each.cancelled for each in events] == [True, True] and made.state.views["v"].failures == 0


def test_a_partition_that_stays_empty_reflects_what_the_run_read():
    """Or it would reflect an older definition, or keep the others from one state."""
    made = copied()
    made.world.write("t", A1, None)
    made.look("t")
    made.drain()
    assert made.state.tables["v"].partitions[A1].fingerprint is None
    change(made, "t", A2, 9)
    before = made.state.tables["v"].partitions[A1].inputs
    over(made, begun(made, WHOLE), A2)
    assert made.state.tables["v"].partitions[A1].inputs != before
    assert by_rows(made.state, "v", (WHOLE,)) == NO_CHANGE


def test_nothing_is_unchanged_in_a_view_that_readers_may_have_seen_otherwise():
    """A reader may have read what a lost run published, and its reader goes on from that."""
    run = Run(Started(0, 9, "v", ((A1, ()),), (), WholePartitions(), ""))
    launch = Launch(run, Definition("v", "", ()), {A1: PartitionRecord(7, "v7", 3, content="same")})
    made = [Made(A1, 3, "v9", "same")]
    assert same(launch, made, appended=False) == {A1}
    for appended in (True, False):
        assert not same(evolve(launch, unsure=True), made, appended)
