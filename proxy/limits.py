"""The limits of the proxy: sizes in bytes, counts, and times in seconds."""

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
    """The limits in use; `of` reads them from the settings. Some settings allow 0, for no limit.

    - `new_connections`: clients' connections that are not logged in yet.
    - `buffered`: bytes that clients sent and the proxy has not processed yet.
    - `endpoint_connections`: below the Thrift Server's own 500, beyond which it hangs.
    - `openings`: sessions that all workers open at one endpoint at the same time.
    - `silence`: how long a server whose health checks fail may send nothing in a call.
    - `linger`: how long a cancelled write may go on changing files in its cluster.
    - `thread_wait`: how long a statement may wait for a thread of a busy Thrift Server.
    - `idle_operation`: below 0 its absolute value applies to running statements, too.
    - `health_interval`: 0 means no health checks.
    - `first_poll`, `last_poll`: how long the answer to a poll is delayed at first and later.
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
        """These limits, replaced by those that the settings have."""
        limits = {each.name for each in fields(self)}
        settings = {_NAMES.get(each.name, each.name): each.name for each in fields(operating)}
        values = {
            limit: getattr(operating, setting)
            for limit, setting in settings.items()
            if limit in limits
        }
        return replace(self, **values)


def with_quota(limits: Limits, quota: UserQuota | None) -> Limits:
    """The limits of a user's statements: of each limit and its quota the smaller one."""
    if quota is None:
        return limits
    return replace(
        limits,
        result_rows=_smaller(limits.result_rows, quota.rows),
        result_bytes=_smaller(limits.result_bytes, quota.bytes),
        statement_time=_smaller(limits.statement_time, quota.seconds),
    )


def _smaller(one: _N, other: _N) -> _N:
    """The smaller limit; 0 means no limit."""
    return min(one, other) if one and other else one or other


DEFAULT = Limits()
