"""Numbers of bytes for people."""

import pytest

from conf.formats import size_text


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1.25e9, "1.2 GB"), (3e15, "3.0 PB")]
)
def test_sizes(size: float, text: str) -> None:
    assert size_text(size) == text
