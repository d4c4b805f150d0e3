"""The writes past the proxy that guards have reported to this process and that still run (D10).

A write marks the table that it names, and the tables with copies whose folders it touches. A copy
may be published in such a folder while the write runs. Then its publisher calls the view, which
finds the write here and marks the table before it replies.

Another process that writes facts to the metastore at the same moment can remove a mark, or write a
removed one back. It calls the view too, which then checks the table's marks again.

A guard repeats the reports of its running writes. A guard that stops is dead or disconnected: its
marks stay until the cluster reports the end of its application, or an operator ends them. After
that the table is not marked again.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from time import monotonic

from conf.names import TableRef
from metastore.view.locations import ClusterView
from metastore.view.spark_writes.spark_writes import SparkWrite

LAPSE = 90.0  # seconds without a report; the guard repeats it every 20
LIMIT = 10_000  # running writes, and ended ones that are remembered


@dataclass(slots=True)
class ReportedWrite:
    """A running write. `marked` are the tables with its mark; `covered` are tables that need none,
    because a mark of the proxy covers the write. `source` is the connection of the last report.
    """

    write: SparkWrite
    view: ClusterView
    last_report: float
    source: object = None
    marked: set[TableRef] = field(default_factory=set)
    covered: set[TableRef] = field(default_factory=set)


class ReportedWrites:
    """The running and the last ended writes. One object for each process of the view."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._running: dict[str, ReportedWrite] = {}
        self._ended: deque[tuple[TableRef, SparkWrite]] = deque(maxlen=LIMIT)

    def __len__(self) -> int:
        return len(self._running)

    def __contains__(self, write_id: str) -> bool:
        return write_id in self._running

    def begin(self, write: SparkWrite, view: ClusterView, source: object = None) -> ReportedWrite:
        """Records a report that the write runs, the first one or a repeated one."""
        now = self._clock()
        known = self._running.pop(write.id, None)
        if known is None:
            known = ReportedWrite(write, view, now)
            while len(self._running) >= LIMIT:  # the one with the oldest report
                del self._running[next(iter(self._running))]
        known.last_report, known.source = now, source
        self._running[write.id] = known
        return known

    def end(self, write: SparkWrite) -> ReportedWrite | None:
        """Records that the write has ended; returns its record, None if there was none."""
        known = self._running.pop(write.id, None)
        if known is not None:
            self._ended.extend((table, known.write) for table in known.marked)
        return known

    def abandon(self, write: SparkWrite) -> bool:
        """Forgets a write without a known end. Its marks stay; returns whether it has any."""
        known = self._running.pop(write.id, None)
        return known is not None and bool(known.marked)

    def all(self) -> list[ReportedWrite]:
        """The writes that have begun and not ended."""
        return list(self._running.values())

    def silent(self) -> list[ReportedWrite]:
        """The running writes that no guard has reported for LAPSE seconds."""
        return [each for each in self._running.values() if self.is_silent(each)]

    def ended(self, table: TableRef) -> list[SparkWrite]:
        """The ended writes of the table, as far as they are remembered."""
        return [write for each, write in self._ended if each == table]

    def lost(self, source: object) -> None:
        """A connection has ended, so its writes count as silent. A guard that still runs repeats
        its reports through another connection."""
        for running in self._running.values():
            if running.source is source:
                running.last_report = -inf

    def is_silent(self, running: ReportedWrite) -> bool:
        if running.write.removes:  # a call such as DROP TABLE, which the view itself ends
            return False
        return self._clock() - running.last_report > LAPSE
