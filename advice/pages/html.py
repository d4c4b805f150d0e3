"""Parts of HTML pages that load nothing from other places and run no script."""

from collections.abc import Callable, Iterable, Sequence
from html import escape

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; color: #1c2733 }
h1, h2 { font-weight: 600 } table { border-collapse: collapse; margin: .5rem 0 1.5rem }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #dde3ea }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
code { font-size: 13px } svg text { font: 12px system-ui, sans-serif; fill: #445 }
"""
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 320, 60, 40


def document(title: str, body: Sequence[str]) -> str:
    """The page's text. The parts of `body` are HTML."""
    text = "\n".join(body)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{text}\n</body></html>\n"
    )


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int) -> str:
    """A table whose last `numbers` columns are numbers."""
    first = len(head) - numbers

    def line(cells: Sequence[str], tag: str) -> str:
        marked = (
            f"<{tag}{' class=n' if at >= first else ''}>{escape(cell)}</{tag}>"
            for at, cell in enumerate(cells)
        )
        return f"<tr>{''.join(marked)}</tr>"

    return "\n".join(["<table>", line(head, "th"), *(line(row, "td") for row in rows), "</table>"])


def curve(
    label: str,
    points: Sequence[tuple[float, float]],
    across: Callable[[float], str],
    upward: Callable[[float], str],
    highest: float,
) -> str:
    """An SVG curve through points in the order of their x. The axes begin at 0. `across` and
    `upward` format the values of x and y, and `highest` is the top of the y axis."""
    most = max((x for x, _ in points), default=0.0) or 1.0
    width, height = _WIDTH - _LEFT - 20, _HEIGHT - _BOTTOM - 20

    def place(x: float, y: float) -> tuple[float, float]:
        return _LEFT + x / most * width, 20 + (1 - y / highest) * height

    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))
    marks = []
    for part in (0, 0.25, 0.5, 0.75, 1):
        _, y = place(0, part * highest)
        text = escape(upward(part * highest))
        marks.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - 20}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dde3ea"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
        )
        x, _ = place(part * most, 0)
        text = escape(across(part * most))
        marks.append(f'<text x="{x:.1f}" y="{_HEIGHT - 15}" text-anchor="middle">{text}</text>')
    dots = "".join(
        f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3" fill="#1f6feb"><title>'
        f"{escape(upward(y))}: {escape(across(x))}</title></circle>"
        for x, y in points
        for left, top in (place(x, y),)
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img"'
        f' aria-label="{escape(label)}">{"".join(marks)}<polyline points="{path}" fill="none"'
        f' stroke="#1f6feb" stroke-width="2"/>{dots}</svg>'
    )
