"""Numbers and times as the pages have them."""

import pytest

from console import shown


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "–"),
        (0.0004, "0.4 ms"),
        (0.25, "250 ms"),
        (1.5, "1.50 s"),
        (61, "61 s"),
        (200, "3.3 min"),
        (7200, "2.0 h"),
        (400_000, "4.6 d"),
    ],
)
def test_seconds(value: float | None, words: str) -> None:
    assert shown.seconds(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "–"), (0, "0 B"), (999, "999 B"), (4_200_000, "4.2 MB"), (2e17, "200 PB")],
)
def test_size(value: float | None, words: str) -> None:
    assert shown.size(value) == words


def test_a_time_is_for_the_browser_to_put_into_the_zone_of_the_viewer() -> None:
    wanted = '<time datetime="2026-01-31T06:00:00.500000+00:00">2026-01-31 06:00:00 UTC</time>'
    assert shown.time("2026-01-31T06:00:00.500Z") == wanted
    assert shown.time(1769839200.5) == wanted
    assert shown.time(None) == "–"


def test_a_text_that_is_no_time_is_escaped() -> None:
    assert shown.time("<b>") == "&lt;b&gt;"
