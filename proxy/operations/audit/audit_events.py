"""The events of the audit log besides statements: logins, sessions, metadata calls,
administration."""

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
    """`address` is that of a connection, or a local user or signal. `role` None: nothing proves who
    it is. A socket's owner has no name."""

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
    """`user` is the user that it is done for, `by` the user that authenticated, from `address`.
    `details` are JSON types."""

    kind: EventKind
    user: str = ""
    by: str = ""
    address: str = ""
    session: str = ""
    details: Mapping[str, object] = field(default_factory=dict)
    began: float = field(default_factory=time.time)
    kept: ClassVar[int] = 500  # characters in memory, about

    def line(self) -> dict[str, object]:
        """The line of the audit log."""
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
