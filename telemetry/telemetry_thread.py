"""Sends work that ended to OpenTelemetry and OpenLineage, from a thread of its own.

Entries that come faster than they can be sent, and entries that a server does not accept, are
dropped and counted: retries are short, and no work waits.
"""

import logging
from collections.abc import Callable
from typing import TypeVar

from conf.logs.batch_thread import BatchThread, Entry
from conf.settings.telemetry import TelemetrySettings
from telemetry.lineage import LineageRun, LineageSender
from telemetry.traces import Trace, TraceSender

_log = logging.getLogger(__name__)
_DELAY = 1.0  # seconds in which entries gather
E = TypeVar("E", bound=Entry)


class TelemetryThread(BatchThread[E]):
    """Sends the trace and the run of each entry, which `trace_of` and `run_of` make in the thread;
    None is not sent. `metastore` is the `HOST:PORT` in the namespace of tables, `host` this
    machine's name.

    Raises OSError and UnicodeDecodeError for the token's file.
    """

    def __init__(
        self,
        settings: TelemetrySettings,
        metastore: str,
        host: str,
        trace_of: Callable[[E], Trace],
        run_of: Callable[[E], LineageRun | None],
    ) -> None:
        super().__init__("telemetry", _DELAY)
        for library in ("opentelemetry", "openlineage"):  # they log each failure
            logging.getLogger(library).setLevel(logging.CRITICAL)
        self._trace_of = trace_of
        self._run_of = run_of
        self._traces = settings.traces and TraceSender(settings.traces, host)
        self._lineage = None
        if settings.lineage:
            token = settings.token.read_text().strip() if settings.token else ""
            self._lineage = LineageSender(settings.lineage, token, settings.namespace, metastore)
        self._failing = False

    def write_batch(self, entries: list[E]) -> int:
        """Sends the entries; returns the number of those that a server did not accept."""
        lost = 0
        if self._traces and not self._traces.send([self._trace_of(each) for each in entries]):
            lost = len(entries)
        if self._lineage:
            runs = [run for each in entries if (run := self._run_of(each))]
            lost = max(lost, self._lineage.send(runs))
        if entries and bool(lost) is not self._failing:
            self._failing = bool(lost)
            _log.warning("telemetry is %s", "not taken" if lost else "taken again")
        return lost
