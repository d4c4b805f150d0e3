"""The lease of a run's instances, renewed by the server's heartbeat thread."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from database.errors import StoreUnavailable
from pipeline.errors import LeaseLost
from pipeline.scheduler.clock import Clock
from pipeline.scheduler.instances.instance import Instance
from pipeline.scheduler.store.store import Store


class InstanceLease:
    """The `WorkLease` of a run. The loss of the claim of one instance ends the run."""

    def __init__(
        self, store: Store, clock: Clock, instances: Sequence[Instance], seconds: float
    ) -> None:
        self.instances = tuple(instances)
        self.lost = False
        self._store = store
        self._clock = clock
        self._seconds = seconds
        self._renewed = time.monotonic()
        self._why = ""
        self._stops: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def check(self) -> None:
        if not self.lost and time.monotonic() - self._renewed > self._seconds * 0.8:
            self.lose("its lease could not be renewed in time")
        if self.lost:
            raise LeaseLost(f"{self.instances[0].key}: {self._why}")

    def log(self, line: str) -> None:
        """Adds a line to the log of the run's first instance."""
        with suppress(StoreUnavailable):
            self._store.add_log_entry(self.instances[0].key, self._clock.now(), "log", line)

    def on_loss(self, stop: Callable[[], None]) -> None:
        with self._lock:
            if not self.lost:
                self._stops.append(stop)
                return
        stop()

    def renew(self, server: str) -> None:
        """Renews the lease; called by the server's heartbeat thread."""
        now = time.monotonic()
        try:
            kept = all(self._store.renew(each, server, self._seconds) for each in self.instances)
        except StoreUnavailable:
            if now - self._renewed > self._seconds * 0.8:
                self.lose("the database was down for too long")
            return
        if kept:
            self._renewed = now
        else:
            self.lose("killed, deleted or taken over")

    def lose(self, why: str) -> None:
        """Ends the lease: `check` raises LeaseLost from now on, and the callbacks are called."""
        with self._lock:
            if self.lost:
                return
            self.lost, self._why = True, why
            stops = list(self._stops)
        for stop in stops:
            stop()
