"""Tells the metrics and the audit log what became of statements."""

from proxy.net.audit import Audit
from proxy.net.operation import Operation
from proxy.session.metrics import Metrics
from proxy.wire.types import OperationState


class Observer:
    """A statement is counted when it ends, and its line written when its client can fetch no
    more: then it is known how much was sent. One that failed is written at once."""

    def __init__(self, metrics: Metrics, audit: Audit | None = None) -> None:
        self.metrics = metrics
        self.audit = audit

    def ended(self, operation: Operation) -> None:
        """The statement's task is over."""
        record = operation.record
        if record.over:
            return
        record.finish()
        self.metrics.count("causeway_statements_total", record.state.name)
        if record.rule:
            self.metrics.count("causeway_decisions_total", record.rule, record.cluster)
        if record.code:
            self.metrics.count("causeway_errors_total", record.code)
        for phase, seconds in record.phases.items():
            self.metrics.took(phase, seconds)
        self._write(operation)

    def closed(self, operation: Operation) -> None:
        """The client closed the operation, or its session is."""
        operation.record.closed = True
        self._write(operation)

    def fetched(self, operation: Operation, seconds: float, length: int, rows: int | None) -> None:
        """A reply with rows went to the client."""
        operation.record.sent(length, rows)
        self.metrics.took("fetch", seconds)
        self.metrics.count("causeway_sent_bytes_total", by=length)
        if rows:
            self.metrics.count("causeway_sent_rows_total", by=rows)

    def _write(self, operation: Operation) -> None:
        record = operation.record
        due = record.closed or record.state is not OperationState.FINISHED
        if self.audit is not None and record.over and due and not record.written:
            record.written = True
            self.audit.put(record)
