"""Writes log-ins to the console, and changes by its users, to the audit log and the log."""

import logging

from starlette.requests import Request

from conf.logs.log_fields import extra
from console.login.sessions import Session
from proxy.operations.audit.audit_events import AuditEvent, EventKind
from proxy.operations.audit.audit_store import AuditLog

_log = logging.getLogger(__name__)


class ConsoleAudit:
    """The console's audit. Without `audit`, if `proxy.audit.file` is not set, it writes to the log
    alone."""

    def __init__(self, audit: AuditLog | None) -> None:
        self._audit = audit

    def login(self, user: str, address: str, accepted: bool) -> None:
        """Records a log-in to the console, or a failed one."""
        details = {"method": "console", "accepted": accepted}
        self._put(AuditEvent(EventKind.LOGIN, user, user, address, details=details))
        words = "logged in to the console" if accepted else "failed to log in to the console"
        _log.info(words, extra=extra(user=user[:80], address=address))

    def action(self, request: Request, action: str, argument: str, accepted: bool = True) -> None:
        """Records an action of the request's user, such as `kill-statement`, and its argument."""
        session = request.state.session
        address = address_of(request)
        details = {"action": action, "argument": argument, "accepted": accepted}
        self._put(AuditEvent(EventKind.ADMINISTRATION, "", session.user, address, details=details))
        _log.info("%s %s", action, argument, extra=extra(user=session.user, address=address))

    def ended_by_issuer(self, request: Request, issuer: str, session: Session) -> None:
        """Records that the issuer ended a session."""
        address, ended = address_of(request), f"{session.name} of {session.user}"
        details = {"action": "end-console-session", "argument": ended, "accepted": True}
        self._put(AuditEvent(EventKind.ADMINISTRATION, "", issuer, address, details=details))
        _log.info("%s ends the session %s", issuer, ended, extra=extra(address=address))

    def close(self) -> None:
        """Writes the queued events."""
        if self._audit is not None:
            self._audit.close()

    def _put(self, event: AuditEvent) -> None:
        if self._audit is not None:
            self._audit.put(event)


def address_of(request: Request) -> str:
    """The address of the browser."""
    return "" if request.client is None else request.client.host
