"""Draws statements over time, as bars in one lane for each cluster, and the phases of one
statement. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from console.drawing.svg import element, label, picture, tooltip

PHASES = ("analyse", "decide", "copy", "queue", "connect", "execute", "fetch")
WORDS = {
    "queue": "waited for other writes",
    "analyse": "read the statement",
    "decide": "asked the metastore and decided",
    "copy": "had missing data copied",
    "connect": "opened a session",
    "execute": "ran in the cluster",
    "fetch": "sent rows",
}
_WIDTH, _LEFT, _ROW, _BAR, _TOP = 1200.0, 150.0, 18.0, 14.0, 8.0
MAX_ROWS = 12  # rows of bars in a lane


@dataclass(frozen=True, slots=True)
class StatementBar:
    """A statement that took `seconds` from `began` on; `phases` has the seconds of each phase.
    `state` is running, finished, failed or refused."""

    name: str
    words: str
    link: str
    state: str
    began: float
    seconds: float
    phases: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lane:
    """The statements of one cluster."""

    title: str
    note: str
    bars: Sequence[StatementBar]


def lanes(found: Sequence[Lane], now: float, span: float) -> str:
    """The picture of the last `span` seconds until `now`."""
    scale = (_WIDTH - _LEFT - 10) / span
    parts, top = [], _TOP
    for lane in found:
        rows, more = _rows(lane.bars, now - span, scale)
        height = max(len(rows), 2) * _ROW + 8
        parts.append(element("rect", class_="lane", x=0, y=top, width=_WIDTH, height=height, rx=4))
        parts.append(label(10, top + 17, lane.title, class_="name"))
        parts.append(label(10, top + 33, lane.note + (f" +{more}" if more else ""), class_="note"))
        for number, row in enumerate(rows):
            y = top + 4 + number * _ROW
            parts += [_bar(each, now - span, scale, y) for each in row]
        top += height + 6
    step = span / 4
    for number in range(5):
        x = _LEFT + number * step * scale
        words = "now" if number == 4 else f"-{span - number * step:.0f} s"
        parts.append(element("path", class_="tick", d=f"M{x:.0f} {_TOP}V{top:.0f}"))
        anchor = "end" if number == 4 else "middle"
        parts.append(label(x, top + 12, words, class_="axis", text_anchor=anchor))
    total = sum(len(lane.bars) for lane in found)
    about = f"{total} statements of the last {span:.0f} seconds in {len(found)} lanes."
    title = "Statements by cluster"
    return picture(_WIDTH, top + 18, title, about, parts, class_="lanes", links=True)


def _rows(
    bars: Sequence[StatementBar], start: float, scale: float
) -> tuple[list[list[StatementBar]], int]:
    """The bars in as few rows as possible without overlap, and the number of bars left out."""
    rows: list[list[StatementBar]] = []
    ends: list[float] = []
    more = 0
    for bar in sorted(bars, key=lambda each: each.began):
        left, right = _place(bar, start, scale)
        at = next((n for n, end in enumerate(ends) if end + 2 <= left), len(rows))
        if at == MAX_ROWS:
            more += 1
            continue
        if at == len(rows):
            rows.append([])
            ends.append(0.0)
        rows[at].append(bar)
        ends[at] = right
    return rows, more


def _place(bar: StatementBar, start: float, scale: float) -> tuple[float, float]:
    left = _LEFT + max(bar.began - start, 0.0) * scale
    right = _LEFT + max(bar.began + bar.seconds - start, 0.0) * scale
    return left, max(right, left + 4)


def _bar(bar: StatementBar, start: float, scale: float, y: float) -> str:
    left, right = _place(bar, start, scale)
    parts = [tooltip(f"{bar.words} ({bar.state})")]
    box = {"y": y, "height": _BAR}
    outline = f"bar {bar.state}"
    parts.append(element("rect", class_=outline, x=left, width=right - left, rx=2, **box))
    at = bar.began
    for phase in PHASES:
        spent = bar.phases.get(phase, 0.0)
        x, end = (max(_LEFT, _LEFT + (each - start) * scale) for each in (at, at + spent))
        at += spent
        if end - x >= 1:
            width = min(end, right) - x
            parts.append(element("rect", class_=f"p-{phase}", x=x, width=width, **box))
    if bar.state in ("failed", "refused"):
        parts.append(label(left + 2, y + 11, "✕", class_="sign"))
    return element("a", "".join(parts), href=bar.link, aria_label=f"{bar.words} ({bar.state})")


def phase_bar(phases: Mapping[str, float]) -> str:
    """The picture of one statement's phases, in their order, with widths by their time."""
    total = sum(phases.get(each, 0.0) for each in PHASES) or 1.0
    parts, x = [], 0.0
    for phase in PHASES:
        width = phases.get(phase, 0.0) / total * _WIDTH
        if width > 0:
            shape = element("rect", class_=f"p-{phase}", x=x, y=0, width=max(width, 1.5), height=22)
            parts.append(element("g", tooltip(f"{phase}: {WORDS[phase]}") + shape))
        x += width
    about = "The time of each phase."
    return picture(_WIDTH, 22, "Phases", about, parts, class_="lanes phases")
