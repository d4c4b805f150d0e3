"""A day of the fleet as JSON, as a table for a terminal, and as a page with curves."""

import resource
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from advice.pages.html import curve, document, paragraph, table
from bench.fleet.day import NOON, Course
from bench.fleet.figures import totals
from bench.fleet.shapes import DISTINCT, READ_AGAIN, REPEATED, SECONDS, TOP_SHARE
from conf.formats import size_text

_HOUR = 3_600 // SECONDS  # periods


def figures(course: Course) -> dict[str, Any]:
    """The figures that are the same for equal options."""
    planned = None if course.planned is None else asdict(course.planned)
    if planned is not None:
        del planned["seconds"]
    options = asdict(course.options)
    return {
        "options": options,
        "tables": course.tables,
        "partitions": course.partitions,
        "statements": course.statements,
        "share_routed": round(sum(e.routed for e in course.periods) / course.statements, 4),
        "templates": course.templates,
        "analysed": course.analysed,
        "shapes": course.shapes,
        "before_advice": totals(course.periods[:NOON]),
        "after_advice": totals(course.periods[NOON:]),
        "advice": planned,
        "links": course.links,
        "periods": [period.figures() for period in course.periods],
    }


def times(course: Course) -> dict[str, Any]:
    """The figures that depend on the machine: processor seconds, microseconds, bytes."""
    return {
        "seconds": round(course.seconds, 1),
        "analysis_of_a_template": round(1e6 * course.analysis_seconds / max(course.analysed, 1), 1),
        "advice": None if course.planned is None else course.planned.seconds,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "periods": [period.times() for period in course.periods],
    }


def as_text(course: Course) -> Iterator[str]:
    """The lines for a terminal, one for each hour, and a summary."""
    found, took = figures(course), times(course)
    yield (
        f"{course.tables:,} tables, {course.partitions:,} partitions; {course.statements:,}"
        f" statements of {course.templates:,} templates, {found['share_routed']:.0%} of them"
        f" decided; seed {course.options.seed}"
    )
    yield from _shape_lines(found["shapes"])
    yield (
        "hour   routed refused  lag s  p99   stale       sent  memory%  calls/s"
        "   decision us  p99     RSS"
    )
    for hour in range(len(course.periods) // _HOUR):
        yield _hour_line(course, hour)
    for name in ("before_advice", "after_advice"):
        part = found[name]
        yield (
            f"{name.replace('_', ' ')}: {part['refused_share']:.1%} of {part['routed']:,} refused,"
            f" lag {part['lag_median']:,.0f} s (p99 {part['lag_p99']:,.0f}),"
            f" {size_text(part['bytes_sent'])} sent"
        )
    if course.planned is not None:
        plan = course.planned
        yield (
            f"advice: {plan.replayed:,} statements of {plan.tables:,} tables replayed,"
            f" {plan.demands:,} demands, {plan.candidates:,} candidates; {plan.made:,} copies made,"
            f" {plan.dropped:,} dropped, {size_text(plan.bytes)}; seconds {plan.seconds}"
        )
    yield (
        f"{took['seconds']:,.0f} s of the processor, {size_text(took['memory'])} of memory;"
        f" a template's analysis {took['analysis_of_a_template']:,.0f} us"
    )


def _shape_lines(shapes: dict[str, Any]) -> Iterator[str]:
    yield (
        f"paths a job {shapes['paths_a_job']:.3f} (trace {DISTINCT:.3f}); jobs of the top 1 % of"
        f" paths {shapes['jobs_of_top_paths']:.1%} ({TOP_SHARE:.0%}); bytes read again"
        f" {shapes['bytes_read_again']:.1%} ({READ_AGAIN:.0%}); texts repeated"
        f" {shapes['texts_repeated']:.1%} (at least {REPEATED:.0%})"
    )


def _hour_line(course: Course, hour: int) -> str:
    periods = course.periods[hour * _HOUR : (hour + 1) * _HOUR]
    part, last = totals(periods), periods[-1]
    calls = sum(part["metastore_calls"].get(name, 0) for name in _CALLS) / 3_600
    in_memory = part["from_memory"] / max(part["tables_looked_up"], 1)
    busiest = max(periods, key=lambda each: each.decisions.quantile(0.99))
    decided = sum(each.decisions.total for each in periods) / max(part["routed"], 1)
    return (
        f"{hour:4} {part['routed']:8,} {part['refused_share']:7.1%} {part['lag_median']:6,.0f}"
        f" {part['lag_p99']:6,.0f} {last.stale:6,} {size_text(part['bytes_sent']):>10}"
        f" {in_memory:8.1%} {calls:8,.1f} {1e6 * decided:12,.0f}"
        f" {1e6 * busiest.decisions.quantile(0.99):6,.0f} {size_text(last.rss):>8}"
    )


_CALLS = (
    "get_table",
    "get_partition_names",
    "get_partition_names_ps",
    "get_partitions_by_names",
)


def page(course: Course) -> str:
    """An HTML page with the curves."""
    found, periods = figures(course), course.periods
    hours = [(number + 1) * SECONDS / 3_600 for number in range(len(periods))]
    curves = (
        ("Refused", [each.refused / max(each.routed, 1) for each in periods], "{:.1%}"),
        ("Lag of copies, median seconds", [e["lag_median"] for e in found["periods"]], "{:,.0f}"),
        ("Lag of copies, 99 % below, seconds", [e["lag_p99"] for e in found["periods"]], "{:,.0f}"),
        ("Stale copies", [float(each.stale) for each in periods], "{:,.0f}"),
        ("Gigabytes sent", [each.sent / 1e9 for each in periods], "{:,.1f}"),
        (
            "Tables found in memory",
            [each.hits / max(each.looked_up, 1) for each in periods],
            "{:.1%}",
        ),
        (
            "Decision, mean microseconds of the processor",
            [1e6 * e.decisions.total / max(e.decisions.count, 1) for e in periods],
            "{:,.0f}",
        ),
        ("Memory of the process, gigabytes", [each.rss / 1e9 for each in periods], "{:,.2f}"),
    )
    body = ["<h1>A day of a fleet</h1>", *(paragraph(line) for line in _summary(course))]
    for name, values, form in curves:
        points = list(zip(hours, values, strict=True))
        drawn = curve(name, points, "{:.0f} h".format, form.format, max(values) or 1.0)
        body += [f"<h2>{name}</h2>", drawn]
    rows = [
        (name, size_text(each["bytes"]), f"{each['busy']:.1%}")
        for name, each in sorted(course.links.items(), key=lambda item: -item[1]["bytes"])
    ]
    body += ["<h2>Links</h2>", table(("link", "bytes", "busy"), rows, 2)]
    return document("A day of a fleet", body)


def _summary(course: Course) -> Iterator[str]:
    """The lines of the summary."""
    return (
        line for line in as_text(course) if not line[:4].strip().isdigit() and "RSS" not in line
    )
