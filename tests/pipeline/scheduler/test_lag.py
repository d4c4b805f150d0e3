"""The lag is the age of the oldest instance whose data the target lacks."""

from datetime import datetime
from pathlib import Path

from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.entity_service import read_catalog
from pipeline.scheduler.instances.changes import rerun
from pipeline.scheduler.instances.instance import InstanceAction
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.lag import Lag, lags
from pipeline.scheduler.operations import Operations
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from pipeline.scheduler.store.store import Store
from tests.pipeline.scheduler.fake_actions import (
    FEED_KEY,
    HOUR,
    START,
    FakeActions,
    schedule,
    store_with_entities,
)


def lag_at(store: Store, now: datetime) -> Lag:
    found = lags(read_catalog(store), store.counts(), store.horizons(), now)
    (lag,) = [each for each in found if each.schedule.action is InstanceAction.REPLICATE]
    return lag


def run(store: Store, actions: FakeActions, now: datetime) -> None:
    with SchedulerServer(store, actions, SetClock(now), "one", SchedulerOptions()) as server:
        server.until_idle(30)


def test_the_lag_of_a_feed(tmp_path: Path) -> None:
    store, actions = store_with_entities(tmp_path / "l.db"), FakeActions()
    assert list(lags(read_catalog(store), {}, {}, START)) == []  # it is not scheduled
    schedule(store, FEED_KEY)
    assert lag_at(store, START + 2 * HOUR).seconds == 7200  # nothing was created yet
    run(store, actions, START + 2 * HOUR)
    done = lag_at(store, START + 2 * HOUR)
    assert (done.seconds, done.open, done.table) == (0, 0, "tgt.clicks")
    actions.absent = {START + 3 * HOUR}
    run(store, actions, START + 5 * HOUR)
    behind = lag_at(store, START + 5 * HOUR)
    assert (behind.seconds, behind.open, behind.failed) == (7200, 1, 0)


def test_a_failed_instance_counts_until_its_rerun_succeeds(tmp_path: Path) -> None:
    store, actions = store_with_entities(tmp_path / "l.db"), FakeActions()
    schedule(store, FEED_KEY)
    broken = START + HOUR
    actions.fail = lambda task: "broken" if task.instance.nominal == broken else None
    clock = SetClock(START + 3 * HOUR)
    with SchedulerServer(store, actions, clock, "one", SchedulerOptions()) as server:
        server.until_idle(30)
        while (lag := lag_at(store, clock.now())).open:  # retries
            clock.move(HOUR)
            server.until_idle(30)
    age = clock.now() - broken
    assert (lag.seconds, lag.failed) == (age.total_seconds(), 1)
    operations = Operations(store, server, clock, "ann", lambda _: None)
    (row,) = [each for each in operations.lag() if each["action"] == "replicate"]
    assert row["seconds"] == lag.seconds
    assert f'table="tgt.clicks"}} {lag.seconds}' in operations.metrics()
    actions.fail = lambda _: None
    (failed,) = [each for each in store.instances(FEED_KEY) if each.state is InstanceState.FAILED]
    assert store.change(rerun(failed, clock.now()), clock.now())
    run(store, actions, clock.now())
    done = lag_at(store, clock.now())
    assert (done.seconds, done.failed) == (0, 0)
