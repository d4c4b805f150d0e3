"""Dates as Java writes them, compared with Java."""

import os
import subprocess
from pathlib import Path

import pytest

from cli.stack.java import find_java
from cli.stack.stack import spark_home
from proxy.catalog.java_dates import FIRST, LAST, ZONES, java_date

PROGRAM = Path(__file__).parent / "java" / "DateCases.java"
STEP = 13 * 86_400 + 3_671  # seconds: every season, and every hour of the day


@pytest.mark.slow
def test_dates_equal_javas_in_all_zones() -> None:
    argv = [str(find_java()), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp"]
    argv += [os.pathsep.join((f"{spark_home() / 'jars'}/*",))]
    argv += ["org.codehaus.janino.SimpleCompiler", str(PROGRAM), "DateCases"]
    argv += [str(FIRST), str(LAST), str(STEP), *sorted(ZONES)]
    printed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    lines = [line.split("\t") for line in printed.splitlines()]
    assert {zone for zone, _, _ in lines} == ZONES
    for zone, seconds, expected in lines:
        assert java_date(int(seconds), zone) == expected


@pytest.mark.parametrize(
    ("seconds", "zone"),
    [(FIRST, ""), (FIRST, "GMT+1"), (FIRST, "Asia/Tehran"), (FIRST - 1, "UTC"), (LAST + 1, "UTC")],
)
def test_dates_in_other_zones_and_years_are_not_certain(seconds: int, zone: str) -> None:
    assert java_date(seconds, zone) is None
