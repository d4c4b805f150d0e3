"""Several servers share one store: no instance runs twice, and none is lost with its server."""

import threading
from pathlib import Path

import pytest

from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from pipeline.scheduler.store.store import Store
from tests.pipeline.falcon.documents import PROCESS
from tests.pipeline.scheduler.fake_actions import (
    FEED_KEY,
    FIRST,
    HOUR,
    PROCESS_KEY,
    START,
    FakeActions,
    schedule,
    submit,
)
from tests.pipeline.scheduler.servers import (
    FAST,
    Unrenewing,
    begin,
    run_together,
    settle,
    states,
    wait_for,
)


def test_a_place_belongs_to_one_instance_of_all_servers(store: Store) -> None:
    """Two processes with one output run one after the other, also on two servers."""
    second = PROCESS_KEY.__class__(PROCESS_KEY.kind, "other")
    submit(store, PROCESS.replace('name="summary"', 'name="other"'))
    schedule(store, PROCESS_KEY, FIRST)
    schedule(store, second, FIRST)
    actions, clock = FakeActions(), SetClock(FIRST)
    actions.gate, actions.places = threading.Event(), lambda _: ["the output"]
    servers = [SchedulerServer(store, actions, clock, f"s{n}", FAST) for n in range(2)]
    for _ in range(4):
        for each in servers:
            each.tick()
    wait_for(lambda: actions.running)
    assert len(actions.running) == 1
    actions.gate.set()
    for each in servers:
        each.until_idle(30)
        each.close()
    assert actions.most == 1
    assert actions.count("process") == 2


@pytest.mark.slow
def test_a_place_of_a_dead_server_is_free_after_its_lease(store: Store, path: Path) -> None:
    schedule(store, PROCESS_KEY, FIRST)
    actions, clock = FakeActions(), SetClock(FIRST)
    actions.gate, actions.places = threading.Event(), lambda _: ["the output"]
    dead = SchedulerServer(
        Unrenewing(str(path)), actions, clock, "dead", SchedulerOptions(lease=3.0)
    )
    begin(dead, actions)
    healthy = FakeActions()
    healthy.places = actions.places
    settle(store, healthy, clock, "healthy")
    assert healthy.count("process") == 1
    actions.gate.set()
    dead.close()


@pytest.mark.slow
def test_a_dead_server_is_recovered_by_another(store: Store, path: Path) -> None:
    """The first stops renewing, as if its machine were gone; its late report is refused. One
    round of `serve --once` is enough: it does not end while the dead one's lease still holds.
    """
    schedule(store, PROCESS_KEY, FIRST)
    clock, stuck, healthy = SetClock(FIRST), FakeActions(), FakeActions()
    stuck.gate = threading.Event()
    dead = SchedulerServer(Unrenewing(str(path)), stuck, clock, "dead", SchedulerOptions(lease=5.0))
    begin(dead, stuck)
    with SchedulerServer(store, healthy, clock, "healthy", FAST) as service:
        service.tick()
        assert healthy.done == []  # the lease still holds
        service.until_idle(120)
    assert healthy.count("process") == 1
    stuck.gate.set()
    dead.close()
    assert stuck.done == []  # check() stopped it
    (one,) = store.instances(PROCESS_KEY)
    assert (one.state, one.recoveries) == (InstanceState.SUCCEEDED, 1)


def test_a_server_does_not_wait_for_runs_of_another_user(store: Store) -> None:
    schedule(store, PROCESS_KEY, FIRST)
    clock, actions = SetClock(FIRST), FakeActions()
    actions.gate = threading.Event()
    with SchedulerServer(
        store, actions, clock, "ann's", SchedulerOptions(lease=3600, user="ann")
    ) as busy:
        begin(busy, actions)
        assert store.running_owners() == {"ann"}
        with SchedulerServer(store, actions, clock, "bob's", SchedulerOptions(user="bob")) as idle:
            patience = threading.Thread(target=idle.until_idle, args=(600,), daemon=True)
            patience.start()
            patience.join(120)
            assert not patience.is_alive()
        actions.gate.set()
    assert store.running_owners() == frozenset()


def test_a_stopping_server_frees_its_instances(store: Store) -> None:
    schedule(store, PROCESS_KEY, FIRST)
    clock, actions = SetClock(FIRST), FakeActions()
    actions.gate = threading.Event()
    service = SchedulerServer(store, actions, clock, "one", SchedulerOptions(lease=3600))
    begin(service, actions)
    threading.Timer(0.2, actions.gate.set).start()
    service.close(give_up=True)
    (one,) = store.instances(PROCESS_KEY)
    assert (one.state, one.attempt, one.recoveries) == (InstanceState.READY, 0, 0)
    settle(store, FakeActions(), clock)
    assert states(store) == ["SUCCEEDED"]


@pytest.mark.slow
def test_two_servers_never_run_an_instance_twice(store: Store) -> None:
    schedule(store, FEED_KEY)
    actions, clock = FakeActions(), SetClock(START + 60 * HOUR)
    services = [SchedulerServer(store, actions, clock, f"s{n}", FAST) for n in range(2)]
    run_together(services)
    assert actions.overlaps == []
    assert actions.count("replicate") == 61
    assert len(set(actions.done)) == len(actions.done)
    assert states(store, "replicate") == ["SUCCEEDED"] * 61
    servers = {e.message.rpartition(" ")[2] for e in store.log(FEED_KEY) if e.what == "started"}
    assert servers == {"s0", "s1"}


def test_the_parallel_limit_holds_across_servers(store: Store) -> None:
    schedule(store, FEED_KEY)
    actions, clock = FakeActions(), SetClock(START + 9 * HOUR)
    actions.gate = threading.Event()
    services = [
        SchedulerServer(store, actions, clock, f"s{n}", SchedulerOptions(lease=60))
        for n in range(2)
    ]
    for _ in range(4):
        for service in services:
            service.tick()
    running = store.instances(FEED_KEY, states=[InstanceState.RUNNING])
    assert len([each for each in running if each.key.schedule.source]) == 2
    actions.gate.set()
    for service in services:
        service.close()
