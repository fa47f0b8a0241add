"""The maps of partitions that properties and jobs state: what a change of a source's partition reaches by them."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from headwater import job, table
from headwater.algebra.dependency import forward
from headwater.algebra.derive import derive
from headwater.model.calendar import DAY, HOUR, MONTH, Unit, Window
from headwater.model.dependency import Computed, Dependency, Expression, Occurrence, Same, Windowed
from headwater.model.error import DefinitionError
from headwater.model.partition import WHOLE, Slice
from headwater.model.reason import Code
from headwater.model.view import ZONE, Column, Definition, Query
from headwater.spark.defining.job_maps import mapped, partition_texts
from headwater.spark.defining.stated_maps import stated

BERLIN, UTC = "Europe/Berlin", "UTC"


def relation(table: str, columns: Mapping[str, str], **facts: object) -> dict:
    """A table of files that is partitioned by all these columns, unless the facts say otherwise."""
    listed = [{"id": id, "name": name, "type": type} for id, (name, type) in enumerate(columns.items())]
    usual = {"kind": "file", "format": "parquet", "partition_columns": list(columns), "columns": listed}
    return {"op": "Relation", "output": [*range(len(listed))], "children": [], "table": table, **usual, **facts}


def described(*relations: dict) -> dict:
    plan = relations[0]
    if len(relations) > 1:
        plan = {"op": "Union", "output": plan["output"], "children": list(relations), "expressions": [], "facts": []}
    columns = relations[0]["columns"]
    return {"columns": columns, "attributes": columns, "plan": plan, "clock": [], "patterns": []}


def lake(table: str, columns: Mapping[str, str], zone: str, **facts: object) -> dict:
    return relation(table, columns, **{"kind": "delta", "format": "delta", "zone": zone, **facts})


def by_hours(type: str, zone: str) -> dict:
    transforms = [{"name": "hours", "over": ["ts"], "arguments": []}]
    told = {"kind": "iceberg", "format": "iceberg", "partition_columns": [], "transforms": transforms}
    return lake("lake.db.sales", {"ts": type}, zone, **told)


def stated_by(
    value: str,
    type: str = "DATE",
    columns: Mapping[str, str] | None = None,
    *,
    plan: dict | None = None,
    zone: str = UTC,
    spelled: str = UTC,
    table: str = "sales",
    more: Mapping[str, str] | None = None,
) -> Dependency:
    """Of a view ``v`` by ``p``, of this type, and by ``more`` columns."""
    plan = plan or relation("db.sales", columns or {"day": "DATE"})
    own = {"p": type, **(more or {})}
    definition = Definition(
        view="db.v",
        made_by=Query(""),
        columns=(),
        partitioned_by=tuple(own),
        settings={ZONE: zone},
        properties={f"headwater.dependency.{table}": value},
    )
    derivation = derive(described(plan), (), (), lambda table: spelled)
    [found] = stated(definition, [Column(*each) for each in own.items()], derivation).values()
    return found


def rule(*arguments: object, **named: object) -> Expression:
    [(_, expression)] = stated_by(*arguments, **named).occurrences[0].columns
    return expression


def refused(*arguments: object, **named: object) -> DefinitionError:
    with pytest.raises(DefinitionError) as error:
        stated_by(*arguments, **named)
    assert error.value.fault.startswith(("'headwater.dependency.", "db.v states"))
    return error.value


def reached(*arguments: object, text: str, column: str = "day", **named: object) -> set[str | None]:
    """The values of ``p`` that a change reaches; ``None`` for all of them."""
    found = forward(stated_by(*arguments, **named), Slice.of({column: text}), {})
    return {None} if found == (WHOLE,) else {each.value("p") for each in found}


# --- moments of a lake table, which UTC spells

TS = {"ts": "TIMESTAMP"}


def test_a_rule_reads_a_moment_as_the_view_does():
    in_berlin = lake("db.sales", TS, BERLIN)
    read = "CAST(concat(`ts`, 'Z') AS TIMESTAMP)"
    assert rule("p = to_date(ts)", plan=in_berlin, zone=BERLIN) == Computed(
        f"CAST(CAST(to_date({read}) AS DATE) AS STRING)", ("ts",)
    )
    taken = rule("p = ts", "TIMESTAMP", plan=in_berlin, zone=BERLIN)
    assert isinstance(taken, Computed) and read in taken.sql
    assert rule("p = ts", "TIMESTAMP", plan=lake("db.sales", TS, UTC)) == Same("ts")
    assert rule("p = `TS`", "TIMESTAMP", plan=in_berlin, zone=BERLIN, spelled=BERLIN) == Same("ts")
    directory = relation("db.sales", TS, zone=BERLIN)
    assert rule("p = to_date(ts)", plan=directory, zone=BERLIN).sql == (
        "CAST(CAST(to_date(CAST(`ts` AS TIMESTAMP)) AS DATE) AS STRING)"
    )
    assert isinstance(rule("p = ts", "TIMESTAMP", plan=directory, zone=BERLIN), Computed), "its clock may skip an hour"


@pytest.mark.parametrize("value", ["p = to_date(ts)", "p = ts", "p = DAY.hours() OF ts", "DAY", "p = DAY - 1 .. DAY"])
def test_a_rule_over_moments_of_another_zone_is_refused(value: str):
    error = refused(value, plan=lake("db.sales", TS, UTC), spelled=BERLIN)
    assert error.code == "query.time_zone"
    assert "declared in the time zone Europe/Berlin" in str(error) and "leave out the rule of p" in str(error)


def test_a_moment_that_two_times_share_is_no_number():
    told = {"plan": lake("db.sales", TS, BERLIN), "zone": BERLIN, "spelled": BERLIN}
    assert refused("p = ts", "BIGINT", **told).code == "query.time_zone"


def test_an_hour_of_a_partition_is_a_moment_of_utc():
    assert rule("p = to_date(ts_hour)", plan=by_hours("TIMESTAMP", BERLIN), zone=BERLIN).sql == (
        "CAST(CAST(to_date(CAST(concat(`ts_hour`, 'Z') AS TIMESTAMP)) AS DATE) AS STRING)"
    )
    assert rule("p = ts_hour", "TIMESTAMP", plan=by_hours("TIMESTAMP", UTC)) == Same("ts_hour")
    assert isinstance(rule("p = ts_hour", "TIMESTAMP", plan=by_hours("TIMESTAMP", BERLIN), zone=BERLIN), Computed)
    assert rule("p = ts_hour", "TIMESTAMP_NTZ", plan=by_hours("TIMESTAMP_NTZ", BERLIN), zone=BERLIN) == Same("ts_hour")


@pytest.mark.parametrize(
    ("value", "days"),
    [
        ("DAY", {"2024-05-02"}),
        ("DAY.hours()", {"2024-05-02"}),
        ("p = DAY.hours('Europe/Berlin') OF ts", {"2024-05-02"}),
        ("p = DAY.hours('Etc/UTC')", {"2024-05-01"}),
        ("p = DAY.hours('America/New_York')", {"2024-05-01"}),
        ("DAY - 1 .. DAY", {"2024-05-02", "2024-05-03"}),
        ("p = MONTH", {"2024-05-01"}),
    ],
)
def test_a_window_over_moments_counts_periods_of_the_session(value: str, days: set[str]):
    told = {"plan": lake("db.sales", TS, BERLIN), "zone": BERLIN}
    assert reached(value, column="ts", text="2024-05-01 22:30:00", **told) == days
    hours = {"plan": by_hours("TIMESTAMP", BERLIN), "zone": BERLIN, "table": "sales"}
    assert reached(value.replace("OF ts", ""), column="ts_hour", text="2024-05-01 22:00:00", **hours) == days


def test_a_window_over_times_of_a_clock_counts_what_it_shows():
    told = {"plan": lake("db.sales", TS, BERLIN), "zone": BERLIN, "spelled": BERLIN}
    for value in ("DAY", "DAY.hours()", "DAY.hours('Europe/Berlin')"):
        assert reached(value, column="ts", text="2024-05-01 23:30:00", **told) == {"2024-05-01"}
    for value in ("DAY.hours('Asia/Tokyo')", "DAY.hours() - 2 .. DAY.hours()"):
        assert reached(value, column="ts", text="2024-05-01 23:30:00", **told) == {None}
        assert stated_by(value, **told).occurrences[0].reason.code is Code.QUERY_TIME_ZONE
    assert reached(
        "DAY", column="ts", text="2024-05-01 23:30:00", **{**told, "plan": relation("db.sales", TS, zone=BERLIN)}
    ) == {"2024-05-01"}


def test_hours_of_utc_are_not_spelled_on_another_clock():
    told = {"plan": by_hours("TIMESTAMP", BERLIN), "zone": BERLIN}
    assert reached("HOUR - 1 .. HOUR", "TIMESTAMP", column="ts_hour", text="2024-05-01 22:00:00", **told) == {None}
    plain = {"plan": by_hours("TIMESTAMP", UTC), "column": "ts_hour", "text": "2024-05-01 22:00:00"}
    assert reached("HOUR - 1", "TIMESTAMP", **plain) == {"2024-05-01 23:00:00"}
    unknown = {"plan": by_hours("TIMESTAMP", "+02:00"), "zone": "+02:00", "column": "ts_hour"}
    assert reached("DAY", text="2024-05-01 22:00:00", **unknown) == {None}


def test_a_day_begins_when_the_clock_of_the_view_first_shows_it():
    told = {"text": "2018-11-03", "zone": "America/Sao_Paulo"}
    assert reached("DAY - 1", "TIMESTAMP", **told) == {"2018-11-04 01:00:00"}
    assert reached("DAY - 1", "TIMESTAMP_NTZ", **told) == {"2018-11-04 00:00:00"}
    assert reached("DAY - 1", "TIMESTAMP", **{**told, "zone": "PST"}) == {None}


def by_days(zone: str, transform: str = "days", type: str = "TIMESTAMP") -> dict:
    transforms = [{"name": transform, "over": ["ts"], "arguments": []}]
    return {**by_hours(type, zone), "transforms": transforms}


@pytest.mark.parametrize(
    ("value", "zone", "days"),
    [
        ("DAY", BERLIN, {"2024-05-01", "2024-05-02"}),
        ("DAY - 1", BERLIN, {"2024-05-02", "2024-05-03"}),
        ("DAY - 1 .. DAY", BERLIN, {"2024-05-01", "2024-05-02", "2024-05-03"}),
        ("DAY", "America/New_York", {"2024-04-30", "2024-05-01"}),
        ("DAY", "+02:00", {"2024-04-30", "2024-05-01", "2024-05-02"}),
        ("DAY", UTC, {"2024-05-01"}),
        ("DAY.hours()", BERLIN, {None}),
    ],
)
def test_a_window_over_days_of_utc_reaches_the_days_that_they_overlap(value: str, zone: str, days: set[str]):
    assert reached(value, column="ts_day", text="2024-05-01", plan=by_days(zone), zone=zone) == days


def test_a_day_of_utc_is_no_day_of_another_zone():
    assert reached("MONTH", column="ts_month", text="2024-05", plan=by_days(BERLIN, "months"), zone=BERLIN) == {
        "2024-05-01",
        "2024-06-01",
    }
    error = refused("p = ts_day", plan=by_days(BERLIN), zone=BERLIN)
    assert error.code == "query.time_zone" and "a DAY of UTC, which overlaps several" in str(error)
    assert rule("p = ts_day", plan=by_days(UTC)) == Same("ts_day")
    assert rule("p = ts_day", plan=by_days(BERLIN, type="TIMESTAMP_NTZ"), zone=BERLIN) == Same("ts_day")


# --- spellings


@pytest.mark.parametrize(
    ("value", "type", "columns", "text", "days"),
    [
        ("DAY - 1 .. DAY", "STRING", {"day": "STRING"}, "20240501", {None}),
        ("DAY - 1", "STRING", {"day": "STRING"}, "2024-05-01", {"2024-05-02"}),
        ("DAY - 1", "VARCHAR(10)", {"day": "STRING"}, "2024-05-01", {"2024-05-02"}),
        ("DAY - 1", "STRING", {"day": "DATE"}, "2024-05-01", {None}),
        ("DAY - 1", "INT", {"day": "INT"}, "20240501", {"20240502"}),
        ("DAY - 1", "INT", {"day": "DATE"}, "2024-05-01", {None}),
        ("DAY - 1", "DECIMAL(8,0)", {"day": "DECIMAL(8,0)"}, "20240501", {None}),
        ("MONTH - 1", "SMALLINT", {"day": "SMALLINT"}, "2405", {None}),
        ("MONTH.days()", "STRING", {"day": "STRING"}, "2024-05-01", {None}),
        ("MONTH.days()", "INT", {"day": "INT"}, "20240501", {None}),
        ("MONTH.days()", "DATE", {"day": "STRING"}, "20240501", {"2024-05-01"}),
        ("YEAR.days()", "INT", {"day": "STRING"}, "20240501", {"2024"}),
        ("YEAR.days()", "BIGINT", {"day": "DATE"}, "2024-05-01", {"2024"}),
        ("YEAR.days()", "STRING", {"day": "DATE"}, "2024-05-01", {None}),
        ("HOUR", "DATE", {"day": "STRING"}, "2024-05-01 13", {None}),
        ("HOUR - 1", "STRING", {"day": "STRING"}, "2024050113", {None}),
    ],
)
def test_a_window_reaches_what_is_spelled_for_certain(value, type, columns, text, days):
    assert reached(value, type, columns, text=text) == days


def test_a_column_that_may_be_spelled_otherwise_is_free_and_says_so():
    [found] = stated_by(
        "p = MONTH.days() OF day; region = region",
        "STRING",
        {"day": "DATE", "region": "STRING"},
        more={"region": "STRING"},
    ).occurrences
    assert dict(found.columns) == {"region": Same("region")}
    assert found.reason.coded == (
        "`p` is a STRING, which may spell each MONTH in several ways [view.dependency_spelling]"
    )


# --- rules


def test_a_column_has_one_rule():
    error = refused("p = trunc(day, 'MM'); P = add_months(trunc(day, 'MM'), 1)")
    assert error.code == "PROPERTY" and "p has two rules" in str(error) and "MONTH .. MONTH + 1" in str(error)


def test_a_reversed_range_and_an_unknown_zone_are_refused():
    assert "from the earlier end to the later one" in str(refused("DAY .. DAY - 3"))
    assert "PST is no known time zone" in str(refused("p = DAY.hours('PST') OF day"))


@pytest.mark.parametrize("value", ["p = YEAR + 1", "p = (YEAR)", "p = YEAR * 100 + MONTH"])
@pytest.mark.parametrize("name", ["YEAR", "year", "Year"])
def test_a_unit_that_is_a_column_too_is_refused(value: str, name: str):
    told = str(refused(value, "INT", {name: "INT", "month": "INT"}))
    assert f"write `{name}` in backticks for the column" in told and f"OF `{name}` for the window" in told


def test_a_unit_that_can_be_nothing_else_is_a_window():
    columns = {"day": "DATE"}
    for value in (
        "DAY",
        "DAY - 1",
        "p = DAY - 1 OF day",
        "p = DAY - 1 OF `day`",
        "p = DAY .. DAY + 1",
        "p = DAY.days()",
    ):
        assert isinstance(rule(value, columns=columns), Windowed)
    assert isinstance(rule("p = `YEAR` + 1", "INT", {"YEAR": "INT"}), Computed)
    assert isinstance(rule("p = YEAR - 1", "INT", {"when": "DATE"}), Windowed)


def test_columns_are_read_wherever_they_stand():
    assert rule("p = trunc(date, 'MM')", columns={"date": "DATE"}).sql == (
        "CAST(CAST(trunc(CAST(`date` AS DATE), 'MM') AS DATE) AS STRING)"
    )
    both = rule("`p` = coalesce(first, ';', last)", "STRING", {"first": "STRING", "last": "STRING", "other": "INT"})
    assert both.inputs == ("first", "last") and "';'" in both.sql


def test_what_is_no_rule_is_refused_with_the_form_of_one():
    for value in ("whatever", "q = day", "p = day; nonsense"):
        assert "partition column = expression" in str(refused(value))
    assert "end each quote" in str(refused("p = trunc(day, 'MM)"))


# --- tables


def several(table: str, *names: str) -> Dependency:
    plan = described(*(relation(each, {"day": "DATE"}) for each in names))
    properties = {f"headwater.dependency.{each}": "p = day" for each in table.split()}
    definition = Definition("v", Query(""), (), partitioned_by=("p",), settings={}, properties=properties)
    [found] = stated(definition, [Column("p", "DATE")], derive(plan, (), ())).values()
    return found


def test_a_name_of_several_tables_is_refused():
    assert several("b.sales", "a.sales", "b.sales").source == "b.sales"
    assert several("Sales", "a.sales", "a.visits").source == "a.sales"
    assert several("A.sales", "a.sales", "A.sales").source == "A.sales"
    for name, names in (("sales", ("a.sales", "b.sales")), ("a.SALES", ("a.sales", "a.Sales"))):
        with pytest.raises(DefinitionError, match=f"name it {names[0]} or {names[1]}"):
            several(name, *names)
    with pytest.raises(DefinitionError, match="another property states the same of a.sales"):
        several("sales a.sales", "a.sales", "a.visits")
    with pytest.raises(DefinitionError, match="does not read it; it reads a.sales"):
        several("other", "a.sales")


# --- jobs


def job_map(
    expression: Expression, type: str, plan: dict, zone: str = UTC, spelled: str = UTC, unit: Unit | None = None
) -> Occurrence:
    by = {"p": Window(unit) if unit else None}
    made = job(outputs=["v"], columns="", partition=by, deps=[table("sales", p=expression)])(print)
    definition = Definition(view="db.v", made_by=Query(""), columns=(), settings={ZONE: zone})
    found = SimpleNamespace(plan=described(plan))
    texts = partition_texts("db.v", "db.sales", lambda query: found, lambda table: spelled)
    [occurrence] = mapped(definition, made, made.deps[0], {"p": Column("p", type)}, texts).occurrences
    return occurrence


def test_a_job_reads_moments_as_its_sessions_do():
    plan = lake("db.sales", TS, BERLIN)
    [(_, taken)] = job_map(Same("TS"), "timestamp", plan, BERLIN).columns
    assert isinstance(taken, Computed) and "concat(`ts`, 'Z')" in taken.sql
    assert job_map(Same("TS"), "timestamp", lake("db.sales", TS, UTC)).columns == (("p", Same("ts")),)
    [(_, days)] = job_map(Windowed("ts", DAY), "date", plan, BERLIN, unit=Unit.DAY).columns
    assert days == Windowed("ts", DAY.hours(BERLIN), "date")
    with pytest.raises(DefinitionError, match="db.v: p is stated by ts, .* leave out the rule of p"):
        job_map(Windowed("ts", DAY), "date", lake("db.sales", TS, UTC), spelled=BERLIN, unit=Unit.DAY)


def test_a_job_spells_its_periods_by_their_labels():
    plan = relation("db.sales", {"day": "DATE"})
    assert job_map(Windowed("day", MONTH.days()), "string", plan, unit=Unit.MONTH).columns == (
        ("p", Windowed("day", MONTH.days(), "string")),
    )
    for type, window in (("smallint", MONTH.days()), ("decimal(8,0)", DAY), ("date", HOUR.days())):
        with pytest.raises(DefinitionError, match="make it a DATE or a STRING"):
            job_map(Windowed("day", window), type, plan, unit=window.of)
    with pytest.raises(DefinitionError, match="PST is no known time zone"):
        job_map(Windowed("day", DAY.hours("PST")), "date", plan, unit=Unit.DAY)
