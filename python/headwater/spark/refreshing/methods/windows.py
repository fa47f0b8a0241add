"""Refreshes by keys of a view with a window function: of the rows with a key, those that changed rows reach through it.

Example: ``max(price) OVER (PARTITION BY symbol ORDER BY day RANGE BETWEEN INTERVAL 364 DAYS PRECEDING AND CURRENT
ROW)``, and a price of yesterday came. The rows of its symbol from yesterday on are computed anew, each from the prices
in its frame. The keys are symbol and day; the query tells in the frames of which of them a row changed.

Of ``lag``, the query tells which rows are next to a changed one. Of the three highest prices of each symbol, the view
tells of which symbols a price among these changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from pyspark.sql import DataFrame

from headwater.model.dependency import Foremost, Frames, Neighbours, Through, through_windows
from headwater.model.partition import WHOLE
from headwater.model.work import ByKeys
from headwater.spark.jvm import sql
from headwater.spark.jvm.failures import finding_changes
from headwater.spark.refreshing.methods import keys
from headwater.spark.refreshing.recipe import Ingredients, Rows
from headwater.spark.tables.rows_by_keys import Reach
from headwater.spark.tables.view_rows import cast

Computing = Callable[[], DataFrame]
"""Makes rows of the view's slices, of which those with the keys of a run are all there."""


def rows(run: Ingredients, work: ByKeys) -> Rows:
    """The rows that changes reach, and those that stay beside them.

    Raises:
        ChangesUnknown: it is not known which, or there are too many.
    """
    with finding_changes(run.shim):
        found = _reached(run, work)
    return keys.rows(run, work) if found is None else keys.replaced(run, *found)


# --- inside


def _reached(run: Ingredients, work: ByKeys) -> tuple[Reach, Computing] | None:
    """The keys of the rows that changed rows reach through a window, and these rows; ``None`` if those of whole
    partitions of it are reached, or are computed as soon."""
    definition, sources = run.launch.definition, {source for source, _ in work.since}
    keyed = {each.source: each.keys for each in definition.dependencies if each.source in sources}
    known = {source: each.through for source, each in keyed.items() if each.through is not None}
    through = through_windows(keyed.values())
    if through is None or (isinstance(through, Foremost) and not _of_one_state(run, work)):
        return None
    changed = reduce(DataFrame.union, keys.found(run, work.since, known, through.columns))
    found = _near(run, through, changed)
    if found is None:
        return None
    reached, columns, computing = found
    reach = Reach.of(run.shim, [reached], columns, keys.MOST)
    return None if reach is None else (reach, lambda: computing(reach))


def _near(
    run: Ingredients, through: Through, changed: DataFrame
) -> tuple[DataFrame, tuple[str, ...], Callable[[Reach], DataFrame]] | None:
    """The keys of the rows near to changed ones, their columns, and what makes these rows of them."""
    match through:
        case Frames(columns=columns):
            reached = run.shim.framed_keys(run.analysed(), changed)
            return None if reached is None else (reached, columns, lambda reach: _framed(run, reach))
        case Neighbours(columns=columns):
            near = run.shim.neighbourhood(run.analysed(), changed)
            return None if near is None else (near.keys, columns, lambda _: run.cut(near.rows(_again(run))))
        case Foremost(columns=columns, grouped=grouped, most=most):
            view = cast(
                run.formats.of_view(run.launch.definition).rows(run.session, run.launch.definition),
                run.launch.definition,
            )
            there = view.select(*map(sql.identifier, columns))
            reached = run.shim.foremost(run.analysed(), changed, there, most)
            return None if reached is None else (reached, columns[:grouped], lambda _: run.whole())


def _again(run: Ingredients) -> DataFrame:
    """The query, of tables as they are now."""
    run.queries.renew(run.session, run.launch)
    return run.analysed()


def _framed(run: Ingredients, reach: Reach) -> DataFrame:
    return run.cut(run.shim.framed(_again(run), reach.rows))


def _of_one_state(run: Ingredients, work: ByKeys) -> bool:
    """Whether the rows of the view are those of its query at one moment. Rows of several moments together tell nothing
    of the first ones of a partition."""
    return WHOLE in run.launch.run.slices and len({source for source, _ in work.since}) == len(work.since)
