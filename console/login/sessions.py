"""The sessions of logged-in users, in memory only.

A browser gets the id of its session in a signed cookie. An id that is forged, ended or too old has
no session. Ids are random and secret: lists of sessions show `name` instead.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from conf.roles import Role
from console.login.signed import Signer, cookie

COOKIE = "causeway-console"
MAX_AGE = 12 * 3600.0  # seconds after the log-in
MAX_IDLE = 2 * 3600.0  # seconds without a request
MAX_SESSIONS = 1_000


@dataclass(slots=True)
class Session:
    """A session. Its forms must send the token `csrf`. `subject` and `sid` are an issuer's ids of
    the user and of its own session; empty without an issuer."""

    user: str
    role: Role
    address: str
    began: float
    used: float
    subject: str = ""
    sid: str = ""
    name: str = field(default_factory=lambda: secrets.token_hex(4))
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)


class LoginSessions:
    """The console's sessions. With `open_user` no log-in is needed: each request has the session of
    that user, an administrator. `clock` returns epoch seconds."""

    def __init__(
        self, open_user: str | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._clock = clock
        self._signer = Signer()
        self._sessions: dict[str, Session] = {}  # by id, the least recently used first
        now = clock()
        self._open = (
            None if open_user is None else Session(open_user, Role.ADMINISTRATOR, "", now, now)
        )

    @property
    def is_open(self) -> bool:
        """Whether no log-in is needed."""
        return self._open is not None

    def log_in(self, user: str, role: Role, address: str, subject: str = "", sid: str = "") -> str:
        """Starts a session, and returns the value of its cookie."""
        now, number = self._clock(), secrets.token_urlsafe(32)
        while len(self._sessions) >= MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        self._sessions[number] = Session(user, role, address, now, now, subject, sid)
        return self._signer.sign(number)

    def session(self, header: str | None) -> Session | None:
        """The session for a request's Cookie header, if there is one. Renews its idle time."""
        if self._open is not None:
            return self._open
        number = self._signer.read(header, COOKIE)
        found = self._sessions.pop(number, None)
        now = self._clock()
        if found is None or now - found.began > MAX_AGE or now - found.used > MAX_IDLE:
            return None
        self._sessions[number] = found
        found.used = now
        return found

    def sessions(self) -> list[Session]:
        """All sessions, the most recently used first."""
        return list(reversed(self._sessions.values()))

    def end(self, name: str) -> Session | None:
        """Ends the session with this name and returns it; None if there is none."""
        for number, session in self._sessions.items():
            if session.name == name:
                return self._sessions.pop(number)
        return None

    def end_issued(self, subject: str, sid: str, until: float) -> list[Session]:
        """Ends the sessions that an issuer has ended and returns them: those of its `sid`, or
        without a `sid` those of the subject, if they began before `until`."""
        found = [
            (number, each)
            for number, each in self._sessions.items()
            if (each.sid == sid if sid else each.subject == subject) and each.began <= until
        ]
        for number, _ in found:
            del self._sessions[number]
        return [each for _, each in found]


def set_cookie(value: str, secure: bool) -> str:
    """The value of a Set-Cookie header; an empty `value` deletes the cookie."""
    return cookie(COOKIE, value, int(MAX_AGE), "/", "Strict", secure)
