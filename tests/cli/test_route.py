"""The output of `causeway route`."""

import pytest

from cli.route import as_text
from router.report import Report


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (
            Report("run", "east", "inputs", "it has all", ("a.t@ds=1",), ("a.u",)),
            "run in east (inputs): it has all\nreads   a.t@ds=1\nwrites  a.u",
        ),
        (Report("answer", None, "pin", "ours"), "answered by Causeway (pin): ours"),
        (
            Report("refuse", None, "inputs", "none has", ("a.t",), (), "CW104"),
            "refused with CW104 (inputs): none has\nreads   a.t",
        ),
    ],
)
def test_as_text(result: Report, text: str) -> None:
    assert as_text(result) == text
