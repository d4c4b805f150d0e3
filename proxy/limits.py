"""Every bound of the proxy: sizes, counts and waits (seconds)."""

from dataclasses import dataclass, replace

from conf.settings.operating import DAY, Operating


@dataclass(frozen=True, slots=True)
class Limits:
    """`linger` is how long a cancelled write may still be changing files over there.

    `endpoint_connections` stays below the Thrift Server's own 500, beyond which it hangs. The
    counts of users and addresses, and what is idle, are the settings' (`of`): 0 is no bound, and
    `new_connections` are those that have not said who they are; `buffered` is in bytes, and
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
    statement_time: float = 2 * DAY
    idle_result: float = DAY / 6
    idle_session: float = 7 * DAY
    idle_session_check: bool = True
    idle_operation: float = 5 * DAY
    check_interval: float = 60.0
    health_interval: float = 0.0
    drain: float = 30.0
    first_poll: float = 0.1
    last_poll: float = 0.5

    def of(self, operating: Operating) -> "Limits":
        """These, with what the settings say."""
        return replace(
            self,
            sessions_per_user=operating.sessions_per_user,
            sessions_per_address=operating.sessions_per_address,
            sessions_per_user_address=operating.sessions_per_user_address,
            statements_per_user=operating.statements_per_user,
            statements_per_address=operating.statements_per_address,
            client_connections=operating.connections,
            connections_per_address=operating.connections_per_address,
            new_connections=operating.new_connections,
            new_connections_per_address=operating.new_connections_per_address,
            buffered=operating.buffered,
            result_rows=operating.result_rows,
            result_bytes=operating.result_bytes,
            statement_time=operating.statement_time,
            idle_result=operating.idle_result,
            idle_session=operating.idle_session,
            idle_session_check=operating.idle_session_check,
            idle_operation=operating.idle_operation,
            check_interval=operating.check_interval,
            health_interval=operating.health_interval,
            silence=operating.health_timeout,
            drain=operating.drain_timeout,
        )


DEFAULT = Limits()
