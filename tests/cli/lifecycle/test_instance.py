"""`causeway instance` shows and changes instances."""

import json
import os
from pathlib import Path

import pytest

from conf.errors import CausewayError
from pipeline.falcon.calendar import parse_time
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from pipeline.scheduler.store.store import Store
from tests.cli.lifecycle.commands import causeway
from tests.pipeline.scheduler.fake_actions import (
    FIRST,
    PROCESS_KEY,
    FakeActions,
    schedule,
    store_with_entities,
)

SUMMARY = ("process", "summary")
AT = ("--start", "2013-09-25T00:00Z")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The process after its first hour: one instance succeeded, one failed."""
    path = tmp_path / "l.db"
    monkeypatch.setenv("CAUSEWAY_STORE", str(path))
    made = store_with_entities(path)
    schedule(made, PROCESS_KEY, FIRST)
    actions, clock = FakeActions(), SetClock(FIRST)
    with SchedulerServer(made, actions, clock, "one", SchedulerOptions()) as service:
        service.until_idle(30)
    actions.fail = lambda _: "broken\nfor ever"
    for hours in (1, 2, 3, 4):
        clock.time = parse_time(f"2013-09-25T0{hours}:00Z")
        actions.absent |= {clock.time} if hours > 1 else set()
        with SchedulerServer(made, actions, clock, "one", SchedulerOptions()) as service:
            service.until_idle(30)
    return made


@pytest.mark.usefixtures("store")
def test_list_and_planned(capsys: pytest.CaptureFixture[str]) -> None:
    assert causeway("instance", "list", *SUMMARY) == 0
    lines = capsys.readouterr().out.splitlines()
    states = [line.split()[3] for line in lines]
    assert states == ["SUCCEEDED", "FAILED", "WAITING", "WAITING", "WAITING"]
    assert lines[1].endswith("broken")
    assert causeway("instance", "list", *SUMMARY, "--planned", "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 24
    assert rows[-1]["state"] == "PLANNED"
    assert causeway("instance", "list", *SUMMARY, *AT, "--end", "2013-09-25T01:00Z") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert causeway("instance", "list", *SUMMARY, "--state", "FAILED") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.usefixtures("store")
def test_status_and_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert causeway("instance", "status", *SUMMARY) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert causeway("instance", "summary", *SUMMARY, "--planned") == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert {row[2]: int(row[3]) for row in rows} == {
        "SUCCEEDED": 1,
        "FAILED": 1,
        "WAITING": 3,
        "PLANNED": 19,
    }


@pytest.mark.usefixtures("store")
def test_rerun_needs_force_after_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert causeway("instance", "rerun", *SUMMARY, *AT, "--user", "ann") == 1
    assert "--force" in capsys.readouterr().err
    assert causeway("instance", "rerun", *SUMMARY, *AT, "--force", "--user", "ann") == 0
    assert "rerun" in capsys.readouterr().out
    assert causeway("instance", "rerun", *SUMMARY, *AT, "--force", "--user", "ann") == 1
    assert "it is open" in capsys.readouterr().err
    with pytest.raises(CausewayError, match="CW722"):
        causeway("instance", "rerun", *SUMMARY, *AT, "--user", f"not-{os.getpid()}")


def test_kill(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    words = (*SUMMARY, "--start", "2013-09-25T02:00Z", "--end", "2013-09-25T04:00Z")
    assert causeway("instance", "kill", *words, "--user", "ann") == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    found = store.instances(PROCESS_KEY)
    assert [each.state.value for each in found[2:]] == ["KILLED", "KILLED", "WAITING"]
    with pytest.raises(CausewayError, match="CW721"):
        causeway("instance", "kill", *SUMMARY, "--user", "ann")


def test_suspend_and_resume(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    words = (*SUMMARY, "--start", "2013-09-25T00:00Z", "--end", "2013-09-25T04:00Z")
    assert causeway("instance", "suspend", *words, "--user", "ann") == 0
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == ["suspended"] * 2
    states = [each.state.value for each in store.instances(PROCESS_KEY)]
    assert states == ["SUCCEEDED", "FAILED", "SUSPENDED", "SUSPENDED", "WAITING"]
    assert causeway("instance", "resume", *words, "--user", "ann") == 0
    assert [each.state.value for each in store.instances(PROCESS_KEY)][2:] == ["WAITING"] * 3
    assert causeway("instance", "resume", *words, "--user", "ann") == 1
    assert "resumed cannot happen to a WAITING instance" in capsys.readouterr().err
    with pytest.raises(CausewayError, match="CW722"):
        causeway("instance", "suspend", *words, "--user", "bob")


@pytest.mark.usefixtures("store")
def test_logs_are_the_submitters(capsys: pytest.CaptureFixture[str]) -> None:
    failed = ("--start", "2013-09-25T01:00Z")
    assert causeway("instance", "logs", *SUMMARY, *failed, "--user", "ann") == 0
    out = capsys.readouterr().out
    assert out.count("started: run 0") == 4
    assert "failed: [CW728] broken" in out
    with pytest.raises(CausewayError, match="CW722"):
        causeway("instance", "logs", *SUMMARY, *failed, "--user", "bob")


@pytest.mark.usefixtures("store")
def test_params(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        causeway("instance", "params", *SUMMARY, "--start", "2013-09-25T05:00Z", "--user", "ann")
        == 0
    )
    found = dict(line.split("=", 1) for line in capsys.readouterr().out.splitlines())
    assert found["in_table"] == "clicks"
    assert found["blah"] == "blah"


@pytest.mark.usefixtures("store")
def test_plan_shows_the_next_round_and_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert causeway("lifecycle", "plan", "--at", "2013-09-25T06:00Z") == 0
    first = capsys.readouterr().out
    assert "create 2 of process summary c1: 2013-09-25T05:00Z .. 2013-09-25T06:00Z" in first
    assert causeway("lifecycle", "plan", "--at", "2013-09-25T06:00Z") == 0
    assert capsys.readouterr().out == first
