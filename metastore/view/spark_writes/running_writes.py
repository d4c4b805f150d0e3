"""The running writes past the proxy that this process knows of (D10).

A write marks the table that it names, and the tables that have copies in folders that it touches.
A copy that is published later in such a folder adds its table: its publisher calls the view, which
looks here and puts the mark before it answers.

Another process that writes facts at the metastore itself at the same moment can remove a mark or
bring one back. It calls the view too, which then checks the table's marks again.

A guard repeats its running writes. If it is silent, it is dead or cut off: its marks stay until the
cluster says that its application has ended, or an operator ends them, and a table is not marked
again after that.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from time import monotonic

from conf.names import TableRef
from metastore.view.locations import ClusterView
from metastore.view.spark_writes.spark_writes import SparkWrite

LAPSE = 90.0  # seconds without a word; the guard repeats itself every 20
LIMIT = 10_000  # writes, and ends that are remembered


@dataclass(slots=True)
class RunningWrite:
    """`marked` are the tables that carry its mark, `covered` those that a mark of the proxy's
    covers for it. `source` is the connection that it was reported by last.
    """

    write: SparkWrite
    view: ClusterView
    last_report: float
    source: object = None
    marked: set[TableRef] = field(default_factory=set)
    covered: set[TableRef] = field(default_factory=set)


class RunningWrites:
    """One a process."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._running: dict[str, RunningWrite] = {}
        self._ended: deque[tuple[TableRef, SparkWrite]] = deque(maxlen=LIMIT)

    def __len__(self) -> int:
        return len(self._running)

    def __contains__(self, write_id: str) -> bool:
        return write_id in self._running

    def begin(self, write: SparkWrite, view: ClusterView, source: object = None) -> RunningWrite:
        """Records that the write runs. It may be known already."""
        now = self._clock()
        known = self._running.pop(write.id, None)
        if known is None:
            known = RunningWrite(write, view, now)
            while len(self._running) >= LIMIT:  # the one that was silent longest
                del self._running[next(iter(self._running))]
        known.last_report, known.source = now, source
        self._running[write.id] = known
        return known

    def end(self, write: SparkWrite) -> RunningWrite | None:
        """The write is over; what was known of it."""
        known = self._running.pop(write.id, None)
        if known is not None:
            self._ended.extend((table, known.write) for table in known.marked)
        return known

    def abandon(self, write: SparkWrite) -> bool:
        """Forgets a write without a known end. Its marks stay; returns whether it has any."""
        known = self._running.pop(write.id, None)
        return known is not None and bool(known.marked)

    def all(self) -> list[RunningWrite]:
        """Those that began and did not end."""
        return list(self._running.values())

    def silent(self) -> list[RunningWrite]:
        """Those that no guard has reported for LAPSE seconds."""
        return [each for each in self._running.values() if self.is_silent(each)]

    def ended(self, table: TableRef) -> list[SparkWrite]:
        """Writes of the table whose mark has gone, as far as they are remembered."""
        return [write for each, write in self._ended if each == table]

    def lost(self, source: object) -> None:
        """A connection has ended. A guard that lives repeats its writes by another one."""
        for running in self._running.values():
            if running.source is source:
                running.last_report = -inf

    def is_silent(self, running: RunningWrite) -> bool:
        if running.write.removes:  # a call of the metastore's, which the view waits for
            return False
        return self._clock() - running.last_report > LAPSE
