"""Every bound of the proxy: sizes, counts and waits (seconds)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """`linger` is how long a cancelled write may still be changing files over there.

    `endpoint_connections` stays below the Thrift Server's own 500, beyond which it hangs."""

    sessions_per_user: int = 1_000
    operations_per_user: int = 10_000
    client_connections: int = 5_000
    endpoint_connections: int = 450
    idle_connections: int = 16
    idle_seconds: float = 60.0
    negotiation: float = 30.0
    handshake: float = 10.0
    request: float = 300.0
    connect: float = 5.0
    call: float = 120.0
    result: float = 3_600.0
    close: float = 5.0
    linger: float = 5.0
    first_poll: float = 0.1
    last_poll: float = 0.5


DEFAULT = Limits()
