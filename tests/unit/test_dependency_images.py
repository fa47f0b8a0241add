"""The memo of computed partition columns tells apart what different session settings mean."""

from headwater.algebra.dependency import forward, missing
from headwater.model.dependency import Computed, Dependency, Occurrence
from headwater.model.partition import Slice


def test_the_same_expression_under_other_settings_has_another_image():
    utc, oslo = (
        Dependency("d.t", (Occurrence((("day", Computed("date(`at`)", ("at",), under)),)),))
        for under in ("utc", "oslo")
    )
    late = Slice.of(at="2024-06-01 23:30:00")
    images = {
        ("utc:date(`at`)", ("2024-06-01 23:30:00",)): "2024-06-01",
        ("oslo:date(`at`)", ("2024-06-01 23:30:00",)): "2024-06-02",
    }
    assert forward(utc, late, images) == (Slice.of(day="2024-06-01"),)
    assert forward(oslo, late, images) == (Slice.of(day="2024-06-02"),)


def test_a_null_partition_with_empty_texts_reaches_what_each_of_them_makes():
    """Iceberg has NULL and the empty text in partitions that a slice does not tell apart."""
    sql, kind = "coalesce(`p`, 'none')", "concat(`p`, `q`)"
    texts = Dependency("d.t", (Occurrence((("k", Computed(sql, ("p",), texts=("p",))),)),))
    null = Slice.of(p=None)
    images = {(sql, (None,)): "none", (sql, ("",)): None, (sql, ("a",)): "a"}
    marker = (sql, ("__HIVE_DEFAULT_PARTITION__",))
    assert missing(texts, null, images) == [marker]
    assert forward(texts, null, images) == (Slice(),), "one is not known"
    images[marker] = None
    assert set(forward(texts, null, images)) == {Slice.of(k="none"), Slice.of(k=None)}
    assert forward(texts, Slice.of(p="a"), images) == (Slice.of(k="a"),)
    files = Dependency("d.t", (Occurrence((("k", Computed(sql, ("p",))),)),))
    assert forward(files, null, images) == (Slice.of(k="none"),), "files read it back as NULL"
    both = Dependency("d.t", (Occurrence((("k", Computed(kind, ("p", "q"), texts=("p",))),)),))
    assert len(missing(both, Slice.of(p=None, q=None), {})) == 3
