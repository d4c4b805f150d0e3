"""What all connections of the server share."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from conf.errors import CausewayError
from conf.names import ClusterName
from conf.settings import Settings
from conf.topology import Cluster
from proxy.net.facts import Decider
from proxy.net.limits import Limits
from proxy.net.lines import Lines
from proxy.net.operation import Operation
from proxy.net.session import Session
from proxy.net.statement import Copier
from proxy.session.handles import Registry
from proxy.wire import replies
from proxy.wire.binary import Struct
from proxy.wire.requests import NO_SESSION, get_info_call

_INFO_WAIT = 1.0


@dataclass(frozen=True, slots=True)
class Owned:
    """An operation with the session that it belongs to."""

    session: Session
    operation: Operation


class Hub:
    """The sessions and operations of all clients, the lines to all clusters.

    `through` is where everything goes while no cluster is configured (DC-N1).
    """

    def __init__(
        self,
        decider: Decider,
        limits: Limits,
        group: asyncio.TaskGroup,
        copier: Copier | None = None,
    ) -> None:
        settings = decider.settings
        self.topology = settings.topology
        self.through = None if settings.topology.in_use else _upstream(settings)
        self.decider = decider
        self.copier = copier
        self.limits = limits
        self.group = group
        self.lines = Lines(limits)
        self._info: dict[int, Struct] = {}
        self.sessions: Registry[Session] = Registry("sessions", limits.sessions_per_user)
        self.operations: Registry[Owned] = Registry("operations", limits.operations_per_user)

    async def learn_info(self, kind: int, user: str) -> Struct | None:
        """What the default cluster says of itself, asked once; None while it does not answer."""
        default = self.topology.default or ClusterName("")
        cluster = self.through or self.topology.clusters.get(default)
        if kind not in self._info and cluster is not None:
            with suppress(CausewayError, TimeoutError):
                async with (
                    asyncio.timeout(_INFO_WAIT),
                    self.lines.borrow(cluster.name, cluster.hs2[0], user) as connection,
                ):
                    data = await connection.call(get_info_call(NO_SESSION, kind))
                self._info[kind] = replies.read_result(data, "GetInfo")
        return self._info.get(kind)

    def forget(self, session: Session) -> None:
        self.sessions.remove(session.handle)
        for operation in session.operations.values():
            self.operations.remove(operation.handle)

    async def close(self, session: Session) -> None:
        """Ends the session everywhere."""
        self.forget(session)
        await session.close(self.limits)


def _upstream(settings: Settings) -> Cluster:
    return Cluster(ClusterName("upstream"), "", settings.upstream)
