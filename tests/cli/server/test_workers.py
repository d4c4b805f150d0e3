"""`causeway serve` with several workers and a fake Thrift Server: clients see one server."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cli.stack.stack import free_ports
from conf.errors import BadSetting
from conf.names import ClusterName, TableRef
from conf.settings.load import load
from conf.topology import Endpoint
from metastore.client.types import Table
from tests.metastore.writable import WritableMetastore
from tests.proxy.certificates import made
from tests.proxy.fake_cluster import FakeCluster
from tests.proxy.fakes import (
    Client,
    client_negotiation,
    column_length,
    error_of,
    until,
)
from thriftcodec.values import Struct

pytestmark = pytest.mark.slow
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
            if error_of(await client.open()) is None and _worker(client) not in found:
                found[_worker(client)] = client
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


def _worker(client: Client) -> int:
    identifier: Any = client.session.get(1)
    guid: bytes = identifier.get(1)
    return guid[0]


def _with_session_of(client: Client, other: Client) -> None:
    client.session = other.session


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


def test_any_worker_accepts_calls_of_a_session(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        one, other = await there.one_of_each("ann")
        assert (_worker(one), _worker(other)) == (0, 1)
        _with_session_of(one, other)
        assert await one.rows("SELECT a") == 1
        operation = await one.operation("SELECT b")
        assert column_length(await other.on("FetchResults", operation)) == 1
        there.cluster.counts["SELECT many"], there.cluster.row = 5_000, b"y" * 1_000
        many = await other.operation("SELECT many")
        assert column_length(await one.on("FetchResults", many, rows=5_000)) == 5_000
        assert len(await there.ask("GET /v1/sessions")) == 2

    play(tmp_path, scenario)


def test_a_handle_of_another_user_is_unknown_in_every_worker(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        for ann in await there.one_of_each("ann"):
            bob = await there.client("bob")
            _with_session_of(bob, ann)
            failure = error_of(await bob.execute("SELECT 1"))
            assert failure is not None
            assert failure.message.startswith("Invalid SessionHandle")

    play(tmp_path, scenario)


CLUSTERS = """
hive.default.cluster.name = "one"
hive.metastore.uris = "thrift://{metastore}"
[hive.cluster.properties.one]
FileSystem = "hdfs://one:8020"
JobTracker = "UPSTREAM"
"""


def test_writes_of_one_table_wait_for_each_other_in_all_workers(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        inserts = [f"INSERT INTO t VALUES ({number})" for number in range(4)]
        there.cluster.sleeping.update(inserts)

        def sent() -> list[str]:
            return [each for each in there.cluster.statements if each in inserts]

        for client, sql in zip(await there.one_of_each("ann") * 2, inserts, strict=True):
            await client.operation(sql, run_async=True)
        for count in range(1, 5):
            await until(lambda: len(sent()) >= count)  # noqa: B023
            await asyncio.sleep(0.1)
            assert len(sent()) == count
            for operation in there.cluster.operations.values():
                if operation.sql == sent()[-1]:
                    there.cluster.end(operation)
        assert sorted(sent()) == inserts

    metastore = WritableMetastore()
    parameters = {"spark.sql.sources.provider": "parquet"}
    ref = TableRef("default", "t")
    metastore.add(
        Table.make(ref, [("a", "int")], location="hdfs://one:8020/t", parameters=parameters)
    )
    try:
        play(tmp_path, scenario, CLUSTERS.format(metastore=metastore.endpoint))
    finally:
        metastore.stop()


def test_killed_workers_lose_nothing_of_the_history_that_was_written(tmp_path: Path) -> None:
    """The supervisor reads what the workers wrote, also of results that were never closed."""

    async def scenario(there: Served) -> None:
        one, other = await there.one_of_each("ann")
        await one.operation("SELECT 0")
        while not (await there.ask("GET /v1/history"))["statements"]:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        for number in range(1, 6):
            await one.operation(f"SELECT {number}")
            await other.operation(f"SELECT {number}0")
        while len((await there.ask("GET /v1/history"))["statements"]) < 11:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        for pid in there.workers():
            os.kill(pid, signal.SIGKILL)
        page = await there.ask("GET /v1/history")
        texts = [each["text"] for each in page["statements"]]
        ones, tens = range(6), range(10, 60, 10)
        assert sorted(texts) == sorted(f"SELECT {number}" for number in (*ones, *tens))
        assert {each["state"] for each in page["statements"]} == {"FINISHED"}

    play(tmp_path, scenario, more=f'history.store = "{tmp_path}/history.db"\n')


def test_a_limit_holds_for_all_workers_together(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        opened: list[Struct] = [await (await there.client()).open() for _ in range(12)]
        assert sum(error_of(result) is None for result in opened) == 6

    play(tmp_path, scenario)


_HEARS = """
import os
def check(user, password):
    with open({path!r}, "a") as file:
        file.write(f"{{os.getpid()}}\\n")
    return password == "right"
"""


def test_login_throttle_is_shared_between_workers(tmp_path: Path) -> None:
    received = tmp_path / "received"
    (tmp_path / "passwords.py").write_text(_HEARS.format(path=str(received)))

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


def test_a_killed_worker_loses_its_sessions_and_is_restarted(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        one, other = await there.one_of_each("ann")
        before = there.workers()
        operation = await other.operation("SELECT a")
        os.kill(before[1], signal.SIGKILL)
        await until(lambda: other.reader.at_eof())
        failure = error_of(await one.on("FetchResults", operation))
        assert failure is not None
        assert failure.message.startswith("Invalid OperationHandle")
        assert await one.rows("SELECT b") == 1
        found = 0
        for number in range(100):
            found = len(await there.one_of_each(f"bob{number}"))
            if found == 2:
                break
            await asyncio.sleep(0.1)
        assert found == 2

    play(tmp_path, scenario)


def test_a_restarted_worker_keeps_what_is_drained(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        place = f"/v1/endpoints/{there.cluster.endpoint}"
        assert await there.ask(f"POST {place}/drain") == {"drained": 2}
        before = there.workers()
        os.kill(before[1], signal.SIGKILL)
        await until(lambda: len(set(there.workers()) - {before[1]}) == 2)
        await there.ask("GET /v1/clusters")  # until both can answer
        refused = 0
        while refused < 20:
            failure = error_of(await (await there.client()).open())
            refused = refused + 1 if failure and "drained" in failure.message else 0
        assert await there.ask(f"POST {place}/resume") == {"resumed": 2}
        assert len(await there.one_of_each("bob")) == 2

    play(tmp_path, scenario)


def test_a_restarted_worker_keeps_users_out(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        assert len(await there.one_of_each("bob")) == 2
        assert (await there.ask("POST /v1/users/Bob/block"))["closed"] >= 2
        before = there.workers()
        os.kill(before[1], signal.SIGKILL)
        await until(lambda: len(set(there.workers()) - {before[1]}) == 2)
        shown = await there.ask("GET /v1/admission")  # once both can answer
        assert shown == {"maintenance": None, "blocked": ["Bob"]}
        refused = 0
        while refused < 20:
            failure = error_of(await (await there.client("bob")).open())
            assert failure is None or "CW217" in failure.message
            refused = refused + 1 if failure else 0

    play(tmp_path, scenario)


def test_statements_that_run_at_the_end_of_the_drain_time_have_the_reason(tmp_path: Path) -> None:
    """The supervisor leaves its workers the time to give it."""

    async def scenario(there: Served) -> None:
        there.cluster.sleeping.add("SELECT long")
        clients = await there.one_of_each("ann")
        executing = [asyncio.ensure_future(each.execute("SELECT long")) for each in clients]
        await until(lambda: len(there.cluster.operations) == 2)
        there.process.terminate()
        for failure in map(error_of, await asyncio.gather(*executing)):
            assert failure is not None
            assert failure.message.startswith("[CW215]")
        assert await there.process.wait() == 0

    play(tmp_path, scenario, drain="500ms")


def test_an_invalid_settings_file_changes_nothing(tmp_path: Path) -> None:
    """Reloading is refused, and a worker that is started again is as it was before."""
    conf = tmp_path / "causeway.toml"

    async def scenario(there: Served) -> None:
        one, other = await there.one_of_each("ann")
        good = conf.read_text().replace("per.user = 6", "per.user = 1")
        conf.write_text(good)
        assert (await there.ask("POST /v1/reload"))["changed"] == [
            "hive.server2.limit.connections.per.user"
        ]
        conf.write_text(good + "proxy.drain.timout = '1s'\n")
        there.process.send_signal(signal.SIGHUP)
        printed = f"{conf}: proxy.drain.timout: no such setting; proxy.drain.timeout was meant?"
        assert printed in (await there.ask("POST /v1/reload"))["error"]
        assert await one.rows("SELECT a") == 1
        before = there.workers()
        for worker in before:
            os.kill(worker, signal.SIGKILL)
        await until(lambda: one.reader.at_eof() and other.reader.at_eof())
        await until(lambda: len(set(there.workers()) - set(before)) == 2)
        while await there.ask("GET /v1/sessions") != []:  # noqa: ASYNC110
            await asyncio.sleep(0.1)  # until both can answer
        for number in (0, 1):
            failure = error_of(await (await there.client("bob")).open())
            assert bool(failure and "has 1 sessions" in failure.message) is bool(number)

    play(tmp_path, scenario)
    with pytest.raises(BadSetting, match=f"{conf}: proxy.drain.timout: no such setting"):
        load(conf)


def test_sigterm_waits_for_running_statements(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        there.cluster.sleeping.add("SELECT long")
        client, _ = await there.one_of_each("ann")
        await client.send(
            "ExecuteStatement",
            Struct({1: (12, client.session), 2: (11, b"SELECT long"), 4: (2, False)}),
        )
        await until(lambda: "SELECT long" in there.cluster.statements)
        there.process.terminate()
        await asyncio.sleep(0.3)
        assert there.process.returncode is None
        for each in there.cluster.operations.values():
            there.cluster.end(each)
        assert error_of((await client.receive()).body.get(0)) is None  # type: ignore[arg-type]
        assert await there.process.wait() == 0

    play(tmp_path, scenario)


def test_after_a_reload_sigterm_waits_for_as_long_as_that_has_said(tmp_path: Path) -> None:
    """So does the supervisor, which would end its workers 3.3 s after SIGTERM without it."""

    async def scenario(there: Served) -> None:
        conf, log = tmp_path / "causeway.toml", tmp_path / "log"
        conf.write_text(conf.read_text().replace('"300ms"', '"1m"') + 'log.level = "debug"\n')
        there.process.send_signal(signal.SIGHUP)
        await until(lambda: log.read_text().count("settings reloaded: ") == 2)
        there.cluster.sleeping.add("SELECT long")
        client, _ = await there.one_of_each("ann")
        executing = asyncio.ensure_future(client.execute("SELECT long"))
        await until(lambda: len(there.cluster.operations) == 1)
        there.process.terminate()
        await asyncio.sleep(4.5)
        for each in there.cluster.operations.values():
            there.cluster.end(each)
        assert error_of(await executing) is None
        client.close()
        assert await there.process.wait() == 0

    play(tmp_path, scenario, drain="300ms")


def test_workers_end_with_their_supervisor(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        workers = there.workers()
        assert len(workers) == 2
        there.process.kill()
        await until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))

    play(tmp_path, scenario)


def test_the_log_is_json_with_the_ids_where_the_setting_says_so(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        for client in await there.one_of_each("ann"):
            assert await client.rows("SELECT 1") == 1
            client.close()

    play(tmp_path, scenario, "log.format = 'json'\n")
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    opened = [line for line in lines if line["message"] == "session opened"]
    assert {line["worker"] for line in opened} == {"0", "1"}
    assert len({line["session"] for line in opened}) == len(opened)
    assert all((line["user"], line["level"]) == ("ann", "INFO") for line in opened)
    assert all(line["connection"] and line["address"] == "127.0.0.1" for line in opened)
