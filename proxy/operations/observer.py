"""Reports the actions of clients and operators to the metrics, audit log, history and log."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from conf.errors import Blame
from conf.logs.log_fields import extra
from proxy.errors import Failure, InternalError
from proxy.operations.audit.audit_events import ApiCaller, AuditEvent, EventKind
from proxy.operations.audit.audit_store import AuditLog
from proxy.operations.history.table_use import tables_used
from proxy.operations.metrics import Metrics
from proxy.protocol.types import OperationState
from proxy.record.masking import masked_message
from proxy.record.record import Record
from proxy.session.operation import Operation
from proxy.session.user_session import UserSession

if TYPE_CHECKING:
    from proxy.operations.history.history_runner import HistoryRunner
    from proxy.operations.telemetry_thread import Telemetry

_log = logging.getLogger(__name__)
_MAX_ERROR = 500  # characters in a line
_LEVELS = {
    Blame.CLIENT: logging.INFO,
    Blame.CLUSTER: logging.WARNING,
    Blame.METASTORE: logging.WARNING,
    Blame.DIRECTORY: logging.WARNING,
    Blame.CAUSEWAY: logging.ERROR,
}
_LOGIN_FAILURES = "causeway_authentication_failures_total"


class Observer:
    """Receives the events of sessions, statements and log-ins.

    A statement is counted, and queued for the history, when it ends. Its line in the audit log is
    written, and its trace is sent, when its operation is closed, because only then the amounts
    fetched are known; for a failed statement this happens at its end. When the operation is closed,
    the history receives the amounts.
    """

    def __init__(
        self,
        metrics: Metrics,
        audit: AuditLog | None = None,
        history: "HistoryRunner | None" = None,
        telemetry: "Telemetry | None" = None,
    ) -> None:
        self.metrics = metrics
        self.audit = audit
        self.history = history
        self.telemetry = telemetry

    def login(self, user: str, address: str, method: str, accepted: bool) -> None:
        """Reports a log-in. If it failed, `user` is the name that the client sent."""
        if not accepted:
            self.metrics.count(_LOGIN_FAILURES)
        details = {"method": method, "accepted": accepted}
        self._event(AuditEvent(EventKind.LOGIN, user, user, address, details=details))

    def opened(self, session: UserSession) -> None:
        """Reports an opened session, with the names of its settings but not their values."""
        _log.info("session opened", extra=_fields(session))
        names: list[object] = [*sorted(session.state.configuration)]
        self._session_event(EventKind.SESSION_OPENED, session, {"settings": names})

    def client_info(self, session: UserSession) -> None:
        """Logs the name that a client gave its application, as HiveServer2 does."""
        _log.info("client of the session: %s", session.application, extra=_fields(session))

    def refused(self, user: str, address: str, failure: Failure) -> None:
        """Reports that no session was opened for the authenticated `user`."""
        details = {"error": failure.message}
        self._event(AuditEvent(EventKind.SESSION_REFUSED, user, user, address, details=details))

    def session_closed(self, session: UserSession) -> None:
        """Reports a session that its client, an operator or Causeway closed."""
        _log.info("session closed", extra=_fields(session))
        self._session_event(EventKind.SESSION_CLOSED, session, {})

    def metadata(
        self, session: UserSession, call: str, arguments: list[str], seconds: float
    ) -> None:
        """Reports a metadata call that was answered or failed."""
        details = {"call": call, "arguments": arguments, "seconds": round(seconds, 6)}
        self._session_event(EventKind.METADATA, session, details)

    def administered(
        self, action: str, argument: str, caller: ApiCaller, refused: bool = False
    ) -> None:
        """Reports an operator's request."""
        self._event(administration(action, argument, caller, refused))

    def _session_event(
        self, kind: EventKind, session: UserSession, details: Mapping[str, object]
    ) -> None:
        if self.audit is not None:
            user, guid = session.state.user, session.handle.guid.hex()
            self._event(AuditEvent(kind, user, session.by, session.address, guid, details))

    def _event(self, event: AuditEvent) -> None:
        if self.audit is not None:
            self.audit.put(event)

    def ended(self, operation: Operation) -> None:
        """Reports that the statement's task has ended. Later calls do nothing."""
        if not operation.record.over:
            self._ended(operation.record)

    def rejected(self, record: Record) -> None:
        """Reports a statement that was rejected before it had an operation."""
        record.closed = True
        self._ended(record)

    def _ended(self, record: Record) -> None:
        if self.history is not None:
            self.history.ended(record, tables_used(record.analysis, record.facts))
        record.finish()
        self.metrics.count("causeway_statements_total", record.state.name)
        if record.rule:
            self.metrics.count("causeway_decisions_total", record.rule, record.cluster)
        if record.code:
            self.metrics.count("causeway_errors_total", record.code)
        _log_end(record)
        for phase, seconds in record.phases.items():
            self.metrics.observe(phase, seconds)
        self._write(record)

    def closed(self, operation: Operation) -> None:
        """Reports that the operation was closed, by its client or with its session."""
        record = operation.record
        if record.closed:
            return
        record.closed = True
        self._write(record)
        if self.history is not None and record.over:
            self.history.completed(record)

    def fetched(self, operation: Operation, seconds: float, length: int, rows: int | None) -> None:
        """Reports a reply with rows: its duration, its bytes, and its rows if they are known."""
        operation.record.sent(length, rows, seconds)
        self.metrics.observe("fetch", seconds)
        self.metrics.count("causeway_sent_bytes_total", by=length)
        if rows:
            self.metrics.count("causeway_sent_rows_total", by=rows)

    def _write(self, record: Record) -> None:
        """Passes an ended statement to the audit log and telemetry once, when it is complete."""
        is_complete = record.closed or record.state is not OperationState.FINISHED
        if record.over and is_complete and not record.written:
            record.written = True
            for receiver in (self.audit, self.telemetry):
                if receiver is not None:
                    receiver.put(record)


def administration(action: str, argument: str, caller: ApiCaller, refused: bool) -> AuditEvent:
    """The audit event of an operator's request."""
    details: dict[str, object] = {"action": action, "argument": argument, "accepted": not refused}
    if caller.role is not None:
        details["role"] = caller.role.title
    by, address = (caller.name, caller.address) if caller.name else (caller.address, "")
    return AuditEvent(EventKind.ADMINISTRATION, "", by, address, details=details)


def _fields(session: UserSession) -> dict[str, dict[str, str]]:
    return extra(
        session=session.handle.guid.hex(), user=session.state.user, address=session.address
    )


def _log_end(record: Record) -> None:
    """Logs a failure, at a level that depends on who has to act. `internal_error` has logged
    internal errors already."""
    if record.blame is None and not _log.isEnabledFor(logging.DEBUG):
        return
    fields = {
        "session": record.session,
        "statement": record.statement,
        "user": record.user,
        "address": record.address,
        "cluster": record.cluster,
    }
    if record.blame is None:
        _log.debug("statement ended: %s", record.state.name, extra=extra(**fields))
    elif record.code != InternalError.code:
        fields |= {"blame": record.blame.value, "code": record.code}
        text = masked_message(record.error).split("\n", 1)[0][:_MAX_ERROR]
        _log.log(_LEVELS[record.blame], "statement failed: %s", text, extra=extra(**fields))
