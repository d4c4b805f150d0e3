"""A server with fake actions in its own process. Arguments: STORE LOG SECONDS LEASE MOST.

Each work appends `begin INSTANCE PID` and, after that many seconds, `end INSTANCE PID` to LOG.
Once it has ended MOST works, those that it begins never end.
"""

import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.falcon.entity_set import EntitySet
from pipeline.falcon.inputs import Need
from pipeline.lease import WorkLease
from pipeline.scheduler.actions.work import Result, Task
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from pipeline.scheduler.store.store import Store
from tests.pipeline.scheduler.fake_actions import START


class LoggedActions:
    def __init__(self, log: Path, seconds: float, most: int) -> None:
        self._log = log
        self._seconds = seconds
        self._left = threading.Semaphore(most)

    def read_fingerprints(
        self, needs: Sequence[Need], entity_set: EntitySet, owner: str
    ) -> Mapping[Need, str | None]:
        return dict.fromkeys(needs, "v1")

    def exclusive_places(self, task: Task) -> frozenset[str]:
        return frozenset()

    def _work(self, task: Task, lease: WorkLease) -> str:
        self._write("begin", task)
        time.sleep(self._seconds)
        self._left.acquire()
        lease.check()
        self._write("end", task)
        return "done"

    def _write(self, word: str, task: Task) -> None:
        line = f"{word} {task.instance.key} {os.getpid()}\n"
        descriptor = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, line.encode())
        os.close(descriptor)

    def replicate(self, tasks: Sequence[Task], lease: WorkLease) -> list[Result]:
        return [self._work(each, lease) for each in tasks]

    evict = process = _work


def main() -> None:
    store, log, seconds, lease, most = sys.argv[1:6]
    actions = LoggedActions(Path(log), float(seconds), int(most))
    clock = SetClock(START)
    clock.time = START.replace(hour=11)
    limits = SchedulerOptions(workers=2, lease=float(lease))
    with SchedulerServer(Store(store), actions, clock, f"server-{os.getpid()}", limits) as service:
        service.until_idle(120)


if __name__ == "__main__":
    main()
