"""The output of `causeway route`."""

import pytest

from cli.route import as_text
from router.report import Report


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (
            Report("run", "east", "DC-R7", "it has all", ("a.t@ds=1",), ("a.u",)),
            "run in east (DC-R7): it has all\nreads   a.t@ds=1\nwrites  a.u",
        ),
        (Report("answer", None, "DC-U1", "ours"), "answered by Causeway (DC-U1): ours"),
        (
            Report("refuse", None, "DC-R7", "none has", ("a.t",), (), "CW104"),
            "refused with CW104 (DC-R7): none has\nreads   a.t",
        ),
    ],
)
def test_as_text(result: Report, text: str) -> None:
    assert as_text(result) == text
