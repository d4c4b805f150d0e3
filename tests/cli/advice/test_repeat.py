"""Plans that are made and applied again and again."""

import argparse

import pytest

from advice.errors import BadLog
from cli.advice.repeat import interval, repeat


class Stopped(Exception):
    pass


def test_a_failed_plan_is_made_again_soon(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = [lambda: 0, lambda: 1, _fail, lambda: 0]
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 4:
            raise Stopped

    with pytest.raises(Stopped):
        repeat(lambda: outcomes[len(pauses)](), 86400.0, pause)
    assert pauses == [86400.0, 900.0, 900.0, 86400.0]
    assert "there is no statement" in capsys.readouterr().err


def _fail() -> int:
    raise BadLog("there is no statement to replay.")


def test_intervals() -> None:
    assert (interval("24h"), interval("10m")) == (86400.0, 600.0)
    for text in ("59s", "soon", "0"):
        with pytest.raises(argparse.ArgumentTypeError):
            interval(text)
