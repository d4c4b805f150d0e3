"""An assessment as one HTML page, which loads nothing from elsewhere and runs no script."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from advice.assessment import Assessment, Point, advice_document
from advice.replay import Verdict
from conf.sizes import size_text

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; color: #1c2733 }
h1, h2 { font-weight: 600 } table { border-collapse: collapse; margin: .5rem 0 1.5rem }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #dde3ea }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
code { font-size: 13px } svg text { font: 12px system-ui, sans-serif; fill: #445 }
"""
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 320, 60, 40


def page(found: Assessment) -> str:
    """The page's text. What comes from the log is escaped."""
    body = [
        "<h1>Assessment</h1>",
        _paragraph(
            f"{found.replayed.statements:,} statements of {found.replayed.templates:,} templates,"
            f" {found.replayed.rate:,.1f} a day. {found.today:.1%} of them run today,"
            f" {found.reachable:.1%} would with copies of everything"
            f" ({size_text(found.everything)})."
        ),
        "<h2>Copies and what they let run</h2>",
        _curve(found),
        _points(found.points),
        "<h2>Today</h2>",
        *_today(found),
        *(
            part
            for point in found.points
            if point.share in (0.9, 0.95, 0.99)
            for part in _copies(point, found)
        ),
    ]
    text = "\n".join(body)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>Causeway assessment</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{text}\n</body></html>\n"
    )


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int) -> str:
    """The last `numbers` columns are numbers."""
    first = len(head) - numbers

    def line(cells: Sequence[str], tag: str) -> str:
        marked = (
            f"<{tag}{' class=n' if at >= first else ''}>{escape(cell)}</{tag}>"
            for at, cell in enumerate(cells)
        )
        return f"<tr>{''.join(marked)}</tr>"

    return "\n".join(["<table>", line(head, "th"), *(line(row, "td") for row in rows), "</table>"])


def _points(points: Sequence[Point]) -> str:
    rows = [
        (
            f"{point.share:.1%}",
            f"{point.reached:.1%}",
            str(sum(each.action != "drop" for each in point.advice)),
            size_text(point.kept),
            size_text(point.sent),
        )
        for point in points
    ]
    return _table(("wanted", "run", "copies", "bytes kept", "bytes a day"), rows, 5)


def _today(found: Assessment) -> Iterator[str]:
    rows = [
        (
            verdict.value,
            group.reason,
            group.example,
            f"{group.templates:,}",
            f"{group.statements:,}",
        )
        for verdict in Verdict
        for group in found.replayed.groups.get(verdict, ())
    ]
    counts = [
        (verdict.value, f"{found.replayed.verdicts.get(verdict, 0):,}") for verdict in Verdict
    ]
    counts += [(f"not read: {reason}", f"{n:,}") for reason, n in sorted(found.unread.items())]
    yield _table(("statements", "number"), counts, 1)
    if rows:
        yield _table(("", "reason", "example", "templates", "statements"), rows, 2)


def _copies(point: Point, found: Assessment) -> Iterator[str]:
    yield f"<h2>Copies for {point.share:.0%}</h2>"
    rows = []
    for each in point.advice:
        about = advice_document(each, found.stock)
        rows.append(
            (
                each.action,
                f"{each.table} {about['partitions']}".strip(),
                f"{each.source} to {each.cluster}",
                size_text(each.kept),
                size_text(each.sent),
                f"{each.statements:,.1f}",
            )
        )
    head = ("", "table", "copy", "bytes", "bytes a day", "statements a day")
    yield _table(head, rows, 3)


def _curve(found: Assessment) -> str:
    """The share that runs by the bytes kept, as SVG."""
    points = [(0.0, found.today), *((point.kept, point.reached) for point in found.points)]
    points.sort()
    most = max((kept for kept, _ in points), default=0.0) or 1.0
    width, height = _WIDTH - _LEFT - 20, _HEIGHT - _BOTTOM - 20

    def place(kept: float, share: float) -> tuple[float, float]:
        return _LEFT + kept / most * width, 20 + (1 - share) * height

    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(kept, share) for kept, share in points))
    marks = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        _, y = place(0, share)
        marks.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - 20}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dde3ea"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>'
        )
    for part in (0, 0.25, 0.5, 0.75, 1):
        x, _ = place(part * most, 0)
        text = escape(size_text(part * most))
        marks.append(f'<text x="{x:.1f}" y="{_HEIGHT - 15}" text-anchor="middle">{text}</text>')
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#1f6feb"><title>{share:.1%}:'
        f" {escape(size_text(kept))}</title></circle>"
        for kept, share in points
        for x, y in (place(kept, share),)
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img"'
        ' aria-label="share of statements that run by bytes of copies">'
        f'{"".join(marks)}<polyline points="{path}" fill="none" stroke="#1f6feb"'
        f' stroke-width="2"/>{dots}</svg>'
    )
