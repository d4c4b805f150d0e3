"""Formats numbers and times for users. Pure; templates use these functions as filters."""

from datetime import UTC, datetime

from markupsafe import Markup

from conf.formats import utc

UNKNOWN = "–"
_UNITS = ("B", "KB", "MB", "GB", "TB", "PB")
_STEPS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))


def time(when: float | str | None) -> Markup:
    """The element `<time>` for epoch seconds or an ISO 8601 text. A script shows it in the viewer's
    time zone."""
    if when is None or when == "":
        return Markup(UNKNOWN)
    text = when if isinstance(when, str) else utc(when)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return Markup.escape(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    words = moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return Markup('<time datetime="{}">{}</time>').format(moment.isoformat(), words)


def seconds(value: float | None) -> str:
    """A duration: `4 ms`, `1.25 s`, `3.2 min`, `5.0 h`, `2.1 d`."""
    if value is None:
        return UNKNOWN
    for step, unit in _STEPS:
        if value >= step * 1.5:
            return f"{value / step:.1f} {unit}"
    if value >= 1:
        return f"{value:.2f} s" if value < 10 else f"{value:.0f} s"
    return f"{value * 1000:.1f} ms" if value < 0.01 else f"{value * 1000:.0f} ms"


def size(value: float | None) -> str:
    """Bytes: `512 B`, `1.4 MB`."""
    if value is None:
        return UNKNOWN
    unit = 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return (
        f"{value:.0f} {_UNITS[unit]}"
        if unit == 0 or value >= 100
        else f"{value:.1f} {_UNITS[unit]}"
    )


def number(value: float | None) -> str:
    """A count with thin spaces between thousands."""
    return UNKNOWN if value is None else f"{value:,.0f}".replace(",", "\u202f")


def count(value: int, noun: str) -> str:
    """`1 statement`, `2 statements`."""
    return f"{number(value)} {noun}" if value == 1 else f"{number(value)} {noun}s"
