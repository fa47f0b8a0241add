"""A small store's history under other policies, counted by hand, and the commands."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import click
import pytest
from attrs import evolve
from cases import A1, change, machine, view
from click.testing import CliRunner, Result
from reference import replayed

from benchmarks.papers.__main__ import main as papers
from benchmarks.papers.workload import Workload, generated
from headwater.cli.main import main
from headwater.cli.whatif import policy
from headwater.model.error import DefinitionError, StatementError
from headwater.model.event import Altered, Changed, Declared, Dropped, Event, Published, Renamed, Requested
from headwater.simulate.accounts import as_it_ran
from headwater.simulate.replay import Override
from headwater.simulate.scenario import Scenario, recorded
from headwater.simulate.whatif import Row, naive, ran, simulated
from headwater.store.sql_store import SqlStore

V, W = view("v", "a", "t"), view("w", "a", "v")
RECORDED = Override("recorded")


def script() -> list[Event]:
    """t → v → w are filled; then a=1 of t changes twice within a second, and a minute later once more.

    Every run takes 0.1 s by the journal, and no time by its clock.
    """
    made = machine({"t": "a"}, V, W)
    for pause, partition in ((10_000, A1), (400, A1), (60_000, A1)):
        made.now += pause
        change(made, "t", partition, made.now)
        if pause != 10_000:
            made.drain()
    return made.journal


def outcome(scenario: Scenario, chosen: Override = RECORDED) -> Row:
    return simulated([scenario], chosen, 2, lambda _: None)


def counts(row: Row) -> dict[str, tuple[float, float]]:
    return {name: (each.runs, each.partitions) for name, each in row.tables.items()}


# --- a store made by a small script


def test_a_schedule_and_a_gap_count():
    """Three changes within a minute: with the first rows, a refresh for the two of a second and one for the last."""
    scenario = recorded(script())
    assert counts(outcome(scenario))["v"][0] == 3
    for asked in (("headwater.gap", "1 hour"), ("headwater.schedule", "*/30 * * * *")):
        assert counts(outcome(scenario, Override("late", dict((asked,)))))["v"][0] == 2


def test_a_member_in_files_is_simulated_to_its_end():
    """A simulated publication keeps a version, too. Else the view would be asked for one again and again."""
    made = machine({"t": "a"}, V)
    made.record(lambda _: Altered(made.now, "v", (("headwater.group", "g"),)))
    made.drain()
    change(made, "t", A1, 7)
    made.drain()
    assert sum(isinstance(each, Requested) for each in made.journal) == 1
    assert counts(outcome(recorded(made.journal)))["v"] == (3, 5), "a fill, the refresh that is kept, and one partition"


def test_the_recorded_policy_runs_what_ran():
    """A fill of two partitions and two runs of one each, for v and for w."""
    scenario = recorded(script())
    expected = {"v": (3, 4), "w": (3, 4)}
    assert counts(ran(as_it_ran(script(), scenario.end))) == expected
    found = outcome(scenario)
    assert counts(found) == expected and not found.pending
    assert found.tables["v"].seconds == pytest.approx(0.3)


def test_immediate_triggering_runs_for_each_change_and_path():
    """Two fills, and three changes that each reach v and w."""
    found = naive([recorded(script())], lambda _: None)
    assert counts(found) == {"v": (4, 5), "w": (4, 5)}


def test_longer_settling_makes_one_run_of_all_changes():
    scenario = recorded(script())
    found = outcome(scenario, Override("late", {"headwater.settle": "2 minutes"}))
    assert counts(found) == {"v": (2, 3), "w": (2, 3)}


def test_shorter_settling_makes_a_run_for_each_change():
    found = outcome(recorded(script()), Override("quick", {"headwater.settle": "1 millisecond"}))
    assert counts(found) == {"v": (4, 5), "w": (4, 5)}


def test_staleness_by_hand():
    """Each change waits a second for others (the second of the pair has 0.6 s left), v takes 0.1 s, then w."""
    scenario = recorded(script())
    pair, _, last = (event.at for event in scenario.events if isinstance(event, Changed) and not event.baseline)
    found = outcome(evolve(scenario, end=last + 5_000))
    # Both are filled 0.1 s after they are declared, w after v.
    assert found.tables["v"].staleness.rises == ((0, 100), (0, 1_100), (0, 1_100))
    assert found.tables["w"].staleness.rises == ((0, 200), (0, 1_200), (0, 1_200))
    assert found.tables["v"].staleness.span == last + 5_000 - scenario.begin
    assert pair - scenario.begin == 10_200  # the fills took 0.2 s of it


def test_a_longer_freshness_never_gives_more_refreshes_on_average():
    scenarios = [generated(Workload(views=10, hours=4), Random(seed)) for seed in range(3)]
    totals = []
    for bound in ("2 minutes", "10 minutes", "1 hour"):
        row = simulated(scenarios, Override(bound, {"headwater.freshness": bound}), 2, lambda _: None)
        totals.append(row.total)
    runs, seconds = [each.runs for each in totals], [each.seconds for each in totals]
    assert runs == sorted(runs, reverse=True) and seconds == sorted(seconds, reverse=True)
    assert runs[-1] < 0.6 * runs[0]
    assert runs[0] <= naive(scenarios, lambda _: None).total.runs
    means = [each.staleness.mean for each in totals]
    assert means == sorted(means)


# --- policies


def test_a_policy_holds_for_all_that_redefines_a_view():
    late = Override("late", {"headwater.freshness": "1 hour", "headwater.settle": ""})
    own = view("v", "a", "t", settle="5 seconds", retain="1 day")
    wanted = (("headwater.freshness", "1 hour"), ("headwater.retain", "1 day"))
    assert late.applied(Declared(0, 0, own, "was created")).definition.properties == wanted
    assert late.applied(Renamed(0, 1, "v", "x", own)).definition.properties == wanted
    assert late.applied(Altered(0, "v", (("headwater.retain", "1 day"),))).properties == wanted
    assert late.applied(Dropped(0, "v")) == Dropped(0, "v")


# --- the commands


@pytest.fixture
def store(tmp_path: Path) -> Path:
    made, seq = SqlStore(tmp_path / "store.db"), 0
    for event in script():
        seq = made.append(lambda _, event=event: event, seq).seq
    made.close()
    return tmp_path / "store.db"


def invoked(command: click.Command, *arguments: object) -> Result:
    return CliRunner().invoke(command, [*map(str, arguments)])


def test_history_as_a_table_as_json_and_as_a_picture(store, tmp_path):
    late = ("--policy", "late:headwater.settle=2 minutes", "--tracks", 1)
    ran = invoked(main, "whatif", "--store", store, *late)
    assert ran.exit_code == 0
    shown = [line.split() for line in ran.stdout.splitlines()]
    assert ["recorded", "6", "8", "0.6", "s"] in [line[:5] for line in shown]
    assert ["late", "4", "6", "0.4", "s"] in [line[:5] for line in shown]
    assert ["naive", "8", "10", "0.8", "s"] in shown
    picture = tmp_path / "history.png"
    ran = invoked(main, "whatif", "--store", store, *late, "--json", "--plot", picture)
    found = json.loads(ran.stdout)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert [row["policy"] for row in found["policies"]] == ["as it ran", "recorded", "late", "naive"]
    assert found["events"] == {"Changed": 4, "Declared": 2} and found["views"] == 2 and found["tracks"] == 1
    recorded_row = found["policies"][1]
    assert recorded_row["staleness"].keys() == {"p50", "p95", "max", "mean", "fresh", "within_promise"}
    assert [each["staleness"]["max"] for each in recorded_row["tables"]] == [1.1, 1.2]


def test_a_compacted_history_is_played_from_where_it_begins(store):
    """What is left are the runs for the changes after the fill: of each view two of one partition each."""
    made = SqlStore(store)
    filled = next(entry.seq for entry in made.read() if isinstance(entry.event, Published) and entry.event.view == "w")
    made.keep_snapshot(filled, replayed([entry.event for entry in made.read() if entry.seq <= filled]))
    made.compact(made.now() + 1)
    assert made.gone().seq == filled
    made.close()
    ran = json.loads(invoked(main, "whatif", "--store", store, "--json").stdout)
    totals = {row["policy"]: (row["runs"], row["partitions"]) for row in ran["policies"]}
    assert totals["as it ran"] == totals["recorded"] == (4, 4)


def test_generated_under_the_usual_policies():
    ran = invoked(papers, "generated", "--views", 6, "--hours", 1, "--seeds", 2, "--json")
    found = json.loads(ran.stdout)
    assert [row["policy"] for row in found["policies"]] == ["default", "10 minutes", "1 hour", "naive"]
    assert found["workload"]["views"] == 6 and found["seeds"] == 2
    assert all(not row["pending"] for row in found["policies"])
    assert invoked(papers, "generated", "--views", 6, "--hours", 1, "--seeds", 2, "--json").stdout == ran.stdout


def test_a_store_without_views_has_nothing_to_simulate(tmp_path):
    SqlStore(tmp_path / "store.db").close()
    ran = invoked(main, "whatif", "--store", tmp_path / "store.db")
    assert ran.exit_code == 1 and "has no view yet" in ran.output


@pytest.mark.parametrize(
    ("text", "problem", "said"),
    [
        ("late", StatementError, "is no policy"),
        ("late:freshness=1 hour", StatementError, "is no policy"),
        (":headwater.freshness=1 hour", StatementError, "is no policy"),
        ("late:headwater.freshnes=1 hour", DefinitionError, "did you mean 'headwater.freshness'"),
        ("late:headwater.freshnes=", DefinitionError, "did you mean 'headwater.freshness'"),
        ("late:headwater.freshness=soon", DefinitionError, "is not a duration"),
        ("late:headwater.dependency.t=all", DefinitionError, "come from its history"),
    ],
)
def test_what_is_no_policy_is_refused(text, problem, said):
    with pytest.raises(problem, match=said):
        policy(text)


def test_a_policy_has_a_name_and_properties():
    assert policy("late: headwater.freshness=10 minutes, headwater.settle=") == Override(
        "late", {"headwater.freshness": "10 minutes", "headwater.settle": ""}
    )
