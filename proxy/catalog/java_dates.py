"""Dates as java.util.Date writes them, in time zones for which this is certain."""

from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

# Zones with the same short names and rules in Java and in the time zone database from FIRST to
# LAST; `tests/proxy/catalog/test_java_dates.py` compares them.
ZONES = frozenset(
    [
        *("UTC", "Etc/UTC", "GMT", "Etc/GMT"),
        *("Europe/Amsterdam", "Europe/Athens", "Europe/Belgrade", "Europe/Berlin"),
        *("Europe/Brussels", "Europe/Bucharest", "Europe/Budapest", "Europe/Copenhagen"),
        *("Europe/Dublin", "Europe/Helsinki", "Europe/Lisbon", "Europe/London"),
        *("Europe/Luxembourg", "Europe/Madrid", "Europe/Oslo", "Europe/Paris", "Europe/Prague"),
        *("Europe/Rome", "Europe/Sofia", "Europe/Stockholm", "Europe/Vienna", "Europe/Warsaw"),
        *("Europe/Zurich", "America/New_York", "America/Chicago", "America/Denver"),
        *("America/Phoenix", "America/Los_Angeles", "America/Toronto"),
        *("Asia/Tokyo", "Asia/Seoul", "Asia/Shanghai", "Asia/Hong_Kong", "Asia/Taipei"),
        *("Asia/Kolkata", "Asia/Calcutta", "Australia/Sydney", "Australia/Melbourne"),
        *("Australia/Brisbane", "Australia/Perth", "Pacific/Auckland"),
    ]
)
FIRST, LAST = 1_262_347_200, 2_114_380_800  # Unix times in 2010 and 2037
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def java_date(seconds: int, zone: str) -> str | None:
    """The text for a Unix time; None if it is not certain."""
    zone_info = _zone(zone) if FIRST <= seconds <= LAST else None
    if zone_info is None:
        return None
    time = datetime.fromtimestamp(seconds, UTC).astimezone(zone_info)
    day, month = _DAYS[time.weekday()], _MONTHS[time.month - 1]
    return f"{day} {month} {time:%d %H:%M:%S %Z} {time.year}"


@lru_cache(len(ZONES))
def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name) if name in ZONES else None
    except ZoneInfoNotFoundError:
        return None
