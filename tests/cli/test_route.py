"""The output of `causeway route`."""

import pytest

from cli.route import as_text
from router.report import DecisionReport


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (
            DecisionReport("run", "east", "inputs", "it has all", ("a.t@ds=1",), ("a.u",)),
            "run in east (inputs): it has all\nreads   a.t@ds=1\nwrites  a.u",
        ),
        (DecisionReport("answer", None, "pin", "ours"), "answered by Causeway (pin): ours"),
        (
            DecisionReport("refuse", None, "inputs", "none has", ("a.t",), (), "CW104"),
            "refused with CW104 (inputs): none has\nreads   a.t",
        ),
    ],
)
def test_as_text(result: DecisionReport, text: str) -> None:
    assert as_text(result) == text
