"""Draws clusters as boxes, and copies between them as arrows. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, hypot, log10, pi, sin

from console.drawing.svg import element, label, picture, tooltip

_WIDTH, _BOX, _TALL = 1200.0, 236.0, 96.0
_WIDEST = 14.0  # width of the largest flow
_BEND = 46.0  # distance of a flow from the straight line, which keeps opposite flows apart


@dataclass(frozen=True, slots=True)
class Box:
    """A cluster. `level` is fresh, minutes, hours or days: the largest lag of its copies. `health`
    is up, drained, down or unknown."""

    name: str
    health: str
    level: str
    lines: Sequence[str]
    link: str = ""


@dataclass(frozen=True, slots=True)
class Flow:
    """The copies from one cluster to another; `bytes` were sent."""

    source: str
    target: str
    bytes: int
    words: str
    failed: bool = False


def cluster_map(boxes: Sequence[Box], flows: Sequence[Flow]) -> str:
    """The picture. Flows to or from unknown clusters are left out."""
    height = 300.0 if len(boxes) <= 2 else 480.0
    places = _places([box.name for box in boxes], height)
    most = max((flow.bytes for flow in flows), default=0)
    known = [flow for flow in flows if flow.source in places and flow.target in places]
    parts = [_flow(each, places, most) for each in known if each.source != each.target]
    parts += [_box(each, *places[each.name]) for each in boxes]
    words = "; ".join([f"{box.name}: {', '.join(box.lines)}" for box in boxes])
    about = words + "".join(f"; {flow.source} to {flow.target}: {flow.words}" for flow in known)
    return picture(_WIDTH, height, "Clusters", about, parts, class_="map", links=True)


def _places(names: Sequence[str], height: float) -> dict[str, tuple[float, float]]:
    """The centre of each box. The boxes are on an ellipse that begins at the left."""
    wide, tall = (_WIDTH - _BOX) / 2 - 20, (height - _TALL) / 2 - 10
    if len(names) <= 2:
        wide, tall = wide * 0.75, 0.0
    if len(names) == 1:
        wide = 0.0
    turn = 2 * pi / max(len(names), 1)
    return {
        name: (_WIDTH / 2 - wide * cos(at * turn), height / 2 - tall * sin(at * turn))
        for at, name in enumerate(names)
    }


def _box(box: Box, x: float, y: float) -> str:
    left, top = x - _BOX / 2, y - _TALL / 2
    parts = [
        tooltip(f"{box.name}: {', '.join(box.lines)}"),
        element(
            "rect", class_=f"box lag-{box.level}", x=left, y=top, width=_BOX, height=_TALL, rx=8
        ),
        element(
            "rect", class_=f"band lag-{box.level}", x=left, y=top + 10, width=6, height=_TALL - 20
        ),
        element("circle", class_=f"health {box.health}", cx=left + 26, cy=top + 22, r=6),
        label(left + 40, top + 27, f"{box.name}", class_="name"),
        label(left + _BOX - 14, top + 27, box.health, class_="note", text_anchor="end"),
    ]
    parts += [
        label(left + 20, top + 48 + 18 * at, line, class_="note")
        for at, line in enumerate(box.lines[:3])
    ]
    whole = "".join(parts)
    return element("a", whole, href=box.link) if box.link else element("g", whole)


def _flow(flow: Flow, places: dict[str, tuple[float, float]], most: int) -> str:
    (x, y), (to_x, to_y) = places[flow.source], places[flow.target]
    length = hypot(to_x - x, to_y - y) or 1.0
    across, down = -(to_y - y) / length, (to_x - x) / length
    bend_x, bend_y = (x + to_x) / 2 + across * _BEND, (y + to_y) / 2 + down * _BEND
    x, y = _edge(x, y, bend_x, bend_y)
    to_x, to_y = _edge(to_x, to_y, bend_x, bend_y)
    width = 2.0 + (_WIDEST - 2.0) * log10(flow.bytes + 1) / log10(most + 1) if most else 2.0
    state = "flow failed" if flow.failed else "flow"
    path = f"M{x:.0f} {y:.0f}Q{bend_x:.0f} {bend_y:.0f} {to_x:.0f} {to_y:.0f}"
    line = element("path", class_=state, d=path, stroke_width=f"{width:.1f}")
    steep = hypot(to_x - bend_x, to_y - bend_y) or 1.0
    ahead_x, ahead_y = (to_x - bend_x) / steep, (to_y - bend_y) / steep
    half = width / 2 + 4
    tip = element(
        "path",
        class_=f"{state} tip",
        d=f"M{to_x:.0f} {to_y:.0f}"
        f"L{to_x - 12 * ahead_x - half * ahead_y:.0f} {to_y - 12 * ahead_y + half * ahead_x:.0f}"
        f"L{to_x - 12 * ahead_x + half * ahead_y:.0f} {to_y - 12 * ahead_y - half * ahead_x:.0f}z",
    )
    at_x, at_y = (x + 2 * bend_x + to_x) / 4, (y + 2 * bend_y + to_y) / 4
    words = label(
        at_x + across * 16, at_y + down * 16 + 4, flow.words, class_="axis", text_anchor="middle"
    )
    about = tooltip(f"{flow.source} to {flow.target}: {flow.words}")
    return element("g", about + line + tip + words)


def _edge(x: float, y: float, to_x: float, to_y: float) -> tuple[float, float]:
    """The point, a little outside of a box, where the line from its centre to a point leaves it."""
    across, down = to_x - x, to_y - y
    steps = [
        (size / 2 + 4) / abs(by) for size, by in ((_BOX, across), (_TALL, down)) if abs(by) > 1e-9
    ]
    step = min(steps, default=0.0)
    return x + across * step, y + down * step
