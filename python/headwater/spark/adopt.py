"""Brings the store and the catalog together at start. The catalog holds the truth about definitions."""

from __future__ import annotations

import logging

from headwater.model.error import HeadwaterError
from headwater.model.event import Broken, Declared
from headwater.model.partition import WHOLE
from headwater.runtime import Runtime
from headwater.spark import catalog
from headwater.spark.define import Analyst
from headwater.spark.observer import Observer
from headwater.spark.shim import Shim

log = logging.getLogger("headwater")


def adopt(runtime: Runtime, shim: Shim, analyst: Analyst, observer: Observer) -> None:
    """Declares the views that the catalog holds and the store does not know, or knows otherwise, sources first.

    This happens when a store was lost or put back, or when a declaration was cut off before it was
    recorded. An adopted view is refreshed: what it holds may be older than its sources.
    """
    found = {}
    for entry in shim.views():
        view = entry["table"]
        try:
            definition = catalog.read(view, entry["properties"])
        except (KeyError, ValueError):
            log.warning("%s has an incomplete definition in the catalog; create it again", view)
            continue
        with runtime.lock:
            known = runtime.state.views.get(view)
        if known is None or known.definition.statement != definition.statement:
            found[view] = definition
    while found:
        progress = [view for view, definition in found.items() if not set(definition.sources) & (set(found) - {view})]
        for view in progress or list(found):
            _adopt(runtime, analyst, observer, found.pop(view))


def _adopt(runtime: Runtime, analyst: Analyst, observer: Observer, stored) -> None:
    try:
        definition = analyst.analysed(stored)
        observer.baseline(definition)
        reason = ""
    except HeadwaterError as error:
        definition, reason = stored, str(error)
    runtime.change(
        stored.view,
        [WHOLE],
        lambda _, version: Declared(runtime.clock.now(), version, definition, "was found in the catalog"),
    )
    if reason:
        runtime.record(lambda _s, _v: Broken(runtime.clock.now(), stored.view, reason))
    log.warning("%s was found in the catalog and is kept fresh from now on", stored.view)
