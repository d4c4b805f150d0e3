"""Two servers behind HAProxy over HTTP, as docs/guide/connect.md says. PyHive opens a connection
for each call, and each call needs the server that keeps its session."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import uvloop
from pyhive import hive

from cli.stack.stack import free_ports
from conf.topology import Endpoint
from proxy.limits import Limits
from tests.proxy.fakes import world


@asynccontextmanager
async def balanced(folder: Path, rule: str) -> AsyncIterator[Endpoint]:
    """HAProxy before two servers; `rule` selects the server of a request."""
    program = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if program is None:
        pytest.skip("no haproxy here")
    async with AsyncExitStack() as exits:
        servers = [(await exits.enter_async_context(world(Limits()))).http for _ in range(2)]
        address = free_ports(1)[0]
        settings = folder / "haproxy.cfg"
        settings.write_text(
            "defaults\n mode http\n timeout connect 5s\n timeout client 1m\n timeout server 1m\n"
            f"listen causeway\n bind {address}\n balance {rule}\n"
            + "".join(f" server s{number} {each}\n" for number, each in enumerate(servers))
        )
        process = await asyncio.create_subprocess_exec(program, "-q", "-f", str(settings))
        try:
            await _listens(address)
            yield address
        finally:
            process.terminate()
            await process.wait()


async def _listens(address: Endpoint) -> None:
    for _ in range(3_000):
        try:
            _, writer = await asyncio.open_connection(address.host, address.port)
        except OSError:
            await asyncio.sleep(0.02)
        else:
            writer.close()
            return
    raise AssertionError("HAProxy does not listen")


def asked(address: Endpoint, user: str) -> int:
    """The number of rows that PyHive reads over HTTP."""
    with hive.connect(
        address.host, address.port, scheme="http", username=user, password="x", auth="BASIC"
    ) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT * FROM e")
        return len(cursor.fetchall())


@pytest.mark.parametrize("rule", ["source", "hdr(Authorization)"])
def test_calls_of_a_client_reach_the_server_of_its_session(tmp_path: Path, rule: str) -> None:
    async def main() -> None:
        async with asyncio.timeout(120), balanced(tmp_path, rule) as address:
            for user in ("ann", "bob", "eve"):
                assert await asyncio.to_thread(asked, address, user) == 1

    uvloop.run(main())


def test_without_stickiness_sessions_are_not_found(tmp_path: Path) -> None:
    async def main() -> None:
        async with asyncio.timeout(120), balanced(tmp_path, "roundrobin") as address:
            with pytest.raises(Exception, match=r"Invalid SessionHandle|Session does not exist"):
                await asyncio.to_thread(asked, address, "ann")

    uvloop.run(main())
