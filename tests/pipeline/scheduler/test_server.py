"""A server runs the instances of scheduled entities, retries them and records their ends."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from pipeline.errors import ActionFailed, AnotherCopyRuns, SparkLost
from pipeline.falcon.entity_set import EntitySet
from pipeline.falcon.inputs import Need
from pipeline.lease import WorkLease
from pipeline.scheduler import entity_service
from pipeline.scheduler.actions.work import Result, Task
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.instances.instance import InstanceAction
from pipeline.scheduler.instances.states import InstanceEvent, InstanceState
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
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
from tests.pipeline.scheduler.servers import FAST, begin, settle, states, wait_for


def test_a_feed_is_replicated_and_evicted(store: Store) -> None:
    schedule(store, FEED_KEY)
    actions = FakeActions()
    settle(store, actions, SetClock(START + 3 * HOUR))
    assert states(store, "replicate") == ["SUCCEEDED"] * 4
    assert actions.count("evict") == 2
    assert actions.most <= 4


def test_tasks_in_one_place_run_one_after_the_other_and_leave_workers_to_others(
    store: Store,
) -> None:
    schedule(store, FEED_KEY)
    schedule(store, PROCESS_KEY, FIRST)
    actions = FakeActions()
    actions.places = lambda task: ["a table"] if task.schedule.key.source else []
    actions.gate = threading.Event()
    clock = SetClock(FIRST)
    with SchedulerServer(store, actions, clock, "one", FAST) as service:

        def runs_both_kinds() -> bool:
            service.tick()
            return {"process", "replicate"} <= {each[0] for each in actions.running}

        wait_for(runs_both_kinds)
        kinds = [each[0] for each in actions.running]
        assert kinds.count("replicate") == 1
        waiting = {each.state for each in store.instances(FEED_KEY) if each.key.schedule.source}
        assert waiting == {InstanceState.RUNNING, InstanceState.READY}
        actions.gate.set()
        service.until_idle(120)
    assert set(states(store, "replicate")) == {"SUCCEEDED"}


def test_one_run_copies_many_partitions_newest_first(tmp_path: Path) -> None:
    options = '<property name="partitionsPerRun" value="20"/><property name="order" value="LIFO"/>'
    feed = FEED.replace("<properties>", f"<properties>{options}")
    store = store_with_entities(tmp_path / "many.db", feed)
    schedule(store, FEED_KEY)
    actions = FakeActions()
    broken = START + 5 * HOUR
    actions.fail = lambda task: "broken" if task.instance.nominal == broken else None
    clock = SetClock(START + 49 * HOUR)
    with SchedulerServer(store, actions, clock, "one", SchedulerOptions(lease=60)) as service:
        service.until_idle(60)
    assert sorted(len(each) for each in actions.runs) == [10, 20, 20]
    assert {each[0] for each in actions.runs} == {START + hours * HOUR for hours in (49, 29, 9)}
    kinds = {e.nominal: e.state for e in store.instances(FEED_KEY) if e.key.schedule.source}
    assert kinds.pop(broken) is InstanceState.READY
    assert set(kinds.values()) == {InstanceState.SUCCEEDED}


def test_an_input_check_that_fails_fails_the_attempt_of_each_instance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No instance of the run is left RUNNING."""
    option = '<properties><property name="partitionsPerRun" value="20"/>'
    store = store_with_entities(tmp_path / "many.db", FEED.replace("<properties>", option))
    schedule(store, FEED_KEY)
    actions = FakeActions()
    read = actions.read_fingerprints

    def down(needs: Sequence[Need], entity_set: EntitySet, owner: str) -> Mapping[Need, str | None]:
        if threading.current_thread().name.startswith("work"):
            raise ActionFailed("the metastore is down")
        return read(needs, entity_set, owner)

    monkeypatch.setattr(actions, "read_fingerprints", down)
    clock = SetClock(START + 5 * HOUR)
    with SchedulerServer(store, actions, clock, "one", SchedulerOptions(lease=60)) as service:
        service.until_idle(60)
    copies = [each for each in store.instances(FEED_KEY) if each.key.schedule.source]
    assert [(each.state, each.attempt) for each in copies] == [(InstanceState.READY, 1)] * 6


@pytest.mark.slow
def test_an_instance_waits_for_a_copy_of_another_program_without_an_attempt(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.scheduler.round_state.BLOCKED", 0.2)
    schedule(store, FEED_KEY)
    actions = FakeActions()
    copies = actions.replicate
    tries: list[int] = []

    def blocked(tasks: Sequence[Task], lease: WorkLease) -> list[Result]:
        tries.append(len(tasks))
        if len(tries) <= 5:
            raise AnotherCopyRuns("run 1 works")
        return copies(tasks, lease)

    monkeypatch.setattr(actions, "replicate", blocked)
    settle(store, actions, SetClock(START))
    (one,) = [each for each in store.instances(FEED_KEY) if each.key.schedule.source]
    assert len(tries) == 6
    assert (one.state, one.attempt, one.recoveries) == (InstanceState.SUCCEEDED, 1, 0)


def test_instances_wait_for_their_partition(store: Store) -> None:
    schedule(store, FEED_KEY)
    actions, clock = FakeActions(), SetClock(START + 2 * HOUR)
    actions.absent = {START + HOUR}
    settle(store, actions, clock)
    assert states(store, "replicate") == ["SUCCEEDED", "WAITING", "SUCCEEDED"]
    actions.absent = set()
    settle(store, actions, clock)
    assert states(store, "replicate") == ["SUCCEEDED"] * 3
    assert actions.count("replicate") == 3


def test_a_process_runs_its_instances_with_retries(store: Store) -> None:
    schedule(store, PROCESS_KEY, FIRST)
    actions, clock = FakeActions(), SetClock(FIRST)
    actions.fail = lambda task: "not yet" if task.instance.attempt < 3 else None
    for minutes in (0, 10, 20):
        clock.move(timedelta(minutes=minutes))
        settle(store, actions, clock)
    assert states(store) == ["SUCCEEDED"]
    (one,) = store.instances(PROCESS_KEY)
    assert one.attempt == 3
    log = [entry.what for entry in store.log(PROCESS_KEY, one.nominal)]
    assert log.count("started") == 3
    assert log.count("retried") == 2


def test_a_final_failure_is_final(store: Store) -> None:
    schedule(store, PROCESS_KEY, FIRST)
    actions, clock = FakeActions(), SetClock(FIRST)
    actions.fail = lambda _: "broken"
    for _ in range(8):
        settle(store, actions, clock)
        clock.move(timedelta(minutes=5))
        if "FAILED" in states(store):
            break
        clock.move(timedelta(minutes=35))
    one = store.instances(PROCESS_KEY)[0]
    assert (one.state, one.attempt) == (InstanceState.FAILED, 4)
    assert "broken" in one.detail


class OneJvm(FakeActions):
    """All four instances of a feed work in one JVM, which that of the time `poison` kills. An
    instance that has lost it twice works alone."""

    def __init__(self, poison: datetime) -> None:
        super().__init__()
        self.poison, self.together, self.alone = poison, threading.Barrier(4), threading.Lock()

    def _work(self, word: str, task: Task, lease: WorkLease) -> str:
        if word != "replicate":
            return super()._work(word, task, lease)
        if task.instance.recoveries < 2:
            self.together.wait(60.0)
            raise SparkLost("Spark is gone")
        assert self.alone.acquire(blocking=False)
        try:
            if task.instance.nominal == self.poison:
                raise SparkLost("Spark is gone")
            return super()._work(word, task, lease)
        finally:
            self.alone.release()


@pytest.mark.slow
def test_an_instance_that_always_kills_spark_fails_alone(tmp_path: Path) -> None:
    feed = FEED.replace('name="parallel" value="2"', 'name="parallel" value="4"')
    store, poison = store_with_entities(tmp_path / "poison.db", feed), START + HOUR
    schedule(store, FEED_KEY)
    settle(store, OneJvm(poison), SetClock(START + 3 * HOUR))
    ends = {
        each.nominal: (each.state, each.recoveries)
        for each in store.instances(FEED_KEY)
        if each.key.schedule.action is InstanceAction.REPLICATE
    }
    assert len(ends) == 4
    assert ends.pop(poison) == (InstanceState.FAILED, 3)
    assert set(ends.values()) == {(InstanceState.SUCCEEDED, 2)}


def test_suspended_entities_start_nothing(store: Store) -> None:
    schedule(store, FEED_KEY)
    entity_service.suspend(store, FEED_KEY, "ann")
    actions = FakeActions()
    settle(store, actions, SetClock(START + 3 * HOUR))
    assert actions.done == []
    entity_service.resume(store, FEED_KEY, "ann")
    settle(store, actions, SetClock(START + 3 * HOUR))
    assert actions.count("replicate") == 4


def test_instances_that_are_not_replicated_yet_are_not_evicted(store: Store) -> None:
    schedule(store, FEED_KEY)
    actions = FakeActions()
    actions.absent = {START + HOUR}
    settle(store, actions, SetClock(START + 3 * HOUR))
    is_needed = actions.needed["c1"]
    assert is_needed(START + HOUR)
    assert is_needed(START + 9 * HOUR)  # not even planned yet
    assert not is_needed(START - HOUR)
    assert not is_needed(START)
    assert not actions.needed["c2"](START + HOUR)  # nothing is copied from there


@pytest.mark.slow
def test_a_killed_instance_stops_before_its_effect(store: Store) -> None:
    schedule(store, PROCESS_KEY, FIRST)
    actions, clock = FakeActions(), SetClock(FIRST)
    actions.gate = threading.Event()
    with SchedulerServer(store, actions, clock, "one", FAST) as service:
        begin(service, actions)
        done, refused = entity_service.change_instances(
            store, store.instances(PROCESS_KEY), InstanceEvent.KILL, FIRST, "ann"
        )
        assert (len(done), refused) == (1, [])
        wait_for(lambda: all(lease.lost for lease in actions.leases))
        actions.gate.set()
    assert actions.done == []
    assert states(store) == ["KILLED"]


def test_a_missed_service_level_is_reported(store: Store) -> None:
    schedule(store, FEED_KEY)
    reported: list[str] = []
    actions = FakeActions()
    actions.absent = {START}
    clock = SetClock(START + 3 * HOUR)
    with SchedulerServer(
        store, actions, clock, "one", FAST, lambda event: reported.append(str(event["event"]))
    ) as service:
        service.until_idle(120)
    alerts = [entry for entry in store.log(FEED_KEY, START) if entry.what == "SLA"]
    assert len(alerts) == reported.count("SLA") == 1
    assert "slaHigh" in alerts[0].message


def test_one_broken_entity_does_not_stop_the_others(store: Store) -> None:
    schedule(store, FEED_KEY)
    schedule(store, PROCESS_KEY, FIRST)
    changed = FEED.replace('name="c1" type', 'name="c2" type').replace(
        'name="c2" type="target"', 'name="c1" type="target"'
    )
    row = next(each for each in store.entities() if each.key == FEED_KEY)
    broken = changed.replace('<cluster name="c1"', '<cluster name="c9"')
    assert store.put(replace(row, document=broken.encode(), version=row.version + 1))
    reported: list[str] = []
    clock = SetClock(FIRST)
    with SchedulerServer(
        store, FakeActions(), clock, "one", FAST, lambda event: reported.append(str(event))
    ) as service:
        service.until_idle(20)
    assert any("not on cluster" in each for each in reported)
    assert "SUCCEEDED" in states(store, "replicate")
