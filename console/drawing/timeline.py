"""Draws the actions of a Hudi table over time, in one lane for each kind. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from console.drawing.svg import element, label, picture, tooltip

_WIDTH, _LANE, _MARGIN = 800.0, 20.0, 110.0


@dataclass(frozen=True, slots=True)
class Mark:
    """An action: its lane, the epoch seconds of its request and completion (None while it runs),
    and its description. `read` says whether a pull would read it."""

    lane: str
    began: float
    ended: float | None
    words: str
    read: bool = False


def timeline(title: str, marks: Sequence[Mark], times: tuple[str, str]) -> str:
    """The picture from the oldest action to the newest. `times` are the labels of these two."""
    lanes = list(dict.fromkeys(mark.lane for mark in marks))
    start = min((mark.began for mark in marks), default=0.0)
    end = max((mark.ended or mark.began for mark in marks), default=1.0)
    parts = []
    for number, lane in enumerate(lanes):
        y = number * _LANE + _LANE / 2
        parts.append(label(_MARGIN - 8, y + 4, lane, class_="row-label"))
        parts.append(element("path", class_="lane", d=f"M{_MARGIN} {y}h{_WIDTH}"))
    for mark in marks:
        x = _MARGIN + 6 + (_WIDTH - 12) * (mark.began - start) / max(end - start, 1e-9)
        y = lanes.index(mark.lane) * _LANE + _LANE / 2
        kind = "read" if mark.read else "done" if mark.ended is not None else "running"
        words = tooltip(mark.words)
        parts.append(element("circle", words, class_=f"mark-{kind}", cx=x, cy=y, r=5))
    bottom = len(lanes) * _LANE
    parts.append(label(_MARGIN, bottom + 12, times[0], class_="axis"))
    right = _MARGIN + _WIDTH
    parts.append(label(right, bottom + 12, times[1], class_="axis", text_anchor="end"))
    counts = ", ".join(f"{sum(mark.lane == lane for mark in marks)} {lane}" for lane in lanes)
    return picture(right + 2, bottom + 18, title, f"{counts}.", parts, class_="timeline")
