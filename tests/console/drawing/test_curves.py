"""A curve against its target."""

from console.drawing.curves import curve

TIMES = ("Monday", "Tuesday")


def test_the_target_is_a_line_with_its_name() -> None:
    drawn = curve("Lag", [(0, 0), (5, 60), (10, 0)], (0, 10), 30, TIMES, ("1 min", "30 s"))
    assert 'class="target"' in drawn
    assert "The highest value is 1 min, the target is 30 s." in drawn
    assert "Monday" in drawn


def test_without_points_or_target_there_is_only_the_frame() -> None:
    drawn = curve("Lag", [], (0, 10), None, TIMES, ("0 s", ""))
    assert 'class="line"' not in drawn
    assert 'class="target"' not in drawn
