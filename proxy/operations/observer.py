"""Tells the metrics and the audit log what clients and operators did, and what came of it."""

from collections.abc import Mapping

from proxy.errors import Failure
from proxy.operations.audit_events import Event, EventKind
from proxy.operations.audit_store import Audit
from proxy.operations.metrics import Metrics
from proxy.protocol.types import OperationState
from proxy.session.open_session import Session
from proxy.statement.operation import Operation

_LOGIN_FAILURES = "causeway_authentication_failures_total"


class Observer:
    """A statement is counted when it ends, and its line written when its client can fetch no
    more: then it is known how much was sent. One that failed is written at once."""

    def __init__(self, metrics: Metrics, audit: Audit | None = None) -> None:
        self.metrics = metrics
        self.audit = audit

    def login(self, user: str, address: str, method: str, accepted: bool) -> None:
        """A client was let in as `user`, or not; a name that was not proved is what was typed."""
        if not accepted:
            self.metrics.count(_LOGIN_FAILURES)
        details = {"method": method, "accepted": accepted}
        self._event(Event(EventKind.LOGIN, user, user, address, details=details))

    def opened(self, session: Session) -> None:
        """A session was opened; of its settings the names are written."""
        names: list[object] = [*sorted(session.state.configuration)]
        self._of_session(EventKind.SESSION_OPENED, session, {"settings": names})

    def refused(self, user: str, address: str, failure: Failure) -> None:
        """A session was not opened for `user`, who proved to be that."""
        details = {"error": failure.message}
        self._event(Event(EventKind.SESSION_REFUSED, user, user, address, details=details))

    def gone(self, session: Session) -> None:
        """A session was closed, whoever did that."""
        self._of_session(EventKind.SESSION_CLOSED, session, {})

    def metadata(self, session: Session, call: str, arguments: list[str], seconds: float) -> None:
        """A metadata call was answered, or failed."""
        details = {"call": call, "arguments": arguments, "seconds": round(seconds, 6)}
        self._of_session(EventKind.METADATA, session, details)

    def administered(self, action: str, argument: str, caller: str, refused: bool = False) -> None:
        """An operator asked for something; `caller` is an address, a local user or a signal."""
        self._event(administration(action, argument, caller, refused))

    def _of_session(self, kind: EventKind, session: Session, details: Mapping[str, object]) -> None:
        if self.audit is not None:
            user, guid = session.state.user, session.handle.guid.hex()
            self._event(Event(kind, user, session.by, session.address, guid, details))

    def _event(self, event: Event) -> None:
        if self.audit is not None:
            self.audit.put(event)

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
            self.metrics.observe(phase, seconds)
        self._write(operation)

    def closed(self, operation: Operation) -> None:
        """The client closed the operation, or its session is."""
        operation.record.closed = True
        self._write(operation)

    def fetched(self, operation: Operation, seconds: float, length: int, rows: int | None) -> None:
        """A reply with rows went to the client."""
        operation.record.sent(length, rows)
        self.metrics.observe("fetch", seconds)
        self.metrics.count("causeway_sent_bytes_total", by=length)
        if rows:
            self.metrics.count("causeway_sent_rows_total", by=rows)

    def _write(self, operation: Operation) -> None:
        record = operation.record
        due = record.closed or record.state is not OperationState.FINISHED
        if self.audit is not None and record.over and due and not record.written:
            record.written = True
            self.audit.put(record)


def administration(action: str, argument: str, caller: str, refused: bool) -> Event:
    """What an operator asked for, as the audit log has it."""
    details = {"action": action, "argument": argument, "accepted": not refused}
    return Event(EventKind.ADMINISTRATION, "", caller, "", details=details)
