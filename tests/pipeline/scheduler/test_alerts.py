"""Failures, late data and missed service levels are alerts; other changes are none."""

from dataclasses import replace

import pytest

from pipeline.scheduler.alerts import as_json, body, is_alert, subject
from pipeline.scheduler.instances.changes import Change, move
from pipeline.scheduler.instances.instance import Instance, InstanceAction, InstanceKey, ScheduleKey
from pipeline.scheduler.instances.states import InstanceEvent, InstanceState
from pipeline.scheduler.store.schema import Alert
from tests.pipeline.scheduler.fake_actions import FEED_KEY, START

KEY = InstanceKey(ScheduleKey(FEED_KEY, InstanceAction.REPLICATE, "c2", "c1"), START)


@pytest.mark.parametrize(
    ("state", "event", "expected"),
    [
        (InstanceState.RUNNING, InstanceEvent.FAIL, True),
        (InstanceState.WAITING, InstanceEvent.TIME_OUT, True),
        (InstanceState.SUCCEEDED, InstanceEvent.LATE, True),
        (InstanceState.RUNNING, InstanceEvent.RETRY, False),
        (InstanceState.RUNNING, InstanceEvent.SUCCEED, False),
        (InstanceState.RUNNING, InstanceEvent.KILL, False),
        (InstanceState.WAITING, InstanceEvent.FOUND, False),
    ],
)
def test_changes_that_are_alerts(
    state: InstanceState, event: InstanceEvent, expected: bool
) -> None:
    assert is_alert(move(Instance(KEY, state, START), event, START, "why")) is expected


def test_a_missed_service_level_is_one_and_a_wait_once_more_is_none() -> None:
    one = Instance(KEY, InstanceState.WAITING, START)
    assert is_alert(Change(one, replace(one, alerts=1), "SLA", "late"))
    change = move(one, InstanceEvent.TIME_OUT, START)
    assert not is_alert(replace(change, after=replace(change.after, not_before=START)))


def test_the_texts_of_alerts() -> None:
    alerts = [Alert(n, START, KEY, "failed", f"reason {n}") for n in (1, 2)]
    assert as_json(alerts[0]) == {
        "id": 1,
        "at": "2013-09-24T06:00:00Z",
        "alert": "failed",
        "kind": "feed",
        "name": "clicks",
        "action": "replicate",
        "cluster": "c2",
        "source": "c1",
        "instance": "2013-09-24T06:00Z",
        "message": "reason 1",
    }
    assert subject(alerts[:1]) == "causeway: failed: replicate clicks c1 to c2 2013-09-24T06:00Z"
    assert subject(alerts).endswith("and 1 more")
    assert "reason 1" in body(alerts)
    assert "reason 2" in body(alerts)
