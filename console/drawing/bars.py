"""Draws a result as bars: the first text column has their names, the first number column their
lengths. Pure."""

from collections.abc import Sequence

from console.drawing.svg import element, label, picture, tooltip

MOST = 30  # bars
_WIDTH, _LEFT, _RIGHT, _ROW = 760.0, 180.0, 90.0, 20.0


def chart(columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str | None]]) -> str:
    """The picture of the first rows. `columns` has the name of each column, and whether it holds
    numbers. Empty for fewer than two rows, or without a number column and another column."""
    names = next((at for at, (_, number) in enumerate(columns) if not number), None)
    lengths = next((at for at, (_, number) in enumerate(columns) if number), None)
    if names is None or lengths is None or len(rows) < 2:
        return ""
    found = [(row[names] or "NULL", _number(row[lengths])) for row in rows[:MOST]]
    known = [value for _, value in found if value is not None]
    if not known:
        return ""
    low, high = min(0.0, *known), max(0.0, *known)
    scale = (_WIDTH - _LEFT - _RIGHT) / ((high - low) or 1.0)
    zero = _LEFT - low * scale
    parts = []
    for at, (name, value) in enumerate(found):
        y = at * _ROW + 2
        parts.append(label(_LEFT - 8, y + 13, _short(name), class_="axis", text_anchor="end"))
        if value is not None:
            x, width = min(zero, zero + value * scale), abs(value) * scale
            shape = element("rect", class_="bar", x=x, y=y, width=max(width, 1.0), height=_ROW - 4)
            parts.append(element("g", tooltip(f"{name}: {value:g}") + shape))
            end = x + width + 6
            parts.append(label(end, y + 13, f"{value:,.6g}", class_="axis"))
    title = f"{columns[lengths][0]} by {columns[names][0]}"
    words = ", ".join(f"{name}: {value:g}" for name, value in found if value is not None)
    return picture(_WIDTH, len(found) * _ROW + 4, title, words, parts, class_="bars")


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if abs(value) < 1e300 else None  # excludes NaN and infinite values, too


def _short(text: str) -> str:
    return text if len(text) <= 26 else f"{text[:25]}…"
