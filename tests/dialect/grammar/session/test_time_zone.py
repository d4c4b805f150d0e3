"""The offsets that Spark computes for SET TIME ZONE INTERVAL."""

import pytest

from dialect.errors import NotUnderstood
from dialect.grammar.session.time_zone import offset
from dialect.lexing.tokenize import tokenize


@pytest.mark.parametrize(
    ("interval", "zone"),
    [
        ("10 HOURS", "+10:00"),
        ("-10 HOURS", "-10:00"),
        ("'10' HOUR", "+10:00"),
        ("-'-10' HOUR", "+10:00"),
        ("-'+10' HOUR", "-10:00"),
        ("10 HOURS 30 MINUTES", "+10:30"),
        ("10 HOURS -30 MINUTES 5 SECONDS", "+09:30:05"),
        ("'15:40:32' HOUR TO SECOND", "+15:40:32"),
        ("-'15:40' HOUR TO MINUTE", "-15:40"),
        ("'40:05' MINUTE TO SECOND", "+00:40:05"),
        ("3600000 MILLISECONDS", "+01:00"),
        ("0 DAYS", "Z"),
        ("18 HOURS", "+18:00"),
        # Spark refuses these.
        ("3 DAYS", None),
        ("1 MONTH", None),
        ("24 HOURS", None),
        ("'19:40:32' HOUR TO SECOND", None),
        ("10 HOURS 'GMT+1'", None),
        ("10 HOURS 1 MILLISECOND", None),
    ],
)
def test_an_interval_is_converted_to_an_offset(interval: str, zone: str | None) -> None:
    assert offset(tokenize(interval)) == zone


@pytest.mark.parametrize(
    "interval",
    ["", "10", "HOURS 10", "1.5 HOURS", "10 NANOSECONDS", "'10:70' HOUR TO MINUTE", "'1' DAY TO x"],
)
def test_an_uncertain_interval_is_refused(interval: str) -> None:
    with pytest.raises(NotUnderstood):
        offset(tokenize(interval))
