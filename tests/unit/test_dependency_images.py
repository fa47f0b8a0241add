"""The memo of computed partition columns tells apart what different session settings mean."""

from headwater.algebra.dependency import forward
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
