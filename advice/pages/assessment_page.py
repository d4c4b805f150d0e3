"""An assessment as one HTML page, which loads nothing from other places and runs no script."""

from collections.abc import Iterator, Sequence

from advice.assessment import Assessment, Point, advice_document
from advice.pages.html import curve, document, paragraph, table
from advice.replay import ReplayVerdict
from conf.formats import size_text


def page(assessment: Assessment) -> str:
    """The page's text. Texts from the log are escaped."""
    replayed = assessment.replayed
    body = [
        "<h1>Assessment</h1>",
        paragraph(
            f"{replayed.statements:,} statements of {replayed.templates:,} templates,"
            f" {replayed.rate:,.1f} a day. {assessment.today:.1%} of them run today,"
            f" {assessment.reachable:.1%} would with copies of everything"
            f" ({size_text(assessment.everything)})."
        ),
        "<h2>Copies and what they let run</h2>",
        _curve(assessment),
        _points(assessment.points),
        "<h2>Today</h2>",
        *_today(assessment),
        *(
            part
            for point in assessment.points
            if point.share in (0.9, 0.95, 0.99)
            for part in _copies(point, assessment)
        ),
    ]
    return document("Causeway assessment", body)


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
    return table(("wanted", "run", "copies", "bytes kept", "bytes a day"), rows, 5)


def _today(assessment: Assessment) -> Iterator[str]:
    rows = [
        (
            verdict.value,
            group.reason,
            group.example,
            f"{group.templates:,}",
            f"{group.statements:,}",
        )
        for verdict in ReplayVerdict
        for group in assessment.replayed.groups.get(verdict, ())
    ]
    counts = [
        (verdict.value, f"{assessment.replayed.verdicts.get(verdict, 0):,}")
        for verdict in ReplayVerdict
    ]
    counts += [(f"not read: {reason}", f"{n:,}") for reason, n in sorted(assessment.unread.items())]
    yield table(("statements", "number"), counts, 1)
    if rows:
        yield table(("", "reason", "example", "templates", "statements"), rows, 2)


def _copies(point: Point, assessment: Assessment) -> Iterator[str]:
    yield f"<h2>Copies for {point.share:.0%}</h2>"
    rows = []
    for each in point.advice:
        about = advice_document(each, assessment.stock)
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
    yield table(head, rows, 3)


def _curve(assessment: Assessment) -> str:
    """The curve of the share that runs over the bytes of copies."""
    points = [
        (0.0, assessment.today),
        *((point.kept, point.reached) for point in assessment.points),
    ]
    label = "share of statements that run by bytes of copies"
    return curve(label, sorted(points), size_text, lambda share: f"{share:.1%}", 1.0)
