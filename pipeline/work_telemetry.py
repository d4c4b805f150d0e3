"""Copies and instances that ended, as traces of OpenTelemetry and runs of OpenLineage.

The trace of a statement or an instance has the spans of its copies; a copy that was made for
neither has a trace of its own. The libraries are an extra: import this module only where settings
enable telemetry.
"""

from conf.settings.telemetry import TelemetrySettings
from database.history.work import CopyRecord, InstanceRecord, WorkRecord
from telemetry.lineage import DatasetLocation, LineageRun, RunOutcome
from telemetry.telemetry_thread import TelemetryThread
from telemetry.traces import Trace

_MAX_ERROR = 1_000  # characters
_OUTCOMES = {
    "SUCCEEDED": RunOutcome.COMPLETE,
    "FAILED": RunOutcome.FAIL,
    "RETRIED": RunOutcome.FAIL,
}


class WorkTelemetry(TelemetryThread[WorkRecord]):
    """Sends the copies and instances that ended, in a thread of its own."""

    def __init__(self, settings: TelemetrySettings, metastore: str, host: str) -> None:
        """Raises OSError and UnicodeDecodeError for the token's file."""
        super().__init__(settings, metastore, host, trace_of, run_of)


def trace_of(record: WorkRecord) -> Trace:
    """The span of a copy or of an instance's attempt."""
    attributes: dict[str, str | int | None]
    if isinstance(record, InstanceRecord):
        name = f"{record.action} {record.kind} {record.name}"
        attributes = {
            "causeway.entity": f"{record.kind}/{record.name}",
            "causeway.action": record.action,
            "causeway.cluster": record.cluster,
            "causeway.source": record.source,
            "causeway.run": record.run,
            "causeway.attempt": record.attempt,
            "causeway.state": record.state,
            "causeway.bytes": record.bytes,
        }
        began = record.ended if record.started is None else record.started
        part = ""
    else:
        name = f"copy {record.table} {record.source} {record.target}"
        attributes = {
            "db.collection.name": record.table,
            "causeway.cluster": record.target,
            "causeway.source": record.source,
            "causeway.copy.run": record.run,
            "causeway.entity": record.entity,
            "causeway.state": record.state,
            "causeway.partitions": record.partitions,
            "causeway.files": record.files,
            "causeway.bytes": record.bytes,
            "causeway.sent": record.sent,
        }
        began = record.started
        part = "" if record.trace == record.id else record.id
    return Trace(
        id=record.id if isinstance(record, InstanceRecord) else record.trace,
        name=name,
        began=began,
        seconds=max(record.ended - began, 0.0),
        attributes={key: value for key, value in attributes.items() if value is not None},
        error=record.error[:_MAX_ERROR],
        part=part,
    )


def run_of(record: WorkRecord) -> LineageRun | None:
    """The run of a copy, or of a process with its feeds. Other instances have none: their copies
    have runs of their own."""
    return _of_instance(record) if isinstance(record, InstanceRecord) else _of_copy(record)


def _of_instance(record: InstanceRecord) -> LineageRun | None:
    if record.action != "process" or record.started is None:
        return None
    return LineageRun(
        id=record.id,
        job=f"{record.kind}.{record.name}",
        kind="PROCESS",
        began=record.started,
        ended=record.ended,
        outcome=_OUTCOMES.get(record.state, RunOutcome.ABORT),
        inputs=[_data(each) for each in record.inputs],
        outputs=[_data(each) for each in record.outputs],
        error=record.error[:_MAX_ERROR],
        tags={"cluster": record.cluster, "attempt": str(record.attempt)},
        nominal=record.nominal,
        language="TEXT",
    )


def _of_copy(record: CopyRecord) -> LineageRun:
    """The input is the table; the output is the directory of its copies, linked to the table."""
    source = _data(record.table)
    is_table = isinstance(source, str)
    target = DatasetLocation(record.location, record.target_table if is_table else "")
    return LineageRun(
        id=record.id,
        job=f"copy.{record.table}.{record.source}-{record.target}",
        kind="COPY",
        began=record.started,
        ended=record.ended,
        outcome=RunOutcome.COMPLETE if record.state == "SUCCEEDED" else RunOutcome.FAIL,
        inputs=[source],
        outputs=[target],
        error=record.error[:_MAX_ERROR],
        tags={
            "from": record.source,
            "to": record.target,
            "entity": record.entity,
            "statement": record.statement,
        },
        parent=(record.instance, record.entity.replace("/", ".")) if record.instance else None,
        language="TEXT",
    )


def _data(name: str) -> str | DatasetLocation:
    """The name of a table, or the location of a directory's URI."""
    return DatasetLocation(name) if "/" in name else name
