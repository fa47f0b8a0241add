"""Refreshes by keys: the rows of a view that changes of its sources reach are computed anew, and all others stay.

Example: a row of ``sales`` with customer 7 came. The new rows of the view are the old ones without customer 7, and the
rows of the query for customer 7.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.algebra.derive.image import exact
from headwater.engine.methods.selective import unselective
from headwater.model.command import Launch
from headwater.model.dependency import Keys, Through, common
from headwater.model.error import ChangesUnknown
from headwater.model.reason import Code
from headwater.model.seen import ChangedRows
from headwater.model.view import Pairs
from headwater.model.work import ByKeys
from headwater.spark.jvm import sql
from headwater.spark.jvm.failures import finding_changes
from headwater.spark.jvm.sessions import having
from headwater.spark.refreshing.changed_rows import changed_rows, refuse_drift, refuse_lenient
from headwater.spark.refreshing.recipe import Ingredients, Rows
from headwater.spark.tables.key_files import KeyFiles
from headwater.spark.tables.rows_by_keys import Reach
from headwater.spark.tables.view_rows import cast, condition, held, within

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
        ChangesUnknown: it is not known which, there are too many, or whole partitions look cheaper.
    """
    with finding_changes(run.shim):
        reach = reached(run, work.since)
    return replaced(run, reach, run.whole)


def replaced(run: Ingredients, reach: Reach, computing: Callable[[], DataFrame]) -> Rows:
    """The rows with some keys, and those that stay beside them.

    Args:
        computing: makes rows of the view's slices, of which those with these keys are all there.

    Raises:
        ChangesUnknown: whole partitions look cheaper.
    """
    files = run.files(reach)
    refuse_unselective(run.launch, reach.count, files)
    stay = None if files is None else files.rows

    def planned() -> DataFrame:
        computed = computing()
        if run.shim.is_correlated(computed):
            run.held.enter_context(having(run.session, WITHOUT_CONSTRAINTS))
        return frame(run, reach, computed, stay)

    return Rows(planned, files, reads_itself=True)


def refuse_unselective(launch: Launch, keys: int, files: KeyFiles | None) -> None:
    """Refuses the first run by keys of a view, if its keys and the files that hold them leave too little out.

    Raises:
        ChangesUnknown: whole partitions look cheaper.
    """
    if launch.trial is None:
        return
    counts = [each.rows for each in launch.existing.values() if each.rows is not None]
    rows = sum(counts) if len(counts) == len(launch.existing) else None
    why = unselective(launch.trial, keys, rows, None if files is None else files.size)
    if why is not None:
        raise ChangesUnknown(why.code, why.text)


def reached(run: Ingredients, changed: Pairs) -> Reach:
    """The keys that the changes of a run reach.

    Args:
        changed: the sources, each with a snapshot to go on from.

    Raises:
        ChangesUnknown: it is not known which, or there are too many.
    """
    sources = {source for source, _ in changed}
    keyed = {each.source: each.keys for each in run.launch.definition.dependencies if each.source in sources}
    columns = common(keyed.values())
    reach = Reach.of(run.shim, found(run, changed, keyed, columns), tuple(columns), MOST)
    if reach is None:
        raise ChangesUnknown(Code.METHOD_TOO_MANY_KEYS, f"changes reach more than {MOST:,} keys")
    return reach


def found(
    run: Ingredients, changed: Pairs, keyed: Mapping[str, Keys | Through], columns: Sequence[str]
) -> list[DataFrame]:
    """The values that changed rows have for some columns of a view.

    Args:
        changed: the sources, each with the snapshots to go on from.
        keyed: how each source tells these columns.

    Raises:
        ChangesUnknown: it is not known which rows changed.
    """
    refuse_lenient(run.session)
    refuse_drift(run.formats, run.launch)
    rows = changed_rows(run, changed, near=True)
    values = [each for (source, _), some in rows.items() for each in _keys(some, keyed[source], columns)]
    if not values:  # a commit may leave all rows as they are
        values.append(held(run.session, run.launch.definition).select(*map(sql.identifier, columns)).limit(0))
    return values


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


def _keys(changed: ChangedRows, keys: Keys | Through, columns: Sequence[str]) -> Iterator[DataFrame]:
    """The keys of changed rows, one frame for each place where the query reads the table."""
    frames = [each for each in (changed.added, changed.removed) if each is not None]
    if not frames:
        return
    hashes = _hashes(frames[0]) if len(frames) == 2 and not changed.netted else None
    for place in keys.places:
        own = dict(zip(keys.columns, place, strict=True))
        told = [f"{own[column]} AS `k{n}`" for n, column in enumerate(columns)]
        if hashes is None:
            yield from (each.selectExpr(*told) for each in frames)
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
