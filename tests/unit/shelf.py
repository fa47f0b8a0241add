"""A warehouse in a directory, and a program that is an engine over it: ``python shelf.py STORE DIRECTORY ALIVE AHEAD``.

Each run writes files of its own. Readers see those that the newest *page* of a table names. A page is a file that is
linked into its place whole, and only where none is yet; so nobody ever holds a lock that a paused engine would keep.
"""

from __future__ import annotations

import json
import logging
import os
import random
import socket
import sys
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

from attrs import evolve, frozen
from reference import Content, read_by
from world import World

from headwater.engine.decide.readiness import Choice, Ready
from headwater.engine.decide.schedule import InOrder
from headwater.model.command import Launch, Replaced, Written
from headwater.model.error import HeadwaterError, TakenOver
from headwater.model.partition import Slice
from headwater.model.state import State
from headwater.runtime import loop as loops
from headwater.runtime.recorder import Recorder, SystemClock
from headwater.store.sql_store import SqlStore

STEP = 0.03
"""Seconds between two steps of an engine."""

PACE = 0.02
"""Seconds that a run takes at most for each of its parts."""


@frozen
class Page:
    """What readers see of a table: the place of each partition's file. ``engine``: the number of who wrote it."""

    version: int = 0
    engine: int = 0
    places: Mapping[Slice, str] = {}

    def written(self) -> str:
        return json.dumps([self.version, self.engine, [[each.bound, place] for each, place in self.places.items()]])

    @classmethod
    def read(cls, text: str) -> Page:
        version, engine, places = json.loads(text)
        return cls(version, engine, {Slice(map(tuple, bound)): place for bound, place in places})


class Torn(Exception):
    """A reader sees a file that is not whole."""


class Shelf(World):
    """The world of the laws, on disk, where several processes share it."""

    def __init__(self, folder: Path, bases: Mapping[str, Sequence[str]]) -> None:
        super().__init__(bases)
        self.folder, self._numbers = folder, {}

    # tables

    def pages(self, table: str) -> list[Page]:
        """All that readers ever saw of a table, in order."""
        last, _ = self._newest(table)
        return [self._page(table, number) for number in range(1, last + 1)]

    def page(self, table: str) -> Page:
        return self._newest(table)[1]

    def read(self, table: str) -> Content:
        return self._content(self.page(table))

    def found(self, table: str) -> dict[Slice, str]:
        return dict(self.page(table).places)

    def write(self, table: str, partition: Slice, value: int | None) -> None:
        number, page = self._newest(table)
        places = {each: place for each, place in page.places.items() if each != partition}
        if value is not None:
            places[partition] = self._filed(table, f"w{number}", value)
        assert self._linked(table, number + 1, Page(number + 1, 0, places)), "one program writes the base tables"

    # the port

    def compute(self, launch: Launch, sees: Mapping[str, int]) -> Written:
        tables = {}
        for source in read_by(launch.definition):
            time.sleep(random.uniform(0, PACE))
            tables[source] = self._seen(launch, source)
        written = self.written(launch, tables)
        if launch.run.kept or launch.run.on:
            self.kept[launch.run.version] = launch, written
        return written if launch.run.kept else self._brought(launch, written)

    def bring(self, launch: Launch, written: Written) -> Written:
        return self._brought(launch, written) if launch.run.kept else written

    def publish(self, launch: Launch, written: Written) -> Replaced:
        view, version = launch.run.view, launch.run.version
        while True:
            number, page = self._newest(view)
            if page.version > version:
                raise TakenOver(f"version {page.version} of {view} is already published")
            kept = {each: place for each, place in page.places.items() if not _is_replaced(launch, each)}
            made = {each.slice: each.fingerprint for each in written.made}
            time.sleep(random.uniform(0, PACE))
            if self._linked(view, number + 1, Page(version, launch.run.engine, kept | made)):
                time.sleep(random.uniform(0, PACE))
                return Replaced(
                    [page.places[each] for each in made if each in page.places], _same(launch, written, page)
                )

    # --- inside

    def _seen(self, launch: Launch, source: str) -> Content:
        page = self.page(source)
        for version, (made, written) in list(self.kept.items()):
            if version in launch.run.on and made.run.view == source and version > page.version:
                return self.with_written(made, written, self._content(page))
        return self._content(page)

    def written(self, launch: Launch, tables: Mapping[str, Content]) -> Written:
        """The fingerprint of a partition is its file."""
        found = super().written(launch, tables)
        place = f"{launch.run.view}/v{launch.run.version}"
        return evolve(found, made=tuple(evolve(each, fingerprint=f"{place}/{n}") for n, each in enumerate(found.made)))

    def _brought(self, launch: Launch, written: Written) -> Written:
        for each in written.made:
            _fill(self.folder / each.fingerprint, written.handle[each.slice])
        return written

    def _filed(self, table: str, name: str, value: int) -> str:
        _fill(self.folder / table / name, value)
        return f"{table}/{name}"

    def _content(self, page: Page) -> Content:
        return {each: _whole(self.folder / place) for each, place in page.places.items()}

    def _newest(self, table: str) -> tuple[int, Page]:
        number = self._numbers.get(table, 0)
        while self._place(table, number + 1).exists():
            number += 1
        self._numbers[table] = number
        return number, self._page(table, number) if number else Page()

    def _page(self, table: str, number: int) -> Page:
        return Page.read(self._place(table, number).read_text())

    def _linked(self, table: str, number: int, page: Page) -> bool:
        """Whether a page is the one of this number; another one may have been faster."""
        place = self._place(table, number)
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_name(f"draft-{uuid4().hex}")
        draft.write_text(page.written())
        try:
            os.link(draft, place)
        except FileExistsError:
            return False
        finally:
            draft.unlink()
        return True

    def _place(self, table: str, number: int) -> Path:
        return self.folder / table / "pages" / str(number)


def _is_replaced(launch: Launch, partition: Slice) -> bool:
    """A run replaces its slices whole. The record may miss a partition there: who published it was killed before it
    was recorded."""
    return any(each.covers(partition) for each in launch.run.slices)


def _same(launch: Launch, written: Written, page: Page) -> frozenset[Slice]:
    """The partitions that come out as the record says they are, where readers see what the record says."""
    known = launch.existing
    return frozenset(
        each.slice
        for each in written.made
        if (before := known.get(each.slice)) is not None
        and before.content == each.content
        and before.fingerprint == page.places.get(each.slice)
    )


def _fill(file: Path, value: int) -> None:
    """Writes a partition bit by bit, as large ones are."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as out:
        out.write(f"{value} ")
        out.flush()
        time.sleep(random.uniform(0, PACE / 4))
        out.write(str(zlib.crc32(str(value).encode())))


def _whole(file: Path) -> int:
    value, _, check = file.read_text().partition(" ")
    if check != str(zlib.crc32(value.encode())):
        raise Torn(str(file))
    return int(value)


# --- the program


class Keeping(InOrder):
    """Keeps now and then what a run makes in memory, for its readers."""

    def choose(self, state: State, ready: Sequence[Ready], plan: object) -> list[Choice]:
        return [Choice(each, random.random() < 0.3) for each in ready]


@frozen
class Ahead:
    """A clock that is so many ms ahead of the machine's."""

    by: int

    def now(self) -> int:
        return SystemClock().now() + self.by


def main(where: str, folder: str, lease: str, ahead: str) -> None:
    logging.basicConfig(level=logging.WARNING, format=f"%(asctime)s {os.getpid()} %(message)s", stream=sys.stderr)
    threading.Thread(target=_end_with_driver, daemon=True).start()
    loops.ALIVE = int(lease)
    shelf = Shelf(Path(folder), {})
    recorder = Recorder(SqlStore(where), shelf, Ahead(int(ahead)))
    loop = loops.Loop(recorder, shelf, shelf, f"{socket.gethostname()}:{os.getpid()}:chaos", schedule=Keeping())
    while True:
        try:
            loop.step()
        except HeadwaterError as error:
            logging.warning("%s", error)
        time.sleep(STEP)


def _end_with_driver() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
