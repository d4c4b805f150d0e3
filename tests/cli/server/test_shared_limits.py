"""Limits hold for all workers together."""

import asyncio
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.cli.server.served import Served, play
from tests.proxy.certificates import made
from tests.proxy.fakes import client_negotiation, error_of, until
from thriftcodec.values import Struct

pytestmark = pytest.mark.slow


def test_a_limit_holds_for_all_workers_together(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        opened: list[Struct] = [await (await there.client()).open() for _ in range(12)]
        assert sum(error_of(result) is None for result in opened) == 6

    play(tmp_path, scenario)


RECORDING_CHECK = """
import os
def check(user, password):
    with open({path!r}, "a") as file:
        file.write(f"{{os.getpid()}}\\n")
    return password == "right"
"""


def test_login_throttle_is_shared_between_workers(tmp_path: Path) -> None:
    received = tmp_path / "received"
    (tmp_path / "passwords.py").write_text(RECORDING_CHECK.format(path=str(received)))

    async def let_in(there: Served, user: str, password: str) -> bool:
        address = there.endpoint.host, there.endpoint.port
        reader, writer = await asyncio.open_connection(*address)
        writer.write(client_negotiation(user, password))
        status = await reader.readexactly(1)
        writer.close()
        return status == b"\5"

    async def workers_that_checked(there: Served, user: str) -> set[str]:
        """The workers that checked one of 40 wrong passwords of a user."""
        received.write_text("")
        began = asyncio.get_running_loop().time()
        for _ in range(40):
            assert not await let_in(there, user, "wrong")
        more = (asyncio.get_running_loop().time() - began) / 6.0  # one is tried each six seconds
        by = received.read_text().split()
        assert 10 <= len(by) <= 11 + more
        return set(by)

    async def scenario(there: Served) -> None:
        # The kernel chooses a worker for each connection: it may choose the same one ten times.
        for user in ("ann", "ben", "cat", "dan", "eve"):
            if len(await workers_that_checked(there, user)) == 2:
                break
        else:
            pytest.fail("no user's passwords were checked by both workers")
        assert await let_in(there, "bob", "right")

    auth = "hive.server2.authentication = 'CUSTOM'\n"
    play(
        tmp_path, scenario, auth + "hive.server2.custom.authentication.class = 'passwords:check'\n"
    )


def test_unfinished_handshakes_are_bounded_and_keep_no_client_out(
    tmp_path: Path,
) -> None:
    certificate = made()
    keystore = certificate.pem(tmp_path / "keystore.pem")

    async def ends(sock: socket.socket) -> None:
        with suppress(ConnectionError):
            assert await asyncio.get_running_loop().sock_recv(sock, 100) == b""

    async def let_in(there: Served) -> bool:
        address = there.endpoint.host, there.endpoint.port
        try:
            reader, writer = await asyncio.open_connection(*address, ssl=certificate.trusting())
        except OSError:
            return False
        writer.write(client_negotiation("ann", "pw"))
        status = await reader.readexactly(1)
        writer.close()
        return status == b"\5"

    async def scenario(there: Served) -> None:
        assert await let_in(there)
        with ExitStack() as exits:
            flood = [exits.enter_context(socket.socket()) for _ in range(600)]
            for each in flood:
                each.connect((there.endpoint.host, there.endpoint.port))
                each.sendall(b"\x16\x03\x01\x02\x00\x01")
                each.setblocking(False)
            ended = [asyncio.ensure_future(ends(each)) for each in flood]
            # All but those that have a place by now, in one of the two workers.
            await until(lambda: sum(each.done() for each in ended) >= 600 - 50 - 2)
            assert not all(each.done() for each in ended)
            assert await let_in(there)
            await asyncio.gather(*ended)
            assert await let_in(there)

    more = "hive.server2.use.SSL = true\nproxy.limit.connections.new.total = 50\n"
    play(tmp_path, scenario, f"{more}hive.server2.keystore.path = '{keystore}'\n")
