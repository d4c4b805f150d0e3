"""The specification's feeds and processes on two real stacks, as `make lifecycle-demo` shows."""

from pathlib import Path

import pytest

from bench import lifecycle_demo


@pytest.mark.e2e
def test_the_demo_holds(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert lifecycle_demo.main(["--dir", str(tmp_path)]) == 0
    said = capfd.readouterr().out
    for line in (
        "768 instances are planned",
        "both tables hold the same rows",
        "the primary keeps 05:00 on",
        "the copy keeps everything",
        "the day's partition is written again",
    ):
        assert f"-> {line}" in said
