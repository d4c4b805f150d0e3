"""A store with entities, and fake actions, for tests of the scheduler."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from pipeline.errors import ActionFailed
from pipeline.falcon.calendar import parse_time
from pipeline.falcon.entities.identity import EntityKey, Kind
from pipeline.falcon.entity_set import EntitySet
from pipeline.falcon.inputs import Need
from pipeline.lease import WorkLease
from pipeline.scheduler import entity_service
from pipeline.scheduler.actions.work import Result, Task
from pipeline.scheduler.store.store import Store
from tests.pipeline.falcon.documents import CLUSTER, FEED, PROCESS

FEED_KEY = EntityKey(Kind.FEED, "clicks")
PROCESS_KEY = EntityKey(Kind.PROCESS, "summary")
START = parse_time("2013-09-24T06:00Z")
FIRST = parse_time("2013-09-25T00:00Z")  # the first instance of the process
HOUR = timedelta(hours=1)


def no_problems(*_: object) -> tuple[()]:
    return ()


def any_engine(_: object) -> None:
    return None


def store_with_entities(url: str | Path, feed: str = FEED, process: str = PROCESS) -> Store:
    """A store with two clusters, the feed and the process, submitted by ann."""
    store = Store(str(url))
    for name in ("c1", "c2"):
        submit(store, CLUSTER.replace("{name}", name))
    submit(store, feed)
    submit(store, process)
    return store


def submit(store: Store, text: str, user: str = "ann") -> str:
    return entity_service.submit(store, text.encode(), user, START, no_problems)


def schedule(store: Store, key: EntityKey, now: datetime = START, user: str = "ann") -> str:
    return entity_service.schedule(store, key, user, now, any_engine, no_problems)


class FakeActions:
    """Data exists unless `absent`, with the fingerprint in `prints`. Work is recorded; it waits for
    `gate` and fails with the result of `fail`.
    """

    def __init__(self) -> None:
        self.runs: list[list[datetime]] = []
        self.done: list[tuple[str, str, datetime]] = []
        self.running: list[tuple[str, str, datetime]] = []
        self.overlaps: list[tuple[str, str, datetime]] = []
        self.absent: set[datetime] = set()
        self.prints: dict[datetime, str] = {}
        self.fail: Callable[[Task], str | None] = lambda _: None
        self.places: Callable[[Task], Iterable[str]] = lambda _: ()
        self.gate: threading.Event | None = None
        self.needed: dict[str, Callable[[datetime], bool]] = {}
        self.leases: list[WorkLease] = []
        self.most = 0
        self._lock = threading.Lock()

    def read_fingerprints(
        self, needs: Sequence[Need], entity_set: EntitySet, owner: str
    ) -> Mapping[Need, str | None]:
        assert owner == "ann"
        return {
            each: None if each.time in self.absent else self.prints.get(each.time, "v1")
            for each in needs
        }

    def exclusive_places(self, task: Task) -> frozenset[str]:
        return frozenset(self.places(task))

    def replicate(self, tasks: Sequence[Task], lease: WorkLease) -> list[Result]:
        self.runs.append([task.instance.nominal for task in tasks])
        results: list[Result] = []
        for task in tasks:
            try:
                results.append(self._work("replicate", task, lease))
            except ActionFailed as error:
                results.append(error)
        return results

    def evict(self, task: Task, lease: WorkLease) -> str:
        self.needed[task.schedule.key.cluster] = task.is_needed
        return self._work("evict", task, lease)

    def process(self, task: Task, lease: WorkLease) -> str:
        return self._work("process", task, lease)

    def exchange(self, task: Task, lease: WorkLease) -> str:
        return self._work(task.schedule.key.action.value, task, lease)

    def _work(self, action: str, task: Task, lease: WorkLease) -> str:
        mark = (action, task.schedule.key.cluster, task.instance.nominal)
        with self._lock:
            self.leases.append(lease)
            if mark in self.running:
                self.overlaps.append(mark)
            self.running.append(mark)
            self.most = max(self.most, len(self.running))
        try:
            if self.gate is not None:
                self.gate.wait(30)
            lease.check()
            lease.log(f"{action} {task.instance.attempt}")
            if reason := self.fail(task):
                raise ActionFailed(reason)
            with self._lock:
                self.done.append(mark)
            return f"{action} done"
        finally:
            with self._lock:
                self.running.remove(mark)

    def count(self, action: str) -> int:
        return sum(each[0] == action for each in self.done)
