"""Connections to clients and clusters detect a dead peer."""

import asyncio
import socket
from pathlib import Path

import pytest

from conf.settings.security.transports import Tls, Transport, Transports
from proxy.transport.sockets import tune
from tests.proxy.certificates import made
from tests.proxy.fakes import World, play, until
from tests.secret_files import readable

_OURS, _PEERS, _STATE, _TIMER = 1, 2, 3, 5  # columns of /proc/net/tcp
_ESTABLISHED, _KEEPALIVE = "01", "02"
_IDLE = 3010  # hundredths of a second, and the kernel's rounding


def _kept_alive(port: int, column: int) -> bool:
    """Whether there are connections with this port there, each asked soon when it is idle. While
    what was sent is not acknowledged another timer runs."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    there = [row for row in rows if row[column].endswith(f":{port:04X}")]
    timers = [row[_TIMER].split(":") for row in there if row[_STATE] == _ESTABLISHED]
    return bool(timers) and all(
        kind == _KEEPALIVE and 0 < int(left, 16) <= _IDLE for kind, left in timers
    )


@pytest.mark.parametrize("secure", [False, True])
def test_client_connections_have_keepalive(tmp_path: Path, secure: bool) -> None:
    ours = made() if secure else None
    tls = Tls(readable(ours.pem(tmp_path / "key")), "") if ours else None

    async def scenario(world: World) -> None:
        context = ours.trusting() if ours else None
        for port in (world.endpoint.port, world.http.port):
            _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
            await until(lambda: _kept_alive(port, _OURS))  # noqa: B023
            writer.transport.abort()

    play(scenario, transports=Transports(Transport.ALL, http_port=0, tls=tls))


def test_cluster_connections_have_keepalive() -> None:
    async def scenario(world: World) -> None:
        await (await world.client()).rows("SELECT a")
        await until(lambda: _kept_alive(world.east.endpoint.port, _PEERS))

    play(scenario)


def test_connections_inherit_the_listening_sockets_options() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        tune((listening,))
        with socket.create_connection(listening.getsockname()):
            connection, _ = listening.accept()
            with connection:
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
