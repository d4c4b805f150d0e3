"""Lanes of statements, phases, and bars of a result, as SVG."""

import xml.etree.ElementTree as ElementTree

import pytest

from console.drawing.bars import MOST, chart
from console.drawing.lanes import MAX_ROWS, Lane, StatementBar, lanes, phase_bar
from console.drawing.map import Box, Flow, cluster_map

NOW = 1000.0


def bar(number: int, began: float, seconds: float, state: str = "finished") -> StatementBar:
    return StatementBar(
        str(number), f"ann: statement {number}", f"/statements/{number}", state, began, seconds
    )


def tree(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def links(svg: str) -> list[ElementTree.Element]:
    return list(tree(svg).iter("a"))


def test_a_bar_is_a_link_with_its_reason() -> None:
    [link] = links(lanes([Lane("east", "", [bar(1, 970, 5)])], NOW, 60))
    assert link.get("href") == "/statements/1"
    assert link.get("aria-label") == "ann: statement 1 (finished)"


def test_bars_at_the_same_time_are_below_each_other() -> None:
    found = links(
        lanes([Lane("east", "", [bar(1, 970, 5), bar(2, 972, 5), bar(3, 976, 1)])], NOW, 60)
    )
    y = {each.get("href"): each.find("rect").get("y") for each in found}  # type: ignore[union-attr]
    assert y["/statements/1"] == y["/statements/3"] != y["/statements/2"]


def test_more_bars_than_rows_are_counted() -> None:
    svg = lanes([Lane("east", "busy", [bar(n, 970, 20) for n in range(MAX_ROWS + 5)])], NOW, 60)
    assert len(links(svg)) == MAX_ROWS
    assert "busy +5" in svg


def test_a_bar_that_began_before_the_picture_begins_at_its_edge() -> None:
    [link] = links(lanes([Lane("east", "", [bar(1, 0, 2000, "running")])], NOW, 60))
    shape = link.find("rect")
    assert shape is not None
    assert shape.get("x") == "150"
    assert float(shape.get("width", "0")) > 900


def test_texts_are_escaped() -> None:
    nasty = StatementBar("1", "<script>\"'&", "/statements/1", "failed", 990, 1)
    assert tree(lanes([Lane("<b>", "", [nasty])], NOW, 60)) is not None


def test_phases_have_the_width_of_their_time() -> None:
    shapes = list(tree(phase_bar({"analyse": 1.0, "execute": 3.0})).iter("rect"))
    assert [each.get("class") for each in shapes] == ["p-analyse", "p-execute"]
    assert [float(each.get("width", "0")) for each in shapes] == [300.0, 900.0]
    assert tree(phase_bar({})) is not None


def test_a_chart_needs_names_and_numbers() -> None:
    rows = [("a", "1"), ("b", "-2.5"), (None, None), ("c", "x")]
    svg = chart([("name", False), ("n", True)], rows)
    assert len(list(tree(svg).iter("rect"))) == 2
    assert 'aria-label="n by name"' in svg
    assert chart([("n", True)], [("1",), ("2",)]) == ""
    assert chart([("name", False)], [("a",), ("b",)]) == ""
    assert chart([("name", False), ("n", True)], [("a", "1")]) == ""
    assert chart([("name", False), ("n", True)], [("a", "NaN"), ("b", "inf")]) == ""


def test_a_chart_is_bounded() -> None:
    svg = chart([("name", False), ("n", True)], [(str(n), str(n)) for n in range(1000)])
    assert len(list(tree(svg).iter("rect"))) == MOST


def box(name: str) -> Box:
    return Box(name, "up", "fresh", ("1.0 statements/s", "all copies fresh"), f"/c/{name}")


@pytest.mark.parametrize("number", [0, 1, 2, 3, 12])
def test_the_map_has_every_cluster_within_the_picture(number: int) -> None:
    svg = tree(cluster_map([box(f"c{n}") for n in range(number)], []))
    shapes = [each for each in svg.iter("rect") if "box" in each.get("class", "")]
    assert len(shapes) == number
    for each in shapes:
        x, y, width, height = (float(each.get(k, "0")) for k in ("x", "y", "width", "height"))
        assert x >= 0
        assert y >= 0
        assert x + width <= float(svg.get("width", "0"))
        assert y + height <= float(svg.get("height", "0"))


def test_flows_are_as_wide_as_their_bytes_and_only_between_known_clusters() -> None:
    flows = [
        Flow("a", "b", 10**9, "1 GB"),
        Flow("b", "a", 10**3, "1 KB", failed=True),
        Flow("a", "gone", 5, "5 B"),
        Flow("a", "a", 5, "5 B"),
    ]
    lines = [
        x
        for x in tree(cluster_map([box("a"), box("b")], flows)).iter("path")
        if x.get("stroke-width")
    ]
    widths = [float(each.get("stroke-width", "0")) for each in lines]
    assert widths[0] == 14.0
    assert 2.0 < widths[1] < widths[0]
    assert [each.get("class") for each in lines] == ["flow", "flow failed"]
    assert cluster_map([box("a"), box("b")], [Flow("a", "b", 0, "nothing")])
