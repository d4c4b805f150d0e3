"""Limits of the metastore view: clients, clients of one address, connections to the metastore."""

from dataclasses import dataclass

from conf.kinds import DURATION, POSITIVE
from conf.settings.rows import RESTART, setting


# fmt: off
@dataclass(frozen=True, slots=True)
class ViewLimits:
    """Limits of one process of the view, for all its endpoints together. Times are in seconds.

    A metastore has a thread for each connection, by default at most 1,000: `upstream` is below
    that. Three limits are not settings: `handshake` is the time-out of a TLS handshake,
    `first_call` that of a new client's first call, `request` that of the arrival of one request.
    """

    clients: int = setting("view.limit.connections.total", POSITIVE, "2000", RESTART,
        "Clients of one process of the view.")
    clients_per_address: int = setting("view.limit.connections.per.ipaddress",
        POSITIVE, "400", RESTART,
        "Clients of one process of the view from one address. A client above the limit replaces one"
        " that has never made a call, or is refused if there is none.")
    upstream: int = setting("view.limit.metastore.connections", POSITIVE, "900", RESTART,
        "Connections to the metastore, which has a thread for each (1,000 by default:"
        " `hive.metastore.server.max.threads`).")
    upstream_idle: float = setting("view.metastore.idle.timeout", DURATION, "10m", RESTART,
        "The view closes a client's connection to the metastore after this time without a call. The"
        " client's own connection stays open.")
    handshake: float = 10.0
    first_call: float = 60.0
    request: float = 300.0
