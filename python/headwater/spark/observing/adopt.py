"""Brings the store and the catalog together at start. The catalog holds the truth about definitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from headwater.algebra import graph
from headwater.logger import log
from headwater.model.error import HeadwaterError, NotNow
from headwater.model.event import FRESH, Broken, Declared
from headwater.model.partition import Version
from headwater.model.reason import Reason
from headwater.model.state import State
from headwater.model.view import Definition
from headwater.runtime.recorder import Recorder
from headwater.spark.defining.analyse import Analyst
from headwater.spark.jvm.failures import first_line
from headwater.spark.jvm.shim import Shim
from headwater.spark.observing.observer import Observer
from headwater.spark.observing.reanalysis import why_broken
from headwater.spark.tables import catalog
from headwater.spark.tables.registry import Formats
from headwater.spark.tables.view_tables import has_its_format


def adopt(recorder: Recorder, shim: Shim, formats: Formats, analyst: Analyst, observer: Observer) -> bool:
    """Declares the views that the catalog holds and the store does not know, or knows otherwise, sources first.

    This happens when a store was lost or put back, or when a declaration was cut off before it was
    recorded. An adopted view is refreshed: it may be older than its sources.

    Returns whether that is all; views that Spark cannot analyse now are left for another time.
    """
    found, complete = dict(_unknown(recorder, shim)), True
    recorder.store.raise_version(highest_written(formats, found.values()))
    while found:
        progress = [view for view, definition in found.items() if not set(definition.sources) & (set(found) - {view})]
        for view in progress or list(found):
            try:
                _adopt(recorder, shim, analyst, observer, found.pop(view))
            except (NotNow, Py4JJavaError) as error:  # a catalog that does not answer holds up its own views only
                complete, said = False, first_line(error)
                log.warning("%s was found in the catalog; it is looked at again at the next check: %s", view, said)
    return complete


def highest_written(formats: Formats, definitions: Iterable[Definition]) -> Version:
    """The highest version that any of these views has rows of."""
    return max((_highest(formats, each) for each in definitions), default=0)


def _highest(formats: Formats, definition: Definition) -> Version:
    try:
        return formats.highest(definition)
    except (Py4JJavaError, PySparkException, HeadwaterError) as error:
        log.warning("the versions of %s stay unknown: %s", definition.view, first_line(error))
        return 0


def _unknown(recorder: Recorder, shim: Shim) -> Iterator[tuple[str, Definition]]:
    """The definitions in the catalog that are not as on record. One that is a copy of another is nobody's: both would
    own the same directory."""
    known = recorder.read(lambda state: state.definitions)
    owners = {definition.owner: name for name, definition in known.items()}
    for entry in shim.views():
        view = entry.table
        replaced = catalog.replaced(view)
        if replaced and shim.owner(replaced) is not None:
            continue  # it is being filled, or was exchanged
        try:
            definition = catalog.read(replaced or view, entry.properties)
        except (KeyError, ValueError):
            log.warning("%s has an incomplete definition in the catalog; create it again", view)
            continue
        if replaced:
            if not has_its_format(shim, definition, view):
                continue  # the table that the view had before; the view was dropped since
            shim.rename(view, replaced)
            view = replaced
        if owners.setdefault(definition.owner, view) != view:
            log.warning("%s has the properties of %s and is no view; create it as one", view, owners[definition.owner])
        elif view not in known or known[view].statement != definition.statement:
            yield view, definition


def _adopt(recorder: Recorder, shim: Shim, analyst: Analyst, observer: Observer, stored: Definition) -> None:
    broken: Reason | None = None
    try:
        definition = analyst.analysed(stored)
        recorder.read(lambda state: graph.refuse_cycle(state.sources, stored.view, definition.sources))
        observer.first_look(definition)
    except NotNow:
        raise
    except HeadwaterError as error:
        definition, broken = stored, why_broken(error)
    if shim.owner(stored.view) != stored.owner:
        return  # it was dropped meanwhile, or is another one

    def found(state: State) -> Declared | None:
        if _is_on_record(state, stored):
            return None  # whoever made it has just recorded it
        return Declared(recorder.clock.now(), FRESH, definition, "was found in the catalog")

    def breaks(state: State) -> Broken | None:
        if broken is None or _is_on_record(state, stored):
            return None
        return Broken(recorder.clock.now(), stored.view, broken)

    # Together: one that is on record and not broken, though it was never analysed, would follow nothing.
    if recorder.record_all([found, breaks])[0] is not None:
        log.warning("%s was found in the catalog and is kept fresh from now on", stored.view)


def _is_on_record(state: State, stored: Definition) -> bool:
    """Whether the record knows a view as the catalog has it."""
    known = state.views.get(stored.view)
    return known is not None and known.definition.statement == stored.statement
