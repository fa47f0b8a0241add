"""Refreshes by keys: the rows of a view that changes of its sources reach are computed anew, and all others stay.

Example: a row of ``sales`` with customer 7 came. The new rows of the view are the old ones without customer 7, and the
rows of the query for customer 7.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.algebra.derive.image import exact
from headwater.model.command import Launch
from headwater.model.dependency import Frames, Keys, common
from headwater.model.error import ChangesUnknown
from headwater.model.reason import Code
from headwater.model.seen import ChangedRows
from headwater.model.view import Definition, Pairs
from headwater.model.work import ByKeys
from headwater.spark.jvm import sql
from headwater.spark.jvm.failures import finding_changes
from headwater.spark.jvm.sessions import having
from headwater.spark.refreshing.changed_rows import refuse_drift, refuse_lenient
from headwater.spark.refreshing.recipe import Ingredients, Rows
from headwater.spark.tables.key_bounds import LISTED, among, are_compared, between
from headwater.spark.tables.registry import Formats
from headwater.spark.tables.rows_by_keys import Reach
from headwater.spark.tables.view_rows import cast, condition, within

MOST = 100_000
"""With more keys, whole partitions are computed."""

WITHOUT_CONSTRAINTS = {"spark.sql.constraintPropagation.enabled": "false"}
"""Lets Spark infer no conditions from others, although they let a run read fewer files. Through the union of new and
old rows, Spark 4.1 takes along the condition of a correlated subquery, which names columns of the subquery alone, and
fails to find these."""

_PLAIN = re.compile(
    r"(BOOLEAN|TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE|DECIMAL\(.*\)|DATE|TIMESTAMP(_NTZ)?|STRING)", re.I
)
"""Types of which equal rows are found by a hash."""


def rows(run: Ingredients, work: ByKeys) -> Rows:
    """The rows that changes reach, and those that stay beside them.

    Raises:
        ChangesUnknown: it is not known which, or there are too many.
    """
    with finding_changes(run.shim):
        reach = run.held.enter_context(reached(run.session, run.formats, run.launch, work.since))
    return replaced(run, reach, run.whole)


def replaced(run: Ingredients, reach: Reach, computing: Callable[[], DataFrame]) -> Rows:
    """The rows with some keys, and those that stay beside them.

    Args:
        computing: makes rows of the view's slices, of which those with these keys are all there.
    """
    files = run.files(reach)
    stay = None if files is None else files.rows

    def planned() -> DataFrame:
        computed = computing()
        if run.shim.is_correlated(computed):
            run.held.enter_context(having(run.session, WITHOUT_CONSTRAINTS))
        return frame(run, reach, computed, stay)

    return Rows(planned, files, reads_itself=True)


@contextlib.contextmanager
def reached(session: SparkSession, formats: Formats, launch: Launch, changed: Pairs) -> Iterator[Reach]:
    """The keys that the changes of a run reach, kept for several reads.

    Args:
        changed: the sources, each with a snapshot to go on from.

    Raises:
        ChangesUnknown: nobody can say which, or there are too many.
    """
    definition = launch.definition
    sources = {source for source, _ in changed}
    keyed = {each.source: each.keys for each in definition.dependencies if each.source in sources}
    columns = common(keyed.values())
    rows = found(session, formats, launch, changed, keyed, columns)
    with _cached(rows.limit(MOST + 1), definition, columns) as reach:
        yield reach


def found(
    session: SparkSession,
    formats: Formats,
    launch: Launch,
    changed: Pairs,
    keyed: Mapping[str, Keys | Frames],
    columns: Sequence[str],
) -> DataFrame:
    """The values that changed rows have for some columns of a view, in columns that are none of the view's.

    Args:
        changed: the sources, each with a snapshot to go on from.
        keyed: how each source tells these columns.

    Raises:
        ChangesUnknown: it is not known which rows changed, or none did.
    """
    refuse_lenient(session)
    refuse_drift(formats, launch)
    now = dict(launch.run.snapshots)
    rows = [
        keys
        for source, since in changed
        for keys in _keys(formats.changed(session, source, since, now[source]), keyed[source], columns)
    ]
    if not rows:
        raise ChangesUnknown(Code.METHOD_NO_CHANGE, "no row came or went")
    return reduce(DataFrame.union, rows).toDF(*_names(columns)).distinct()


@contextlib.contextmanager
def sampled(rows: DataFrame, definition: Definition, columns: tuple[str, ...], most: int) -> Iterator[Reach]:
    """Some keys by chance of rows that have them: of a view's rows, which may be neither all nor right."""
    names = _names(columns)
    keys = rows.select(*map(sql.identifier, columns)).toDF(*names).distinct().orderBy(F.rand()).limit(most)
    with _cached(keys, definition, columns) as reach:
        yield reach


def frame(run: Ingredients, reach: Reach, computed: DataFrame, key_files: DataFrame | None) -> DataFrame:
    """The rows of a run's slices; of files that hold the keys, theirs with weights.

    Args:
        computed: the rows of the query in these slices.
        key_files: the rows of the files; ``None``: whole partitions are written.
    """
    definition, slices = run.launch.definition, run.launch.run.slices
    if key_files is not None:
        mine = F.expr(condition(definition, slices))
        return reach.weighed(cast(key_files, definition), computed, mine)
    there = run.formats.of_view(definition).rows(run.session, definition)
    return reach.over(within(cast(there, definition), definition, slices), computed)


# --- inside


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"headwater key {n}" for n in range(len(columns)))


@contextlib.contextmanager
def _cached(rows: DataFrame, definition: Definition, columns: tuple[str, ...]) -> Iterator[Reach]:
    """Keys in the memory of Spark, until they are read.

    Raises:
        ChangesUnknown: there are too many.
    """
    names, rows = tuple(rows.columns), rows.persist()
    try:
        bounds, count = bounded(rows, definition, columns, names)
        yield Reach(rows, columns, names, bounds, count)
    finally:
        rows.unpersist()


def _keys(changed: ChangedRows, keys: Keys | Frames, columns: Sequence[str]) -> Iterator[DataFrame]:
    """The keys of changed rows, one frame for each place where the query reads the table."""
    frames = [each for each in (changed.added, changed.removed) if each is not None]
    if not frames:
        return
    hashes = _hashes(frames[0]) if len(frames) == 2 else None
    for place in keys.places:
        own = dict(zip(keys.columns, place, strict=True))
        told = [f"{own[column]} AS `k{n}`" for n, column in enumerate(columns)]
        if hashes is None:
            yield reduce(DataFrame.union, [each.selectExpr(*told) for each in frames])
        else:
            yield _netted([each.selectExpr(*told, *hashes) for each in frames], len(told))


def _hashes(rows: DataFrame) -> list[str] | None:
    """Two hashes that equal rows share; ``None`` if equality of some column is not that of a hash.

    Spark's hash leaves a NULL out, so which columns are NULL is hashed, too. It takes -0.0 for 0.0, so floating point
    is hashed by its text.
    """
    values, nulls = [], []
    for field in rows.schema.fields:
        type, name = field.dataType.simpleString(), sql.identifier(field.name)
        if not _PLAIN.fullmatch(type) or not (exact(type) or type in ("float", "double")):
            return None
        values.append(f"CAST({name} AS STRING)" if type in ("float", "double") else name)
        nulls.append(f"{name} IS NULL")
    listed = ", ".join((*values, *nulls))
    return [f"xxhash64({listed}) AS `h0`", f"xxhash64('headwater', {listed}) AS `h1`"]


def _netted(frames: Sequence[DataFrame], count: int) -> DataFrame:
    """The keys of rows that did not come as often as they went: a rewritten file has most of its rows in both."""
    added, removed = (each.withColumn("weight", F.lit(weight)) for each, weight in zip(frames, (1, -1), strict=True))
    keys = [f"k{n}" for n in range(count)]
    sums = added.union(removed).groupBy(*keys, "h0", "h1").agg(F.sum("weight").alias("weight"))
    return sums.where("weight <> 0").select(*keys)


def bounded(rows: DataFrame, definition: Definition, columns: Sequence[str], names: Sequence[str]) -> tuple[str, int]:
    """A condition that holds for rows with these keys: of each column the values, or the least and the greatest. And
    the number of the keys.

    Raises:
        ChangesUnknown: there are too many.
    """
    types = {each.name: each.type for each in definition.columns}
    ordered = [each for each in zip(columns, names, strict=True) if are_compared(types[each[0]])]
    own = [F.col(sql.identifier(name)) for _, name in ordered]
    ends = [_told(each) for key in own for each in (F.min(key), F.max(key))]
    count, *told = rows.agg(F.count(F.lit(1)), *ends, *(F.count_if(key.isNull()) for key in own)).collect()[0]
    if count > MOST:
        raise ChangesUnknown(Code.METHOD_TOO_MANY_KEYS, f"changes reach more than {MOST:,} keys")
    listed = [*zip(*rows.select(*map(_told, own)).collect(), strict=True)] if count <= LISTED else None
    terms = []
    for n, (column, _) in enumerate(ordered):
        least, greatest, nulls = told[2 * n], told[2 * n + 1], told[2 * len(ordered) + n]
        if listed is None:
            whole = None if least is None else (bytes(least), bytes(greatest))
            terms.append(between(column, types[column], whole, nulls > 0))
        elif count:
            values = (None if text is None else bytes(text) for text in listed[n])
            terms.append(among(column, types[column], values))
    return " AND ".join(terms) or "TRUE", count


def _told(key: Column) -> Column:
    """The text of a key in bytes. Python would take bytes that are no UTF-8 for other ones, and rows with that key
    would be lost."""
    return key.cast("string").cast("binary")
