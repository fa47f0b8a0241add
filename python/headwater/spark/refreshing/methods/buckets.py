"""Totals lie in buckets, by a hash of the keys of their groups. A run by changes reads and writes the buckets of the
groups that its changes touch. The files of all others stay.

Example: the totals of 3,000,000 customers lie in 120 buckets, and a row of customer 7 came. The run reads one bucket,
and writes a file with its groups.

Each run leaves a *manifest*, a file that names the files of each bucket. A digest of it goes on record. So files of a
run that was lost are never taken for others, and a file that is not there as it was written is noticed.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property

from attrs import evolve, field, frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headwater.model.error import ChangesUnknown
from headwater.model.partition import Version
from headwater.model.reason import Code
from headwater.model.work import Totals
from headwater.spark.jvm import wire
from headwater.spark.jvm.query_totals import NearTotals, QueryTotals
from headwater.spark.jvm.sessions import having
from headwater.spark.jvm.shim import Shim
from headwater.spark.tables.hidden import OWN

BYTES = 1 << 19
"""Of a bucket, when all are written: some ten thousand groups."""

MOST = 1 << 10
"""Buckets. With more, listing their files takes longer than reading what they have too much."""

NEAR = 1 << 20
"""Bytes of touched buckets that are brought to the driver, and written there without a job."""

GROWN = 4
"""When totals are so many times as large as their buckets are for, all are written anew in more buckets."""

WRITTEN = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.fieldId.write.enabled": "false",
}
"""How totals are written, whatever the application's Parquet files are for: they must be read back as they were."""

READ = {
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "mergeSchema": "false",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
}
"""How they are read. No other setting changes what is read of files that were written so."""

FIRST, SECOND = "a", "b"
"""The directories of a run: of what it writes first, and of the same in more buckets."""


MANIFEST = "manifest.json"

RULES = 2
"""What the numbers of totals count. By other rules, equal columns may have other numbers."""


@frozen
class Bucket:
    """The groups of one hash.

    Attributes:
        place: the directory of its files, from that of the totals; empty if it has no group.
        files: the bytes of each, by its name.
    """

    place: str = ""
    files: Mapping[str, int] = field(factory=dict)

    @property
    def paths(self) -> dict[str, int]:
        return {posixpath.join(self.place, name): length for name, length in self.files.items()}


@frozen
class Manifest:
    """The files of a view's totals.

    Attributes:
        spark: the version of Spark that wrote it. Another one may have another hash.
        schema: the columns, as Spark writes a schema in JSON.
        buckets: in the order of their hashes.
        replaced: what it took the place of. The totals before it may need that.
        rules: what its numbers count (``RULES``).
    """

    spark: str
    schema: str
    buckets: tuple[Bucket, ...]
    replaced: tuple[str, ...] = ()
    rules: int = 1

    @cached_property
    def text(self) -> str:
        return wire.encode(self)

    @property
    def digest(self) -> str:
        return digest(self.text)

    @property
    def columns(self) -> StructType:
        return StructType.fromJson(json.loads(self.schema))

    @property
    def bytes(self) -> int:
        return self.size(range(len(self.buckets)))

    def size(self, buckets: Iterable[int]) -> int:
        """The bytes of some buckets."""
        return sum(length for each in buckets for length in self.buckets[each].files.values())

    def files(self, buckets: Iterable[int]) -> dict[str, int]:
        """The paths of the files of some buckets, from the directory of the totals, with their bytes."""
        return {path: length for each in buckets for path, length in self.buckets[each].paths.items()}

    @property
    def runs(self) -> set[str]:
        """The names of the runs' directories that have some of the files."""
        return {each.place.partition("/")[0] for each in self.buckets if each.place}

    def renewed(self, version: Version, touched: Collection[int], written: Mapping[int, Bucket]) -> Manifest:
        """The files after some buckets were written anew; of these, one that was not written has no group now.

        Args:
            version: of the run that left this manifest.
        """
        changed = {each: written.get(each, Bucket()) for each in touched}
        buckets = tuple(changed.get(n, each) for n, each in enumerate(self.buckets))
        replaced = tuple(self.buckets[each].place for each in touched if self.buckets[each].place)
        return evolve(self, buckets=buckets, replaced=(*replaced, posixpath.join(f"v{version}", MANIFEST)))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def count(size: int) -> int:
    """In how many buckets totals of so many bytes lie."""
    return 1 if size < 2 * BYTES else min(MOST, -(-size // BYTES))


class TotalsDirectory:
    """The directory of a view's totals, in which a run leaves its own.

    Args:
        place: where it is.
        version: of the run.
    """

    def __init__(self, shim: Shim, session: SparkSession, totals: QueryTotals, place: str, version: Version) -> None:
        self._shim, self._session, self._totals, self._place = shim, session, totals, place
        self._version, self._own = version, f"v{version}"

    def recorded(self, known: Totals) -> Manifest:
        """The manifest on record.

        Raises:
            ChangesUnknown: it is not there, or cannot be read by this version of Spark.
        """
        found = self._found(known)
        if found is None:
            raise lost()
        if found.rules != RULES:
            raise ChangesUnknown(
                Code.METHOD_TOTALS_LOST, "its totals were written by other rules than those of this version"
            )
        if found.spark != self._session.version:
            said = f"Spark {found.spark} wrote its totals, and this is {self._session.version}"
            raise ChangesUnknown(Code.METHOD_TOTALS_LOST, said)
        return found

    def read(self, manifest: Manifest, buckets: Collection[int] | None = None) -> DataFrame:
        """Totals of some buckets; ``None``: of all.

        Raises:
            ChangesUnknown: a file is gone, or was cut.
        """
        if buckets is None:
            buckets = range(len(manifest.buckets))
        files = {posixpath.join(self._place, each): size for each, size in manifest.files(buckets).items()}
        if not self._shim.are_there(files):
            raise lost()
        return found(self._session, [*files], manifest.columns)

    def write(self, rows: DataFrame) -> Manifest:
        """Writes all totals. How many buckets they need is known when they are written; so large ones are written
        twice."""
        self._clear()
        written = self._written(rows, FIRST, (0,), 1)
        return self._spread(
            Manifest(self._session.version, rows.schema.json(), (written.get(0, Bucket()),), rules=RULES)
        )

    def write_some(
        self, known: Version, before: Manifest, rows: Callable[[], DataFrame], touched: Collection[int], few: bool
    ) -> tuple[Manifest, DataFrame | None]:
        """Writes the totals of some buckets; the totals, too, if they are in the driver and lie in these buckets.

        Args:
            before: the manifest of the run that is ``known``.
            rows: of these buckets, if there is one.
            few: whether one task makes them.

        Raises:
            ChangesUnknown: a group lies in another bucket than it did.
        """
        self._clear()
        near, written = None, {}
        if touched:
            totals, size = rows(), len(before.buckets)
            if few and before.size(touched) <= NEAR:
                near = self._totals.near(totals, size)
            if near is None:
                written = self._written(totals, FIRST, touched, size)
            else:
                written = self._made(write_near(self._session, near, self._root(FIRST)), FIRST, touched)
        manifest = before.renewed(known, touched, written)
        if manifest.bytes < GROWN * BYTES * len(manifest.buckets):
            return manifest, None if near is None else near.frame
        return self._spread(manifest), None

    def keep(self, manifest: Manifest, known: Totals | None) -> None:
        """Writes the manifest of the run, and removes what neither it nor the one on record needs. Runs of a higher
        version are of another engine.

        Args:
            known: the totals on record, which the next run goes on from if this one is lost.
        """
        self._shim.save(posixpath.join(self._place, self._own, MANIFEST), manifest.text)
        before = None if known is None else self._found(known)
        needed = manifest.runs | {self._own}
        if known is not None:
            needed |= {f"v{known.version}"} | (before.runs if before is not None else set())
        for name in self._shim.names(self._place):
            if OWN.fullmatch(name) and int(name[1:]) < self._version and name not in needed:
                self._shim.delete(posixpath.join(self._place, name))
        for each in before.replaced if before is not None else ():
            if each.partition("/")[0] in needed:
                self._shim.delete(posixpath.join(self._place, each))

    # --- inside

    def _found(self, known: Totals) -> Manifest | None:
        text = self._shim.text(posixpath.join(self._place, f"v{known.version}", MANIFEST))
        if text is None or digest(text) != known.left.digest:
            return None
        return wire.decode(text, Manifest)

    def _clear(self) -> None:
        """Removes what a run of the same version wrote before it went on with other work."""
        self._shim.delete(posixpath.join(self._place, self._own))

    def _spread(self, manifest: Manifest) -> Manifest:
        """The same totals in as many buckets as they need."""
        buckets = count(manifest.bytes)
        if buckets <= len(manifest.buckets):
            return manifest
        written = self._written(self.read(manifest), SECOND, range(buckets), buckets, gathered=True)
        self._shim.delete(posixpath.join(self._place, self._own, FIRST))
        return evolve(manifest, buckets=tuple(written.get(n, Bucket()) for n in range(buckets)), replaced=())

    def _written(
        self, rows: DataFrame, part: str, touched: Collection[int], buckets: int, gathered: bool = False
    ) -> dict[int, Bucket]:
        """Writes totals by a job; ``gathered``: one task writes a bucket."""
        root = self._root(part)
        if len(touched) == 1:
            [only] = touched
            write(self._session, rows, posixpath.join(root, f"bucket={only}"))
        else:
            apart = self._totals.bucketed(rows, buckets)
            write(self._session, apart.repartition("bucket") if gathered else apart, root, "bucket")
        return self._made(self._shim.listed(root), part, touched)

    def _root(self, part: str) -> str:
        return posixpath.join(self._place, self._own, part)

    def _made(self, listed: Mapping[str, Mapping[str, int]], part: str, touched: Collection[int]) -> dict[int, Bucket]:
        """The buckets that have files, by their number.

        Args:
            listed: the bytes of each file by its name, by the name of its directory.

        Raises:
            ChangesUnknown: one of them is none of ``touched``.
        """
        made = {
            int(name.partition("=")[2]): Bucket(posixpath.join(self._own, part, name), files)
            for name, files in listed.items()
            if files
        }
        if not made.keys() <= set(touched):
            raise ChangesUnknown(Code.METHOD_TOTALS_LOST, "its totals lie in other buckets than this Spark puts them")
        return made


def write(session: SparkSession, rows: DataFrame, path: str, *by: str) -> None:
    """Writes totals, in a directory for each value of a column."""
    with having(session, WRITTEN):
        rows.write.mode("overwrite").parquet(path, partitionBy=[*by] or None)


def write_near(session: SparkSession, near: NearTotals, root: str) -> dict[str, dict[str, int]]:
    """Writes totals that are in the driver; the bytes of each file by its name, by the name of its directory."""
    with having(session, WRITTEN):
        return near.write(root)


def found(session: SparkSession, paths: list[str], columns: StructType) -> DataFrame:
    """The totals in some files."""
    if not paths:
        return session.createDataFrame([], columns)
    return session.read.options(**READ).schema(columns).parquet(*paths)


def lost() -> ChangesUnknown:
    return ChangesUnknown(Code.METHOD_TOTALS_LOST, "the files of its totals are not all there")
