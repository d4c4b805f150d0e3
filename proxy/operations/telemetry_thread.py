"""The trace and the lineage run of a statement, and the thread that sends them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from conf.settings.telemetry import TelemetrySettings
from dialect.parsing.fingerprint import fingerprint
from proxy.protocol.types import OperationState
from proxy.record.masking import masked_message
from proxy.record.record import Record
from telemetry.lineage import LineageRun, RunOutcome
from telemetry.telemetry_thread import TelemetryThread
from telemetry.traces import Trace

if TYPE_CHECKING:
    from conf.topology import Endpoint

_MAX_ERROR = 1_000  # characters
_OUTCOMES = {
    OperationState.FINISHED: RunOutcome.COMPLETE,
    OperationState.ERROR: RunOutcome.FAIL,
}  # all others: ABORT
_SQL = "sql"


class Telemetry(TelemetryThread[Record]):
    """Sends the statements that `Observer` passes to it."""

    def __init__(
        self, settings: TelemetrySettings, metastores: Sequence["Endpoint"], host: str
    ) -> None:
        """Raises OSError and UnicodeDecodeError for the token's file."""
        metastore = str(metastores[0]) if metastores else "metastore"
        super().__init__(settings, metastore, host, trace_of, lineage_of)


def trace_of(record: Record) -> Trace:
    """The trace of a statement: a span with the statement's first word as its name, and phases."""
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
    """The lineage run of a statement; None if it ran in no cluster or used no tables."""
    reads, writes = record.tables()
    if not record.cluster or not (reads or writes):
        return None
    return LineageRun(
        id=record.statement,
        job=f"{_SQL}.{fingerprint(record.text.head + record.text.tail)}",
        kind="QUERY" if not writes else "COMMAND",
        began=record.began,
        ended=record.began + (record.seconds or 0.0),
        outcome=_OUTCOMES.get(record.state, RunOutcome.ABORT),
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
