"""Draws instances in a grid: a row for each schedule or day, a column for each hour. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from console.drawing.svg import element, label, picture, tooltip

_CELL, _GAP, _TOP = 15, 2, 18
_STEP = _CELL + _GAP
GLYPHS = {
    "FAILED": "×",
    "TIMEDOUT": "T",
    "KILLED": "–",
    "RUNNING": "▸",
    "SUSPENDED": "‖",
    "READY": "○",
    "WAITING": "·",
    "SKIPPED": "/",
    "SUCCEEDED": "",
}
"""The mark of each state of an instance, the worst first. A cell shows its worst state."""


@dataclass(frozen=True, slots=True)
class GridCell:
    """The instances of one hour: their worst state, their number, a description, and a link to
    their list. `missed` says whether one missed an agreement."""

    state: str
    count: int
    words: str
    link: str
    missed: bool = False


@dataclass(frozen=True, slots=True)
class GridRow:
    """A row of the grid. A cell is None if no instance is due in its hour."""

    label: str
    cells: Sequence[GridCell | None]
    link: str = ""


def worst(states: Iterable[str]) -> str:
    """The worst of the states."""
    present = set(states)
    return next((state for state in GLYPHS if state in present), "SUCCEEDED")


def grid(title: str, columns: Sequence[str], rows: Sequence[GridRow]) -> str:
    """The picture. `columns` are the labels of the columns; empty ones are not drawn."""
    margin = min(max((len(row.label) for row in rows), default=0), 48) * 7 + 12
    parts = [
        label(margin + _STEP * number + _CELL / 2, 12, words, class_="axis", text_anchor="middle")
        for number, words in enumerate(columns)
        if words
    ]
    for number, row in enumerate(rows):
        parts += _row(row, margin, _TOP + number * _STEP)
    return picture(
        margin + len(columns) * _STEP,
        _TOP + len(rows) * _STEP,
        title,
        _described(rows),
        parts,
        class_="grid",
        links=True,
    )


def _row(row: GridRow, margin: int, top: int) -> Iterator[str]:
    words = row.label if len(row.label) <= 48 else row.label[:47] + "…"
    text = label(margin - 8, top + 12, words, class_="row-label")
    yield element("a", text, href=row.link) if row.link else text
    for column, cell in enumerate(row.cells):
        if cell is not None:
            yield _cell(cell, margin + column * _STEP, top)


def _cell(cell: GridCell, x: int, y: int) -> str:
    parts = element(
        "rect", class_=f"i-{cell.state.lower()}", x=x, y=y, width=_CELL, height=_CELL, rx=2
    )
    mark = GLYPHS.get(cell.state, "?") or (str(cell.count) if 1 < cell.count < 100 else "")
    if mark:
        parts += label(x + _CELL / 2, y + 11, mark, class_="mark", text_anchor="middle")
    if cell.missed:
        parts += element("path", class_="missed", d=f"M{x} {y}h6l-6 6z")
    # Not reachable by keyboard: the list beside the picture has the same links.
    return element("a", tooltip(cell.words) + parts, href=cell.link, tabindex=-1)


def _described(rows: Sequence[GridRow]) -> str:
    lines = []
    for row in rows:
        counts: dict[str, int] = {}
        for cell in row.cells:
            if cell is not None:
                counts[cell.state] = counts.get(cell.state, 0) + 1
        summary = ", ".join(f"{count} {state.lower()}" for state, count in counts.items())
        lines.append(f"{row.label}: {summary or 'nothing'}")
    return "; ".join(lines)
