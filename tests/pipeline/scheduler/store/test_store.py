"""The store's reads, changes and claims, on both databases."""

from dataclasses import replace
from pathlib import Path

import pytest

from database.errors import StoreUnavailable
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.entity_service import read_catalog, schedules_of
from pipeline.scheduler.instances.changes import move
from pipeline.scheduler.instances.instance import Instance, InstanceAction
from pipeline.scheduler.instances.outcomes import RunSucceeded, after_run, recover
from pipeline.scheduler.instances.plan import CreateInstances, Situation, StartRun, plan
from pipeline.scheduler.instances.schedule import Schedule
from pipeline.scheduler.instances.states import InstanceEvent, InstanceState
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from pipeline.scheduler.store.store import Store
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
from tests.pipeline.scheduler.servers import run_together


@pytest.fixture
def store(url: str) -> Store:
    made = store_with_entities(url)
    schedule(made, PROCESS_KEY, FIRST)
    return made


def process_schedule(store: Store) -> Schedule:
    (found,) = schedules_of(read_catalog(store), PROCESS_KEY)
    return found


def planned(store: Store, hours: int = 0) -> list[Instance]:
    """The first hours' instances, READY."""
    found = process_schedule(store)
    (create,) = plan(found, Situation(), FIRST + hours * HOUR)
    assert isinstance(create, CreateInstances)
    store.create(create, FIRST)
    for each in store.situation(found.key).open:
        assert store.change(move(each, InstanceEvent.FOUND, FIRST), FIRST)
    return list(store.situation(found.key).open)


def claim_of(store: Store, instance: Instance) -> StartRun:
    ready = Situation(FIRST + 99 * HOUR, (instance,))
    (run,) = plan(process_schedule(store), ready, instance.nominal)
    assert isinstance(run, StartRun)
    return run


def test_entities_are_read_as_they_were_written(store: Store, url: str) -> None:
    again = Store(url)
    assert {each.key: each.owner for each in again.entities()} == {
        each.key: "ann" for each in store.entities()
    }
    stored = again.entity(PROCESS_KEY)
    assert stored is not None
    assert (stored.status, stored.scheduled, stored.version) == ("RUNNING", FIRST, 2)


def test_one_of_two_concurrent_changes_is_written(store: Store) -> None:
    known = store.entity(FEED_KEY)
    assert known is not None
    changed = replace(known, version=known.version + 1)
    assert [store.put(changed), store.put(changed)] == [True, False]
    assert not store.put(replace(known, version=1))


def test_creating_instances_twice_adds_none(store: Store) -> None:
    planned(store, 5)
    found = process_schedule(store)
    (create,) = plan(found, Situation(), FIRST + 5 * HOUR)
    assert isinstance(create, CreateInstances)
    store.create(create, FIRST)
    assert len(store.instances(PROCESS_KEY)) == 6
    situation = store.situation(found.key)
    assert situation.created_until == create.until
    assert {each.state for each in situation.open} == {InstanceState.READY}


def test_an_instance_is_read_as_it_was_written_to_the_store(store: Store) -> None:
    (one,) = planned(store)
    full = replace(
        one,
        state=InstanceState.SUCCEEDED,
        run=3,
        attempt=2,
        recoveries=1,
        not_before=START,
        started=START + HOUR,
        ended=START + 2 * HOUR,
        fingerprint='{"in": "ü"}',
        checks=4,
        alerts=2,
        fence=one.fence + 1,
        late="in",
        detail="done",
    )
    change = replace(move(one, InstanceEvent.KILL, START), after=full)
    assert store.change(change, START)
    assert store.instances(PROCESS_KEY) == (full,)


def test_a_claim_is_exclusive_and_fenced(store: Store) -> None:
    (one,) = planned(store)
    run = claim_of(store, one)
    assert store.claim(run, "a", 60, FIRST)
    assert not store.claim(run, "b", 60, FIRST)
    assert store.renew(run.claims[0].after, "a", 60)
    assert not store.renew(run.claims[0].after, "b", 60)
    assert store.orphans() == ()
    assert store.renew(run.claims[0].after, "a", -1)
    (orphan,) = store.orphans()
    assert store.change(recover(orphan, FIRST), FIRST)
    assert not store.renew(run.claims[0].after, "a", 60)
    late = after_run(process_schedule(store), run.claims[0].after, RunSucceeded(), FIRST)
    assert not store.change(late, FIRST)
    assert store.instances(PROCESS_KEY)[0].state is InstanceState.READY


def test_claims_keep_to_the_limit_and_to_running_entities(store: Store) -> None:
    three = planned(store, 2)
    runs = [claim_of(store, each) for each in three]
    assert [len(store.claim(run, "a", 60, FIRST)) for run in runs] == [1, 1, 0]
    known = store.entity(PROCESS_KEY)
    assert known is not None
    assert store.put(replace(known, status="SUSPENDED", version=known.version + 1))
    done = after_run(process_schedule(store), runs[0].claims[0].after, RunSucceeded(), FIRST)
    assert store.change(done, FIRST)
    assert not store.claim(runs[2], "a", 60, FIRST)


def test_deleting_an_entity_deletes_its_instances(store: Store) -> None:
    (one,) = planned(store)
    run = claim_of(store, one)
    assert store.claim(run, "a", 60, FIRST)
    store.delete(PROCESS_KEY)
    assert store.entity(PROCESS_KEY) is None
    assert store.instances(PROCESS_KEY) == ()
    assert not store.renew(run.claims[0].after, "a", 60)


def test_logs_are_kept_within_bounds(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.scheduler.store.store.MAX_LOG", 10)
    (one,) = planned(store)
    for number in range(25):
        store.add_log_entry(one.key, FIRST, "log", f"line {number}")
    entries = list(store.log(PROCESS_KEY, FIRST))
    assert [entry.message for entry in entries] == [f"line {n}" for n in range(15, 25)]


@pytest.mark.slow
def test_two_servers_share_a_database(url: str) -> None:
    store = store_with_entities(url)
    schedule(store, FEED_KEY)
    actions, clock = FakeActions(), SetClock(START + 11 * HOUR)
    services = [
        SchedulerServer(Store(url), actions, clock, f"s{n}", SchedulerOptions(lease=30))
        for n in range(2)
    ]
    run_together(services)
    assert actions.overlaps == []
    replicated = [each for each in actions.done if each[0] == "replicate"]
    assert len(replicated) == len(set(replicated)) == 12
    by_action = {each.key.schedule.action for each in store.instances(FEED_KEY)}
    assert by_action == {InstanceAction.REPLICATE, InstanceAction.EVICT, InstanceAction.WATCH}


def test_a_database_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnavailable):
        Store(str(tmp_path / "file" / "lifecycle.db"))
    with pytest.raises(StoreUnavailable, match="mysql:// is not supported"):
        Store("mysql://host/db")
    (tmp_path / "text.db").write_text("this is no database, it is text" * 40)
    with pytest.raises(StoreUnavailable):
        Store(str(tmp_path / "text.db"))
