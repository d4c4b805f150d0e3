"""Late data: when servers check for it, and what they run then."""

from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.instances.instance import InstanceAction
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.server import SchedulerServer
from pipeline.scheduler.store import store as store_module
from pipeline.scheduler.store.store import Store
from tests.pipeline.falcon.documents import FEED
from tests.pipeline.scheduler.fake_actions import (
    FEED_KEY,
    FIRST,
    HOUR,
    PROCESS_KEY,
    START,
    FakeActions,
    schedule,
    store_with_entities,
)
from tests.pipeline.scheduler.servers import FAST, settle


def test_each_check_for_late_data_happens_at_its_time_with_any_number_of_instances(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "MAX_ENDED", 3)
    store = store_with_entities(tmp_path / "late.db", FEED.replace("hours(4)", "hours(40)"))
    schedule(store, FEED_KEY)
    clock = SetClock(START)
    with SchedulerServer(store, FakeActions(), clock, "one", FAST) as service:
        for _ in range(12):
            service.until_idle(60)
            ages = {
                (clock.now() - each.nominal) // HOUR: each.checks
                for each in store.instances(FEED_KEY, states=(InstanceState.SUCCEEDED,))
                if each.key.schedule.action is InstanceAction.REPLICATE
            }
            checks = (1, 2, 4, 8)  # hours after the instance's time
            assert ages == {age: sum(check <= age for check in checks) for age in ages}
            clock.move(HOUR)
    assert len(ages) == 12


def test_late_data_runs_the_late_workflow(store: Store) -> None:
    schedule(store, PROCESS_KEY, FIRST)
    actions, clock = FakeActions(), SetClock(FIRST)
    settle(store, actions, clock)
    actions.prints[FIRST] = "v2"
    clock.move(HOUR)
    settle(store, actions, clock)
    one = store.instances(PROCESS_KEY)[0]
    assert (one.state, one.run, one.late) == (InstanceState.SUCCEEDED, 1, "in")
    before = actions.count("process")
    clock.move(timedelta(minutes=1))
    settle(store, actions, clock)
    assert actions.count("process") == before
