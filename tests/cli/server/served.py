"""`causeway serve` with two workers before a fake Thrift Server."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cli.stack.stack import free_ports
from conf.names import ClusterName
from conf.topology import Endpoint
from tests.proxy.fake_cluster import FakeCluster
from tests.proxy.fakes import Client, client_negotiation, error_of

CONF = """
proxy.upstream = "{upstream}"
proxy.workers = 2
proxy.drain.timeout = "{drain}"
proxy.admin.socket = "{folder}/admin"
hive.server2.thrift.port = {port}
hive.server2.limit.connections.per.user = 6
"""


@dataclass
class Served:
    process: asyncio.subprocess.Process
    endpoint: Endpoint
    cluster: FakeCluster
    folder: Path
    clients: list[Client] = field(default_factory=list)

    async def client(self, user: str = "ann") -> Client:
        address = self.endpoint.host, self.endpoint.port
        client = Client(*await asyncio.open_connection(*address))
        self.clients.append(client)
        client.writer.write(client_negotiation(user, "pw"))
        assert await client.reader.readexactly(5) == b"\5\0\0\0\0"
        return client

    async def one_of_each(self, user: str) -> list[Client]:
        """A client with a session in each worker."""
        found: dict[int, Client] = {}
        for _ in range(30):
            client = await self.client(user)
            if error_of(await client.open()) is None and worker_of(client) not in found:
                found[worker_of(client)] = client
                continue
            client.close()
            if len(found) == 2:
                break
        return [found[number] for number in sorted(found)]

    def workers(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(word) for word in children.read_text().split()]

    async def ask(self, line: str) -> Any:
        reader, writer = await asyncio.open_unix_connection(str(self.folder / "admin"))
        writer.write(f"{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".encode())
        text = (await reader.read()).partition(b"\r\n\r\n")[2]
        writer.close()
        return json.loads(text)


def worker_of(client: Client) -> int:
    identifier: Any = client.session.get(1)
    guid: bytes = identifier.get(1)
    return guid[0]


@asynccontextmanager
async def served(folder: Path, more: str = "", drain: str = "5s") -> AsyncIterator[Served]:
    cluster = FakeCluster(ClusterName("one"))
    await cluster.start()
    port = free_ports(1)[0].port
    conf = folder / "causeway.toml"
    more = more.replace("UPSTREAM", str(cluster.endpoint))
    conf.write_text(
        CONF.format(upstream=cluster.endpoint, drain=drain, folder=folder, port=port) + more
    )
    with (folder / "log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "cli.main", "serve", "--conf", str(conf)),
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(folder)])},
        )
    assert process.stdout is not None
    there = Served(process, Endpoint("127.0.0.1", port), cluster, folder)
    try:
        assert await process.stdout.readline() == f"listening 127.0.0.1:{port}\n".encode()
        yield there
    finally:
        for client in there.clients:
            client.close()
        if process.returncode is None:
            process.terminate()
        await process.wait()
        await cluster.stop()


def play(
    folder: Path,
    scenario: Callable[[Served], Coroutine[Any, Any, None]],
    more: str = "",
    drain: str = "5s",
) -> None:
    async def main() -> None:
        async with asyncio.timeout(300), served(folder, more, drain) as there:
            await scenario(there)

    asyncio.run(main())
