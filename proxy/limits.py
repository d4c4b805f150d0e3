"""Every bound of the proxy: sizes, counts and waits (seconds)."""

from dataclasses import dataclass, fields, replace
from typing import TypeVar

from conf.access.quotas import UserQuota
from conf.settings.operating import Operating

_DAY = 86_400.0  # seconds
_N = TypeVar("_N", int, float)
# Limits whose settings have another name.
_NAMES = {
    "connections": "client_connections",
    "health_timeout": "silence",
    "drain_timeout": "drain",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """`thread_wait` is how long a statement may wait for a thread of a busy Thrift Server.
    `linger` is how long a cancelled write may still be changing files over there.

    `endpoint_connections` stays below the Thrift Server's own 500, beyond which it hangs, and
    `openings` are the sessions that all workers open at an endpoint at the same time. The
    counts of users and addresses, and what is idle, are the settings' (`of`): 0 is no bound, and
    `new_connections` are those that have not authenticated yet; `buffered` is in bytes, and
    `idle_operation` below 0 holds for statements that run, too. `health_interval` 0: no checks.
    A server that is ill may owe an answer for `silence`.
    """

    sessions_per_user: int = 1_000
    sessions_per_address: int = 0
    sessions_per_user_address: int = 0
    statements_per_user: int = 0
    statements_per_address: int = 0
    operations_per_user: int = 10_000
    client_connections: int = 5_000
    connections_per_address: int = 2_500
    new_connections: int = 2_000
    new_connections_per_address: int = 1_000
    buffered: int = 256 << 20
    endpoint_connections: int = 450
    openings: int = 16
    idle_connections: int = 16
    idle_seconds: float = 60.0
    negotiation: float = 30.0
    handshake: float = 10.0
    request: float = 300.0
    connect: float = 5.0
    call: float = 120.0
    silence: float = 60.0
    close: float = 5.0
    linger: float = 5.0
    result_rows: int = 100_000_000
    result_bytes: int = 32 << 30
    statement_time: float = 2 * _DAY
    write_wait: float = _DAY / 24
    thread_wait: float = _DAY / 24
    idle_result: float = _DAY / 6
    idle_session: float = 7 * _DAY
    idle_session_check: bool = True
    idle_operation: float = 5 * _DAY
    check_interval: float = 60.0
    health_interval: float = 0.0
    drain: float = 30.0
    first_poll: float = 0.1
    last_poll: float = 0.5

    def of(self, operating: Operating) -> "Limits":
        """These, with what the settings say."""
        known = {each.name for each in fields(self)}
        named = {_NAMES.get(each.name, each.name): each.name for each in fields(operating)}
        values = {name: getattr(operating, of) for name, of in named.items() if name in known}
        return replace(self, **values)


def with_quota(limits: Limits, quota: UserQuota | None) -> Limits:
    """The limits of a user's statements: the smaller one of each."""
    if quota is None:
        return limits
    return replace(
        limits,
        result_rows=_smaller(limits.result_rows, quota.rows),
        result_bytes=_smaller(limits.result_bytes, quota.bytes),
        statement_time=_smaller(limits.statement_time, quota.seconds),
    )


def _smaller(one: _N, other: _N) -> _N:
    """0 is no limit."""
    return min(one, other) if one and other else one or other


DEFAULT = Limits()
