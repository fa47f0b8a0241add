"""The files of totals: which a run writes, reads and removes, whatever crashed before it."""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from headwater.model.error import ChangesUnknown
from headwater.model.reason import Code
from headwater.model.work import LeftTotals, Totals
from headwater.spark.refreshing.methods import buckets
from headwater.spark.refreshing.methods.buckets import BYTES, MOST, Bucket, Manifest, TotalsDirectory, count
from headwater.spark.refreshing.methods.totals import Left
from headwater.spark.tables.compaction import LISTED_FILES, files
from headwater.spark.tables.compaction import MOST as MOST_OF_A_FILE

PLACE = "/view/.totals"
SCHEMA = '{"type":"struct","fields":[]}'


class Crash(Exception):
    """The engine dies."""


class Disk:
    """Files by their paths, in place of the driver. ``steps``: after so many changes of files it crashes."""

    def __init__(self) -> None:
        self.files: dict[str, Any] = {}
        self.steps = -1

    def step(self) -> None:
        if self.steps == 0:
            raise Crash
        self.steps -= 1

    def text(self, path: str) -> str | None:
        return self.files.get(path)

    def save(self, path: str, text: str) -> None:
        self.step()
        self.files[path] = text

    def names(self, root: str) -> list[str]:
        return sorted({each.removeprefix(f"{root}/").partition("/")[0] for each in self.below(root)})

    def below(self, root: str) -> list[str]:
        return [each for each in self.files if each.startswith(f"{root}/") or each == root]

    def delete(self, path: str) -> None:
        for each in self.below(path):
            self.step()
            del self.files[each]

    def listed(self, root: str) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for each in self.below(root):
            directory, _, name = each.removeprefix(f"{root}/").partition("/")
            found.setdefault(directory, {})[name] = len(self.files[each])
        return found

    def are_there(self, files: dict[str, int]) -> bool:
        return all(path in self.files and len(self.files[path]) == length for path, length in files.items())


class Groups(dict[int, str]):
    """Totals: the groups of each bucket, as a text."""

    schema = SimpleNamespace(json=lambda: SCHEMA)

    def repartition(self, column: str) -> Groups:
        return self


class Near:
    """Totals in the driver, which writes them."""

    def __init__(self, disk: Disk, groups: Groups) -> None:
        self.frame, self._disk = groups, disk

    def write(self, root: str) -> dict[str, dict[str, int]]:
        for bucket, text in self.frame.items():
            self._disk.step()
            self._disk.files[f"{root}/bucket={bucket}/part-1"] = text
        return self._disk.listed(root)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return disk_in(monkeypatch)


def disk_in(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk()

    def write(session: Any, rows: Groups, path: str, *by: str) -> None:
        for bucket, groups in rows.items() if by else [(None, "".join(rows.values()))]:
            made.step()
            made.files[f"{path}/part-{len(made.files)}" if bucket is None else f"{path}/bucket={bucket}/part-1"] = (
                groups
            )

    monkeypatch.setattr(buckets, "write_near", lambda session, near, root: near.write(root))
    monkeypatch.setattr(buckets, "write", write)
    monkeypatch.setattr(buckets, "found", lambda session, paths, columns: [made.files[each] for each in paths])
    return made


def of(disk: Disk, version: int, spark: str = "4.1.4") -> TotalsDirectory:
    few = version % 2  # in every other run, the driver writes the totals
    near = lambda rows, count: Near(disk, rows) if few else None  # noqa: E731
    totals: Any = SimpleNamespace(bucketed=lambda rows, count: rows, near=near)
    session: Any = SimpleNamespace(version=spark)
    return TotalsDirectory(disk, session, totals, PLACE, version)  # type: ignore[arg-type,return-value]


def first(disk: Disk, held: int) -> tuple[Totals, Manifest]:
    """Totals on record in so many buckets, with a group in each."""
    written = {n: Bucket(f"v1/a/bucket={n}", {"part-1": 2}) for n in range(held)}
    for n in range(held):
        disk.files[f"{PLACE}/v1/a/bucket={n}/part-1"] = f"{n}!"
    manifest = Manifest("4.1.4", SCHEMA, tuple(written[n] for n in range(held)), rules=buckets.RULES)
    of(disk, 1).keep(manifest, None)
    return Totals(1, (), LeftTotals(manifest.digest)), manifest


def refreshed(disk: Disk, known: Totals, version: int, touched: Collection[int], text: str) -> Totals:
    """A run by changes that writes a text into some buckets."""
    directory = of(disk, version)
    before = directory.recorded(known)
    directory.read(before, touched)
    manifest, _ = directory.write_some(
        known.version, before, lambda: Groups({n: text for n in touched if text}), touched, True
    )  # type: ignore[arg-type,return-value]
    directory.keep(manifest, known)
    return Totals(version, (), LeftTotals(manifest.digest))


def content(disk: Disk, known: Totals) -> list[str]:
    directory = of(disk, 999)
    return sorted(directory.read(directory.recorded(known)))  # type: ignore[type-var,arg-type]


def needed(disk: Disk, *all_known: Totals) -> set[str]:
    """The files that some totals need."""
    found = set()
    for known in all_known:
        found |= {f"{PLACE}/{each}" for each in _files(of(disk, 999).recorded(known))}
        found.add(f"{PLACE}/v{known.version}/manifest.json")
    return found


def _files(manifest: Manifest) -> dict[str, int]:
    return manifest.files(range(len(manifest.buckets)))


def test_a_run_writes_the_buckets_that_it_touches(disk: Disk) -> None:
    known, _ = first(disk, 3)
    known = refreshed(disk, known, 2, [1], "new")
    assert content(disk, known) == ["0!", "2!", "new"]
    assert [each for each in disk.files if "/v2/" in each] == [
        f"{PLACE}/v2/a/bucket=1/part-{4}",
        f"{PLACE}/v2/manifest.json",
    ]
    known = refreshed(disk, known, 3, [0, 1], "")
    assert content(disk, known) == ["2!"] or content(disk, known) == ["", "2!"], "buckets without a group"


run = st.tuples(st.sets(st.integers(0, 3)), st.sampled_from(["", "x", "yy"]), st.integers(-1, 12), st.booleans())


@given(st.lists(run, max_size=8))
def test_after_any_crash_the_totals_on_record_are_all_there(story: list[tuple[set[int], str, int, bool]]) -> None:
    """Of a run some steps are done: its files, its manifest, what it removes. Then it is lost, or is not recorded."""
    patch = pytest.MonkeyPatch()
    try:
        disk = disk_in(patch)
        known, _ = first(disk, 4)
        before, right = known, {n: f"{n}!" for n in range(4)}
        for version, (touched, text, steps, recorded) in enumerate(story, 2):
            disk.steps = steps
            try:
                new = refreshed(disk, known, version, sorted(touched), text)
            except Crash:
                recorded = False
            disk.steps = -1
            if recorded:
                before, known, right = known, new, right | dict.fromkeys(touched, text)
            found = "".join(sorted(content(disk, known)))
            assert sorted(found) == sorted("".join(right.values()))
        if before is not known:
            known, before = refreshed(disk, known, 100, [], ""), known
            assert set(disk.files) == needed(disk, known, before), "nothing else stays"
    finally:
        patch.undo()


def test_files_of_another_engine_stay(disk: Disk) -> None:
    known, _ = first(disk, 2)
    disk.files[f"{PLACE}/v9/a/bucket=0/part-1"] = disk.files[f"{PLACE}/other"] = "of another one"
    refreshed(disk, known, 5, [0], "new")
    assert {f"{PLACE}/v9/a/bucket=0/part-1", f"{PLACE}/other"} <= set(disk.files)


@pytest.mark.parametrize("bucket", range(3))
@pytest.mark.parametrize("cut", [True, False])
def test_a_file_that_is_not_as_it_was_is_noticed_when_its_bucket_is_read(disk: Disk, bucket: int, cut: bool) -> None:
    known, manifest = first(disk, 3)
    path = f"{PLACE}/v1/a/bucket={bucket}/part-1"
    disk.files[path] = "!"
    if not cut:
        del disk.files[path]
    for each in range(3):
        if each != bucket:
            of(disk, 2).read(manifest, [each])
    for touched in ([bucket], None):
        with pytest.raises(ChangesUnknown, match="not all there") as refused:
            of(disk, 2).read(manifest, touched)
        assert refused.value.reason.code is Code.METHOD_TOTALS_LOST
    refreshed(disk, known, 2, [n for n in range(3) if n != bucket], "new")


def test_a_manifest_that_is_not_the_one_on_record_is_none(disk: Disk) -> None:
    known, manifest = first(disk, 2)
    for text in (evolve(manifest, replaced=("v0",)).text, manifest.text[:-1], None):
        disk.files[f"{PLACE}/v1/manifest.json"] = text
        with pytest.raises(ChangesUnknown, match="not all there"):
            of(disk, 2).recorded(known)


def test_totals_of_other_rules_are_computed_anew(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    known, _ = first(disk, 2)
    monkeypatch.setattr(buckets, "RULES", buckets.RULES + 1)
    with pytest.raises(ChangesUnknown, match="other rules"):
        of(disk, 2).recorded(known)


def test_another_version_of_spark_may_have_another_hash(disk: Disk) -> None:
    known, manifest = first(disk, 2)
    assert of(disk, 2).recorded(known) == manifest
    with pytest.raises(ChangesUnknown, match=r"Spark 4\.1\.4 wrote its totals, and this is 4\.2\.0"):
        of(disk, 2, "4.2.0").recorded(known)


def test_a_run_that_goes_on_with_other_work_leaves_nothing_of_the_first(disk: Disk) -> None:
    known, before = first(disk, 2)
    of(disk, 2).write_some(1, before, lambda: Groups({0: "old", 1: "old"}), [0, 1], True)  # type: ignore[arg-type,return-value]
    manifest = of(disk, 2).write(Groups({0: "new"}))  # type: ignore[arg-type,return-value]
    of(disk, 2).keep(manifest, known)
    assert content(disk, Totals(2, (), LeftTotals(manifest.digest))) == ["new"]
    assert not [each for each in disk.files.values() if each == "old"]


def test_large_totals_have_more_buckets(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [count(each) for each in (0, BYTES, 2 * BYTES - 1, 2 * BYTES, 40 * BYTES + 1)] == [1, 1, 1, 2, 41]
    assert count(10 * MOST * BYTES) == MOST
    monkeypatch.setattr(buckets, "BYTES", 4)
    known, before = first(disk, 1)
    grown, _ = of(disk, 2).write_some(1, before, lambda: Groups({0: "a" * 15}), [0], True)  # type: ignore[arg-type,return-value]
    assert len(grown.buckets) == 1, "less than four times its size"
    monkeypatch.setattr(
        of(disk, 2).__class__, "read", lambda self, manifest, touched=None: Groups({0: "a" * 8, 3: "b" * 8})
    )
    grown, near = of(disk, 3).write_some(1, before, lambda: Groups({0: "a" * 16}), [0], True)  # type: ignore[arg-type,return-value]
    assert near is None, "the driver has the rows of buckets of before"
    assert [each.place for each in grown.buckets] == ["v3/b/bucket=0", "", "", "v3/b/bucket=3"]
    of(disk, 3).keep(grown, known)
    assert not disk.below(f"{PLACE}/v3/a") and not disk.below(f"{PLACE}/v2")


def test_totals_of_some_buckets_in_the_driver_are_not_all(disk: Disk) -> None:
    known, before = first(disk, 2)
    directory = of(disk, 3)
    manifest, near = directory.write_some(known.version, before, lambda: Groups({1: "new"}), [1], True)  # type: ignore[arg-type,return-value]
    assert near == {1: "new"}

    def left(*touched: int) -> Left:
        return Left(directory, None, manifest, touched, 0.0, near=near)  # type: ignore[arg-type]

    assert left(1).rows(few=True) == near
    assert left(1).rows(few=False) == ["0!", "new"]
    assert left(0, 1).rows(few=False) == near


@given(st.integers(1, 1 << 40))
def test_files_of_a_range_of_keys_are_neither_many_nor_large(size: int) -> None:
    assert 1 <= files(size) <= max(LISTED_FILES, size // MOST_OF_A_FILE)
    assert size / files(size) <= 2 * MOST_OF_A_FILE
