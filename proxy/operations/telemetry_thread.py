"""Sends each statement that ended to OpenTelemetry and OpenLineage, from a thread of its own."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from conf.logs.batch_thread import BatchThread
from conf.settings.telemetry import TelemetrySettings
from dialect.parsing.fingerprint import fingerprint
from proxy.operations.masking import masked_message
from proxy.operations.record import Record
from proxy.protocol.types import OperationState
from telemetry.lineage import LineageRun, LineageSender, Outcome
from telemetry.traces import Trace, TraceSender

if TYPE_CHECKING:
    from conf.topology import Endpoint

_log = logging.getLogger(__name__)
_DELAY = 1.0  # seconds in which statements gather
_MAX_ERROR = 1_000  # characters
_OUTCOMES = {
    OperationState.FINISHED: Outcome.COMPLETE,
    OperationState.ERROR: Outcome.FAIL,
}  # all others: ABORT
_SQL = "sql"


class Telemetry:
    """Statements that come faster than they can be sent, and those that a server does not take, are
    dropped and counted: nothing is repeated for long, and no statement waits."""

    def __init__(
        self, settings: TelemetrySettings, metastores: Sequence["Endpoint"], host: str
    ) -> None:
        """`host` is this machine's name. Raises OSError and UnicodeDecodeError for the token's
        file."""
        for library in ("opentelemetry", "openlineage"):  # they log each failure
            logging.getLogger(library).setLevel(logging.CRITICAL)
        self._traces = settings.traces and TraceSender(settings.traces, host)
        self._lineage = None
        if settings.lineage:
            token = settings.token.read_text().strip() if settings.token else ""
            metastore = str(metastores[0]) if metastores else "metastore"
            self._lineage = LineageSender(settings.lineage, token, settings.namespace, metastore)
        self._failing = False
        self._thread: BatchThread[Record] = BatchThread("telemetry", self._send, _DELAY)

    def start(self) -> None:
        self._thread.start()

    @property
    def dropped(self) -> int:
        """The number of statements that were not sent."""
        return self._thread.dropped

    def put(self, record: Record) -> None:
        """Queues a statement that ended, and that its client is done with or that failed."""
        self._thread.put(record)

    def close(self) -> None:
        """Sends what is queued, for a few seconds at most."""
        self._thread.close()

    # The thread's side

    def _send(self, records: list[Record]) -> int:
        lost = 0
        if self._traces and not self._traces.send([trace_of(each) for each in records]):
            lost = len(records)
        if self._lineage:
            runs = [run for each in records if (run := lineage_of(each))]
            lost = max(lost, self._lineage.send(runs))
        if records and bool(lost) is not self._failing:
            self._failing = bool(lost)
            _log.warning("telemetry is %s", "not taken" if lost else "taken again")
        return lost


def trace_of(record: Record) -> Trace:
    """The span of a statement, named by its first word, and its phases."""
    text = record.text.shown()
    reads, writes = record.tables()
    attributes: dict[str, str | int | float] = {
        "db.system.name": "spark",
        "db.operation.name": _operation(text),
        "db.query.text": text,
        "db.namespace": record.database,
        "db.collection.name": ",".join((*writes, *reads)),
        "enduser.id": record.user,
        "client.address": record.address,
        "session.id": record.session,
        "causeway.cluster": record.cluster,
        "causeway.rule": record.rule,
        "causeway.state": record.state.name,
        "causeway.bytes": record.bytes,
        "causeway.fetch.seconds": record.fetch,
        "error.type": record.code,
    }
    if record.rows is not None:
        attributes["db.response.returned_rows"] = record.rows
    return Trace(
        id=record.statement,
        name=_operation(text),
        began=record.began,
        seconds=record.seconds or 0.0,
        phases=dict(record.phases),
        attributes={name: value for name, value in attributes.items() if value != ""},
        error=_error(record),
    )


def lineage_of(record: Record) -> LineageRun | None:
    """What a statement read and wrote in a cluster; None if it did neither, or was refused."""
    reads, writes = record.tables()
    if not record.cluster or not (reads or writes):
        return None
    return LineageRun(
        id=record.statement,
        job=f"{_SQL}.{fingerprint(record.text.head + record.text.tail)}",
        kind="QUERY" if not writes else "COMMAND",
        began=record.began,
        ended=record.began + (record.seconds or 0.0),
        outcome=_OUTCOMES.get(record.state, Outcome.ABORT),
        inputs=reads,
        outputs=writes,
        sql=record.text.shown(),
        error=_error(record),
        tags={
            "user": record.user,
            "cluster": record.cluster,
            "rule": record.rule,
            "code": record.code,
        },
    )


def _operation(text: str) -> str:
    words = text.split(maxsplit=1)
    return words[0].upper()[:30] if words else "STATEMENT"


def _error(record: Record) -> str:
    return masked_message(record.error)[:_MAX_ERROR]
