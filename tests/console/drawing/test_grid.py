"""Instances by hour."""

from console.drawing.grid import GLYPHS, GridCell, GridRow, grid, worst
from pipeline.scheduler.instances.states import InstanceState


def test_every_state_of_an_instance_has_a_mark() -> None:
    assert set(GLYPHS) == {state.value for state in InstanceState}
    marks = [mark for mark in GLYPHS.values() if mark]
    assert len(set(marks)) == len(marks)


def test_a_cell_of_several_instances_has_the_worst_state() -> None:
    assert worst(["SUCCEEDED", "FAILED", "RUNNING"]) == "FAILED"
    assert worst(["SUCCEEDED", "WAITING"]) == "WAITING"


def test_cells_link_to_their_instances_and_say_what_they_are() -> None:
    cell = GridCell("FAILED", 1, "FAILED at 01:00: <no space>", "/feeds/feed/a?at=1", missed=True)
    drawn = grid("Instances", ["0", "1"], [GridRow("replicate a", [None, cell], "/feeds/feed/a")])
    assert 'class="i-failed"' in drawn
    assert ">×<" in drawn
    assert "&lt;no space&gt;" in drawn
    assert 'class="missed"' in drawn
    assert drawn.count("<a ") == 2
    assert "replicate a: 1 failed" in drawn
