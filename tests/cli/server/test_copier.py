"""The result of a COPY, from the output of the child process."""

import json

import pytest

from cli.errors import CopyFailed
from cli.server.copier import result

DONE = {"published": ["ds=1"], "fresh": 2, "bytes_sent": 10, "files_sent": 3, "failed": {}}


def test_a_copy_is_summarised() -> None:
    out = json.dumps({"event": "swept"}) + "\n" + json.dumps(DONE) + "\n"
    assert result(0, out, "") == "1 copied, 2 fresh, 10 bytes in 3 files"


def test_a_partial_copy_is_an_error_with_its_reason() -> None:
    report = DONE | {"failed": {"ds=3": "[CW603] t ds=3: a write of it is open."}}
    with pytest.raises(CopyFailed, match="CW603"):
        result(1, json.dumps(report), "WARN something")


def test_a_refusal_has_the_message_of_the_child() -> None:
    problem = "WARN x\ncauseway: [CW601] C1 is the primary of t: it needs no copy.\n"
    with pytest.raises(CopyFailed, match=r"\[CW601\] C1 is the primary"):
        result(1, "", problem)


def test_a_child_that_died_is_an_error() -> None:
    with pytest.raises(CopyFailed, match="status -9"):
        result(-9, "", "")
