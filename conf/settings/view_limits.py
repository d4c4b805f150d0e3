"""Bounds of the metastore view: connections in all, of one address, and to the metastore itself."""

from dataclasses import dataclass

from conf.settings.parse import Reader, positive, seconds

CLIENTS = "view.limit.connections.total"
CLIENTS_PER_ADDRESS = "view.limit.connections.per.ipaddress"
UPSTREAM = "view.limit.metastore.connections"
UPSTREAM_IDLE = "view.metastore.idle.timeout"

NAMES = (CLIENTS, CLIENTS_PER_ADDRESS, UPSTREAM, UPSTREAM_IDLE)


@dataclass(frozen=True, slots=True)
class ViewLimits:
    """Of one process of the view, over all its endpoints. Times are in seconds.

    A metastore has a thread for each connection, 1,000 by default: `upstream` is below that.
    A connection to it is given up when its client asked nothing for `upstream_idle`; the client's
    own stays. `first_call` is how long a client may be silent at first, `request` how long it may
    take for one whole request.
    """

    clients: int = 2_000
    clients_per_address: int = 400
    upstream: int = 900
    upstream_idle: float = 600.0
    first_call: float = 60.0
    request: float = 300.0


def read(reader: Reader) -> ViewLimits:
    """The group's settings. Raises BadSetting."""
    default = ViewLimits()
    return ViewLimits(
        clients=reader.read(CLIENTS, positive, default.clients),
        clients_per_address=reader.read(CLIENTS_PER_ADDRESS, positive, default.clients_per_address),
        upstream=reader.read(UPSTREAM, positive, default.upstream),
        upstream_idle=reader.read(UPSTREAM_IDLE, seconds, default.upstream_idle),
    )
