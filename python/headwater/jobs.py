"""Derived tables from Python functions, kept fresh like views in SQL ([Xu23] §2.1).

    @job(outputs=["weekly"], columns="week DATE, total BIGINT", partition=WEEK,
         deps=[table("daily", partition=WEEK.days())])
    def weekly(spark, partitions, inputs):
        return spark.table("daily").groupBy(...)

A function gets a session, the partitions to compute, and the version of each source. The partitions are a list of
mappings from partition column to value; a column that is left out may have any value. It returns a frame with the
declared columns. Rows of other partitions are left out. ``deps`` must name everything that the function reads, because
Headwater does not look into it, and misses other changes. A job may depend on earlier partitions of its own output,
``table("balance", partition=DAY - 1)``. It then computes one period at a time, the earliest first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from headwater.editions import edition_of
from headwater.model.calendar import Unit, Window
from headwater.model.dependency import Dependency
from headwater.model.error import DefinitionError
from headwater.model.view import Pairs, pairs

Function = Callable[..., Any]


@frozen
class JobFunction:
    """A function and its tables.

    Attributes:
        name: ``module:function``, by which it is imported.
        outputs: its tables, each in runs of its own. With several, the function gets the argument ``output``.
        columns: the columns of each output, as in ``CREATE TABLE``.
        partition: the partition columns, each with the unit of its periods, or ``None`` if it has none.
        deps: its sources.
        properties: as after ``TBLPROPERTIES``.
        edition: a digest of the texts that the function was imported from, its module's and those that this imports.
    """

    name: str
    function: Function = field(eq=False)
    outputs: tuple[str, ...]
    columns: str
    partition: tuple[tuple[str, Unit | None], ...]
    deps: tuple[Dependency, ...]
    properties: Pairs = field(default=(), converter=pairs)
    edition: str = ""

    @property
    def module(self) -> str:
        return module_of(self.name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The function itself, for tests of it."""
        return self.function(*arguments, **named)

    @property
    def fingerprint(self) -> str:
        """It changes with the texts that the function was imported from, and with the declaration."""
        said = repr((self.name, self.edition, self.outputs, self.columns, self.partition, self.deps))
        return hashlib.sha256(said.encode()).hexdigest()[:16]


def module_of(job: str) -> str:
    """The module in the name of a job."""
    return job.partition(":")[0]


def job(
    *,
    outputs: Sequence[str],
    columns: str,
    deps: Sequence[Dependency],
    partition: Window | Mapping[str, Window | None] | None = None,
    properties: Mapping[str, str] | None = None,
) -> Callable[[Function], JobFunction]:
    """Makes a job of a function; ``headwater.register`` or ``spark.headwater.jobs`` declares it.

    ``partition`` is a unit such as ``WEEK``: the only partition column then has the name ``week``. Or it maps
    partition columns to their units, or to ``None``. In ``deps``, ``table(name, partition=window)`` maps the
    only partition column to that of the source.

    Raises:
        DefinitionError: there is no output, or a partition is not a plain unit.
    """

    def made(function: Function) -> JobFunction:
        name = f"{function.__module__}:{function.__qualname__}"
        if not outputs:
            raise DefinitionError("JOB", f"{name} has no output; name its tables in outputs")
        if isinstance(partition, Window):
            units: Mapping[str, Window | None] = {partition.of.value.lower(): partition}
        else:
            units = partition or {}
        for column, window in units.items():
            if window is not None and window.steps:
                raise DefinitionError("UNITS", f"{name}: partition {column} is {window}; name a unit such as DAY")
        by = tuple((column, None if window is None else window.of) for column, window in units.items())
        edition = edition_of(module_of(name)).digest
        return JobFunction(name, function, tuple(outputs), columns, by, tuple(deps), properties or {}, edition)

    return made
