"""Transfers of copies from cluster to cluster: one at a time on each link, in order."""

from collections import deque
from dataclasses import dataclass, field

RATE = 1.25e9  # bytes a second of each link: 10 Gbit/s
START = 20.0  # seconds of a Spark job that each copy takes besides sending its bytes

Link = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Transfer:
    """Days of a table, as in `fleet.Object`, to send to a cluster."""

    table: int
    cluster: int
    days: tuple[int, ...]
    bytes: float

    @property
    def seconds(self) -> float:
        return START + self.bytes / RATE


@dataclass(slots=True)
class Links:
    """The transfers that wait for each link, and the bytes that each link has sent."""

    waiting: dict[Link, deque[Transfer]] = field(default_factory=dict)
    running: set[Link] = field(default_factory=set)
    sent: dict[Link, float] = field(default_factory=dict)
    busy: dict[Link, float] = field(default_factory=dict)  # seconds
    _queued: set[tuple[int, int, tuple[int, ...]]] = field(default_factory=set)

    def add(self, link: Link, transfer: Transfer) -> None:
        """Queues a transfer, unless it waits already: it sends the newest data when it starts."""
        key = (transfer.table, transfer.cluster, transfer.days)
        if key not in self._queued:
            self._queued.add(key)
            self.waiting.setdefault(link, deque()).append(transfer)

    def next(self, link: Link) -> Transfer | None:
        """Starts and returns the next transfer; None while one runs, or if none waits."""
        if link in self.running or not self.waiting.get(link):
            return None
        transfer = self.waiting[link].popleft()
        self._queued.remove((transfer.table, transfer.cluster, transfer.days))
        self.running.add(link)
        return transfer

    def ended(self, link: Link, transfer: Transfer) -> None:
        self.running.remove(link)
        self.sent[link] = self.sent.get(link, 0.0) + transfer.bytes
        self.busy[link] = self.busy.get(link, 0.0) + transfer.seconds

    @property
    def queued(self) -> int:
        return len(self._queued)
