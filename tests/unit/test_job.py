"""What ``job`` makes of a function, without Spark."""

from __future__ import annotations

import pytest

from headwater import DAY, MONTH, WEEK, job, table
from headwater.model.calendar import Unit
from headwater.model.dependency import Same, Windowed
from headwater.model.error import DefinitionError
from headwater.spark.defining.jobs import messages
from headwater.spark.jvm.settings import Settings
from headwater.spark.jvm.wire import Session

CATALOGS = ("far", "lake", "spark_catalog")


@job(outputs=["weekly"], columns="week DATE, n INT", partition=WEEK, deps=[table("daily", partition=WEEK.days())])
def weekly(spark, partitions, inputs):
    return [partitions, inputs]


def test_a_job_knows_where_it_is_imported_from_and_is_still_a_function():
    assert weekly.name == f"{__name__}:weekly"
    assert weekly(None, [{"week": "2024-01-01"}], {"daily": 7}) == [[{"week": "2024-01-01"}], {"daily": 7}]


def test_a_unit_alone_is_of_the_column_that_is_called_like_it():
    assert weekly.partition == (("week", Unit.WEEK),)
    mixed = job(outputs=["x"], columns="", partition={"month": MONTH, "country": None}, deps=[])(weekly.function)
    assert mixed.partition == (("month", Unit.MONTH), ("country", None))
    assert job(outputs=["x"], columns="", deps=[])(weekly.function).partition == ()


def test_a_dependency_is_a_window_or_names_columns():
    [occurrence] = table("daily", month=MONTH.days(), country="land").occurrences
    assert dict(occurrence.columns) == {"month": Windowed("", MONTH.days()), "country": Same("land")}


def test_another_source_or_declaration_is_another_meaning():
    def doubled(spark, partitions, inputs):
        return 2

    def made(function, columns="n INT"):
        return job(outputs=["x"], columns=columns, deps=[])(function)

    assert made(doubled).fingerprint == made(doubled).fingerprint
    assert (
        len({made(doubled).fingerprint, made(weekly.function).fingerprint, made(doubled, "n BIGINT").fingerprint}) == 3
    )


@pytest.mark.parametrize(
    ("stated", "words"), [({"outputs": []}, "has no output"), ({"outputs": ["x"], "partition": DAY - 1}, "such as DAY")]
)
def test_what_cannot_be_a_job_is_refused(stated, words):
    with pytest.raises(DefinitionError, match=words):
        job(columns="n INT", deps=[], **stated)(weekly.function)


def test_each_output_is_declared_like_a_view():
    both = job(outputs=["weekly", "other.weekly"], columns="", partition=WEEK, deps=[])(weekly.function)
    said = list(messages(both, Session("spark_catalog", "mart", {}, CATALOGS)))
    assert [each.name for each in said] == [("spark_catalog", "mart", "weekly"), ("spark_catalog", "other", "weekly")]
    assert {(each.job, *each.partitioning, each.or_replace) for each in said} == {(both.name, "week", True)}


@pytest.mark.parametrize(
    ("output", "name"),
    [
        ("weekly", ("lake", "eu", "my shop", "weekly")),
        ("db.weekly", ("lake", "db", "weekly")),
        ("`my shop`.weekly", ("lake", "my shop", "weekly")),
        ("spark_catalog.db.weekly", ("spark_catalog", "db", "weekly")),
        ("far.db.weekly", ("far", "db", "weekly")),
    ],
)
def test_the_name_of_an_output_is_one_of_its_session(output, name):
    one = job(outputs=[output], columns="", deps=[])(weekly.function)
    [said] = messages(one, Session("lake", "eu.`my shop`", {}, CATALOGS))
    assert said.name == name


def test_the_setting_names_modules():
    assert Settings.of({"spark.headwater.jobs": "sales.jobs, returns"}).jobs == ("sales.jobs", "returns")
    assert Settings.of({}).jobs == ()
