"""The events of the audit log that are not statements: log-ins, sessions, metadata calls and
requests of operators."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from conf.formats import utc
from conf.roles import Role

_MAX_TEXT = 1_000  # characters of one value


@dataclass(frozen=True, slots=True)
class ApiCaller:
    """The sender of a request to a REST API for operators, or of a signal.

    `address` is a network address, or describes a local process or signal. `name` is empty for
    tokens without a name and for local callers. `role` is None if the request has no valid token.
    """

    address: str
    name: str = ""
    role: Role | None = None


class EventKind(Enum):
    LOGIN = "login"
    SESSION_OPENED = "session_opened"
    SESSION_REFUSED = "session_refused"
    SESSION_CLOSED = "session_closed"
    METADATA = "metadata"
    ADMINISTRATION = "administration"


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """`user` is the user for whom something was done, `by` the user that authenticated, from
    `address`. `details` has JSON types."""

    kind: EventKind
    user: str = ""
    by: str = ""
    address: str = ""
    session: str = ""
    details: Mapping[str, object] = field(default_factory=dict)
    began: float = field(default_factory=time.time)
    kept: ClassVar[int] = 500  # characters in memory, approximately

    def line(self) -> dict[str, object]:
        """The event as a line of the audit log, in JSON types."""
        details = {key: _short(value) for key, value in self.details.items()}
        return {
            "time": utc(self.began),
            "event": self.kind.value,
            "user": _short(self.user),
            "by": _short(self.by),
            "address": self.address,
            **({"session": self.session} if self.session else {}),
            **details,
        }


def _short(value: object) -> object:
    if isinstance(value, str) and len(value) > _MAX_TEXT:
        return f"{value[:_MAX_TEXT]}.. ({len(value):,} characters)"
    if isinstance(value, list):
        return [_short(each) for each in value]
    return value
