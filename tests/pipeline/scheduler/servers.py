"""Servers with fast limits, and the calls of tests that run and await them."""

import threading
import time
from collections.abc import Callable, Sequence

from database.errors import StoreUnavailable
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.instances.instance import Instance
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from pipeline.scheduler.store.store import Store
from tests.pipeline.scheduler.fake_actions import FEED_KEY, PROCESS_KEY, FakeActions

FAST = SchedulerOptions(workers=4, lease=30.0, poll=0.05)  # a lease that ends would repeat the work


class Unrenewing(Store):
    """The store of a server that cannot renew leases, as if its machine had died."""

    def renew(self, instance: Instance, server: str, seconds: float) -> bool:
        raise StoreUnavailable("gone")


def states(store: Store, action: str = "process") -> list[str]:
    key = FEED_KEY if action != "process" else PROCESS_KEY
    found = [each for each in store.instances(key) if each.key.schedule.action.value == action]
    return [each.state.value for each in found]


def settle(store: Store, actions: FakeActions, clock: SetClock, name: str = "one") -> None:
    with SchedulerServer(store, actions, clock, name, FAST) as service:
        service.until_idle(120)


def wait_for(condition: Callable[[], object], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.01)


def begin(service: SchedulerServer, actions: FakeActions) -> None:
    """Runs rounds until the work has begun."""
    for _ in range(3):
        service.tick()
    wait_for(lambda: actions.running)


def run_together(servers: Sequence[SchedulerServer]) -> None:
    """Runs the servers in threads until they have nothing to do, and closes them."""
    threads = [threading.Thread(target=each.until_idle, args=(60,)) for each in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in servers:
        each.close()
