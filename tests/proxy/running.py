"""The proxy with settings of the test's own, two Thrift Servers in one cluster, and its Admin."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import uvloop

from conf.errors import BadSetting
from conf.settings.operating import Operating
from conf.settings.security.authentication import Identity
from conf.settings.security.transports import Transport, Transports
from conf.settings.settings import Settings
from conf.settings.telemetry import TelemetrySettings
from conf.topology import Cluster, Endpoint, Topology
from proxy.administration.admin import Admin
from proxy.limits import Limits
from proxy.protocol.framing import client_negotiation
from proxy.server.listeners import ListenAddresses
from proxy.workers.worker import serve
from tests.proxy.fake_cluster import FakeCluster
from tests.proxy.fakes import EAST, WEST, Client, FakeMetastore, error_of


@dataclass
class Site:
    """East is `one` and `two`, west is `west`. What `settings` is when it is reloaded counts."""

    one: FakeCluster
    two: FakeCluster
    west: FakeCluster
    metastore: FakeMetastore
    settings: Settings
    endpoint: Endpoint = field(default_factory=lambda: Endpoint("127.0.0.1", 0))
    http: Endpoint = field(default_factory=lambda: Endpoint("127.0.0.1", 0))
    serving: asyncio.Future[None] | None = None
    clients: list[Client] = field(default_factory=list)
    unreadable: BadSetting | None = None  # why the settings cannot be read
    admins: list[Admin] = field(default_factory=list)

    def read(self) -> Settings:
        if self.unreadable is not None:
            raise self.unreadable
        return self.settings

    @property
    def admin(self) -> Admin:
        return self.admins[0]

    async def client(self, user: str = "ann", opened: bool = True) -> Client:
        reader, writer = await asyncio.open_connection(self.endpoint.host, self.endpoint.port)
        client = Client(reader, writer)
        self.clients.append(client)
        writer.write(client_negotiation(user, "pw"))
        assert await reader.readexactly(5) == b"\5\0\0\0\0"
        if opened:
            assert error_of(await client.open()) is None
        return client


def topology(*clusters: FakeCluster) -> Topology:
    """A cluster for each name, with all endpoints of that name."""
    endpoints: dict[Any, tuple[Endpoint, ...]] = {}
    for each in clusters:
        endpoints[each.name] = (*endpoints.get(each.name, ()), each.endpoint)
    return Topology(
        {name: Cluster(name, f"file:/{name}", hs2) for name, hs2 in endpoints.items()}, EAST
    )


@asynccontextmanager
async def site(
    limits: Limits,
    operating: Operating,
    identity: Identity | None = None,
    telemetry: TelemetrySettings | None = None,
) -> AsyncIterator[Site]:
    fakes = [FakeCluster(EAST), FakeCluster(EAST), FakeCluster(WEST)]
    for each in fakes:
        await each.start()
    metastore = FakeMetastore({"default.e": EAST, "default.w": WEST})
    listen = Endpoint("127.0.0.1", 0)
    settings = Settings(
        topology(*fakes),
        (),
        listen,
        operating=operating,
        identity=identity or Identity(),
        transports=Transports(Transport.ALL, http_port=0),
        telemetry=telemetry or TelemetrySettings(),
    )
    there = Site(*fakes, metastore, settings)
    ready: asyncio.Future[ListenAddresses] = asyncio.get_running_loop().create_future()
    there.serving = asyncio.ensure_future(
        serve(
            there.settings,
            metastore,
            metastore,
            ready.set_result,
            limits,
            on_admin=there.admins.append,
            read_settings=there.read,
        )
    )
    listening = await ready
    assert listening.binary is not None
    assert listening.http is not None
    there.endpoint, there.http = listening.binary, listening.http
    try:
        yield there
    finally:
        for client in there.clients:
            client.close()
        there.serving.cancel()
        with suppress(asyncio.CancelledError):
            await there.serving
        for each in fakes:
            await each.stop()


Scenario = Callable[[Site], Coroutine[Any, Any, None]]


def play(
    scenario: Scenario,
    limits: Limits | None = None,
    operating: Operating | None = None,
    identity: Identity | None = None,
    telemetry: TelemetrySettings | None = None,
) -> None:
    """Runs a scenario at a site of its own."""

    async def main() -> None:
        async with (
            asyncio.timeout(120),
            site(
                limits or Limits(linger=0.0), operating or Operating(), identity, telemetry
            ) as there,
        ):
            await scenario(there)

    uvloop.run(main())


async def refusal(client: Client, sql: str = "SELECT 1") -> str:
    """The statement's error; empty if it succeeds."""
    failure = error_of(await client.execute(sql))
    return failure.message if failure is not None else ""
